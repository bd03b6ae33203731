"""Series and profiles of GOTM: what the files hold, and errors with file, line, time and value."""

import numpy as np
import pytest

from tests.errors import error_naming, missing_from
from tests.extensions.gotm.folders import START, build, write_series
from tunax_lite.config import ConfigError
from tunax_lite.io.dated_text import Column, DatedFiles
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.gaps import bridged
from tunax_lite.io.times import as_series
from tunax_lite.plausibility import recorded

DAY = (START, 86400.0)
Z = np.array([-7.5, -5.0, -2.5, -1.0])


def column_of(folder, quantity="wind_u", column=1, **scaling):
    return Column(folder / "f.dat", column, quantity, **scaling)


def read(folder, text=None, quantity="wind_u", period=DAY, **keys):
    if text is not None:
        (folder / "f.dat").write_text(text)
    found = DatedFiles(*period).series(column_of(folder, quantity, **keys))
    return as_series(bridged(found, quantity, start_time=START))


def day(*values: str, hours=(0, 12, 24)) -> str:
    times = [f"2011-03-{1 + hour // 24:02d} {hour % 24:02d}:00:00" for hour in hours]
    return "".join(f"{time} {value}\n" for time, value in zip(times, values, strict=True))


def test_series_are_scaled_columns_over_the_run(tmp_path):
    hours = np.arange(-5, 40)
    write_series(tmp_path / "f.dat", hours, 2.0 * hours, start="2011-02-28 19:00:00")
    series = read(tmp_path, column=2, scale_factor=1.5, offset=1.0)
    # One record on each side at most: both ends are records themselves.
    np.testing.assert_array_equal(series.time, 3600.0 * np.arange(0, 25))
    np.testing.assert_allclose(series.values, 3.0 * np.arange(25) + 1.0, rtol=1e-15)
    part = read(tmp_path, column=1, period=("2011-03-01 00:30:00", 3600.0))
    np.testing.assert_array_equal(part.time, [-1800.0, 1800.0, 5400.0])


def test_what_fortran_reads_is_read(tmp_path):
    for text in (
        "# a comment\n! another\n\n2011-03-01 00:00:00\t1.5\t9\n2011-03-02 00:00:00\t2.5\t9\n",
        "2011/03/01 00:00:00, 1.5, text\n2011/03/02 00:00:00, 2.5, more text\n",
        "2011-03-01T00:00:00 1.5D0\n2011-03-02T00:00:00 0.25d+1\n",
        "2011-03-01 00:00:00 1.5\r\n2011-03-01 24:00:00 2.5\r\n",
    ):
        series = read(tmp_path, text)
        np.testing.assert_array_equal(series.time, [0.0, 86400.0])
        np.testing.assert_array_equal(series.values, [1.5, 2.5])


def test_records_out_of_order_are_left_out(tmp_path):
    hours, values = (-2, 0, 12, 3, 3, 24), (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    start = np.datetime64("2011-03-01", "s")
    times = [str(start + np.timedelta64(3600 * hour, "s")).replace("T", " ") for hour in hours]
    text = "".join(f"{t} {v}\n" for t, v in zip(times, values, strict=True))
    with recorded() as left:
        series = read(tmp_path, text)
    np.testing.assert_array_equal(series.values, [1.0, 2.0, 5.0])
    (warning,) = (str(one) for one in left)
    assert f"line 4: {times[3]} is not after {times[2]}; 2 of 6 records" in warning
    levels = "".join(f"{t} 1 2\n-1 {20 + v}\n" for t, v in zip(times, values, strict=True))
    np.testing.assert_array_equal(read_profiles(tmp_path, levels).values[:, 0], [21.0, 22.0, 25.0])


def test_what_is_odd_is_noted(tmp_path):
    write_series(tmp_path / "f.dat", [0.1, 0.1, 0.2], step=43200)
    lines = (tmp_path / "f.dat").read_text().splitlines()
    (tmp_path / "f.dat").write_text("\n".join([*lines[:2], lines[1], lines[2]]))
    tide = {"method": "tidal", "tidal": {"amp_1": 1e-6}}
    times = {"start": "2011/03/01 00:00", "stop": "2011.03.01T24:00:00"}
    stress = {"fluxes": {"tx": {"method": "file", "file": "f.dat"}}}
    pressure = {"ext_pressure": {"dpdx": tide, "period_1": -44714.0}}
    made = build(tmp_path, {"time": times, "surface": stress, "mimic_3d": pressure})
    made.report.check()
    (series,) = made.report.warnings
    assert any("ext_pressure.period_1: as in GOTM" in line for line in made.report.differences)
    assert "line 3" in series and "1 of 4 records" in series
    slope = made.run.case.interior.pressure_gradient.series.at(44714.0 / 4).x
    np.testing.assert_allclose(slope, -1e-6, rtol=2e-3)  # linear between steps of 600 s


def test_bad_series_name_line_time_and_value(tmp_path):
    for text, parts in (
        (day("1", "x", "3"), "line 2 column 1 x"),
        (day("1", "", "3"), "line 2 columns 1 0"),
        (day("1", "nan", "3"), "line 2 nan 2011-03-01T12:00:00"),
        (day("1", "2", "3", hours=(1, 12, 24)), "2011-03-01 00:00:00 01:00:00"),
        (day("1", "2", "3", hours=(0, 12, 23)), "2011-03-02 00:00:00 23:00:00"),
        (day("1", "120", "3"), "line 2 -100 100 120 2011-03-01T12:00:00"),
        ("2011-02-29 00:00:00 1\n", "line 1 YYYY-MM-DD"),
        ("# one\n\n" + day("1", "2", "3").replace("2011-03-02", "# three\n2011-03-00"), "line 6"),
        ("# nothing\n", "lines none"),
    ):
        with error_naming(FileFormatError, f"f.dat {parts}"):
            read(tmp_path, text)
    (tmp_path / "f.dat").unlink()
    with error_naming(FileNotFoundError, "f.dat"):
        read(tmp_path)


def test_units_that_cannot_be_right_are_caught(tmp_path):
    series = read(tmp_path, day("285.15", "12", "274.15"), "air_temperature")  # above 100 they are Kelvin
    np.testing.assert_allclose(series.values, [12.0, 12.0, 1.0], atol=1e-12)
    for quantity, value, advice in (
        ("air_pressure", "1013", "hPa scale"),
        ("specific_humidity", "8.1", "g kg-1 scale"),
        ("shortwave_flux", "-5", "-1 1800"),
        ("air_temperature", "90", "-90 60"),
    ):
        with pytest.raises(FileFormatError) as error:
            read(tmp_path, day(value, value, value), quantity)
        message = str(error.value)
        assert not missing_from(message, f"line 1 {value} 2011-03-01T00:00:00"), message
        assert all(part in message for part in advice.split()), message


def profile(time: str, count: int, direction: int, *levels: str) -> str:
    return f"{time} {count} {direction}\n" + "".join(f"{level}\n" for level in levels)


DOWN = ("0 20", "-2 18", "-6 10")


def read_profiles(folder, text, *, whole_period=True, **keys):
    (folder / "f.dat").write_text(text)
    column = column_of(folder, "temperature", **keys)
    return DatedFiles(*DAY).profiles(column, Z, whole_period=whole_period)


def test_profiles_of_any_levels_follow_each_other(tmp_path):
    text = (
        "# observed\n"
        + profile("2011-02-28 00:00:00", 1, 2, "-1 5 7")
        + profile("2011-03-01 12:00:00", 2, 2, "-1 6 8", "-5 4 6")
        + profile("2011-03-03 00:00:00", 2, 1, "-5 4 6", "-1 6 9")
    )
    series = read_profiles(tmp_path, text, column=2)
    np.testing.assert_array_equal(series.time, [-86400.0, 43200.0, 172800.0])
    np.testing.assert_allclose(series.values[0], 7.0)
    np.testing.assert_allclose(series.values[1:], [[6.0, 6.0, 7.25, 8.0], [6.0, 6.0, 7.875, 9.0]])
    only_start = read_profiles(tmp_path, text, column=2, whole_period=False)
    np.testing.assert_array_equal(only_start.time, series.time[:2])


def test_bad_profiles_name_line_time_and_value(tmp_path):
    first, noon, third = (f"2011-03-{day}:00:00" for day in ("01 00", "01 12", "03 00"))
    for text, parts in (
        (profile(first, 4, 2, *DOWN), "line 1 4 3"),
        (profile(first, 2, 2, *DOWN), "line 4 2 1 -6 10"),
        (profile(first, 3, 1, *DOWN), "line 3 1 2 00:00:00"),
        (profile(first, 3, 2, "0 20", "-2", "-6 10"), "line 3 2 columns"),
        (profile(first, 3, 2, "0 20", "-2 nan", "-6 1"), "line 3 finite"),
        (profile(first, 3, 2, "0 290", "-2 289", "-6 285"), "line 4 285 K"),
        (profile(first, 2, 2, "50 20", "20 18"), "line 3 negative 20"),
        (profile(noon, 3, 2, *DOWN) + profile(third, 3, 2, *DOWN), f"{first} {noon}"),
    ):
        with error_naming(FileFormatError, f"f.dat {parts}"):
            read_profiles(tmp_path, text)


def test_constants_are_checked_too(tmp_path):
    weather = {"fluxes": {"method": "kondo"}, "airp": 101300.0, "airt": 285.15, "hum": 80.0}
    forcing = build(tmp_path, {"surface": weather}).run.case.forcing
    assert float(forcing.weather.at(0.0).air_temperature) == pytest.approx(12.0)
    with error_naming(ConfigError, "surface.airp 50000 120000 hPa 1013"):
        build(tmp_path, {"surface": weather | {"airp": 1013.0}})
