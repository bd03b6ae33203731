"""Fixed points against roots in closed form, with their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics.fixed_point import fixed_point

FACTORS = jnp.asarray([-0.9, -0.3, 0.0, 0.2, 0.7])


def solved(factor, shift, number=400):
    """x = factor sin(x) + shift, y = factor x y / 4 + 1, of which the second is 1 / (1 - factor x / 4)."""

    def function(values):
        x, y = values
        return factor * jnp.sin(x) + shift, 0.25 * factor * x * y + 1.0

    return fixed_point(function, (jnp.ones_like(factor), jnp.ones_like(factor)), number)


def test_it_solves_each_column_and_knows_its_derivatives():
    shift = jnp.asarray(0.8)
    x, y = solved(FACTORS, shift)
    np.testing.assert_allclose(x, FACTORS * jnp.sin(x) + shift, rtol=1e-11)
    np.testing.assert_allclose(y, 1.0 / (1.0 - 0.25 * FACTORS * x), rtol=1e-11)
    # dx (1 - factor cos x) = sin(x) dfactor + dshift, by hand.
    slope = 1.0 / (1.0 - FACTORS * jnp.cos(x))
    for transform in (jax.jacfwd, jax.jacrev):
        by_factor, by_shift = transform(lambda *args: solved(*args)[0], argnums=(0, 1))(FACTORS, shift)
        np.testing.assert_allclose(by_factor, jnp.diag(jnp.sin(x) * slope), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(by_shift, slope, rtol=1e-10)
    by_factor = jax.jacrev(lambda factor: solved(factor, shift)[1])(FACTORS)
    expected = 0.25 * y * y * (x + FACTORS * jnp.sin(x) * slope)
    np.testing.assert_allclose(jnp.diag(by_factor), expected, rtol=1e-10)


def test_evaluations_are_limited_and_few():
    evaluations = []

    def function(values):
        jax.debug.callback(lambda: evaluations.append(1))
        return (0.1 * jnp.cos(values[0]) + 1.0,)

    found = fixed_point(function, (jnp.ones(()),), 100)[0]
    jax.effects_barrier()
    assert found == pytest.approx(1.0 + 0.1 * np.cos(found), rel=1e-12)
    # The iterations without use of the one before gain a digit each: 12.
    assert len(evaluations) <= 7
    evaluations.clear()
    fixed_point(function, (jnp.ones(()),), 2)
    jax.effects_barrier()
    assert len(evaluations) == 2


def test_what_is_not_a_number_stays_so():
    x, _ = solved(jnp.asarray([0.3, jnp.nan]), jnp.asarray(0.8))
    assert np.isfinite(x[0]) and np.isnan(x[1])
