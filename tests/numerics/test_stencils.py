"""Differences, means, integrals and regridding; reciprocals, roots and limits with their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics.elementary import (
    at_least,
    at_most,
    difference,
    inner_faces,
    mean_of_neighbours,
    quotient,
    reciprocal,
    safe_sqrt,
    sum_above,
    vector_norm,
)
from tunax_lite.numerics.regridding import regrid


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


def test_one_column_widens_its_cotangents_in_a_loop_of_their_own():
    """Fused with what gives its values, a loop with a branch at the ends is not vectorised by jax 0.12."""

    def barriers(values):
        gradient = jax.grad(lambda x: jnp.sum(jnp.exp(difference(x))))
        return str(jax.make_jaxpr(gradient)(values)).count("optimization_barrier")

    assert barriers(jnp.ones(7)) == 1
    assert barriers(jnp.ones((7, 4))) == 0


def test_means_over_cells_conserve_and_are_exact_for_a_linear_profile():
    random = np.random.default_rng(3)
    fine, coarse = (np.append(-100.0, np.append(np.sort(-100.0 * random.random(n)), 0.0)) for n in (40, 7))
    centers = [0.5 * (faces[1:] + faces[:-1]) for faces in (fine, coarse)]
    lines = [3.0 + 0.2 * z for z in centers]
    np.testing.assert_allclose(regrid(lines[0], fine, coarse), lines[1], rtol=1e-12)
    np.testing.assert_allclose(regrid(lines[1], coarse, fine), lines[0], rtol=1e-12)
    values = random.standard_normal((41, 3))
    for source, target, given in ((fine, coarse, values), (coarse, fine, values[:8])):
        means = regrid(given, source, target)
        np.testing.assert_allclose(np.diff(target) @ means, np.diff(source) @ given, rtol=1e-12)
    values[20] = np.nan
    covered = regrid(values[:, 0], fine, coarse)
    hidden = np.searchsorted(coarse, fine[20], side="right") - 1
    assert np.isnan(covered[hidden]) and np.isfinite(covered).sum() >= 5


def test_safe_sqrt_and_its_derivatives():
    for x, value, slope in ((4.0, 2.0, 0.25), (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)):
        assert safe_sqrt(jnp.asarray(x)) == value
        assert jax.grad(safe_sqrt)(x) == slope
        assert jax.jvp(safe_sqrt, (jnp.asarray(x),), (jnp.asarray(1.0),))[1] == slope


def test_vector_norm():
    x, y = jnp.array([3.0, 0.0, -5.0, 0.0]), jnp.array([-4.0, 2.0, 12.0, 0.0])
    np.testing.assert_allclose(vector_norm(x, y), [5.0, 2.0, 13.0, 0.0])
    slopes = jax.vmap(jax.grad(vector_norm, argnums=(0, 1)))(x, y)
    np.testing.assert_allclose(slopes[0], [0.6, 0.0, -5.0 / 13.0, 0.0])
    np.testing.assert_allclose(slopes[1], [-0.8, 1.0, 12.0 / 13.0, 0.0])


def test_reciprocal_and_its_derivatives():
    x = jnp.array([0.25, -2.0, 1e-30])
    np.testing.assert_array_equal(reciprocal(x), 1.0 / x)
    np.testing.assert_allclose(jax.vmap(jax.grad(reciprocal))(x), -1.0 / x**2, rtol=1e-15)
    np.testing.assert_allclose(jax.vmap(jax.grad(jax.grad(reciprocal)))(x[:2]), 2.0 / x[:2] ** 3, rtol=1e-15)
    assert "div" not in str(jax.make_jaxpr(jax.vjp(reciprocal, x)[1])(x))


def test_quotient_and_its_derivatives():
    x, y = jnp.asarray([3.0, -1e-12, 0.0]), jnp.asarray([0.5, 1e-10, -4.0])
    np.testing.assert_array_equal(quotient(x, y), x / y)
    by_x, by_y = jax.vmap(jax.grad(quotient, argnums=(0, 1)))(x, y)
    np.testing.assert_allclose(by_x, 1.0 / y, rtol=1e-15)
    np.testing.assert_allclose(by_y, -x / y**2, rtol=1e-15)
    _, forward = jax.jvp(quotient, (x, y), (y, x))
    np.testing.assert_allclose(forward, by_x * y + by_y * x, rtol=1e-15)


@pytest.mark.parametrize(("limit", "sign"), [(at_least, 1.0), (at_most, -1.0)])
def test_limits_and_their_derivatives(limit, sign):
    for beyond, slope in ((-1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        x = 2.0 + sign * beyond
        assert limit(jnp.asarray(x), 2.0) == (x if slope else 2.0)
        assert jax.grad(lambda x: limit(x, 2.0))(x) == slope
        assert jax.grad(lambda bound, x=x: limit(jnp.asarray(x), bound))(2.0) == 1.0 - slope
    assert jnp.isnan(limit(jnp.asarray(jnp.nan), 2.0))
