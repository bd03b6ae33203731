"""Shortwave radiation known as daily means: the albedo of the day, and the sun spread over the day."""

import csv
import dataclasses
import math
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import water_surface
from tunax_lite.air_sea import (
    BulkForcing,
    ConstantAlbedo,
    Payne,
    SolarPosition,
    Weather,
    with_mean_light,
)
from tunax_lite.air_sea.daylight import AlbedoOfTheDay, MeanLight, time_between_records
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.io.series import Series

WATER, DAY = water_surface(0.0, 0.0, 10.0, 0.0), 86400.0
DAILY = np.array([120.0, 310.0, 50.0, 226.0, 180.0, 260.0, 90.0])


def forcing(time, light, albedo=None, latitude=43.1, longitude=-89.4, start="2011-06-21T00:00:00"):
    one = np.ones(len(time))
    values = 5.0 * one, 0.0 * one, 10.0 * one, 80.0 * one, 1e5 * one
    weather = Weather(*values, shortwave=light, longwave=-50.0 * one)
    sun = SolarPosition(start, latitude, longitude)
    series = TimeSeries(jnp.asarray(time, dtype=float), weather, "station")
    return BulkForcing(series, albedo=albedo or Payne(), sun=sun)


def entering(made, ends) -> np.ndarray:
    """Radiation into the water at the ends of steps [W m-2]."""
    return np.asarray(eqx.filter_jit(_entering)(made, jnp.asarray(ends)))


def _entering(made, ends):
    return jax.vmap(lambda time: made.at(time, WATER).shortwave_flux)(ends)


def independent_albedo(latitude: float, day: int) -> float:
    """Payne's table and the clear sky of Rosati and Miyakoda, minute by minute, in plain numbers."""
    zeniths = (0, 10, 20, 30, 40, 50, 54, 58, 62, 66, 70, 74, 76, 78, 80, 82, 84, 86, 88, 90)
    table = (
        (0.034, 0.034, 0.036, 0.039, 0.043, 0.054, 0.061, 0.071, 0.084, 0.103)
        + (0.131, 0.164, 0.193, 0.250, 0.300, 0.385, 0.480, 0.603, 0.656, 0.719)
    )  # fmt: skip
    # Cooper's declination, not Spencer's: half a degree apart.
    declination = math.radians(23.45) * math.sin(2.0 * math.pi * (284 + day) / 365.0)
    reflected = received = 0.0
    for minute in range(1440):
        turned = math.radians(0.25 * minute - 180.0)
        cosine = math.sin(math.radians(latitude)) * math.sin(declination)
        cosine += math.cos(math.radians(latitude)) * math.cos(declination) * math.cos(turned)
        if cosine > 0.0:
            direct = cosine * 0.7 ** (1.0 / cosine)
            light = direct + 0.5 * (0.91 * cosine - direct)
            received += light
            reflected += light * np.interp(math.degrees(math.acos(cosine)), zeniths, table)
    return reflected / received


@jax.jit
def of_payne(latitude, day):
    return AlbedoOfTheDay(Payne(), latitude).value(0.0, day)


def test_albedo_of_the_day_is_weighted_with_the_clear_sky():
    for latitude, day in ((0.0, 80), (43.1, 172), (-35.0, 355), (60.0, 266)):
        found = of_payne(latitude, float(day))
        # At the equinox the declinations are 0.4 degrees apart, at 60 N 3 % of the albedo.
        np.testing.assert_allclose(found, independent_albedo(latitude, day), rtol=0.04)


def test_albedo_of_the_day_has_finite_gradients_everywhere():
    slope = jax.jit(jax.grad(of_payne, (0, 1)))
    for latitude in (-90.0, -66.55, 0.0, 66.56, 90.0):
        for day in (1.0, 172.0, 355.0):
            assert np.all(np.isfinite(slope(jnp.asarray(latitude), jnp.asarray(day)))), (latitude, day)


@pytest.mark.long
def test_a_daily_mean_loses_what_the_sun_of_the_day_reflects():
    time = DAY * np.arange(DAILY.size)
    plain = forcing(time, DAILY)
    made, notes = with_mean_light(plain, MeanLight(), dt=3600.0, duration=time[-1])
    ends = 3600.0 * np.arange(1, 24 * 6 + 1)
    downward = entering(dataclasses.replace(plain, albedo=ConstantAlbedo(0.0)), ends).mean()
    assert "24 h apart" in notes[0] and "diurnal_cycle" in notes[0]
    lost = 1.0 - entering(made, ends).mean() / downward
    np.testing.assert_allclose(lost, independent_albedo(43.1, 174), rtol=0.02)
    # What it was: the sun is down for 8.6 of 24 hours.
    assert 0.3 < 1.0 - entering(plain, ends).mean() / downward < 0.4
    kept, said = with_mean_light(plain, MeanLight("instant"), dt=3600.0, duration=time[-1])
    assert kept.albedo is plain.albedo and "albedo_of: day" in said[0]


@pytest.mark.parametrize(("step", "stamp"), [(600.0, 0.0), (10800.0, 0.5 * DAY)])
def test_a_diurnal_cycle_keeps_the_mean_of_each_day(step, stamp):
    time, light = DAY * np.arange(DAILY.size) + stamp, DAILY
    made, notes = with_mean_light(
        forcing(time, light, ConstantAlbedo(0.0)),
        MeanLight(diurnal_cycle=True),
        dt=step,
        duration=6.0 * DAY,
    )
    found = entering(made, step * np.arange(1, round(6.0 * DAY / step) + 1)).reshape(6, -1)
    np.testing.assert_allclose(found.mean(axis=1), DAILY[:6], rtol=1e-12)
    assert len(notes) == 1
    # Local noon is at 17:58 universal time, midnight at 05:58.
    assert abs(float(step) * (1 + np.argmax(found[1])) - 64_700.0) <= 0.5 * step + 60.0
    np.testing.assert_allclose(found[:, round(21_600.0 / step) - 1], 0.0, atol=1e-3)


def test_a_polar_night_spreads_its_twilight_evenly():
    time = DAY * np.arange(DAILY.size)
    plain = forcing(time, 0.01 * DAILY, ConstantAlbedo(0.0), latitude=80.0, start="2011-12-18T00:00:00")
    made, _ = with_mean_light(plain, MeanLight(diurnal_cycle=True), dt=3600.0, duration=6.0 * DAY)
    found = entering(made, 3600.0 * np.arange(1, 25))
    np.testing.assert_allclose(found, 0.01 * DAILY[0], rtol=1e-9)


def test_gradients_through_the_cycle_are_finite():
    time = DAY * np.arange(DAILY.size)
    made, _ = with_mean_light(
        forcing(time, DAILY), MeanLight(diurnal_cycle=True), dt=600.0, duration=6.0 * DAY
    )

    def total(offset, latitude):
        assert made.sun is not None
        sun = dataclasses.replace(made.sun, latitude=latitude)
        offsets = dataclasses.replace(made.offsets, shortwave=offset)
        other = dataclasses.replace(made, offsets=offsets, sun=sun)
        return _entering(other, jnp.asarray(3600.0 * np.arange(1, 49))).mean()  # pyright: ignore[reportOptionalMemberAccess]

    slopes = jax.jit(jax.grad(total, (0, 1)))(jnp.asarray(0.0), jnp.asarray(43.1))
    # An offset of the daily mean enters less the albedo at noon and in the morning.
    assert 0.9 < float(slopes[0]) < 0.97 and np.isfinite(float(slopes[1]))


def test_the_time_between_records_is_that_of_the_radiation():
    hour = 3600.0 * np.arange(240.0)
    sunny = 500.0 * np.maximum(np.sin(2.0 * np.pi * hour / DAY), 0.0)
    assert time_between_records(hour, sunny) <= 3600.0
    assert time_between_records(hour[::3], sunny[::3]) <= 10800.0
    days = np.arange(DAILY.size) * DAY
    assert time_between_records(days, DAILY) == pytest.approx(DAY)
    fine = np.arange(0.0, days[-1] + 1.0, 3600.0)
    assert time_between_records(fine, np.interp(fine, days, DAILY)) == pytest.approx(DAY)  # on common times
    held = DAILY[np.minimum((fine // DAY).astype(int), DAILY.size - 1)]
    assert time_between_records(fine, held) > 10800.0 * 1.2  # written at every hour
    for interval in (6 * 3600.0, DAY):  # means that hold over their interval
        start = interval * np.arange(DAILY.size)
        means = Series(start, DAILY).of_means(np.stack([start, start + interval], axis=1))
        assert time_between_records(means.time, means.values) == pytest.approx(interval)
    assert time_between_records(np.array([-1e12, 1e12]), np.array([200.0, 200.0])) == np.inf


@pytest.mark.long
@pytest.mark.parametrize("diurnal_cycle", [False, True])
def test_daily_means_of_a_lake_absorb_what_its_hourly_record_does(diurnal_cycle):
    path = Path(os.environ.get("TUNAX_LITE_DATA", "")) / "lakes/gotmr/swr_input_file.dat"
    if not path.is_file():
        pytest.skip(f"needs {path} below $TUNAX_LITE_DATA")
    with path.open() as file:
        hourly = np.array([float(row[1]) for row in list(csv.reader(file, delimiter="\t"))[1:]])
    n_days, place = 364, {"latitude": 53.9, "longitude": -9.5, "start": "2010-01-01T00:00:00"}
    ends = 3600.0 * np.arange(3.0, 24.0 * n_days, 3.0)
    daily = hourly[: 24 * n_days].reshape(-1, 24).mean(axis=1)
    sun = SolarPosition(place["start"], place["latitude"], place["longitude"])
    zenith = jnp.rad2deg(jnp.arccos(sun.cosine_of_zenith(sun.at(jnp.asarray(ends)))))
    every_hour = np.interp(ends, 3600.0 * np.arange(hourly.size), hourly)
    true = np.mean(every_hour * (1.0 - np.asarray(Payne().value(zenith, 1.0))))
    # Stamped at noon; the first holds before.
    time, light = np.append(0.0, DAY * (np.arange(n_days) + 0.5)), np.append(daily[0], daily)
    plain = forcing(time, light, **place)
    found, before = (
        entering(with_mean_light(plain, how, dt=10800.0, duration=ends[-1])[0], ends).mean()
        for how in (MeanLight(diurnal_cycle=diurnal_cycle), MeanLight("instant"))
    )
    # 94.0 of 103.9 W m-2 enter; clouds weigh the hours of the year otherwise than the clear sky.
    np.testing.assert_allclose(found, true, rtol=0.01)
    assert before < 0.75 * true
