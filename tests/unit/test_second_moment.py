"""The stability functions against published and independently computed numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite import KEpsilon, SecondMomentClosure

NAMES = ("cc1", "cc2", "cc3", "cc4", "cc5", "cc6", "ct1", "ct2", "ct3", "ct4", "ct5", "ctt")
SETS = {
    "Gibson-Launder": (3.6, 0.8, 1.2, 1.2, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8),
    "Mellor-Yamada": (6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.0, 0.0, 0.0, 0.0, 0.6102),
    "Kantha-Clayson": (6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.7, 0.7, 0.0, 0.2, 0.6102),
    "Luyten": (3.0, 0.8, 2.0, 1.118, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8),
    "Canuto A": (5.0, 0.8, 1.968, 1.136, 0.0, 0.4, 5.95, 0.6, 1.0, 0.0, 0.3333, 0.72),
    "Canuto B": (5.0, 0.6983, 1.9664, 1.094, 0.0, 0.495, 5.6, 0.6, 1.0, 0.0, 0.3333, 0.477),
    "Cheng": (5.0, 0.7983, 1.968, 1.136, 0.0, 0.5, 5.52, 0.2134, 0.357, 0.0, 0.3333, 0.82),
}
# c_mu_0, alpha_N of zero shear, alpha_M, c_mu and c_mu' of neutral equilibrium, c_eps_3 at a steady-state
# Richardson number of 0.25 (None: no equilibrium there), von Karman constant of k-epsilon.
EQUILIBRIA = {
    "Gibson-Launder": (0.58262, -1.4260, 8.6786, 0.11523, 0.17284, -0.3700, 0.4602),
    "Mellor-Yamada": (0.55491, -1.5990, 10.5469, 0.09481, 0.11922, None, 0.4383),
    "Kantha-Clayson": (0.55491, -1.7859, 10.5469, 0.09481, 0.11922, None, 0.4383),
    "Luyten": (0.54975, -1.3775, 10.9479, 0.09134, 0.12422, -0.9692, 0.4343),
    "Canuto A": (0.52646, -3.0564, 13.0174, 0.07682, 0.09034, -0.6209, 0.4159),
    "Canuto B": (0.55399, -3.5623, 10.6170, 0.09419, 0.09475, -0.5655, 0.4376),
    "Cheng": (0.52705, -2.7236, 12.9600, 0.07716, 0.09427, -0.7444, 0.4163),
}
COEFFICIENTS = ("n0", "n1", "n2", "b0", "b1", "b2", "d1", "d2", "d3", "d4", "d5")

every_set = pytest.mark.parametrize("name", SETS)


def closure(name):
    return SecondMomentClosure(**dict(zip(NAMES, SETS[name], strict=True)))


def close(found, published, digits):
    """Equal to a number printed with so many digits behind the point."""
    assert abs(float(found) - published) <= 0.51 * 10.0**-digits, (float(found), published)


def canuto_form(name):
    """The coefficients in the algebra of Canuto et al., which shares no term with that of the package."""
    cc1, cc2, cc3, cc4, _, cc6, ct1, ct2, ct3, _, ct5, ctt = SETS[name]
    a1, a2, a3 = cc1 / 2.0, cc3 / 2.0, cc6
    a4, a5 = 2.0 * cc3 / 3.0 - cc2, (cc3 - cc4) / 2.0
    b1, b2, b3, b4, bt = ct1, ct2, ct5, ct3 - ct2, 2.0 * ctt
    q = 3.0 * a5**2 + 6.0 * a5 * (1.0 - a2) + 2.0 * (1.0 - a2) ** 2
    w, y = 4.0 - 4.0 * a2 + 3.0 * a4, 2.0 - 2.0 * b2 - b4
    variance = a1 * bt * (1.0 - b3)
    n1 = b1 * variance * w - 2.0 * a1 * (1.0 - a3) * y + 4.0 * b1 * (1.0 - a3) * (a4 - a5)
    nb2 = a1 * b4 * w + 8.0 * a5 * b1 * (1.0 - a2 + a5) - 2.0 * a4 * b1 * (2.0 - 2.0 * a2 + 3.0 * a5)
    d3 = (
        a5 * b1 * (1.0 - a3) * (2.0 - 2.0 * a2 + a5)
        + b1 * variance * q
        + a1 * (1.0 - a3) * (3.0 * b4 * (1.0 - a2 + a5) - (1.0 - b2) * (2.0 - 2.0 * a2 + 3.0 * a5))
    )
    return {
        "n0": w / (6.0 * a1),
        "n1": n1 / (6.0 * a1**2 * b1**2),
        "n2": -b4 * w * y / (24.0 * a1 * b1**2),
        "b0": 2.0 / (3.0 * b1),
        "b1": 2.0 * (1.0 - a3) / (3.0 * a1 * b1**2),
        "b2": nb2 / (12.0 * a1**2 * b1**2),
        "d1": (7.0 * (1.0 - a3) + 3.0 * variance) / (3.0 * a1 * b1),
        "d2": q / (3.0 * a1**2) - b4 * y / (4.0 * b1**2),
        "d3": d3 / (3.0 * a1**3 * b1**2),
        "d4": (1.0 - a3) * (4.0 * (1.0 - a3) + 3.0 * variance) / (3.0 * a1**2 * b1**2),
        "d5": -b4 * y * q / (12.0 * a1**2 * b1**2),
    }


def test_default_is_canuto_a():
    default = {name: float(getattr(SecondMomentClosure(), name)) for name in NAMES}
    assert default == dict(zip(NAMES, SETS["Canuto A"], strict=True))


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
    for coefficient, value in canuto_form(name).items():
        # Round-off of sums with cancellation.
        np.testing.assert_allclose(
            getattr(functions, coefficient), value, rtol=1e-11, atol=1e-15, err_msg=coefficient
        )


@every_set
def test_neutral_equilibrium(name):
    c_mu_0, zero_shear, alpha_m, c_mu, c_mu_prime, _, von_karman = EQUILIBRIA[name]
    functions = closure(name).stability_functions()
    close(functions.c_mu_0, c_mu_0, 5)
    # Half of it is used: the instability limit.
    close(2.0 * functions.lowest_alpha_n, zero_shear, 4)
    found = functions.quasi_equilibrium(jnp.zeros(1))
    close(found[0][0], c_mu, 5)
    close(found[1][0], c_mu_prime, 5)
    # Production balances dissipation: c_mu alpha_M = 1, and c_mu = c_mu_0^4.
    close(1.0 / found[0][0], alpha_m, 4)
    np.testing.assert_allclose(found[0][0], functions.c_mu_0**4, rtol=1e-10)
    close(KEpsilon(second_moment=closure(name)).von_karman, von_karman, 4)


@pytest.mark.parametrize("name", [name for name in SETS if EQUILIBRIA[name][5] is not None])
def test_buoyancy_coefficient_from_the_steady_state_richardson_number(name):
    close(KEpsilon(second_moment=closure(name)).c_eps_3_stable, EQUILIBRIA[name][5], 4)


def test_buoyancy_coefficient_of_kantha_and_clayson_below_their_critical_number():
    turbulence = KEpsilon(steady_state_richardson_number=0.2, second_moment=closure("Kantha-Clayson"))
    close(turbulence.c_eps_3_stable, -0.5231, 4)


@pytest.mark.parametrize(
    ("name", "alpha_n", "alpha_m", "c_mu", "c_mu_prime"),
    [
        ("Canuto A", 1.0, 5.0, 0.086116, 0.084438),
        ("Canuto A", 5.0, 10.0, 0.063227, 0.047221),
        ("Canuto A", -1.0, 5.0, 0.102002, 0.128715),
        ("Canuto B", 1.0, 5.0, 0.102442, 0.091704),
        ("Cheng", 1.0, 5.0, 0.085763, 0.087664),
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
    for name in SETS:
        functions = closure(name).stability_functions()
        for values in functions.quasi_equilibrium(alpha_n):
            assert np.all(np.isfinite(values)) and np.all(values >= 0.0), name
        slopes = jax.vmap(jax.grad(lambda x, f=functions: jnp.add(*f.quasi_equilibrium(x[None]))[0]))(alpha_n)
        assert np.all(np.isfinite(slopes)), name


def test_parameters_may_differ_between_columns():
    cc1 = jnp.array([4.0, 5.0, 6.0])
    together = SecondMomentClosure(cc1=cc1).stability_functions()
    alpha_n = jnp.array([[-1.0], [2.0]])
    values = together.quasi_equilibrium(alpha_n)[0]
    assert values.shape == (2, 3)
    for i in range(3):
        alone = SecondMomentClosure(cc1=cc1[i]).stability_functions()
        np.testing.assert_allclose(values[:, i], alone.quasi_equilibrium(alpha_n[:, 0])[0], rtol=1e-13)
