"""Lengths of the one-equation closure against their formulas, and against a parcel that is followed."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tunax_lite.closures import (
    Blackadar,
    BougeaultAndre,
    Parabolic,
    RobertOuellet,
    Triangular,
    XingDavies,
)
from tunax_lite.closures.one_equation import Place

KAPPA, Z_0_SURFACE, Z_0_BOTTOM = 0.4, 0.1, 0.03


def place_of(grid, tke, n_squared):
    inner = grid.center_spacing.shape
    return Place(
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


def test_bougeault_andre_in_constant_stratification_is_the_buoyancy_length():
    grid = random_grid(5, 30)
    place = place_of(grid, 1e-6, 1e-5)
    length = np.sqrt(2.0 * 1e-6 / 1e-5)  # 0.45 m; cells have 0.5 m to 2.2 m
    np.testing.assert_allclose(BougeaultAndre()(place)[1:-1], length, rtol=1e-12)


def test_bougeault_andre_without_stratification_is_the_mean_of_the_distances():
    grid = random_grid(6, 30)
    place, z = place_of(grid, 1e-6, 0.0), np.asarray(grid.z_face)[1:-1]
    np.testing.assert_allclose(BougeaultAndre()(place), np.sqrt(-z * (z + 40.0)), rtol=1e-12)


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
