"""Gaps in prescribed fluxes: bridged linearly up to `longest_gap`, with a note, and refused beyond."""

from typing import Any

import numpy as np
import pytest

from tests.config.test_conversions import flux_of, run_of
from tests.errors import error_naming, notes_in
from tests.helpers import some_long
from tunax_lite.io import read_weather
from tunax_lite.io.errors import FileFormatError

# Every hour from -1 h on, 3 W m-2 more each; two values are missing.
VALUES = {hour: "nan" if hour in (5, 6) else f"{3.0 * hour}" for hour in range(-1, 26)}


@pytest.mark.parametrize("keys", [{"path": "q.csv", "variable": "q"}, {"path": "q.dat", "column": 1}])
def test_missing_values_are_bridged_with_a_note_up_to_a_length_and_inside(tmp_path, keys, recwarn):
    moments = [np.datetime64("2012-06-10T00:00:00") + np.timedelta64(hour, "h") for hour in VALUES]
    rows = list(zip(map(str, moments), VALUES.values(), strict=True))
    csv = "time,q [W m-2]\n" + "".join(f"{moment},{value}\n" for moment, value in rows)
    dat = "".join(f"{moment.replace('T', ' ')} {value}\n" for moment, value in rows)
    (tmp_path / keys["path"]).write_text(csv if "variable" in keys else dat)
    _, made = flux_of(tmp_path, **keys, longest_gap=10800.0)
    hours = np.arange(0.0, 24.5, 0.5)
    # The line through the gap is the one that the known values lie on: rounding only.
    found = [float(made.case.forcing.at(3600.0 * hour, None).heat_flux) for hour in hours]
    np.testing.assert_allclose(found, 3.0 * hours, rtol=0.0, atol=1e-9)
    (note,) = [note for note in notes_in(recwarn) if "bridged" in note]
    assert "2 missing values" in note and "3 h" in note and "2012-06-10" in note
    for gap, parts in (({"longest_gap": 7200.0}, "longest_gap 3 2"), ({}, "longest_gap nan")):
        with error_naming(FileFormatError, f"{keys['path']} {parts}"):
            flux_of(tmp_path, **keys, **gap)


def test_a_gap_at_an_end_is_not_bridged(tmp_path):
    lines = [f"2012-06-{10 + day} 00:00:00 {value}\n" for day, value in enumerate(("nan", 3.0, 3.0))]
    (tmp_path / "q.dat").write_text("".join(lines), encoding="utf-8")
    with error_naming(FileFormatError, "q.dat ends longest_gap"):
        run_of(tmp_path, fluxes={"heat_flux": {"path": "q.dat", "column": 1, "longest_gap": 1e6}})


SUNNY = """time,wind_u [m s-1],air_temperature [degC],relative_humidity [%],cloud_cover [1],shortwave [W m-2]
"""
OTHERS = {"wind_v": 0.0, "air_pressure": 1e5}


@pytest.mark.parametrize("first", some_long([1, 13], lambda hour: hour == 1))
def test_a_gap_in_the_sun_follows_the_clear_sun_of_the_place_and_is_listed(tmp_path, first, recwarn):
    # On the equator at the equinox the sun is above the horizon for 12 of 24 h.
    hours = np.arange(-24.0, 15.0 * 24.0 + 1.0)
    light = 700.0 * np.maximum(0.0, -np.cos(2.0 * np.pi * hours / 24.0))
    kept = (hours < 120 + first) | (hours > 264 + first)
    start = np.datetime64("2012-03-15T00:00:00")
    rows = [
        f"{start + np.timedelta64(int(hour), 'h')},{5.0 + np.sin(hour):.3f},25,80,0.5,{sun:.1f}\n"
        for hour, sun in zip(hours[kept], light[kept], strict=True)
    ]
    (tmp_path / "w.csv").write_text(SUNNY + "".join(rows))
    place: dict = {"latitude": 0.0, "longitude": 0.0, "start_time": str(start), "duration": 14.0 * 86400.0}
    weather = {"format": "table", "paths": "w.csv", "longest_gap": 6e5, "variables": OTHERS}
    air_sea = {"longwave": "clark", "shortwave": "net"}
    made = run_of(tmp_path, **place, weather=weather, air_sea=air_sea)
    forcing: Any = made.case.forcing
    sun = forcing.weather
    found = np.interp(3600.0 * hours, sun.time, sun.values.shortwave)
    np.testing.assert_allclose(found.mean(), light.mean(), rtol=0.02)
    assert np.corrcoef(found[~kept], light[~kept])[0, 1] > 0.98
    assert any("shortwave" in note and "146 h" in note for note in notes_in(recwarn))
    with error_naming(FileFormatError, "w.csv shortwave position 146"):
        read_weather(tmp_path / "w.csv", start_time=str(start), variables=OTHERS, longwave=None)
