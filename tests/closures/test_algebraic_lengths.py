"""The one-equation closure, and its lengths against their formulas and a parcel that is followed."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs, random_grid, uniform_turbulence
from tests.closures.turbulence_numpy import SecondMoments
from tunax_lite.closures import (
    Blackadar,
    BougeaultAndre,
    Boundary,
    BreakingWaves,
    ConstantStability,
    OneEquation,
    Parabolic,
    SecondMomentClosure,
    Triangular,
)
from tunax_lite.closures.one_equation import FaceConditions, RobertOuellet, XingDavies

KAPPA, Z_0_SURFACE, Z_0_BOTTOM = 0.4, 0.1, 0.03


def place_of(grid, tke, n_squared):
    inner = grid.center_spacing.shape
    return FaceConditions(
        grid,
        from_surface=-grid.z_face[1:-1] + Z_0_SURFACE,
        from_bottom=grid.z_face[1:-1] + grid.depth + Z_0_BOTTOM,
        bottom_roughness_length=jnp.asarray(Z_0_BOTTOM),
        von_karman=jnp.asarray(KAPPA),
        tke=jnp.broadcast_to(jnp.asarray(tke, dtype=float), inner),
        n_squared=jnp.broadcast_to(jnp.asarray(n_squared, dtype=float), inner),
    )


def test_lengths_of_the_place_alone():
    grid = random_grid(3, 12)
    place, z, depth = place_of(grid, 1e-5, 0.0), np.asarray(grid.z_face)[1:-1], float(grid.depth)
    up, down = -z + Z_0_SURFACE, z + depth + Z_0_BOTTOM
    np.testing.assert_allclose(Parabolic()(place), KAPPA * up * down / (up + down), rtol=1e-12)
    np.testing.assert_allclose(Triangular()(place), KAPPA * np.minimum(up, down), rtol=1e-12)
    shorter = (z + depth) * np.exp(-2.0 * (z + depth) / depth) + Z_0_BOTTOM
    np.testing.assert_allclose(XingDavies()(place), KAPPA * up * shorter / (up + shorter), rtol=1e-12)
    root = np.sqrt(1.0 - ((z + depth) - Z_0_SURFACE) / depth)
    np.testing.assert_allclose(RobertOuellet()(place), KAPPA * down * root, rtol=1e-12)


def test_blackadar_takes_its_largest_length_from_the_turbulence():
    grid = random_grid(4, 12)
    tke = 10.0 ** np.random.default_rng(4).uniform(-8, -3, 11)
    place, z, h = place_of(grid, tke, 0.0), np.asarray(grid.z_face), np.asarray(grid.cell_thickness)
    up, down = -z[1:-1] + Z_0_SURFACE, z[1:-1] - z[0] + Z_0_BOTTOM
    weight = np.sqrt(tke) * h[:-1]
    longest = 0.2 * (weight * down).sum() / weight.sum()
    expected = 1.0 / (1.0 / (KAPPA * up) + 1.0 / (KAPPA * down) + 1.0 / longest)
    np.testing.assert_allclose(Blackadar()(place), expected, rtol=1e-12)


def test_bougeault_andre_in_constant_stratification():
    grid = random_grid(5, 30)
    length = np.sqrt(2.0 * 1e-6 / 1e-5)  # that of buoyancy, 0.45 m; cells have 0.5 m to 2.2 m
    np.testing.assert_allclose(BougeaultAndre()(place_of(grid, 1e-6, 1e-5))[1:-1], length, rtol=1e-12)
    z = np.asarray(grid.z_face)[1:-1]  # without stratification the mean of the distances
    np.testing.assert_allclose(
        BougeaultAndre()(place_of(grid, 1e-6, 0.0)), np.sqrt(-z * (z + 40.0)), rtol=1e-12
    )


def follow_a_parcel(z_face, n_squared, face, tke, direction):
    """How far a parcel comes, by small steps; buoyancy is linear between centers, constant beyond."""
    center = 0.5 * (z_face[1:] + z_face[:-1])
    buoyancy = np.concatenate([[0.0], np.cumsum(n_squared * np.diff(center))])
    start, end = z_face[face], z_face[-1] if direction > 0 else z_face[0]
    z = np.linspace(start, end, 200_001)
    difference = direction * (np.interp(z, center, buoyancy) - np.interp(start, center, buoyancy))
    step = abs(z[1] - z[0])
    work = np.concatenate([[0.0], np.cumsum(0.5 * (difference[1:] + difference[:-1]) * step)])
    reached = np.flatnonzero(work >= tke)
    return abs((z[reached[0]] if len(reached) else end) - start)


@pytest.mark.parametrize("seed", range(2))
def test_bougeault_andre_follows_parcels_through_any_stratification(seed):
    grid, rng = random_grid(seed, 14), np.random.default_rng(seed)
    n_squared, tke = 1e-5 * rng.normal(size=13), 10.0 ** rng.uniform(-6.0, -3.5, 13)
    z = np.asarray(grid.z_face)
    up, down = (
        np.array([follow_a_parcel(z, n_squared, i, tke[i - 1], sign) for i in range(1, 14)])
        for sign in (1, -1)
    )
    found = BougeaultAndre()(place_of(grid, tke, n_squared))
    # The steps are 0.2 mm.
    np.testing.assert_allclose(found, np.sqrt(up * down), rtol=2e-3)


GRID = random_grid(11, 10)
step = eqx.filter_jit(lambda closure, *arguments: closure.prepare().step(*arguments))


def test_local_equilibrium_balances_production_and_dissipation():
    closure = OneEquation(
        stability=ConstantStability(), length=Parabolic(), local_equilibrium=True, length_limit=None
    )
    s_squared, n_squared = 4e-4, 1e-4
    inputs = closure_inputs(GRID, n_squared, s_squared)
    state = uniform_turbulence(GRID, 1e-4, 1e-6, 1e-3)
    for _ in range(60):  # a fixed point of k from the old length and the length of the place
        state = step(closure, state, inputs, 60.0)
    inner = slice(1, -1)
    nu, kappa = np.asarray(state.eddy_viscosity)[inner], np.asarray(state.eddy_diffusivity)[inner]
    produced = nu * s_squared - kappa * n_squared
    np.testing.assert_allclose(produced, np.asarray(state.dissipation_rate)[inner], rtol=1e-10)
    np.testing.assert_allclose(nu / kappa, 0.74, rtol=1e-12)
    # k = l²/c_mu0² (S² - N²/Pr).
    z = np.asarray(GRID.z_face)[inner]
    up, down = -z + 0.02, z + 40.0 + 0.0015
    length = 0.4 * up * down / (up + down)
    expected = length**2 / 0.5477**2 * (s_squared - n_squared / 0.74)
    np.testing.assert_allclose(np.asarray(state.turbulent_kinetic_energy)[inner], expected, rtol=1e-10)
    calm = step(closure, state, closure_inputs(GRID, n_squared, 0.0), 60.0)
    np.testing.assert_array_equal(calm.turbulent_kinetic_energy, 1e-10)  # its floor


def test_decay_below_breaking_waves_balances_transport_and_dissipation():
    a = SecondMoments("canuto_a")
    for stability, c_mu_0, shear_free in (
        (ConstantStability(), 0.5477, 0.5477),
        (SecondMomentClosure(), a.c_mu_0, a.shear_free),
    ):
        closure = OneEquation(stability=stability, surface=Boundary(breaking_waves=BreakingWaves()))
        waves: Any = dataclasses.replace(closure, sigma_k=jnp.asarray(1.2)).prepare().waves
        # The length is that of a wall, kappa z.
        assert waves.decay < 0.0 and waves.length_slope == 0.4
        transport = shear_free / 1.2 * 0.4 * 1.5 * waves.decay**2
        np.testing.assert_allclose(transport, c_mu_0**3 / 0.4, rtol=1e-12)
