"""Depth of the mixed layer."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from tests.closures.columns import random_grid
from tunax_lite import Grid, mixed_layer_depth

from_top = functools.partial(mixed_layer_depth, reference_depth=0.0)
depth_of = jax.jit(from_top)
gradient_of = jax.jit(jax.grad(from_top))


def test_uniform_layer_over_a_straight_line_is_exact(mixed=15.3, slope=0.02):
    grid = random_grid(60, 40)
    temperature = 20.0 + slope * jnp.minimum(grid.z_center + mixed, 0.0)
    # 0.2 K lie 10 m below the kink, where linear interpolation is exact.
    np.testing.assert_allclose(from_top(temperature, grid), mixed + 0.2 / slope, rtol=1e-12)
    depth = from_top(temperature, grid, difference=0.1)
    np.testing.assert_allclose(depth, mixed + 0.1 / slope, rtol=1e-12)


def test_gradient_to_the_profile_is_that_of_the_two_cells_and_the_surface():
    grid = Grid.uniform(10.0, 5)
    temperature = jnp.array([18.0, 19.0, 19.7, 19.95, 20.0])
    # Threshold 19.8 between the cells at -5 and -3 m.
    np.testing.assert_allclose(from_top(temperature, grid), 5.0 - 0.1 / 0.25 * 2.0, rtol=1e-12)
    found = gradient_of(temperature, grid)
    step = 1e-6
    expected = [
        (depth_of(temperature.at[i].add(step), grid) - depth_of(temperature.at[i].add(-step), grid))
        / (2 * step)
        for i in range(5)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.count_nonzero(found) == 3


def test_the_shallowest_crossing_counts_and_water_that_is_warmer_below_ends_the_layer_too():
    grid = Grid.uniform(10.0, 5)
    # Warm water below a cold intrusion.
    assert 3.0 < from_top(jnp.array([15.0, 20.0, 19.0, 20.0, 20.0]), grid) < 5.0
    # 20.2 degC lies three quarters of the way from the center at 5 m, 0.1 K colder, to that at 7 m.
    temperature = jnp.array([21.0, 20.3, 19.9, 20.0, 20.0])
    np.testing.assert_allclose(from_top(temperature, grid), 5.0 + 2.0 * 0.3 / 0.4, rtol=1e-12)
    mirrored = 40.0 - temperature
    np.testing.assert_allclose(from_top(mirrored, grid), 5.0 + 2.0 * 0.3 / 0.4, rtol=1e-12)


def test_without_crossing_there_is_no_depth_and_for_a_misfit_that_of_the_lowest_cell():
    grid = Grid.uniform(10.0, 5)
    for temperature in (jnp.full(5, 20.0), jnp.array([20.1, 20.15, 19.9, 20.2, 20.0])):
        assert np.isnan(from_top(temperature, grid))
        bounded = lambda t: from_top(t, grid, bounded=True)  # noqa: E731
        assert bounded(temperature) == 9.0
        assert np.all(gradient_of(temperature, grid) == 0.0)
        assert np.all(jax.grad(bounded)(temperature) == 0.0)
        assert np.isnan(bounded(temperature.at[2].set(jnp.nan)))  # a run that failed


def by_interpolation(temperature, z, reference):
    """The first height below the reference where a profile, linear between centers, differs by 0.2 K."""
    fine = np.linspace(-reference, float(z[0]), 2_000_001)
    change = np.abs(np.interp(fine, z, temperature) - np.interp(-reference, z, temperature))
    return -fine[np.argmax(change > 0.2)]


def test_the_usual_reference_is_10_m_and_1_m_in_lakes_and_columns_of_shallow_water():
    """A skin of the day above 4 m does not count in the sea (de Boyer Montegut et al. 2004)."""
    grid = Grid(jnp.linspace(-1.0, 0.0, 51)[:, None] * jnp.array([19.0, 21.0, 80.0]))
    z = np.asarray(grid.z_center)
    temperature = 20.0 + 0.5 * np.clip(z + 4.0, 0.0, None) + 0.05 * np.minimum(z + 12.0, 0.0)
    references = enumerate((1.0, 10.0, 10.0))
    expected = [by_interpolation(temperature[:, i], z[:, i], reference) for i, reference in references]
    np.testing.assert_allclose(mixed_layer_depth(jnp.asarray(temperature), grid), expected, rtol=1e-4)
    assert expected[0] < 3.0 < min(expected[1:])
    sea, deepest = Grid.uniform(80.0, 50), temperature[:, 2]
    lake = dataclasses.replace(sea, area=jnp.linspace(1e5, 1e6, 51))
    for column, reference in ((sea, 10.0), (lake, 1.0)):
        found = mixed_layer_depth(jnp.asarray(deepest), column)
        np.testing.assert_allclose(found, by_interpolation(deepest, z[:, 2], reference), rtol=1e-4)
