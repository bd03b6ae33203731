"""The one-equation closure, and its lengths against their formulas."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tests.closures.turbulence_numpy import SecondMoments
from tunax_lite.closures import (
    Blackadar,
    Boundary,
    BreakingWaves,
    ConstantStability,
    OneEquation,
    Parabolic,
    SecondMomentClosure,
    Triangular,
)
from tunax_lite.closures.one_equation import FaceConditions

KAPPA, Z_0_SURFACE, Z_0_BOTTOM = 0.4, 0.1, 0.03


def place_of(grid, tke):
    inner = grid.center_spacing.shape
    return FaceConditions(
        grid,
        from_surface=-grid.z_face[1:-1] + Z_0_SURFACE,
        from_bottom=grid.z_face[1:-1] + grid.depth + Z_0_BOTTOM,
        von_karman=jnp.asarray(KAPPA),
        tke=jnp.broadcast_to(jnp.asarray(tke, dtype=float), inner),
    )


def test_lengths_of_the_place_alone():
    grid = random_grid(3, 12)
    place, z, depth = place_of(grid, 1e-5), np.asarray(grid.z_face)[1:-1], float(grid.depth)
    up, down = -z + Z_0_SURFACE, z + depth + Z_0_BOTTOM
    np.testing.assert_allclose(Parabolic()(place), KAPPA * up * down / (up + down), rtol=1e-12)
    np.testing.assert_allclose(Triangular()(place), KAPPA * np.minimum(up, down), rtol=1e-12)


def test_blackadar_takes_its_largest_length_from_the_turbulence():
    grid = random_grid(4, 12)
    tke = 10.0 ** np.random.default_rng(4).uniform(-8, -3, 11)
    place, z, h = place_of(grid, tke), np.asarray(grid.z_face), np.asarray(grid.cell_thickness)
    up, down = -z[1:-1] + Z_0_SURFACE, z[1:-1] - z[0] + Z_0_BOTTOM
    weight = np.sqrt(tke) * h[:-1]
    longest = 0.2 * (weight * down).sum() / weight.sum()
    expected = 1.0 / (1.0 / (KAPPA * up) + 1.0 / (KAPPA * down) + 1.0 / longest)
    np.testing.assert_allclose(Blackadar()(place), expected, rtol=1e-12)


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
