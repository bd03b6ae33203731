"""Roots with a stated value and gradient at the edge."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics import safe_sqrt, vector_norm


@pytest.mark.parametrize(("x", "value", "slope"), [(4.0, 2.0, 0.25), (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0)])
def test_safe_sqrt_and_its_derivatives(x, value, slope):
    assert safe_sqrt(jnp.asarray(x)) == value
    assert jax.grad(safe_sqrt)(x) == slope
    assert jax.jvp(safe_sqrt, (jnp.asarray(x),), (jnp.asarray(1.0),))[1] == slope


def test_vector_norm():
    x, y = jnp.array([3.0, 0.0, -5.0, 0.0]), jnp.array([-4.0, 2.0, 12.0, 0.0])
    np.testing.assert_allclose(vector_norm(x, y), [5.0, 2.0, 13.0, 0.0])
    slopes = jax.vmap(jax.grad(vector_norm, argnums=(0, 1)))(x, y)
    np.testing.assert_allclose(slopes[0], [0.6, 0.0, -5.0 / 13.0, 0.0])
    np.testing.assert_allclose(slopes[1], [-0.8, 1.0, 12.0 / 13.0, 0.0])
