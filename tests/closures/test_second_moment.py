"""The stability functions against published and independently computed numbers."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.turbulence_numpy import SETS, SecondMoments
from tests.errors import error_naming
from tunax_lite import KEpsilon, SecondMomentClosure, iterate_parameters
from tunax_lite.closures import KOmega, MellorYamada
from tunax_lite.closures.stability import Flow


class Equilibrium(NamedTuple):
    """Computed independently from the formulas of Umlauf and Burchard (2005)."""

    c_mu_0: float
    shear_free: float
    zero_shear: float  # alpha_N
    alpha_m: float  # of neutral equilibrium, as the next two
    c_mu: float
    c_mu_prime: float
    critical_ri: float
    c_eps_3: float | None  # these three for a steady state at Ri = 0.25; None: no equilibrium there
    c_omega_3: float | None
    e_3: float | None
    kappa_epsilon: float
    kappa_omega: float


EQUILIBRIA = {
    name: Equilibrium(*numbers)
    for name, numbers in {
        "gibson_launder": (0.58262, 0.74909, -1.4260, 8.6786, 0.11523, 0.17284)
        + (0.467, -0.3700, -0.4933, 4.817, 0.4602, 0.4344),
        "mellor_yamada": (0.55491, 0.98843, -1.5990, 10.5469, 0.09481, 0.11922)
        + (0.194, None, None, None, 0.4383, 0.4138),
        "kantha_clayson": (0.55491, 0.98843, -1.7859, 10.5469, 0.09481, 0.11922)
        + (0.2416, None, None, None, 0.4383, 0.4138),
        "luyten": (0.54975, 1.06998, -1.3775, 10.9479, 0.09134, 0.12422)
        + (0.2833, -0.9692, -0.8403, 5.815, 0.4343, 0.4099),
        "canuto_a": (0.52646, 0.73101, -3.0564, 13.0174, 0.07682, 0.09034)
        + (0.843, -0.6209, -0.6386, 5.235, 0.4159, 0.3926),
        "canuto_b": (0.55399, 0.74701, -3.5623, 10.6170, 0.09419, 0.09475)
        + (1.023, -0.5655, -0.6065, 5.143, 0.4376, 0.4131),
        "cheng": (0.52705, 0.73091, -2.7236, 12.9600, 0.07716, 0.09427)
        + (0.960, -0.7444, -0.7101, 5.441, 0.4163, 0.3930),
    }.items()
}
COEFFICIENTS = ("n0", "n1", "n2", "b0", "b1", "b2", "d1", "d2", "d3", "d4", "d5")

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


def test_published_coefficients_of_canuto_a():
    functions = SecondMomentClosure().stability_functions()
    published = (
        (0.10667, 0.01734, -0.00012052)
        + (0.11204, 0.0045195, 0.00088713)
        + (0.25547, 0.028716, 0.0052225, 0.0086777, -3.372e-5)
    )
    for name, value in zip(COEFFICIENTS, published, strict=True):
        # Burchard and Bolding (2001) give four or five digits.
        np.testing.assert_allclose(getattr(functions, name), value, rtol=1e-4, err_msg=name)


@every_set
def test_coefficients_equal_those_of_another_algebra(name):
    functions = closure(name).stability_functions()
    for info in iterate_parameters(closure(name)):
        assert info.valid_range[0] <= float(info.value) <= info.valid_range[1], info.path
    for coefficient, value in SecondMoments(name).coefficients().items():
        # Round-off of sums with cancellation.
        np.testing.assert_allclose(
            getattr(functions, coefficient), value, rtol=1e-11, atol=1e-15, err_msg=coefficient
        )


@every_set
def test_neutral_equilibrium(name):
    expected, functions = EQUILIBRIA[name], closure(name).stability_functions()
    close(functions.c_mu_0, expected.c_mu_0, 5)
    close(functions.c_mu_shear_free, expected.shear_free, 5)
    # Half of it is used: the instability limit.
    close(2.0 * functions.lowest_alpha_n, expected.zero_shear, 4)
    found = functions.quasi_equilibrium(jnp.zeros(1))
    close(found[0][0], expected.c_mu, 5)
    close(found[1][0], expected.c_mu_prime, 5)
    # Production balances dissipation: c_mu alpha_M = 1, and c_mu = c_mu_0^4.
    close(1.0 / found[0][0], expected.alpha_m, 4)
    np.testing.assert_allclose(found[0][0], functions.c_mu_0**4, rtol=1e-10)
    close(functions.critical_richardson_number, expected.critical_ri, 3)


@every_set
def test_von_karman_constants(name):
    close(KEpsilon(stability=closure(name)).von_karman, EQUILIBRIA[name].kappa_epsilon, 4)
    close(KOmega(stability=closure(name)).von_karman, EQUILIBRIA[name].kappa_omega, 4)


@pytest.mark.parametrize("name", [name for name in SETS if EQUILIBRIA[name].e_3 is not None])
def test_buoyancy_coefficients_from_the_steady_state_richardson_number(name):
    expected, stability = EQUILIBRIA[name], closure(name)
    close(KEpsilon(stability=stability).c_eps_3_stable, expected.c_eps_3, 4)
    close(KOmega(stability=stability).c_omega_3_stable, expected.c_omega_3, 4)
    yamada = MellorYamada(stability=stability, steady_state_richardson_number=0.25)
    close(yamada.e_3_stable, expected.e_3, 3)


def test_buoyancy_coefficient_of_kantha_and_clayson_below_their_critical_number():
    turbulence = KEpsilon(steady_state_richardson_number=0.2, stability=closure("kantha_clayson"))
    close(turbulence.c_eps_3_stable, -0.5231, 4)


@pytest.mark.parametrize(
    ("name", "alpha_n", "alpha_m", "c_mu", "c_mu_prime"),
    [
        ("canuto_a", 1.0, 5.0, 0.086116, 0.084438),
        ("canuto_a", 5.0, 10.0, 0.063227, 0.047221),
        ("canuto_a", -1.0, 5.0, 0.102002, 0.128715),
        ("canuto_b", 1.0, 5.0, 0.102442, 0.091704),
        ("cheng", 1.0, 5.0, 0.085763, 0.087664),
    ],
)
def test_values_at_given_stability_and_shear(name, alpha_n, alpha_m, c_mu, c_mu_prime):
    found = closure(name).stability_functions()(jnp.array([alpha_n]), jnp.array([alpha_m]))
    close(found[0][0], c_mu, 6)
    close(found[1][0], c_mu_prime, 6)


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


@every_set
def test_quasi_equilibrium_balances_production_and_dissipation(name):
    functions = closure(name).stability_functions()
    alpha_n = jnp.linspace(float(functions.lowest_alpha_n), 0.5, 9)
    c_mu, c_mu_prime = functions.quasi_equilibrium(alpha_n)
    alpha_m = (1.0 + c_mu_prime * alpha_n) / c_mu
    general = functions(alpha_n, alpha_m)
    np.testing.assert_allclose(general[0], c_mu, rtol=1e-9)
    np.testing.assert_allclose(general[1], c_mu_prime, rtol=1e-9)


def test_weak_equilibrium_takes_the_shear_of_the_flow_up_to_its_limit():
    functions = closure("canuto_a").stability_functions()
    weak = SecondMomentClosure(equilibrium="weak").stability_functions()
    frequency_squared, n_squared = jnp.array([0.25]), jnp.array([0.25])
    found = weak.in_flow(Flow(frequency_squared, n_squared, jnp.array([1.25])))
    close(found[0][0], 0.086116, 6)  # alpha_N = 1, alpha_M = 5
    close(found[1][0], 0.084438, 6)

    # The stress alpha_M^(1/2) c_mu grows up to the limit; there alpha_M N_n' / D' = c_mu by its formula.
    n = np.array([getattr(functions, f"n{i}") for i in range(3)], dtype=float)
    d = np.array([1.0] + [getattr(functions, f"d{i}") for i in range(1, 6)], dtype=float)
    for alpha_n in (-1.4, 0.0, 3.0, 50.0):
        cubic = n[0] + (n[1] + d[1] * n[0]) * alpha_n + (d[1] * n[1] + d[4] * n[0]) * alpha_n**2
        cubic += d[4] * n[1] * alpha_n**3
        square = d[2] * n[0] + (d[2] * n[1] + d[3] * n[0]) * alpha_n + d[3] * n[1] * alpha_n**2
        highest = cubic / square
        below, at, above = (
            functions.weak_equilibrium(jnp.array([alpha_n]), jnp.array([fraction * highest]))[0][0]
            for fraction in (0.9, 1.0, 7.0)
        )
        assert below > at and above == at, alpha_n


def test_closed_water_and_calm_water_give_finite_weak_equilibrium():
    values = jnp.concatenate([-jnp.geomspace(1e-12, 1e8, 9), jnp.zeros(1), jnp.geomspace(1e-12, 1e12, 13)])
    shear = jnp.abs(values)[:, None] * jnp.ones_like(values)
    point, ones = (values[None, :] + 0.0 * shear, shear), (jnp.ones_like(shear), jnp.ones_like(shear))
    values_and_slopes = eqx.filter_jit(lambda functions: jax.jvp(functions.weak_equilibrium, point, ones))
    for name in SETS:
        found, slopes = values_and_slopes(closure(name).stability_functions())
        assert np.all(np.isfinite(found)) and np.all(np.isfinite(slopes)), name
        assert np.min(found) >= 0.0, name


def test_unstable_limit_holds_value_and_stops_the_gradient():
    functions = SecondMomentClosure().stability_functions()
    low = functions.lowest_alpha_n

    def value(x):
        return jnp.add(*functions.quasi_equilibrium(x[None]))[0]

    assert value(10.0 * low) == value(low)
    assert jax.grad(value)(10.0 * low) == 0.0
    assert np.isfinite(jax.grad(value)(0.5 * low))


def test_functions_are_finite_and_not_negative_everywhere():
    alpha_n = jnp.concatenate([-jnp.geomspace(1e-12, 1e8, 15), jnp.zeros(1), jnp.geomspace(1e-12, 1e12, 25)])

    # In reverse mode, which sees what a switch does not take.
    @eqx.filter_jit
    def values_and_slopes(functions):
        slope = jax.grad(lambda x: jnp.add(*functions.quasi_equilibrium(x[None]))[0])
        return jnp.stack(functions.quasi_equilibrium(alpha_n)), jax.vmap(slope)(alpha_n)

    for name in SETS:
        values, slopes = values_and_slopes(closure(name).stability_functions())
        assert np.all(np.isfinite(values)) and np.all(values >= 0.0), name
        assert np.all(np.isfinite(slopes)), name
