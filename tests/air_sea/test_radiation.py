"""Longwave radiation, position of the sun, shortwave radiation through the sky, and albedo."""

import datetime

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.air_sea.test_bulk_formulae import situation
from tests.errors import error_naming
from tunax_lite import air_sea

# Water of 20 degC, air of 18 degC, 80 % relative humidity, half cloudy, 45 degrees north [W m-2].
LONGWAVE = [
    (air_sea.Clark(), -73.563),
    (air_sea.HastenrathLamb(), -81.697),
    (air_sea.Bignami(), -90.857),
]


@eqx.filter_jit
def net_of(given, formula):
    moist, skin = situation(5.0, given["air"], given["water"], given["humidity"])
    return formula.net(skin.temperature, moist, given["cloud"], given["latitude"], 0.0)


slopes_of = eqx.filter_jit(jax.grad(net_of))


def situated(**changes):
    usual = {"water": 20.0, "air": 18.0, "humidity": 80.0, "cloud": 0.5, "latitude": 45.0}
    return {name: jnp.asarray(value) for name, value in (usual | changes).items()}


def net(formula, **changes):
    return net_of(situated(**changes), formula)


@pytest.mark.parametrize(("formula", "expected"), LONGWAVE)
def test_longwave_is_that_of_the_table_clouds_keep_the_water_warm_and_gradients_are_right(formula, expected):
    np.testing.assert_allclose(net(formula), expected, rtol=1e-4)
    assert np.all(np.diff([net(formula, cloud=c) for c in np.linspace(0.2, 1.0, 9)]) > 0.0)
    for name, value in (("water", 20.0), ("air", 18.0), ("humidity", 80.0), ("cloud", 0.5)):
        slope = (net(formula, **{name: value + 1e-4}) - net(formula, **{name: value - 1e-4})) / 2e-4
        np.testing.assert_allclose(slopes_of(situated(), formula)[name], slope, rtol=1e-6, atol=1e-7)
    # Absolutely dry air, where roots and logarithms of the vapour pressure end.
    slope = slopes_of(situated(humidity=0.0), formula)["humidity"]
    assert np.isfinite(net(formula, humidity=0.0)) and np.isfinite(slope)


def test_weight_of_clouds_is_tabulated_in_whole_degrees():
    for latitude, expected in ((0.0, 0.497202), (-45.4, 0.707935), (59.33, 0.773496), (90.0, 0.918668)):
        clear, cloudy = (net(air_sea.Clark(), humidity=0.0, cloud=c, latitude=latitude) for c in (0.0, 1.0))
        lost = 0.97 * 5.670374419e-8 * 293.15**4 * 0.39  # without vapour
        np.testing.assert_allclose((cloudy - clear) / lost, expected, rtol=1e-5)


def test_downward_longwave_loses_what_the_water_emits():
    moist, skin = situation(5.0, 18.0, 20.0)
    found = air_sea.DownwardLongwave().net(skin.temperature, moist, 0.0, 0.0, jnp.asarray(350.0))
    np.testing.assert_allclose(found, 350.0 - 0.97 * 5.670374419e-8 * 293.15**4, rtol=1e-12)


def test_calendar_of_the_sun():
    position = air_sea.SolarPosition("1999-12-30T06:00:00", 0.0, 0.0)
    start = datetime.datetime(1999, 12, 30, 6)
    # Over a leap year of a full century, and a hundred years on, over one without a leap day.
    for days in [0.0, 0.9, 2.0, 60.3, 61.0, 367.8, 368.0, 500.0, 1500.5, 36500.0, 36585.5, 36890.0]:
        date = start + datetime.timedelta(days=days)
        now = position.at(jnp.asarray(days * 86400.0))
        assert now.day == date.timetuple().tm_yday, date
        hour = date.hour + date.minute / 60.0 + date.second / 3600.0
        np.testing.assert_allclose(now.hour, hour, atol=1e-3)
    shifted = air_sea.SolarPosition("2000-01-01T02:00:00+03:00", 0.0, 0.0).at(0.0)
    assert shifted.day == 365.0 and shifted.hour == 23.0
    with error_naming(ValueError, "8601 tomorrow"):
        air_sea.SolarPosition("tomorrow", 0.0, 0.0)


def test_sun_stands_where_astronomy_puts_it():
    # Mean longitude and anomaly of the sun (Astronomical Almanac, low precision) instead of a Fourier series;
    # the time is mean solar time, without the equation of time.
    for latitude, longitude in ((50.0, -145.0), (-35.0, 18.0), (0.0, 100.0)):
        position = air_sea.SolarPosition("2011-01-01T00:00:00", latitude, longitude)
        at = eqx.filter_jit(lambda time, place: place.cosine_of_zenith(place.at(time)))
        for day in (1.0, 80.0, 172.0, 265.0, 355.0):
            n = 4017.5 + day + 0.5  # days since 2000-01-01 12:00, noon of the day
            g = np.deg2rad(357.528 + 0.9856003 * n)
            ecliptic = np.deg2rad(280.460 + 0.9856474 * n + 1.915 * np.sin(g) + 0.020 * np.sin(2 * g))
            declination = np.arcsin(np.sin(np.deg2rad(23.439)) * np.sin(ecliptic))
            for hour in (0.0, 7.0, 12.0, 19.5):
                angle = np.deg2rad(15.0 * (hour - 12.0) + longitude)
                phi = np.deg2rad(latitude)
                cosine = np.sin(phi) * np.sin(declination)
                cosine = cosine + np.cos(phi) * np.cos(declination) * np.cos(angle)
                found = at(jnp.asarray((day - 1.0) * 86400.0 + 3600.0 * hour), position)
                np.testing.assert_allclose(found, max(0.0, cosine), atol=0.015)


def test_shortwave_by_day_night_and_cloud():
    sky = air_sea.ClearSky()
    high = jnp.asarray(60.0)
    assert sky.downward(jnp.asarray(0.0), high, jnp.asarray(0.3)) == 0.0
    for cosine in (0.05, 0.5, 1.0):
        incoming = 1350.0 * cosine
        direct = incoming * 0.7 ** (1.0 / cosine)
        clear = direct + 0.5 * (0.91 * incoming - direct)
        of_cloud = [sky.downward(jnp.asarray(cosine), high, jnp.asarray(c)) for c in (0.0, 0.1, 0.5, 1.0)]
        # Few clouds do not count: the formula is capped at the clear sky.
        factors = [1.0, 1.0, 1.0 - 0.31 + 0.114, 1.0 - 0.62 + 0.114]
        np.testing.assert_allclose(of_cloud, clear * np.array(factors), rtol=1e-12)
    slope = jax.grad(lambda c: sky.downward(c, high, jnp.asarray(0.5)))
    assert np.all(np.isfinite([slope(jnp.asarray(c)) for c in (0.0, 1e-9, 0.005, 1.0)]))


def test_noon_altitude():
    position = air_sea.SolarPosition("2011-01-01T00:00:00", 50.0, 0.0)
    for day in (1.0, 81.0, 172.0, 300.0):
        tilt = np.deg2rad(23.439) * np.sin(2.0 * np.pi * (day - 81.0) / 365.0)
        sine = np.sin(np.deg2rad(50.0)) * np.sin(tilt) + np.cos(np.deg2rad(50.0)) * np.cos(tilt)
        found = position.noon_altitude(position.at(jnp.asarray((day - 1.0) * 86400.0)))
        np.testing.assert_allclose(found, np.rad2deg(np.arcsin(sine)), atol=1e-9)


def test_albedo_of_payne():
    found = [air_sea.Payne().value(zenith, 1.0) for zenith in (0.0, 5.0, 45.0, 52.0, 74.0, 75.0, 89.0, 90.0)]
    expected = [0.034, 0.034, 0.0485, 0.0575, 0.164, 0.1785, 0.6875, 0.719]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert air_sea.ConstantAlbedo(0.06).value(30.0, 1.0) == 0.06
