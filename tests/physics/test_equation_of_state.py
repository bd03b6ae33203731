"""Equations of state: published values, GSW, and derivatives."""

import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite import LinearEquationOfState
from tunax_lite.physics import SpecificVolumeTeos10, Teos10, surface_temperature

LINEAR = LinearEquationOfState(thermal_expansion=1.7e-4, haline_contraction=7.6e-4)
ALL = [LINEAR, Teos10()]
NAMES = [type(eos).__name__ for eos in ALL]


def arrays(*values):
    return tuple(jnp.asarray(value, dtype=float) for value in values)


def ocean(seed: int, n: int):
    """Warm shallow water and cold deep water: temperature, salinity, height."""
    rng = np.random.default_rng(seed)
    z = -(rng.uniform(0.0, 1.0, n) ** 3) * 5000.0
    temperature = rng.uniform(-1.0, 4.0 + 26.0 * np.exp(z / 500.0))
    return temperature, rng.uniform(32.0, 37.0, n), z


def test_linear_density_at_reference_and_away_from_it():
    zero = jnp.asarray(0.0)
    t0, s0 = LINEAR.reference_temperature, LINEAR.reference_salinity
    assert LINEAR.density(t0, s0, zero) == LINEAR.reference_density
    away = LINEAR.density(t0 + 10.0, s0 - 2.0, zero)
    np.testing.assert_allclose(away, 1027.0 * (1.0 - 1.7e-3 - 1.52e-3), rtol=1e-14)


@pytest.mark.parametrize("eos", ALL, ids=NAMES)
def test_expansion_is_the_derivative_of_density(eos):
    points = arrays(*ocean(60, 50))
    to_temperature, to_salinity = jax.jit(jax.vmap(jax.grad(eos.density, argnums=(0, 1))))(*points)
    alpha, beta = eos.expansion(*points)
    np.testing.assert_allclose(-to_temperature / eos.reference_density, alpha * np.ones(50), atol=1e-16)
    np.testing.assert_allclose(to_salinity / eos.reference_density, beta * np.ones(50), rtol=1e-12)


# T, S, z; density, -drho/dT, drho/dS: the first row is the published check value.
TEOS10_VALUES = [
    ((10.0, 30.0, -1000.0), (1027.45140, 0.179646281, 0.765555368)),
    ((3.0, 35.5, -3000.0), (1041.70619, 0.17263215, 0.769086447)),
    ((20.0, 35.0, 0.0), (1024.63955, 0.263307049, 0.750492149)),
    ((0.0, 35.0, -4000.0), (1046.18788, 0.168144463, 0.769188713)),
]


def test_teos10_has_the_published_values():
    eos = Teos10()
    for point, expected in TEOS10_VALUES:
        alpha, beta = eos.expansion(*arrays(*point))
        found = eos.density(*arrays(*point)), alpha * eos.reference_density, beta * eos.reference_density
        # The published table of the contraction is rounded in its tenth digit, and the values come from it.
        np.testing.assert_allclose(found, expected, rtol=1e-8)


# Ranges of salinity, temperature and depth; density [kg m-3] and fractions of expansion and contraction.
CLAIMED = {
    "upper": ((30, 40), (-2, 30), (0, 500), 4e-4, 0.01),
    "abyss": ((30, 40), (-2, 15), (500, 6000), 9e-4, 0.032),
    "trenches": ((33, 36), (-1, 5), (6000, 11000), 6e-3, 0.05),
    "brackish": ((5, 20), (-1, 25), (0, 200), 4e-4, 0.03),
}


def test_teos10_is_as_near_to_the_75_terms_as_its_page_says():
    for *ranges, of_density, fraction in CLAIMED.values():
        random = np.random.default_rng(0)
        salinity, temperature, depth = (random.uniform(low, high, 20000) for low, high in ranges)
        thermal, haline = gsw.alpha(salinity, temperature, depth), gsw.beta(salinity, temperature, depth)
        points, eos = arrays(temperature, salinity, -depth), Teos10()
        alpha, beta = eos.expansion(*points)
        # Near the temperature of the highest density a fraction of the expansion says nothing.
        large = np.abs(thermal) > 5e-5
        density = np.abs(eos.density(*points) - gsw.rho(salinity, temperature, depth)).max()
        off = max(np.abs(alpha / thermal - 1.0)[large].max(), np.abs(beta / haline - 1.0).max())
        assert density < of_density and off < fraction, (density, off)


def test_the_specific_volume_is_that_of_the_gibbs_sea_water_library():
    temperature, salinity, z = ocean(62, 500)
    salinity[:100] *= 0.3  # brackish
    points = arrays(temperature, salinity, z)
    eos = SpecificVolumeTeos10()
    alpha, beta = eos.expansion(*points)
    np.testing.assert_allclose(eos.density(*points), gsw.rho(salinity, temperature, -z), rtol=1e-14)
    np.testing.assert_allclose(alpha, gsw.alpha(salinity, temperature, -z), rtol=1e-12, atol=1e-17)
    np.testing.assert_allclose(beta, gsw.beta(salinity, temperature, -z), rtol=1e-12)
    single = eos.expansion(*(jnp.asarray(values, dtype=jnp.float32) for values in points))
    np.testing.assert_allclose(single[1], beta, rtol=2e-5)
    of_temperature = jax.jit(jax.grad(lambda t: eos.expansion(t, *arrays(18.0, -5.0))[0]))
    numeric = np.diff(gsw.alpha(18.0, np.array([7.99, 8.01]), 5.0))[0] / 0.02
    np.testing.assert_allclose(of_temperature(jnp.asarray(8.0)), numeric, rtol=1e-5)


def test_linear_is_tangent_to_teos10():
    linear = LinearEquationOfState.from_teos10(10.0, 35.0, 100.0, gravity=9.8)
    assert linear.gravity == 9.8
    density = gsw.rho(35.0, 10.0, 100.0) / 1027.0
    np.testing.assert_allclose(linear.thermal_expansion, density * gsw.alpha(35.0, 10.0, 100.0), rtol=1e-3)
    np.testing.assert_allclose(linear.haline_contraction, density * gsw.beta(35.0, 10.0, 100.0), rtol=2e-4)
    assert (linear.reference_temperature, linear.reference_salinity) == (10.0, 35.0)
    with error_naming(ValueError, "salinity pressure -1"):
        LinearEquationOfState.from_teos10(10.0, -1.0)


def test_surface_temperature_agrees_with_the_gibbs_sea_water_library():
    temperature, salinity = np.meshgrid(np.linspace(-2.0, 36.0, 77), np.linspace(0.0, 42.0, 43))
    exact = gsw.t_from_CT(salinity, temperature, 0.0)
    found = np.asarray(surface_temperature(jnp.asarray(temperature), jnp.asarray(salinity)))
    for least, error in ((0.0, 3e-3), (5.0, 1e-4), (28.0, 3e-6)):  # as the docstring says
        np.testing.assert_allclose(found[salinity >= least], exact[salinity >= least], atol=error)


def test_gradient_of_the_surface_temperature_is_that_of_the_library():
    slope = jax.grad(surface_temperature)(jnp.asarray(10.0), jnp.asarray(33.0))
    exact = (gsw.t_from_CT(33.0, 10.01, 0.0) - gsw.t_from_CT(33.0, 9.99, 0.0)) / 0.02
    np.testing.assert_allclose(slope, exact, atol=1e-4)
