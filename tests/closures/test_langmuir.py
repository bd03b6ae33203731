"""Langmuir turbulence in the equations for second moments. Against GOTM: `test_gotm_folders`."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.closures.turbulence_numpy import SecondMoments
from tunax_lite.closures import Harcourt
from tunax_lite.closures.stability import Flow, Waves

A_1, A_2, B_1, B_2, C_1, C_2, C_3 = 0.92, 0.74, 16.6, 10.1, 0.08, 0.7, 0.2
FUNCTIONS = Harcourt().stability_functions()
in_waves = eqx.filter_jit(lambda functions, *arguments: functions.in_waves(*arguments))
FACTOR = 4.0 / B_1  # sqrt(2) c_mu0³ for c_mu0³ = 2^(3/2) / B_1
U, V, W = range(3)


def second_moments(n_squared, shear, stokes):
    """Stress, flux of buoyancy and its variance for q = l = 1 from the ten linear equations."""
    pairs = [(U, U), (V, V), (W, W), (U, V), (U, W), (V, W)]
    at = {pair: n for n, pair in enumerate(pairs)} | {pair[::-1]: n for n, pair in enumerate(pairs)}
    flux, variance = {U: 6, V: 7, W: 8}, 9
    gradient, waves = (*shear, 0.0), stokes
    matrix, rhs = np.zeros((10, 10)), np.zeros(10)
    for row, (i, j) in enumerate(pairs):
        matrix[row, row] += 1.0 / (3.0 * A_1)
        rhs[row] = (1.0 / (9.0 * A_1) - 2.0 / (3.0 * B_1)) * (i == j)
        for first, second in ((i, j), (j, i)):
            matrix[row, at[first, W]] += gradient[second]
            if second == W:  # the vortex force acts on the vertical motion, and so does buoyancy
                rhs[row] += C_1 * gradient[first]
                matrix[row, flux[first]] -= 1.0
                for k in (U, V):
                    matrix[row, at[first, k]] += waves[k]
    for i in (U, V, W):
        row = flux[i]
        matrix[row, row] += 1.0 / (3.0 * A_2)
        matrix[row, at[i, W]] += n_squared
        matrix[row, flux[W]] += (1.0 - C_2) * gradient[i]
    matrix[flux[W], [flux[U], flux[V], variance]] += [*waves, -(1.0 - C_3)]
    matrix[variance, [variance, flux[W]]] += [1.0, B_2 * n_squared]
    return np.linalg.solve(matrix, rhs)


def denominator(g_h, g_v):
    """Where it vanishes the flux of buoyancy has no bound."""
    momentum = 1.0 - 9.0 * A_1 * A_2 * g_h - 36.0 * A_1**2 * g_v
    heat = 1.0 - 3.0 * A_2 * (6.0 * A_1 + B_2 * (1.0 - C_3)) * g_h
    r_0, r_h = -9.0 * A_2**2 * (1.0 - C_2), -162.0 * A_1**2 * A_2 * (2.0 * A_1 + (2.0 - C_2) * A_2)
    return momentum * heat + (r_0 + r_h * g_h + 324.0 * A_1**2 * A_2**2 * (1.0 - C_2) * g_v) * g_v


def largest_fraction(function):
    """Smallest positive zero of a quadratic function, at most 1."""
    roots = np.roots(np.polyfit([0.0, 1.0, 2.0], [function(r) for r in (0.0, 1.0, 2.0)], 2))
    positive = [root.real for root in roots if abs(root.imag) < 1e-12 and root.real > 0.0]
    return min([1.0, *positive])


def functions_in(n_squared, shear, stokes, proximity, dtype: Any = float):
    """S_M, S_H and F S_S for l = q = 1, below a layer of which F has given values."""
    n = len(n_squared)
    one = jnp.ones(n, dtype)
    waves = Waves(
        shear=jnp.asarray(np.sum(shear * stokes, axis=1), dtype),
        shear_squared=jnp.asarray(np.sum(stokes**2, axis=1), dtype),
        production=one,
        length=one,
        depth=jnp.asarray(4.0 * np.arctanh(proximity), dtype),
        spacing=one,
    )
    frequency_squared = (2.0 / B_1) ** 2 * one
    functions = jax.tree.map(lambda leaf: leaf.astype(dtype), FUNCTIONS)
    found = in_waves(functions, Flow(frequency_squared, jnp.asarray(n_squared, dtype), one), waves)
    return np.stack(found) / FACTOR


def random_forcing(seed, n, n_squared, largest):
    rng = np.random.default_rng(seed)
    shear, stokes = rng.uniform(-largest, largest, (2, n, 2))
    return rng.uniform(n_squared[0], n_squared[1], n), shear, stokes, rng.uniform(0.05, 0.999, n)


def test_functions_solve_the_equations_of_the_stresses():
    n_squared, shear, stokes, proximity = random_forcing(3, 60, (-0.2, 0.4), 0.3)
    found = functions_in(n_squared, shear, stokes, proximity)
    limited = 0
    for i, (n2, current, waves, f) in enumerate(zip(n_squared, shear, stokes, proximity, strict=True)):
        shrink = min(1.0, 0.28 / max(n2, 0.28))
        g_h, g_v = -shrink * n2, shrink * float(current @ waves)
        fraction = 1.0
        if g_v > 0.0:
            fraction = largest_fraction(lambda r, h=g_h, v=g_v: denominator(r * h + 0.003, r * v + 0.006))
        if g_h > 0.0:
            fraction = min(
                fraction, largest_fraction(lambda r, h=g_h, v=f * g_v: denominator(2.0 * r * h, r * v))
            )
        limited += fraction < 1.0
        root = np.sqrt(shrink * fraction)
        moments = second_moments(root**2 * n2, root * current, root * f * waves)
        wanted = np.linalg.solve(-root * np.stack([current, f * waves], axis=1), moments[4:6])
        s_h = -moments[8] / (root**2 * n2)
        # Beyond its bounds the second moments are not realisable.
        expected = np.clip([wanted[0], s_h, wanted[1]], 0.0, 2.12) * np.array([1.0, 1.0, f])
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-8, atol=1e-10)
    assert 10 < limited < 50


def test_proximity_grows_with_depth_over_the_length_where_waves_produce():
    rng = np.random.default_rng(5)
    production, length, spacing = rng.normal(0.0, 1e-6, 12), rng.uniform(0.5, 3.0, 12), rng.uniform(1, 2, 12)
    depth = np.cumsum(spacing)[::-1].copy()
    zero = jnp.zeros(12)
    waves = Waves(zero, zero, *(jnp.asarray(x) for x in (production, length, depth, spacing)))
    weight = np.maximum(production, 0.0) * spacing
    mean = np.sum(weight * length) / np.sum(weight)
    np.testing.assert_allclose(FUNCTIONS.surface_proximity(waves), np.tanh(0.25 * depth / mean), rtol=1e-12)
    none = FUNCTIONS.surface_proximity(waves._replace(production=-jnp.abs(waves.production)))
    np.testing.assert_array_equal(none, 1.0)


def test_functions_and_their_gradients_are_bounded():
    inputs = random_forcing(7, 200, (-1e3, 1e3), 30.0)
    for dtype in (np.float64, np.float32):
        found = functions_in(*inputs, dtype=dtype)
        assert found.dtype == dtype and np.all((found >= 0.0) & (found <= 2.1201))

    def total(n_squared, shear):
        one = jnp.ones_like(n_squared)
        waves = Waves(shear, 0.3 * one, shear, one, one, one)
        values = FUNCTIONS.in_waves(Flow(one / 69.0, n_squared, one), waves)
        return sum(jnp.sum(c) for c in values if c is not None)

    edges = jnp.asarray([0.0, 0.28, -1e3, 1e3, 0.0, 0.1])
    gradient = jax.jit(jax.grad(total, argnums=(0, 1)))(edges, jnp.asarray([0.0, 0.0, 1e3, -1e3, 0.02, 0.0]))
    assert np.all(np.isfinite(np.stack(gradient)))


def test_without_waves_they_are_those_of_kantha_and_clayson():
    known = SecondMoments("kantha_clayson")
    numbers = FUNCTIONS.c_mu_0, FUNCTIONS.c_mu_shear_free, FUNCTIONS.equilibrium_ratio(0.2)
    # The constants of that set are rounded ones of the same model.
    expected = known.c_mu_0, known.shear_free, known.equilibrium_ratio(0.2)
    np.testing.assert_allclose(numbers, expected, rtol=6e-3)
    n_squared = np.array([-1e-6, 0.0, 1e-4, 1e-3])
    ours = FUNCTIONS.in_flow(Flow(jnp.full(4, 0.01), jnp.asarray(n_squared), jnp.asarray(n_squared)))
    theirs = known.in_flow(100.0 * n_squared, 100.0 * n_squared)
    np.testing.assert_allclose(np.stack(ours), np.stack(theirs), rtol=6e-3)
