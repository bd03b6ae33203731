"""Tables as people keep them: local dates and numbers, units in brackets, wind by direction, codes."""

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tunax_lite.io import read_oceansites, read_weather
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.table import read_table
from tunax_lite.io.units import Conversion

START = "2019-05-01T00:00:00"
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
ENGLISH = """\
Date,Time (UTC),Wind (kn),Dir (°),Air (°C),RH (%),P (hPa),Clouds (okta),Sun (W/m²)
2019-05-01,0:00,10,270,7.5,80,1013.5,4,0
2019-05-01,1:00,10,180,-999,80,1013.5,4,0
2019-05-01,2:00,10,90,8.5,80,1013.5,4,0
"""
GERMAN = """\
Datum;Wind (kn);Dir (°);Air (°C);RH (%);P (hPa);Clouds (okta);Sun (W/m²)
1.5.2019 0:00;10;270;7,5;80;1013,5;4;0
1.5.2019 1:00;10;180;;80;1013,5;4;0
1.5.2019 2:00;10;90;8,5;80;1013,5;4;0
"""


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def read(path, **options):
    notes: list[str] = []
    given = {"variables": NAMES, "humidity_measure": "relative", "longest_gap": 21600.0} | options
    weather, _ = read_weather(path, start_time=START, notes=notes, **given)
    return weather, notes


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(ENGLISH, "utf-8"), (GERMAN, "cp1252"), (GERMAN, "utf-16"), (GERMAN.replace(";", "\t"), "utf-8")],
)
def test_the_weather_of_a_spreadsheet(tmp_path, text, encoding):
    weather, notes = read(write(tmp_path / "w.csv", text, encoding))
    np.testing.assert_array_equal(weather.time, HOURS)
    speed = 10.0 * 1852.0 / 3600.0
    # From the west, from the south, from the east.
    np.testing.assert_allclose(weather.values.wind_u, [speed, 0.0, -speed], atol=1e-12)
    np.testing.assert_allclose(weather.values.wind_v, [0.0, speed, 0.0], atol=1e-12)
    np.testing.assert_allclose(weather.values.air_temperature, [7.5, 8.0, 8.5])
    np.testing.assert_allclose(weather.values.air_pressure, 101350.0)
    np.testing.assert_allclose(np.asarray(weather.values.cloud_cover), 0.5)
    assert any("bridged" in note for note in notes) and any("blows from" in note for note in notes)
    assert any("-999" in note for note in notes) == ("-999" in text)


def test_the_direction_that_the_wind_blows_to(tmp_path):
    path = write(tmp_path / "w.csv", ENGLISH)
    turned, _ = read(path, units={"wind_direction": "deg", "wind_speed": "m s-1"})
    np.testing.assert_allclose(turned.values.wind_u, [10.0, 0.0, -10.0], atol=1e-12)
    turned, _ = read(path, units={"wind_direction": Conversion(offset=180.0)})
    assert turned.values.wind_u[0] < 0.0 < turned.values.wind_u[2]


def test_mistakes_about_the_wind_are_named(tmp_path):
    path = write(tmp_path / "w.csv", ENGLISH)
    with error_naming(FileFormatError, "w.csv wind wind_u wind_direction both"):
        read(path, variables={**NAMES, "wind_u": 0.0})
    with error_naming(FileFormatError, "w.csv Dirr wind_direction"):
        read(path, variables={**NAMES, "wind_direction": "Dirr"})
    with error_naming(FileFormatError, "w.csv Dir 360 500"):
        read(write(tmp_path / "w.csv", ENGLISH.replace(",270,", ",500,")))
    with error_naming(FileFormatError, "w.csv Dir degrees rad"):
        read(path, units={"wind_direction": "rad"})
    with error_naming(FileFormatError, "humidity_measure variables.wind_v variables.air_pressure"):
        read(path, variables={}, humidity_measure=None)
    with error_naming(FileFormatError, "Air longest_gap"):
        read(write(tmp_path / "w.csv", ENGLISH), longest_gap=3601.0)


def test_profiles_with_a_date_and_a_clock(tmp_path):
    lines = "Cruise,Date,Time (UTC),Depth (m),Temp (°C),Sal (PSU)\n"
    lines += "".join(
        f"A,2019-05-01,1{i}:00,{z},{t},34.5\n" for i in (0, 1) for z, t in ((1, 9.5), (5, "-9999"))
    )
    path = write(tmp_path / "ctd.csv", lines)
    names = {"temperature": "Temp (°C)", "salinity": "Sal"}
    found = read_oceansites(path, start_time=START, variables=names, conservative=False)
    np.testing.assert_array_equal(found.time, [36000.0, 39600.0])
    np.testing.assert_array_equal(found.profiles["temperature"], [[np.nan, 9.5]] * 2)
    assert any("-9999 stands for a missing value, in 2 of 4" in note for note in found.notes)


def dated(path, *dates):
    return write(path, "time,a\n" + "".join(f"{date},1\n" for date in dates))


def test_local_dates(tmp_path):
    path = tmp_path / "t.csv"
    for dates in (
        ("1.5.2019", "2.5.2019"),
        ("1/5/2019 7:30", "13/5/2019 7:30"),
        ("5/1/2019", "5/13/2019"),
        ("2019/5/1", "2019/5/2"),
    ):
        assert "2019-05-01" in str(read_table(dated(path, *dates))["time"].attrs["units"])
    # Dates that can be two are refused.
    for dates in (("1/5/2019", "2/5/2019"), ("13/5/2019", "5/13/2019"), ("32.5.2019", "1.5.2019")):
        with error_naming(FileFormatError, f"time ISO {dates[0]}"):
            read_table(dated(path, *dates))


def test_times_that_are_local_are_refused(tmp_path):
    """They were taken for Universal Time."""
    path = tmp_path / "t.csv"
    for names in ("local time", "TIMESTAMP_LT", "Time (UTC+2)", "Datum (MESZ)", "Date (local)"):
        with error_naming(FileFormatError, f"1: Universal {names}"):
            read_table(write(path, f"{names},a\n2019-05-01 00:00,1\n2019-05-02 00:00,2\n"))
        write(path, f"time,a,{names}\n2019-05-01 00:00,1,x\n2019-05-02 00:00,2,y\n")
        if names == "Date (local)":  # the day to which `time` would belong
            with error_naming(FileFormatError, f"1: Universal {names}"):
                read_table(path)
        else:
            assert "time" in read_table(path)


def test_a_netcdf_file_in_local_time():
    about = {"units": "hours since 2019-05-01", "long_name": "local time"}
    dataset = xr.Dataset(
        {"TEMP": ("time", [9.0, 9.5], {"units": "degC"})}, {"time": ("time", [0.0, 1.0], about)}
    )
    options = {"start_time": START, "conservative": False, "depths": 5.0}
    with error_naming(FileFormatError, "time: 'local time' +2:00' (units)"):
        read_oceansites(dataset, **options)
    found = read_oceansites(dataset, units={"time": "hours since 2019-05-01 00:00 +2:00"}, **options)
    np.testing.assert_allclose(found.time, [-7200.0, -3600.0])


def test_a_cast_over_pressure_read_twice_and_its_flags(tmp_path):
    line = "2019-05-01T00:00:00,"
    text = f"time,pressure [dbar],temp [degC],T_flag\n{line}100,9,1\n{line}100,9.5,4\n{line}5,10,1\n"
    found = read_oceansites(
        write(tmp_path / "t.csv", text),
        start_time=START,
        variables={"temperature": "temp"},
        conservative=False,
    )
    np.testing.assert_allclose(found.z, [[-99.16, -4.96]], atol=0.01)
    np.testing.assert_allclose(found.profiles["temperature"], [[9.25, 10.0]])
    assert any("temp: 1 of 3 values" in note and "averaged" in note for note in found.notes)
    assert any("T_flag are not used" in note and "temp_QC" in note for note in found.notes)


def test_what_is_no_decimal_comma_or_code_stays(tmp_path):
    with error_naming(FileFormatError, "line 3 a 1,5"):
        read_table(write(tmp_path / "t.csv", "time;a\n2019-05-01;1.5\n2019-05-02;1,5\n"))
    fluxes = read_table(write(tmp_path / "q.csv", "time,q\n2019-05-01,-999\n2019-05-02,-700\n"))
    np.testing.assert_array_equal(fluxes["q"].values, [-999.0, -700.0])  # large, but all of one kind


def test_a_line_of_values_is_no_line_of_names(tmp_path):
    with error_naming(FileFormatError, "line 1 names time"):
        read_table(write(tmp_path / "t.csv", "2019-05-01,1\n2019-05-02,2\n"))
