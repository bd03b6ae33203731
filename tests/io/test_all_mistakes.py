"""All mistakes of an input in one message, a line each, as many as a person can read."""

import numpy as np
import pytest
import xarray as xr

from tunax_lite.io import read_argo, read_cf_netcdf, read_numbers, read_oceansites, read_weather
from tunax_lite.io.dated_text import Column, Period, ProfileReader, SeriesReader
from tunax_lite.io.errors import ConfigError, FileFormatError, all_of, and_also
from tunax_lite.io.table import read_table

START = "2010-01-01T00:00:00"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def lines_of(call, kind: type[Exception] = FileFormatError) -> list[str]:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value).splitlines()


def test_every_wrong_line_of_a_table(tmp_path):
    rows = ["2010-01-01,1,2", "yesterday,1,2", "2010-01-03,x,2", "2010-01-04,1", "2010-01-05,1,y"]
    path = write(tmp_path / "a.csv", "time,a,b\n" + "\n".join(rows))
    found = lines_of(lambda: read_table(path))
    assert [line.split(": ")[1:3] for line in found] == [
        ["line 5", "expected 3 values, as in the line of names, got 2; complete the line."],
        ["line 3", "time"],
        ["line 4", "a"],
        ["line 6", "b"],
    ]
    assert all(line.startswith(str(path)) for line in found)


def test_many_lines_with_one_mistake_are_counted(tmp_path):
    rows = "".join(f"2010-01-{day:02},{'-' if day > 5 else 1}\n" for day in range(1, 21))
    found = lines_of(lambda: read_table(write(tmp_path / "a.csv", f"time,a\n{rows}")))
    assert len(found) == 3  # the days 6, 7 and 8
    assert "line 7" in found[0] and "line 9" in found[2] and "12 more lines" in found[2]


def test_every_missing_or_impossible_variable_of_the_weather(tmp_path):
    names = "wind_u [m s-1],wind_v [m s-1],air_temperature [bananas],air_pressure [Pa],relative_humidity [%]"
    rows = "".join(f"2010-01-0{day},1,1,10,{pressure},80\n" for day, pressure in ((1, 1e5), (2, 1013.0)))
    path = write(tmp_path / "w.csv", f"time,{names}\n{rows}")
    text = "\n".join(lines_of(lambda: read_weather(path, start_time=START)))
    for words in ("bananas", "1013", "shortwave", "longwave"):
        assert words in text
    assert len(text.splitlines()) == 4


def test_every_wrong_line_of_text_with_dates(tmp_path):
    rows = [
        "2010-01-01 00:00:00 5",
        "2010-01-02 00:00:00 500",
        "2010-13-03 00:00:00 5",
        "2010-01-04 00:00:00 5",
    ]
    path = write(tmp_path / "t.dat", "\n".join(rows) + "\n2010-15-05 00:00:00 5\n")
    period = Period(1262304000, 86400.0)  # 2010-01-01
    column = Column(path, 1, "air_temperature", "run.yaml: line 3")
    found = lines_of(lambda: SeriesReader(period).read(column))
    assert [line.split(": ")[1] for line in found] == ["line 3", "line 5", "line 2"]
    assert "500" not in found[2] and "226.85" in found[2]  # degC
    rows = ["2010-01-01 00:00:00 nan", "2010-01-01 06:00:00 -300", "2010-01-03 00:00:00 5"]
    path = write(tmp_path / "v.dat", "\n".join(rows))
    found = lines_of(lambda: SeriesReader(period).read(Column(path, 1, "air_temperature", "x")))
    assert "line 1" in found[0] and "finite" in found[0] and "line 2" in found[1] and "-300" in found[1]


def test_records_in_the_wrong_order_are_named(tmp_path):
    rows = [f"2010-01-0{day} 00:00:00 5" for day in (3, 2, 1)]
    path = write(tmp_path / "t.dat", "\n".join(rows))
    column = Column(path, 1, "air_temperature", "x")
    (found,) = lines_of(lambda: SeriesReader(Period(1262304000, 86400.0)).read(column))
    assert "line 2" in found and "increase" in found and "2010-01-02 00:00:00 after 2010-01-03" in found


def test_every_file_and_variable_of_a_mooring(tmp_path):
    rows = "2010-01-01,1,300,35\n2010-01-02,1,300,350\n"
    one = write(tmp_path / "one.csv", f"time,depth [m],temperature [degC],salinity [1]\n{rows}")
    two = write(tmp_path / "two.csv", "time,depth [m],temperature [degC]\n2010-01-01,1,x\n2010-01-02,1,9\n")
    found = lines_of(lambda: read_oceansites([one, two], start_time=START, position=(50.0, 0.0)))
    assert ["one.csv: temp" in found[0], "one.csv: salinity" in found[1], "two.csv: line 2" in found[2]] == [
        True
    ] * 3


def test_every_mistake_of_profiles_of_gotm(tmp_path):
    profiles = [
        "2010-01-01 00:00:00 3 2\n-1 10\n-2 x\n-3 10",
        "2010-13-02 00:00:00 3 2\n-1 10\n-2 10\n-3 10",
        "2010-01-02 00:00:00 3 2\n-1 10\n-3 10\n-2 10",
        "2010-01-03 00:00:00 4 2\n-1 10\n-2 10\n-3 10",
        "2010-01-04 00:00:00 2 2\n-1 500\n-2 10",
    ]
    path = write(tmp_path / "p.dat", "\n".join(profiles))
    reader = ProfileReader(Period(1262304000, 86400.0), np.array([-2.5, -1.5, -0.5]))
    found = lines_of(lambda: reader.read(Column(path, 1, "temperature", "gotm.yaml: line 3")))
    said = {int(line.split(": line ")[1].split(":")[0]): line for line in found}
    assert sorted(said) == [3, 5, 11, 13, 18]
    expected = {
        3: "a number",
        5: "a date and time",
        11: "-3 above -2",
        13: "4 levels",
        18: "500 at 2010-01-04",
    }
    assert all(words in said[line] for line, words in expected.items())
    found = lines_of(
        lambda: read_oceansites(
            path, start_time=START, variables={"temperature": "1"}, units={"temperature": "degC"}
        )
    )
    assert [line.split(": ")[1] for line in found] == ["line 13", "line 5", "line 3"]


def test_every_mistake_of_profiles_in_a_table(tmp_path):
    rows = ["01-01,1,10,35", "01-01,x,10,35", "01-02,1,500,35", "01-32,1,10,35", "01-03,1,10,350"]
    text = "time,depth [m],temperature [degC],salinity [1]\n" + "\n".join(f"2010-{row}" for row in rows)
    found = lines_of(lambda: read_oceansites(write(tmp_path / "a.csv", text), start_time=START))
    assert [line.split(": ")[1] for line in found] == ["line 5", "line 3", "temperature", "salinity"]
    rows = "2010-01-02,500,10,35\n2010-01-01,10,10,350\n"
    text = f"time,temperature_1m [degC],temperature_5m [degC],salinity_1m\n{rows}"
    found = lines_of(lambda: read_oceansites(write(tmp_path / "b.csv", text), start_time=START))
    assert [line.split(": ")[1] for line in found] == ["time", "temperature", "salinity"]
    mixed = write(tmp_path / "c.csv", text.replace("5m [degC]", "5m [K]"))
    found = lines_of(lambda: read_oceansites(mixed, start_time=START))
    assert ["temperature_5m" in found[0], "degC, got K" in found[0], "time" in found[1]] == [True] * 3
    text = "when,depth,temperature,temperature\nyesterday,1,1\n"
    found = lines_of(lambda: read_oceansites(write(tmp_path / "d.csv", text), start_time=START))
    assert [line.split(": ")[1] for line in found] == ["line 1", "line 1", "line 2"]
    rows = "2010-01-02,x\n2010-01-01,10\n2010-01-01,10\n"
    path = write(tmp_path / "e.csv", f"time,sst [bananas]\n{rows}")
    found = lines_of(lambda: read_numbers(path, "sea_surface_temperature", "sst", start_time=START))
    assert [line.split(": ")[1] for line in found] == ["line 2", "time", "sst"]


def test_every_mistake_of_a_mooring(tmp_path):
    on_both = "TIME", "DEPTH"
    variables = {
        "TEMP": (on_both, np.full((5, 3), 10.0), {"units": "bananas"}),
        "PSAL": (on_both, np.full((5, 3), 350.0), {"units": "1"}),
    }
    axes = {
        "TIME": ("TIME", [0.0, 1, 1, 3, 2], {"units": "days since 2010-01-01"}),
        "DEPTH": ("DEPTH", [1.0, 5.0, 9.0], {"units": "fathom", "positive": "down"}),
    }
    path = tmp_path / "m.nc"
    xr.Dataset(variables, axes).to_netcdf(path)
    found = lines_of(lambda: read_oceansites(path, start_time=START))
    assert [line.split(": ")[1] for line in found] == ["DEPTH", "TIME", "TEMP", "PSAL"]


def test_every_mistake_of_profiles_of_a_float(tmp_path):
    levels = "N_PROF", "N_LEVELS"
    of_profiles = {"JULD": [20000.0, 20001.0], "LATITUDE": [50.0, 150.0], "LONGITUDE": [0.0, 500.0]}
    variables = {
        **{name: (("N_PROF",), values) for name, values in of_profiles.items()},
        "PRES": (levels, [[1.0, 5.0], [1.0, 1e6]], {"units": "decibar"}),
        "TEMP": (levels, [[10.0, 10.0], [10.0, 10.0]], {"units": "bananas"}),
        "PSAL": (levels, [[350.0, 35.0], [35.0, 35.0]], {"units": "psu"}),
        "DATA_MODE": (("N_PROF",), [b"X", b"R"]),
    }
    path = tmp_path / "a.nc"
    file = xr.Dataset(variables)
    file["JULD"].attrs["units"] = "dayz since 1950-01-01"
    file.to_netcdf(path)
    found = lines_of(lambda: read_argo(path, start_time=START))
    names = ["JULD", "PRES", "TEMP", "PSAL", "LONGITUDE", "LATITUDE", "DATA_MODE"]
    assert [line.split(": ")[1] for line in found] == names
    file.drop_vars(["LATITUDE", "TEMP"]).to_netcdf(path)
    found = lines_of(lambda: read_argo(path, start_time=START))
    assert [line.split(": ")[1] for line in found] == ["LATITUDE", "TEMP"]


def test_every_mistake_of_a_cf_file(tmp_path):
    profiles, flux = ("time", "z"), ("time",)
    variables = {
        "temperature": (profiles, np.full((4, 3), 300.0), {"units": "degC"}),
        "salinity": (profiles, np.full((4, 3), 35.0), {"units": "bananas"}),
        "surface_heat_flux": (flux, [1.0, np.nan, 1, 1], {"units": "W m-2"}),
        "surface_stress_u": (flux, np.ones(4), {"units": "apples"}),
    }
    axes = {
        "time": ("time", [0.0, 1, 2, 3], {"units": "hours since 2010-01-01"}),
        "z": ("z", [-5.0, -3.0, -3.0], {"units": "m", "positive": "up"}),
    }
    path = tmp_path / "c.nc"
    file = xr.Dataset(variables, axes, {"gravity": "much"})
    file.to_netcdf(path)
    found = lines_of(lambda: read_cf_netcdf(path))
    said = {line.split(": ")[1]: line for line in found}
    assert sorted(said) == sorted([*variables, "z", "latitude", "attribute gravity"])
    assert "give the unit K" in said["temperature"] and "gaps" in said["surface_heat_flux"]


def test_further_readings_where_the_first_fails():
    def fail(key: str) -> None:
        raise FileFormatError("f", key, "e", "g", "do it")

    def body(fails: bool) -> None:
        with and_also(lambda: fail("b"), lambda: None):
            if fails:
                fail("a")

    body(False)
    assert [line.split(": ")[1] for line in lines_of(lambda: body(True))] == ["a", "b"]


def test_several_readings():
    def fail(error):
        raise error

    assert all_of([lambda: 1, lambda: 2]) == [1, 2]
    config, other = ConfigError("a: expected b, got c."), FileFormatError("f", "k", "e", "g", "do it")
    assert lines_of(lambda: all_of([lambda: fail(config)]), ConfigError) == [str(config)]
    assert lines_of(lambda: all_of([lambda: fail(config), lambda: fail(other)])) == [str(config), str(other)]
    many = [lambda i=i: fail(ConfigError(f"problem {i}")) for i in range(30)]
    assert lines_of(lambda: all_of(many), ConfigError)[-1] == "... and 11 more mistakes."
    with pytest.raises(ZeroDivisionError):  # what is no mistake of the input is not collected
        all_of([lambda: fail(config), lambda: 1 / 0])
