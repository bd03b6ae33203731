"""Series and profiles in text, in the formats in which others write them."""

import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.io import FileFormatError, read_oceansites, read_series, read_table, read_weather

START = "2010-11-10"
DEGREES = {"variables": {"temperature": "1"}, "units": {"temperature": "degC"}, "conservative": False}


def write(path, text):
    path.write_text(text)
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


def test_columns_that_are_not_there(tmp_path):
    path = write(tmp_path / "a.dat", "2010/11/10 07:00:00 1.0\n2010/11/10 08:00:00 2.0 3.0\n")
    with error_naming(FileFormatError, "a.dat 2 3"):
        read_table(path)
    path = write(tmp_path / "b.csv", "depth,temp\n1.0,2.0\n")
    with error_naming(FileFormatError, "b.csv 1 time datetime depth temp"):
        read_table(path)


PROFILES = "2010/11/10 00:00:00  3 2\n 1. 9.0\n 5. 8.0\n 10. 7.0\n2010/11/11 00:00:00 2 2\n1. 9.5\n10. 7.5\n"
TABLE = """datetime,Depth_meter,temp,station
2010-11-10 00:00:00,1,9.0,A
2010-11-11 00:00:00,1,9.5,A
2010-11-10 00:00:00,5,8.0,A
2010-11-10 00:00:00,10,7.0,A
2010-11-11 00:00:00,10,7.5,A
"""
WIDE = """Datetime,Temperature_1m [degC],Temperature_5m [degC],Temperature_10m [degC],Salinity_5m
2010-11-10 00:00:00,9.0,8.0,7.0,32.0
2010-11-11 00:00:00,9.5,,7.5,
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


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("p.dat", PROFILES, DEGREES),
        ("p.dat", PROFILES.replace(" 5.", "-5.").replace(" 1", "-1").replace("\n1", "\n-1"), DEGREES),
        ("p.csv", TABLE, DEGREES | {"variables": {"temperature": "temp"}}),
        ("p.csv", WIDE, {"conservative": False}),
        ("p.dat", BLOCKS, {"conservative": False}),
    ],
)
def test_profiles_in_text(tmp_path, name, text, options):
    found = read_oceansites(write(tmp_path / name, text), start_time=START, **options)
    np.testing.assert_array_equal(found.time, [0.0, 86400.0])
    np.testing.assert_array_equal(found.z, [-10.0, -5.0, -1.0])
    values = [[7.0, 8.0, 9.0], [7.5, np.nan, 9.5]]
    np.testing.assert_array_equal(found.profiles["temperature"], values)


def test_profiles_at_other_depths_each_time(tmp_path):
    days = "".join(f"2010-11-{day} 00:00:00 2 2\n{day}.5 9.0\n{day}5 8.0\n" for day in range(10, 20))
    found = read_oceansites(write(tmp_path / "p.dat", days), start_time=START, **DEGREES)
    assert found.moves
    np.testing.assert_array_equal(found.z[1], [-115.0, -11.5])
    np.testing.assert_array_equal(found.profiles["temperature"], 10 * [[8.0, 9.0]])


def test_codes_of_pmel_are_flags(tmp_path):
    path = write(tmp_path / "p.dat", BLOCKS.replace("222", "532"))
    found = read_oceansites(path, start_time=START)  # at its position
    assert found.rejected == {"temperature": 2} and "practical salinity 35" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PROFILES.replace("3 2", "2 2"), "4"),
        (PROFILES.replace("2 2\n1.", "3 2\n1."), "5 3 2"),
        (PROFILES.replace("8.0", "8.0x"), "3 8.0x"),
        (BLOCKS.replace(" 222 ", " 22 "), "7 3 555"),
    ],
)
def test_text_that_is_no_profile(tmp_path, text, message):
    with error_naming(FileFormatError, f"p.dat {message}"):
        read_oceansites(write(tmp_path / "p.dat", text), start_time=START, **DEGREES)


def test_names_of_columns_that_say_their_unit(tmp_path):
    """As in files of LakeEnsemblR: nothing has to be named for a chain of thermistors in a lake."""
    lines = [f"2010-01-0{day} 00:00:00,{depth},{8.0 - depth}\n" for depth in (1.0, 3.0) for day in (1, 2)]
    path = write(tmp_path / "lake.csv", "datetime,Depth_meter,Water_Temperature_celsius\n" + "".join(lines))
    found = read_oceansites(
        path, start_time="2010-01-01T00:00:00", position=(53.9, -9.5), salinity=0.0, conservative=False
    )
    np.testing.assert_array_equal(found.z, [-3.0, -1.0])
    np.testing.assert_allclose(found.profiles["temperature"], [[5.0, 7.0]] * 2, rtol=1e-7)
    path = write(tmp_path / "air.csv", "datetime,Surface_Level_Barometric_Pressure_pascal\n2010-01-01,1e5\n")
    assert read_table(path)["Surface_Level_Barometric_Pressure_pascal"].attrs["units"] == "Pa"


def test_temperature_and_salinity_in_two_files_are_one_mooring(tmp_path):
    """In GOTM's format, where both columns are called 1, and in CSV, where names differ."""
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
        np.testing.assert_array_equal(found.time, [0.0, 86400.0])
        np.testing.assert_array_equal(np.broadcast_to(found.z, (2, 2)), [[-3.0, -1.0]] * 2)
        np.testing.assert_array_equal(found.profiles["temperature"], [[18.0, 20.0]] * 2)
        np.testing.assert_array_equal(found.profiles["salinity"], [[33.0, 30.0]] * 2)
    with error_naming(FileFormatError, "t.csv salinity sall"):  # nor is a name ignored that no file has
        read_oceansites(tmp_path / "t.csv", variables={"temperature": "t", "salinity": "sall"}, **options)


def test_weather_of_a_lake_under_its_own_names(tmp_path):
    """As in files of LakeEnsemblR: the wind is a speed, rain is in mm per day, clouds are a fraction."""
    names = (
        "datetime,Ten_Meter_Elevation_Wind_Speed_meterPerSecond,Air_Temperature_celsius,Relative_Humidity_percent,"
        "Shortwave_Radiation_Downwelling_wattPerMeterSquared,Longwave_Radiation_Downwelling_wattPerMeterSquared,"
        "Surface_Level_Barometric_Pressure_pascal,Precipitation_millimeterPerDay,Cloud_Cover_decimalFraction\n"
    )
    rows = "".join(f"2010-01-0{day} 00:00:00,5,10,80,100,300,1e5,86.4,0.5\n" for day in (1, 2))
    path, notes = write(tmp_path / "meteo.csv", names + rows), []
    series, measure = read_weather(path, start_time="2010-01-01T00:00:00", notes=notes)
    values = series.values
    assert measure == "relative" and len(notes) == 1 and "direction" in notes[0]
    np.testing.assert_array_equal(values.wind_u, [5.0, 5.0])
    np.testing.assert_array_equal(values.wind_v, [0.0, 0.0])
    assert values.precipitation is not None
    np.testing.assert_allclose(values.precipitation, [1e-6, 1e-6], rtol=1e-7)  # 86.4 mm in 86400 s
    np.testing.assert_array_equal(values.shortwave, [100.0, 100.0])
    np.testing.assert_array_equal(values.longwave, [300.0, 300.0])
    np.testing.assert_array_equal(values.cloud_cover, [0.5, 0.5])
    with error_naming(FileFormatError, "surface_net_downward_shortwave_flux variables.shortwave"):
        read_weather(path, start_time="2010-01-01T00:00:00", shortwave="net")


@pytest.mark.parametrize(
    ("stamp", "time", "wind"),
    [
        (None, [0, 3600, 7200, 18000], [1, 3, 5, 7]),
        # Hourly means; a gap of three hours does not make the last mean longer.
        ("middle", [-1800, 1800, 1800, 5400, 5400, 9000, 16200, 19800], [1, 1, 3, 3, 5, 5, 7, 7]),
        ("end", [-3600, 0, 0, 3600, 3600, 7200, 14400, 18000], [1, 1, 3, 3, 5, 5, 7, 7]),
        ("start", [0, 3600, 3600, 7200, 7200, 10800, 18000, 21600], [1, 1, 3, 3, 5, 5, 7, 7]),
    ],
)
def test_means_hold_over_their_interval(tmp_path, stamp, time, wind):
    names = (
        "time,wind_u [m s-1],wind_v [m s-1],air_temperature [degC],relative_humidity [%],air_pressure [Pa]"
    )
    hours = (
        f"2010-11-10T{hour:02d}:00:00,{speed},0,9,80,1e5" for hour, speed in ((0, 1), (1, 3), (2, 5), (5, 7))
    )
    path = write(tmp_path / "station.csv", "\n".join([names, *hours]) + "\n")
    found, _ = read_weather([path], start_time=START, shortwave=None, longwave=None, stamp=stamp)
    np.testing.assert_allclose(found.time, time, atol=0.01)
    np.testing.assert_allclose(found.values.wind_u, wind)
