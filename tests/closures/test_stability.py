"""Stability functions against published and independently computed numbers; mixing by internal waves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import closure_inputs
from tests.closures.turbulence_numpy import SETS, SecondMoments
from tests.errors import error_naming
from tunax_lite import Grid, KEpsilon, SecondMomentClosure, closures, iterate_parameters
from tunax_lite.closures.stability import Flow

# From the formulas of Umlauf and Burchard (2005).
CRITICAL_RICHARDSON_NUMBERS = dict(zip(SETS, (0.467, 0.194, 0.2416, 0.2833, 0.843, 1.023, 0.96), strict=True))

every_set = pytest.mark.parametrize("name", SETS)


def closure(name):
    return SecondMomentClosure.of(name)


def close(found, published, digits):
    """Equal to a number printed with so many digits behind the point."""
    assert abs(float(found) - published) <= 0.51 * 10.0**-digits, (float(found), published)


def test_sets_are_chosen_by_name():
    assert eqx.tree_equal(SecondMomentClosure(), closure("canuto_a"))
    other = SecondMomentClosure.of("cheng", ctt=0.8, equilibrium="weak")
    assert (float(other.ctt), float(other.ct1), other.equilibrium) == (0.8, 5.52, "weak")
    with error_naming(ValueError, "set gibson_launder canuto"):
        SecondMomentClosure.of("canuto")
    with error_naming(ValueError, "equilibrium quasi weak strong"):
        SecondMomentClosure(equilibrium="strong")


@every_set
def test_coefficients_equal_those_of_another_algebra(name):
    functions = closure(name).stability_functions()
    for info in iterate_parameters(closure(name)):
        assert info.valid_range[0] <= float(info.value) <= info.valid_range[1], info.path
    expected = SecondMoments(name).coefficients()
    found = [getattr(functions, coefficient) for coefficient in expected]
    # Round-off of sums with cancellation.
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-11, atol=1e-15)
    if name == "canuto_a":  # Burchard and Bolding (2001) give four or five digits
        published = (0.10667, 0.01734, -0.00012052, 0.11204, 0.0045195, 0.00088713)
        published += (0.25547, 0.028716, 0.0052225, 0.0086777, -3.372e-5)
        np.testing.assert_allclose(found, published, rtol=1e-4)


@every_set
def test_neutral_equilibrium(name):
    expected, functions = SecondMoments(name), closure(name).stability_functions()
    found = functions.c_mu_0, functions.c_mu_shear_free, functions.lowest_alpha_n
    theirs = expected.c_mu_0, expected.shear_free, expected.lowest_alpha_n
    np.testing.assert_allclose(found, theirs, rtol=1e-9)
    c_mu, c_mu_prime = functions.quasi_equilibrium(jnp.zeros(1))
    ours = c_mu[0], c_mu_prime[0]
    np.testing.assert_allclose(ours, np.ravel(expected.in_flow(np.zeros(1), np.zeros(1))), rtol=1e-9)
    # Production balances dissipation: c_mu alpha_M = 1, and c_mu = c_mu_0^4.
    np.testing.assert_allclose(c_mu[0], functions.c_mu_0**4, rtol=1e-10)
    close(functions.critical_richardson_number, CRITICAL_RICHARDSON_NUMBERS[name], 3)


def test_published_constants():
    """Canuto's model A, and Kantha and Clayson's below their critical number (Umlauf and Burchard 2005)."""
    functions = SecondMomentClosure().stability_functions()
    of_length = closures.MellorYamada(stability=SecondMomentClosure(), steady_state_richardson_number=0.25)
    below = KEpsilon(steady_state_richardson_number=0.2, stability=closure("kantha_clayson"))
    for found, published, digits in (
        (functions.c_mu_0, 0.52646, 5),
        (functions.c_mu_shear_free, 0.73101, 5),
        (2.0 * functions.lowest_alpha_n, -3.0564, 4),  # half of it is used: the instability limit
        (KEpsilon().von_karman, 0.4159, 4),
        (closures.KOmega().von_karman, 0.3926, 4),
        (KEpsilon().c_3_stable, -0.6209, 4),
        (closures.KOmega().c_3_stable, -0.6386, 4),
        (2.0 * of_length.c_3_stable, 5.235, 3),
        (below.c_3_stable, -0.5231, 4),
    ):
        close(found, published, digits)


def test_equilibrium_at_a_richardson_number_of_a_quarter():
    functions = SecondMomentClosure().stability_functions()
    alpha_n, alpha_m = 6.7329, 26.9316
    c_mu, c_mu_prime = functions.quasi_equilibrium(jnp.array([alpha_n]))
    close(c_mu[0], 0.04578, 5)
    close(c_mu_prime[0], 0.03459, 5)
    # The same by the general form, so the shear number of quasi-equilibrium is the published one.
    general = functions(jnp.array([alpha_n]), jnp.array([alpha_m]))
    np.testing.assert_allclose(c_mu, general[0], rtol=1e-5)
    np.testing.assert_allclose(c_mu_prime, general[1], rtol=1e-5)
    close(functions.equilibrium_ratio(0.25), 1.3234, 4)


def test_functions_are_finite_and_not_negative_everywhere():
    alpha_n = jnp.concatenate([-jnp.geomspace(1e-12, 1e8, 15), jnp.zeros(1), jnp.geomspace(1e-12, 1e12, 25)])
    shear = jnp.abs(alpha_n)[:, None] * jnp.ones_like(alpha_n)
    point, ones = (alpha_n + 0.0 * shear, shear), (jnp.ones_like(shear), jnp.ones_like(shear))

    # In reverse mode, which sees what a switch does not take.
    @eqx.filter_jit
    def values_and_slopes(functions):
        slope = jax.grad(lambda x: jnp.add(*functions.quasi_equilibrium(x[None]))[0])
        quasi = jnp.stack(functions.quasi_equilibrium(alpha_n)), jax.vmap(slope)(alpha_n)
        return quasi, jax.jvp(lambda *point: functions(*functions.limited(*point)), point, ones)

    for name in SETS:
        for values, slopes in values_and_slopes(closure(name).stability_functions()):
            assert np.all(np.isfinite(values)) and np.all(np.asarray(values) >= 0.0), name
            assert np.all(np.isfinite(slopes)), name


# Functions of first order.

RI = np.array([-5.0, -1e-3, 0.0, 0.02, 0.1, 0.25, 0.6, 1.0, 2.0, 50.0])
STABLE = np.maximum(RI, 0.0)
PRANDTL = {
    closures.ConstantStability: np.full(RI.shape, 0.74),
    closures.MunkAndersonStability: 0.74 * (1.0 + 3.33 * STABLE) ** 1.5 / np.sqrt(1.0 + 10.0 * STABLE),
    closures.SchumannGerz: np.minimum(3.0, 0.74 * np.exp(-STABLE / (0.74 * 0.25)) + STABLE / 0.25),
}


@pytest.mark.parametrize("kind", PRANDTL)
def test_functions_follow_from_the_prandtl_number(kind):
    expected, functions = PRANDTL[kind], kind().stability_functions()
    s_squared = jnp.full(RI.shape, 1e-4)
    # (S k/eps)² = 1: GOTM adds 1e-8 to it.
    c_mu, c_mu_prime = functions.in_flow(Flow(jnp.full(RI.shape, 1e-4), s_squared * RI, s_squared))
    np.testing.assert_allclose(c_mu, 0.5477**4, rtol=1e-12)
    np.testing.assert_allclose(c_mu / c_mu_prime, expected, rtol=2e-8)
    assert (float(functions.c_mu_0), float(functions.c_mu_shear_free)) == (0.5477, 0.5477)


@pytest.mark.parametrize("kind", [closures.MunkAndersonStability, closures.SchumannGerz])
def test_gradients_are_finite_in_calm_water_too(kind):
    functions = kind().stability_functions()

    @jax.jit
    def both(n_squared, s_squared):
        return jnp.stack(functions.in_flow(Flow(jnp.asarray([1e-6]), n_squared[None], s_squared[None])))

    slopes = jax.jit(jax.jacfwd(both, argnums=(0, 1)))
    for n_squared, s_squared in ((3e-5, 1e-4), (-3e-5, 1e-4), (0.0, 0.0), (1e-4, 0.0), (-1e-4, 0.0)):
        arguments = jnp.asarray(n_squared), jnp.asarray(s_squared)
        assert np.all(np.isfinite(both(*arguments)))
        assert all(np.all(np.isfinite(x)) for x in slopes(*arguments))


def test_buoyancy_coefficient_with_a_constant_prandtl_number():
    # GOTM prints 0.0101 for its case of breaking waves.
    closure = closures.KOmega(stability=closures.ConstantStability())
    np.testing.assert_allclose(closure.c_3_stable, 0.833 + (0.555 - 0.833) / 0.25 * 0.74, rtol=1e-12)
    np.testing.assert_allclose(closure.von_karman, 0.4084, atol=5e-5)


def test_background_mixing_where_turbulence_is_weak():
    tke = jnp.asarray([1e-7, 1e-6, 2e-6, 1e-7, 1e-7, 1e-7])
    s_squared = jnp.asarray([1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 0.0])
    n_squared = jnp.asarray([0.35, 0.35, 0.35, 0.8, -0.2, 0.0]) * 1e-4
    old = jnp.full(6, 3e-3)
    inputs = closure_inputs(Grid.uniform(7.0, 7), n_squared, s_squared)
    viscosity, diffusivity = closures.BackgroundMixing().mix((old, 0.5 * old), tke, inputs)
    # Ri = 0.35 is half the critical number: (1 - 1/4)³.
    shear = 5e-3 * np.array([0.421875, 0.421875, 0.0, 0.0, 1.0, 1.0])
    weak = np.array([True, True, False, True, True, True])
    np.testing.assert_allclose(viscosity, np.where(weak, 1e-4 + shear, 3e-3), rtol=1e-5)
    np.testing.assert_allclose(diffusivity, np.where(weak, 1e-5 + shear, 1.5e-3), rtol=1e-5)
