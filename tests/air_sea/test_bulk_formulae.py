"""Bulk formulae against published values, a second implementation, and central differences."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.air_sea.bulk_numpy import coare, fairall, humidity_of, saturation
from tests.helpers import some_long
from tunax_lite.air_sea import Coare36, Fairall, Kondo, LargeYeager
from tunax_lite.air_sea.air import (
    MoistAir,
    WaterSkin,
    air_density,
    saturation_vapour_pressure,
    specific_humidity,
    vapour_pressure,
)
from tunax_lite.air_sea.transfer_coefficients import neutral_drag

FORMULAE = [Kondo(), Fairall(), Coare36(), LargeYeager()]
IDS = [type(formula).__name__ for formula in FORMULAE]
# Their slopes compile long: two are in every run.
SOME_FORMULAE = some_long(
    FORMULAE, lambda formula: not isinstance(formula, Kondo | Fairall), lambda f: type(f).__name__
)


def arrays(*values):
    """Arrays keep their precision."""
    return tuple(jnp.asarray(x, dtype=None if isinstance(x, jax.Array) else float) for x in values)


def situation(wind, air_temperature, water_temperature, relative_humidity=80.0, pressure=101325.0):
    """Air and skin of a wind towards the east."""
    w, ta, ts, rh, p = jnp.broadcast_arrays(
        *arrays(wind, air_temperature, water_temperature, relative_humidity, pressure)
    )
    e = vapour_pressure(rh, "relative", ta, p)
    q = specific_humidity(e, p)
    air = MoistAir(w, 0.0 * w, w, ta, e, q, p, air_density(ta + 273.15, q, p))
    return air, WaterSkin.at(ts, p)


def stacked(formula, wind, air_temperature, water_temperature, humidity, pressure):
    air, skin = situation(wind, air_temperature, water_temperature, humidity, pressure)
    exchange = formula.exchange(air, skin)
    scalars = exchange.sensible_heat, exchange.latent_heat, exchange.water
    return jnp.stack([exchange.momentum_transfer * air.wind_u, *scalars])


compiled: Any = eqx.filter_jit(stacked)
reverse_slopes = eqx.filter_jit(jax.jacrev(lambda x, formula: stacked(formula, *x)))


def fluxes(formula, wind, air, water, relative_humidity: Any = 80.0, pressure: Any = 101325.0):
    """Stress, sensible and latent heat, and water."""
    return compiled(formula, *arrays(wind, air, water, relative_humidity, pressure))


def random_weather(seed, n):
    rng = np.random.default_rng(seed)
    air = rng.uniform(-5.0, 30.0, n)
    return rng.uniform(0.5, 25.0, n), air, air + rng.normal(0.5, 3.0, n), rng.uniform(50.0, 100.0, n)


def test_humidity():
    values = saturation_vapour_pressure(jnp.asarray([0.0, 10.0, 20.0, 30.0]))
    np.testing.assert_allclose(values, [610.78, 1227.07, 2337.12, 4242.89], rtol=1e-5)
    # One state of the air in all measures: at saturation wet bulb, dew point and air are equally warm.
    t, p = arrays(15.0, 1e5)
    saturated = vapour_pressure(jnp.asarray(100.0), "relative", t, p)
    for measure in ("wet_bulb", "dew_point"):
        np.testing.assert_allclose(vapour_pressure(t, measure, t, p), saturated, rtol=1e-14)
    # The constants of the two conversions are rounded differently.
    back = vapour_pressure(specific_humidity(saturated, p), "specific", t, p)
    np.testing.assert_allclose(back, saturated, rtol=1e-4)
    # A psychrometer: 10 K between the thermometers at 20 degC is about 24 % relative humidity.
    wet, air, p = arrays(10.0, 20.0, 101325.0)
    dry = vapour_pressure(wet, "wet_bulb", air, p)
    np.testing.assert_allclose(dry / saturation_vapour_pressure(jnp.asarray(20.0)), 0.24, atol=0.01)


# Water, air, wind; drag, transfer of heat and of vapour (times 1000); stress, sensible, latent heat.
KONDO = [
    ((20.0, 18.0, 10.0), (0.17801, -30.966, -154.03)),
    ((10.0, 12.0, 4.0), (0.01983, 10.274, -6.531)),
    ((20.0, 18.0, 1.5), (0.003351, -5.227, -26.295)),
]


def test_kondo_has_the_tabulated_fluxes():
    for (water, air, wind), expected in KONDO:
        np.testing.assert_allclose(fluxes(Kondo(), wind, air, water)[:3], expected, rtol=2e-4)


@pytest.mark.parametrize("formula", [Fairall(iterations=100), Coare36(iterations=100)], ids=IDS[1:3])
@pytest.mark.long
def test_similarity_equals_a_second_implementation(formula):
    weather = random_weather(70, 60)
    air, skin = situation(*weather[:3], relative_humidity=weather[3])
    found = np.asarray(fluxes(formula, *weather[:3], relative_humidity=weather[3]))
    for i in range(60):
        wind, ta, ts = (float(x[i]) for x in weather[:3])
        qa, qs = float(air.specific_humidity[i]), float(skin.specific_humidity[i])
        if isinstance(formula, Fairall):
            expected = fairall(wind, ta, ts, qa, qs, float(air.density[i]), 200)
        else:
            expected = coare(wind, ta, ts, qa, qs, 101325.0, 200)
        np.testing.assert_allclose(found[:, i], expected, rtol=2e-4, atol=1e-7)


# AeroBulk's own examples: air of 20 degC (25 in the last) at 2 m over water of 22 degC, 12 g/kg, 5 m/s,
# 1010 hPa; potential temperature of the air (moist-adiabatic in the older ones); stress, heat, latent heat.
AEROBULK = [
    (Coare36(iterations=20), 20.00932, (0.032596, -18.330, -90.486)),
    (LargeYeager(iterations=50), 20.01341, (0.035851959, -16.69695, -88.47819)),
    (LargeYeager(iterations=50), 25.01502, (0.027732996, 10.72617, -71.90122)),
]


@pytest.mark.parametrize(("formula", "potential", "expected"), AEROBULK)
def test_published_example_of_aerobulk(formula, potential, expected):
    over_water = 0.98 * humidity_of(saturation(22.0), 101000.0)  # of Goff, as AeroBulk's
    w, t, q, p = arrays(5.0, potential - 2.0 * 9.8 / 1005.0, 0.012, 101000.0)
    air = MoistAir(w, 0.0 * w, w, t, 0.0 * w, q, p, air_density(t + 273.15, q, p))
    exchange = formula.exchange(air, WaterSkin(*arrays(22.0, over_water)))
    found = (5.0 * exchange.momentum_transfer, exchange.sensible_heat, exchange.latent_heat)
    np.testing.assert_allclose(found, expected, rtol=4e-4)


def test_neutral_drag_of_large_and_yeager():
    wind = jnp.asarray([1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 33.0, 50.0])
    expected = [2.9184, 1.6448, 1.0640, 1.1756, 1.4643, 1.7847, 2.2943, 2.34, 2.34]
    np.testing.assert_allclose(1e3 * neutral_drag(wind), expected, atol=5e-5)


@pytest.mark.parametrize("formula", SOME_FORMULAE)
@pytest.mark.parametrize(
    "state", [(6.0, 14.0, 13.0), pytest.param((15.0, 2.0, 6.0), marks=pytest.mark.long)], ids=str
)
def test_gradients_match_central_differences(formula, state):
    point = jnp.asarray([*state, 75.0, 1.01e5])
    reverse = reverse_slopes(point, formula)
    for i, step in enumerate((1e-4, 1e-4, 1e-4, 1e-3, 1.0)):
        change = jnp.zeros(5).at[i].set(step)
        up, down = (compiled(formula, *(point + sign * change)) for sign in (1.0, -1.0))
        # Rounding of the fluxes over the step, where a flux hardly depends on an input.
        rounding = 1e-11 * np.abs(up) / step
        difference = (up - down) / (2.0 * step)
        np.testing.assert_array_less(
            np.abs(reverse[:, i] - difference), 1e-5 * np.abs(difference) + rounding + 1e-15
        )


@pytest.mark.long
@pytest.mark.parametrize("formula", [Kondo(), Fairall(), Coare36(), LargeYeager()])
def test_calm_storms_and_equal_temperatures_stay_finite(formula):
    dtype = jnp.float64 if isinstance(formula, Kondo) else jnp.float32
    for wind in (0.0, 1e-9, 0.05, 60.0):
        for difference in (-8.0, -1e-9, 0.0, 1e-9, 8.0):
            # The humidity over sea water: neither heat nor vapour moves at equal temperatures.
            point = jnp.asarray([wind, 15.0, 15.0 + difference, 98.0, 1e5], dtype=dtype)
            values, slopes = compiled(formula, *point), reverse_slopes(point, formula)
            assert values.dtype == dtype
            assert np.all(np.isfinite(values)) and np.all(np.isfinite(slopes)), (wind, difference)
            assert np.abs(values[0]) < 30.0 and np.abs(values[1]) < 1500.0
            # Nothing but gusts moves calm air, and they push nowhere.
            assert wind > 0.0 or values[0] == 0.0


@pytest.mark.parametrize("formula", SOME_FORMULAE)
def test_fluxes_are_continuous_as_the_wind_ceases(formula):
    calm, light = fluxes(formula, 0.0, 15.0, 18.0), fluxes(formula, 1e-3, 15.0, 18.0)
    np.testing.assert_allclose(calm, light, atol=2.0)


def test_no_turbulence_in_very_stable_air():
    np.testing.assert_array_equal(fluxes(Fairall(), 1.0, 25.0, 10.0), np.zeros(4))
    assert fluxes(Fairall(), 10.0, 25.0, 10.0)[1] > 0.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("formula", "precision"),
    [(Coare36(), "float64"), (LargeYeager(), "float32")],
)
def test_any_weather_has_fluxes_and_slopes(formula, precision):
    rng = np.random.default_rng(3)
    n = 20_000
    air = rng.uniform(-60.0, 45.0, n)
    water = np.clip(air + rng.normal(0.0, 1.0, n) * 10.0 ** rng.uniform(-2.0, 1.6, n), -60.0, 60.0)
    wind, humidity = 10.0 ** rng.uniform(-3.0, 1.9, n), rng.uniform(5.0, 100.0, n)
    weather = wind, air, water, humidity, rng.uniform(9e4, 1.05e5, n)
    weather = tuple(jnp.asarray(x, precision) for x in weather)

    def total(x):
        found = stacked(formula, *x)
        return jnp.sum(found[:3]), found

    slopes, found = jax.jit(jax.grad(total, has_aux=True))(weather)
    assert np.isfinite(found).all() and all(np.isfinite(slope).all() for slope in slopes)
