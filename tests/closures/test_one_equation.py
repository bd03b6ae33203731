"""The one-equation closure: k in local equilibrium, and below breaking waves."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from tests.closures.columns import closure_inputs, random_grid, uniform_turbulence
from tests.closures.turbulence_numpy import SecondMoments
from tunax_lite.closures import (
    Boundary,
    BreakingWaves,
    ConstantStability,
    OneEquation,
    Parabolic,
    SecondMomentClosure,
)

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


def test_turbulence_without_production_falls_to_its_floor():
    closure = OneEquation(local_equilibrium=True)
    new = step(closure, uniform_turbulence(GRID, 1e-4, 1e-6, 1e-3), closure_inputs(GRID, 1e-4, 0.0), 60.0)
    np.testing.assert_array_equal(new.turbulent_kinetic_energy, 1e-10)


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
