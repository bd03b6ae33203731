"""Reciprocals, roots and limits with a stated value and gradient at the edge."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics import at_least, at_most, quotient, reciprocal, safe_sqrt, vector_norm


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
