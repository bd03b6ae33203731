"""Depth of the mixed layer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tunax_lite import Grid, mixed_layer_depth

depth_of = jax.jit(mixed_layer_depth)
gradient_of = jax.jit(jax.grad(mixed_layer_depth))


def ramp(z, mixed, slope):
    """Uniform above `mixed` [m], a straight line below."""
    return 20.0 + slope * jnp.minimum(z + mixed, 0.0)


@pytest.mark.parametrize("mixed", [7.0, 15.3, 22.0])
def test_uniform_layer_over_a_straight_line_is_exact(mixed):
    grid, slope = random_grid(60, 40), 0.02
    depth = mixed_layer_depth(ramp(grid.z_center, mixed, slope), grid)
    # 0.2 K lie 10 m below the kink, where linear interpolation is exact.
    np.testing.assert_allclose(depth, mixed + 0.2 / slope, rtol=1e-12)
    depth = mixed_layer_depth(ramp(grid.z_center, mixed, slope), grid, difference=0.1)
    np.testing.assert_allclose(depth, mixed + 0.1 / slope, rtol=1e-12)


def test_gradient():
    grid, slope = random_grid(61, 40), 0.02

    def depth(mixed, slope):
        return mixed_layer_depth(ramp(grid.z_center, mixed, slope), grid)

    to_mixed, to_slope = jax.jit(jax.grad(depth, argnums=(0, 1)))(12.0, slope)
    np.testing.assert_allclose(to_mixed, 1.0, rtol=1e-11)
    np.testing.assert_allclose(to_slope, -0.2 / slope**2, rtol=1e-11)


def test_gradient_to_the_profile_is_that_of_the_two_cells_and_the_surface():
    grid = Grid.uniform(10.0, 5)
    temperature = jnp.array([18.0, 19.0, 19.7, 19.95, 20.0])
    # Threshold 19.8 between the cells at -5 and -3 m.
    np.testing.assert_allclose(mixed_layer_depth(temperature, grid), 5.0 - 0.1 / 0.25 * 2.0, rtol=1e-12)
    found = gradient_of(temperature, grid)
    step = 1e-6
    expected = [
        (depth_of(temperature.at[i].add(step), grid) - depth_of(temperature.at[i].add(-step), grid))
        / (2 * step)
        for i in range(5)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.count_nonzero(found) == 3


def test_shallowest_crossing_counts():
    grid = Grid.uniform(10.0, 5)
    # Warm water below a cold intrusion.
    temperature = jnp.array([15.0, 20.0, 19.0, 20.0, 20.0])
    depth = mixed_layer_depth(temperature, grid)
    assert 3.0 < depth < 5.0


def test_water_that_is_warmer_below_ends_the_layer_too():
    grid = Grid.uniform(10.0, 5)
    # 20.2 degC lies three quarters of the way from the center at 5 m, 0.1 K colder, to that at 7 m.
    temperature = jnp.array([21.0, 20.3, 19.9, 20.0, 20.0])
    np.testing.assert_allclose(mixed_layer_depth(temperature, grid), 5.0 + 2.0 * 0.3 / 0.4, rtol=1e-12)
    mirrored = 40.0 - temperature
    np.testing.assert_allclose(mixed_layer_depth(mirrored, grid), 5.0 + 2.0 * 0.3 / 0.4, rtol=1e-12)


def test_without_crossing_there_is_no_depth_and_for_a_misfit_that_of_the_lowest_cell():
    grid = Grid.uniform(10.0, 5)
    for temperature in (jnp.full(5, 20.0), jnp.array([20.1, 20.15, 19.9, 20.2, 20.0])):
        assert np.isnan(mixed_layer_depth(temperature, grid))
        bounded = lambda t: mixed_layer_depth(t, grid, bounded=True)  # noqa: E731
        assert bounded(temperature) == 9.0
        assert np.all(gradient_of(temperature, grid) == 0.0)
        assert np.all(jax.grad(bounded)(temperature) == 0.0)
        assert np.isnan(bounded(temperature.at[2].set(jnp.nan)))  # a run that failed


def test_batch():
    grid = random_grid(62, 20)
    columns = [ramp(grid.z_center, mixed, 0.05) for mixed in (5.0, 10.0, 20.0)]
    together = mixed_layer_depth(jnp.stack(columns, axis=-1), grid.with_batch_rank(1))
    np.testing.assert_allclose(together, [depth_of(c, grid) for c in columns], rtol=1e-14)
