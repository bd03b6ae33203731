"""Series and profiles in text, in the formats in which others write them."""

import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming, notes_in
from tunax_lite._types import InputWarning
from tunax_lite.io import (
    FileFormatError,
    read_oceansites,
    read_series,
    read_table,
    read_weather,
)
from tunax_lite.io.units import Conversion
from tunax_lite.plausibility import recorded

START = "2010-11-10"
DEGREES: dict[str, Any] = {
    "variables": {"temperature": "1"},
    "units": {"temperature": "degC"},
    "conservative": False,
}


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_series_of_others(tmp_path):
    for number, (ending, text) in enumerate(
        (
            ("dat", "2010/11/10 07:00:00   -87.5  1.0\n2010/11/10 08:00:00   -82.5  2.0\n"),
            ("dat", "# made\n2010-11-10 07:00:00\t-87.5\n2010-11-10 08:00:00\t-82.5\n"),
            ("txt", "!DateTime\theat\n2010-11-10 07:00:00\t-87.5\n2010-11-10 08:00:00\t-82.5\n"),
            ("csv", "place;Timestamp;heat\nPapa;20101110T07;-87.5\nPapa;20101110T08;-82.5\n"),
        )
    ):
        path, column = write(tmp_path / f"{number}.{ending}", text), "heat" if "heat" in text else "1"
        found = read_series(path, column, "surface_heat_flux", start_time=START, unit="W m-2")
        np.testing.assert_array_equal(found.time, [25200.0, 28800.0])
        np.testing.assert_array_equal(found.values, [-87.5, -82.5])


PROFILES = "2010/11/10 00:00:00  3 2\n 1. 9.0\n 5. 8.0\n 10. 7.0\n2010/11/11 00:00:00 2 2\n1. 9.5\n10. 7.5\n"
TABLE = """datetime,Depth_meter,temp,station
2010-11-10 00:00:00,1,9.0,A
2010-11-11 00:00:00,1,9.5,A
2010-11-10 00:00:00,5,8.0,A
2010-11-10 00:00:00,10,7.0,A
2010-11-11 00:00:00,10,7.5,A
"""
BLOCKS = """ Location: 50N 145W    10 Nov 2010 to  11 Nov 2010 (    2 times, 3 depths,  1 blocks)
 Units: Depth (Meters), Temperature (C), -9.999 = missing
 Time: 1200 10 Nov 2010 to 1200 11 Nov 2010 (index     1 to     2,     2 lines,  3 depths)
 Index:              1      2      3
 Depth(M):           1      5     10 QUALITY SOURCE
 YYYYMMDD HHMM     SST   TEMP   TEMP QQQ SSS
 20101110 0000   9.000  8.000  7.000 222 555
 20101111 0000   9.500 -9.999  7.500 202 505
"""


def test_profiles_in_text(tmp_path):
    downward = PROFILES.replace(" 5.", "-5.").replace(" 1", "-1").replace("\n1", "\n-1")
    options: Any
    for name, text, options in (
        ("p.dat", PROFILES, DEGREES),
        ("p.dat", downward, DEGREES),
        ("p.csv", TABLE, DEGREES | {"variables": {"temperature": "temp"}}),
        ("p.dat", BLOCKS, {"conservative": False}),
    ):
        found = read_oceansites(write(tmp_path / name, text), start_time=START, **options)
        np.testing.assert_array_equal(found.time, [0.0, 86400.0])
        np.testing.assert_array_equal(found.z, [-10.0, -5.0, -1.0])
        np.testing.assert_array_equal(found.profiles["temperature"], [[7.0, 8.0, 9.0], [7.5, np.nan, 9.5]])


def test_profiles_at_other_depths_each_time(tmp_path):
    days = "".join(f"2010-11-{day} 00:00:00 2 2\n{day}.5 9.0\n{day}5 8.0\n" for day in range(10, 20))
    found = read_oceansites(write(tmp_path / "p.dat", days), start_time=START, **DEGREES)
    assert found.moves
    np.testing.assert_array_equal(found.z[1], [-115.0, -11.5])
    np.testing.assert_array_equal(found.profiles["temperature"], 10 * [[8.0, 9.0]])


def test_codes_of_pmel_are_flags(tmp_path, recwarn):
    path = write(tmp_path / "p.dat", BLOCKS.replace("222", "532"))
    found = read_oceansites(path, start_time=START)  # at its position
    assert found.rejected == {"temperature": 2}
    assert any("practical salinity 35" in note for note in notes_in(recwarn))


def test_text_that_is_no_profile_or_table(tmp_path):
    for text, message in (
        (PROFILES.replace("3 2", "2 2"), "4"),
        (PROFILES.replace("2 2\n1.", "3 2\n1."), "5 3 2"),
        (PROFILES.replace("8.0", "8.0x"), "3 8.0x"),
        (BLOCKS.replace(" 222 ", " 22 "), "7 3 555"),
    ):
        with error_naming(FileFormatError, f"p.dat {message}"):
            read_oceansites(write(tmp_path / "p.dat", text), start_time=START, **DEGREES)
    for name, text, message in (
        ("a.dat", "2010/11/10 07:00:00 1.0\n2010/11/10 08:00:00 2.0 3.0\n", "2 3"),
        ("b.csv", "depth,temp\n1.0,2.0\n", "1 time datetime depth temp"),
        ("b.csv", "2019-05-01,1\n2019-05-02,2\n", "line 1 names time"),
        ("b.csv", "time;a\n2019-05-01;1.5\n2019-05-02;1,5\n", "line 3 a 1,5"),
    ):
        with error_naming(FileFormatError, f"{name} {message}"):
            read_table(write(tmp_path / name, text))


def test_temperature_and_salinity_in_two_files_are_one_mooring(tmp_path):
    for name, values in (("t", (20.0, 18.0)), ("s", (30.0, 33.0))):
        levels = f"-1 {values[0]}\n-3 {values[1]}\n"
        write(tmp_path / f"{name}.dat", "".join(f"2010-01-0{day} 00:00:00 2 2\n{levels}" for day in (1, 2)))
        rows = [f"2010-01-0{day},{z},{values[z > 1]}\n" for day in (1, 2) for z in (1, 3)]
        write(tmp_path / f"{name}.csv", f"time,depth [m],{name}\n" + "".join(rows))
    units = {"temperature": "degC", "salinity": "1"}
    for names in (("t.dat:1", "s.dat:1"), ("t.csv:t", "s.csv:s"), ("t", "s")):
        ending = ".dat" if ".dat" in names[0] else ".csv"
        variables = dict(zip(units, names, strict=True))
        options = {"start_time": "2010-01-01T00:00:00", "conservative": False, "units": units}
        found = read_oceansites(
            [tmp_path / f"t{ending}", tmp_path / f"s{ending}"], variables=variables, **options
        )
        np.testing.assert_array_equal(found.profiles["temperature"], [[18.0, 20.0]] * 2)
        np.testing.assert_array_equal(found.profiles["salinity"], [[33.0, 30.0]] * 2)
    with error_naming(FileFormatError, "t.csv salinity sall"):  # nor is a name ignored that no file has
        read_oceansites(tmp_path / "t.csv", variables={"temperature": "t", "salinity": "sall"}, **options)


def test_weather_of_a_lake_under_its_own_names(tmp_path):
    names = (
        "datetime,Ten_Meter_Elevation_Wind_Speed_meterPerSecond,Air_Temperature_celsius,Relative_Humidity_percent,"
        "Shortwave_Radiation_Downwelling_wattPerMeterSquared,Longwave_Radiation_Downwelling_wattPerMeterSquared,"
        "Surface_Level_Barometric_Pressure_pascal,Precipitation_millimeterPerDay,Cloud_Cover_decimalFraction\n"
    )
    rows = "".join(f"2010-01-0{day} 00:00:00,5,10,80,100,300,1e5,86.4,0.5\n" for day in (1, 2))
    path = write(tmp_path / "meteo.csv", names + rows)
    with recorded() as left:
        series, measure = read_weather(path, start_time="2010-01-01T00:00:00")
    notes = [str(note) for note in left]
    values: Any = series.values
    assert measure == "relative" and len(notes) == 1 and "direction" in notes[0]
    np.testing.assert_array_equal(values.wind_u, [5.0, 5.0])
    np.testing.assert_array_equal(values.wind_v, [0.0, 0.0])
    found = [values.precipitation, values.shortwave, values.longwave, values.cloud_cover, values.air_pressure]
    np.testing.assert_allclose(np.stack(found)[:, 0], [1e-6, 100.0, 300.0, 0.5, 1e5])  # 86.4 mm in 86400 s
    with error_naming(FileFormatError, "surface_net_downward_shortwave_flux variables.shortwave"):
        read_weather(path, start_time="2010-01-01T00:00:00", shortwave="net")
    days = [write(tmp_path / f"{row[9]}.csv", names + row) for row in rows.splitlines()]
    series, _ = read_weather(days, start_time="2010-01-01T00:00:00", longest_gap=86400.0)
    assert list(series.time) == [0.0, 86400.0]


def test_names_that_end_with_another_unit_are_found_and_others_listed(tmp_path):
    names = (
        "datetime,wind_speed_knots,Air_Temperature_kelvin,Relative_Humidity_percent,shortwave_W_m2,"
        "Longwave_Radiation_Downwelling_wattPerMeterSquared,air_pressure_hPa,Precipitation_meterPerSecond,gust\n"
    )
    rows = "".join(f"2010-01-0{day} 00:00:00,36,283.15,80,100,300,1000,1e-6,9\n" for day in (1, 2))
    path = write(tmp_path / "meteo.csv", names + rows)
    with recorded() as notes:
        values: Any = read_weather(path, start_time="2010-01-01T00:00:00")[0].values
    found = [values.precipitation, values.air_temperature, values.shortwave, values.air_pressure]
    np.testing.assert_allclose(np.stack(found)[:, 0], [1e-6, 10.0, 100.0, 1e5])
    np.testing.assert_allclose(values.wind_u, 36.0 * 1852.0 / 3600.0)
    assert [text for note in notes if "not used" in (text := str(note))] == [f"{path}: not used: gust"]


def test_hourly_means_do_not_reach_over_a_gap(tmp_path):
    names = (
        "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],air_pressure [Pa]"
    )
    winds = ((0, 1), (1, 3), (2, 5), (5, 7))
    hours = (f"2010-11-10T{hour:02d}:00:00,{speed},0,9,80,1e5" for hour, speed in winds)
    path = write(tmp_path / "station.csv", "\n".join([names, *hours]) + "\n")
    found, _ = read_weather([path], start_time=START, shortwave=None, longwave=None, stamp="middle")
    np.testing.assert_allclose(found.time, [-1800, 1800, 1800, 5400, 5400, 9000, 16200, 19800], atol=0.01)
    np.testing.assert_allclose(found.values.wind_u, [1, 1, 3, 3, 5, 5, 7, 7])


# As people keep them: units in brackets, wind by direction, codes.
MAY = "2019-05-01T00:00:00"
HOURS = (0.0, 3600.0, 7200.0)
NAMES = {
    "wind_speed": "Wind",
    "wind_direction": "Dir",
    "air_temperature": "Air",
    "humidity": "RH",
    "air_pressure": "P",
    "cloud_cover": "Clouds",
    "shortwave": "Sun",
    "longwave": 300.0,
}
SHEET = """\
Date (UTC),Wind (kn),Dir (°),Air (°C),RH (%),P (hPa),Clouds (okta),Sun (W/m²)
2019-05-01 0:00,10,270,7.5,80,1013.5,4,0
2019-05-01 1:00,10,180,-999,80,1013.5,4,0
2019-05-01 2:00,10,90,8.5,80,1013.5,4,0
"""
LOGGER = """\
Date;Time (UTC);Wind (kn);Dir (°);Air (°C);RH (%);P (hPa);Clouds (okta);Sun (W/m²)
2019-05-01;0:00;10;270;7,5;80;1013,5;4;0
2019-05-01;01:00:00;10;180;-999;80;1,0135e3;4;0
2019-05-01;2:00;10;90;8,5;80;1013,5;4;0
"""


def read_sheet(path, **options):
    given = {"variables": NAMES, "humidity_measure": "relative", "longest_gap": 21600.0} | options
    with recorded() as notes:
        weather, _ = read_weather(path, start_time=MAY, **given)
    return weather, notes


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SHEET, "utf-8"),
        (SHEET, "cp1252"),
        (SHEET.replace(",", ";"), "utf-8"),
        (LOGGER, "cp1252"),
        (LOGGER.replace(";", "\t"), "utf-8"),
    ],
)
def test_the_weather_of_a_spreadsheet(tmp_path, text, encoding):
    weather, notes = read_sheet(write(tmp_path / "w.csv", text, encoding))
    np.testing.assert_array_equal(weather.time, HOURS)
    speed = 10.0 * 1852.0 / 3600.0
    # From the west, from the south, from the east.
    np.testing.assert_allclose(weather.values.wind_u, [speed, 0.0, -speed], atol=1e-12)
    np.testing.assert_allclose(weather.values.wind_v, [0.0, speed, 0.0], atol=1e-12)
    np.testing.assert_allclose(weather.values.air_temperature, [7.5, 8.0, 8.5])
    np.testing.assert_allclose(weather.values.air_pressure, 101350.0)
    np.testing.assert_allclose(np.asarray(weather.values.cloud_cover), 0.5)
    assert any("-999" in str(note) for note in notes)


def test_the_direction_that_the_wind_blows_to(tmp_path):
    path = write(tmp_path / "w.csv", SHEET)
    turned, _ = read_sheet(path, units={"wind_direction": "deg", "wind_speed": "m s-1"})
    np.testing.assert_allclose(turned.values.wind_u, [10.0, 0.0, -10.0], atol=1e-12)
    turned, _ = read_sheet(path, units={"wind_direction": Conversion(offset=180.0)})
    assert turned.values.wind_u[0] < 0.0 < turned.values.wind_u[2]


def test_speed_and_direction_in_several_files(tmp_path):
    days = write(tmp_path / "a.csv", SHEET), write(tmp_path / "b.csv", SHEET.replace("05-01 ", "05-02 "))
    both, _ = read_sheet(days, longest_gap=86400.0, variables={**NAMES, "shortwave": 0.0})
    np.testing.assert_allclose(both.values.wind_u[3:], both.values.wind_u[:3], atol=1e-12)


def test_mistakes_about_the_wind_are_named(tmp_path):
    path = write(tmp_path / "w.csv", SHEET)
    beyond = write(tmp_path / "x.csv", SHEET.replace(",270,", ",500,"))
    for source, options, message in (
        (path, {"variables": {**NAMES, "wind_u": 0.0}}, "w.csv wind wind_u wind_direction both"),
        (path, {"variables": {**NAMES, "wind_direction": "Dirr"}}, "w.csv Dirr wind_direction"),
        (beyond, {}, "x.csv Dir 360 500"),
        (path, {"units": {"wind_direction": "rad"}}, "w.csv Dir degrees rad"),
        (path, {"variables": {}, "humidity_measure": None}, "variables.humidity humidity_measure"),
        (path, {"longest_gap": 3601.0}, "w.csv Air longest_gap"),
    ):
        with error_naming(FileFormatError, message):
            read_sheet(source, **options)


def dated(path, *dates):
    return write(path, "time,a\n" + "".join(f"{date},1\n" for date in dates))


def test_dates_begin_with_the_year(tmp_path):
    path = tmp_path / "t.csv"
    for dates in (("2019/5/1", "2019/5/2"), ("20190501", "20190502 7:30")):
        assert "2019-05-01" in str(read_table(dated(path, *dates))["time"].attrs["units"])
    read = read_table(write(path, "time [UTC],hour,a\n2019-05-01 6:00,6,1\n"))
    assert "2019-05-01 06:00" in str(read["time"].attrs["units"])
    for text in ("1.5.2019", "1/5/2019", "2019", "32"):
        with error_naming(FileFormatError, f"time ISO {text}"):
            read_table(dated(path, text, text))


def test_two_columns_of_time_and_commas_that_can_be_misread_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for text, named in (
        ("Date (PST),Time,a\n2019-05-01,7:30,1\n", "1: Universal PST"),
        ("Date,Time (CET),a\n2019-05-01,7:30,1\n", "1: Universal CET"),
        ("Date,Time,a\n2019-05-01,7:30 PM,1\n", "2: ISO PM"),
        ("Date,Time,a\n2019-05-01,7:30,1\n2019-05-01,,1\n", "3: ISO 2019-05-01T"),
        ("Date,Time,a\n2019-05-01,0730,1\n", "1: Date Time"),
        ("Date,Hour,a\n2019-05-01,12,1\n2019-05-02,12,1\n", "1: Hour 07:30"),
        ("time;a;b\n2019-05-01;1,013;\n2019-05-02;2;2.5\n", "2: a number 1,013"),
    ):
        with error_naming(FileFormatError, named):
            read_table(write(path, text))


def test_times_that_are_local_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for names in ("Time (UTC+2)", "Date (local)"):
        with error_naming(FileFormatError, f"1: Universal {names}"):
            read_table(write(path, f"{names},a\n2019-05-01 00:00,1\n2019-05-02 00:00,2\n"))
        write(path, f"time,a,{names}\n2019-05-01 00:00,1,x\n2019-05-02 00:00,2,y\n")
        assert "time" in read_table(path)
    for names in ("local time", "TIMESTAMP_LT", "Datum (MESZ)"):
        with error_naming(FileFormatError, f"1: time {names}"):
            read_table(write(path, f"{names},a\n2019-05-01 00:00,1\n2019-05-02 00:00,2\n"))


def test_a_netcdf_file_in_local_time():
    about = {"units": "hours since 2019-05-01", "long_name": "local time"}
    dataset = xr.Dataset(
        {"TEMP": ("time", [9.0, 9.5], {"units": "degC"})}, {"time": ("time", [0.0, 1.0], about)}
    )
    options = {"start_time": MAY, "conservative": False, "depths": 5.0}
    with error_naming(FileFormatError, "time: 'local time' +2:00' (units)"):
        read_oceansites(dataset, **options)
    found = read_oceansites(dataset, units={"time": "hours since 2019-05-01 00:00 +2:00"}, **options)
    np.testing.assert_allclose(found.time, [-7200.0, -3600.0])


def test_a_cast_over_pressure_read_twice(tmp_path, recwarn):
    line = "2019-05-01T00:00:00,"
    text = f"time,pressure [dbar],temp [degC]\n{line}100,9\n{line}100,9.5\n{line}5,10\n"
    options: dict[str, Any] = {"variables": {"temperature": "temp"}, "conservative": False}
    found = read_oceansites(write(tmp_path / "t.csv", text), start_time=MAY, **options)
    np.testing.assert_allclose(found.z, [[-99.16, -4.96]], atol=0.01)
    np.testing.assert_allclose(found.profiles["temperature"], [[9.25, 10.0]])
    notes = notes_in(recwarn)
    assert any("temp: 1 of 3 values" in note and "averaged" in note for note in notes)


def test_large_values_of_one_kind_are_no_codes(tmp_path):
    fluxes = read_table(write(tmp_path / "q.csv", "time,q\n2019-05-01,-999\n2019-05-02,-700\n"))
    np.testing.assert_array_equal(fluxes["q"].values, [-999.0, -700.0])


def test_a_column_without_values_and_a_code_of_another(tmp_path):
    text = "Date (UTC),a,b [degC],c [degC]\n2019-05-01,nan,3,-999\n2019-05-02,-nan,4,5\n"
    path = write(tmp_path / "t.csv", text)
    assert np.isnan(read_table(path)["a"].values).all()
    assert read_series(path, "b", "air_temperature", start_time=MAY).values[0] == 3.0
    with pytest.warns(InputWarning, match="-999"), error_naming(FileFormatError, "c two 1"):
        read_series(path, "c", "air_temperature", start_time=MAY, longest_gap=1e6)
    with warnings.catch_warnings(action="error"), pytest.raises(InputWarning):
        read_series(path, "c", "air_temperature", start_time=MAY, longest_gap=1e6)
    with error_naming(FileFormatError, "line 1 names"):
        read_table(write(path, f"A station\n{text}"))
