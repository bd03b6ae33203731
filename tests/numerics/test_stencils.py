"""Differences, means and integrals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tests.helpers import order_of_accuracy
from tunax_lite import Grid
from tunax_lite.numerics import column_integral, difference, gradient, mean_of_neighbours, with_end_faces
from tunax_lite.numerics.elementary import inner_faces, sum_above


def test_straight_line_has_an_exact_gradient_on_any_grid():
    grid = random_grid(20, 10)
    np.testing.assert_allclose(gradient(3.0 * grid.z_center - 2.0, grid), 3.0, rtol=1e-12)


def test_gradient_is_of_second_order():
    sizes = [8, 16, 32, 64]
    errors = []
    for n in sizes:
        grid = Grid.uniform(1.0, n)
        slope = gradient(jnp.sin(3.0 * grid.z_center), grid)
        errors.append(np.max(np.abs(slope - 3.0 * np.cos(3.0 * np.asarray(grid.z_face[1:-1])))))
    assert abs(order_of_accuracy(1.0 / np.array(sizes), errors) - 2.0) < 0.1


def test_difference_and_mean_of_a_batch():
    values = jnp.array([[1.0, 10.0], [4.0, 20.0], [9.0, 60.0]])
    np.testing.assert_array_equal(difference(values), [[3.0, 10.0], [5.0, 40.0]])
    np.testing.assert_array_equal(mean_of_neighbours(values), [[2.5, 15.0], [6.5, 40.0]])


def test_end_faces():
    inner = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(
        with_end_faces(inner, 7.0, jnp.array([8.0, 9.0])), [[7.0, 7.0], [1.0, 2.0], [3.0, 4.0], [8.0, 9.0]]
    )


def test_integral_of_a_derivative_is_the_difference_of_the_ends():
    grid = random_grid(21, 10)
    z = np.asarray(grid.z_face)
    means = jnp.asarray(np.diff(np.exp(z / 10.0)) / np.diff(z))
    np.testing.assert_allclose(column_integral(means, grid), 1.0 - np.exp(-4.0), rtol=1e-13)


def test_sum_from_each_center_to_the_surface_is_that_of_its_column():
    half = jnp.array([[1.0, 10.0], [2.0, 20.0], [4.0, 0.5]])
    # By hand: half of the own cell, and the whole of those above.
    expected = np.array([[1.0 + 4.0 + 8.0, 10.0 + 40.0 + 1.0], [2.0 + 8.0, 20.0 + 1.0], [4.0, 0.5]])
    np.testing.assert_array_equal(sum_above(half), expected)
    np.testing.assert_array_equal(sum_above(half[:, 0]), expected[:, 0])
    slope = jax.grad(lambda x: jnp.sum(sum_above(x)[0]))(half)
    np.testing.assert_array_equal(slope, [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]])


STENCILS = {
    "inner_faces": (inner_faces, lambda x: x[1:-1]),
    "difference": (difference, lambda x: x[1:] - x[:-1]),
    "mean_of_neighbours": (mean_of_neighbours, lambda x: (x[1:] + x[:-1]) / 2.0),
}


@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.long
def test_a_stencil_has_the_derivatives_of_its_slices(name):
    stencil, slices = STENCILS[name]
    x, y = jnp.cos(jnp.arange(7.0)), jnp.sin(jnp.arange(28.0)).reshape(7, 4)

    def curved(function):
        return lambda x: jnp.sum(jnp.exp(function(x)))

    for derivative in (jax.grad, jax.hessian):
        expected = derivative(curved(slices))
        np.testing.assert_allclose(derivative(curved(stencil))(x), expected(x), rtol=1e-14, atol=1e-15)
        of_columns = jax.vmap(derivative(curved(stencil)), 1, -1)(y)
        np.testing.assert_allclose(of_columns, jax.vmap(expected, 1, -1)(y), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", ["difference"])
def test_one_column_widens_its_cotangents_in_a_loop_of_their_own(name):
    """Fused with what gives its values, a loop with a branch at the ends is not vectorised by jax 0.12."""

    def barriers(values):
        gradient = jax.grad(lambda x: jnp.sum(jnp.exp(STENCILS[name][0](x))))
        return str(jax.make_jaxpr(gradient)(values)).count("optimization_barrier")

    assert barriers(jnp.ones(7)) == 1
    assert barriers(jnp.ones((7, 4))) == 0
