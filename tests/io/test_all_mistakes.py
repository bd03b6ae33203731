"""All mistakes of an input in one message, a line each, as many as a person can read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tunax_lite.io import read_argo, read_numbers, read_oceansites, read_weather
from tunax_lite.io.dated_text import Column, Period, ProfileReader, SeriesReader
from tunax_lite.io.errors import ConfigError, FileFormatError, all_of, and_also, shortened, within_a_screen
from tunax_lite.io.table import read_table

START = "2010-01-01T00:00:00"
PERIOD = Period(1262304000, 86400.0)  # 2010-01-01
HEIGHTS = np.array([-2.5, -1.5, -0.5])
CAST = "time,depth [m],temperature [degC],salinity [1]\n"
WEATHER = (
    "time,wind_u [m s-1],wind_v [m s-1],air_temperature [bananas],air_pressure [Pa],relative_humidity [%]\n"
)
SENSORS = "time,temperature_1m [degC],temperature_5m [degC],salinity_1m\n"
PROFILES = (
    "2010-01-01 00:00:00 3 2\n-1 10\n-2 x\n-3 10\n"
    "2010-13-02 00:00:00 3 2\n-1 10\n-2 10\n-3 10\n"
    "2010-01-02 00:00:00 3 2\n-1 10\n-3 10\n-2 10\n"
    "2010-01-03 00:00:00 4 2\n-1 10\n-2 10\n-3 10\n"
    "2010-01-04 00:00:00 2 2\n-1 500\n-2 10\n"
)


def lines_of(call, kind: type[Exception] = FileFormatError) -> list[str]:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value).splitlines()


def mooring(path: Path) -> object:
    return read_oceansites(path, start_time=START)


def series(path: Path) -> object:
    return SeriesReader(PERIOD).read(Column(path, 1, "air_temperature", "run.yaml: line 3"))


def profiles(path: Path) -> object:
    return ProfileReader(PERIOD, HEIGHTS).read(Column(path, 1, "temperature", "run.yaml: line 3"))


# Ending, text, reader, and the line or variable that each line of the message names.
TEXTS: list[tuple[str, str, Callable[[Path], object], list[str]]] = [
    ("csv", "time,a,b\n2010-01-01,1,2\nyesterday,1,2\n2010-01-03,x,2\n2010-01-04,1\n2010-01-05,1,y\n",
     read_table, ["line 5", "line 3", "line 4", "line 6"]),
    ("csv", WEATHER + "2010-01-01,1,1,10,1e5,80\n2010-01-02,1,1,10,1013,80\n",
     lambda path: read_weather(path, start_time=START),
     ["air_temperature", "air_pressure", "shortwave", "longwave"]),
    ("dat", "2010-01-01 00:00:00 5\n2010-01-02 00:00:00 500\n2010-13-03 00:00:00 5\n2010-15-05 00:00:00 5\n",
     series, ["line 3", "line 4", "line 2"]),
    ("dat", "2010-01-03 00:00:00 5\n2010-01-02 00:00:00 5\n2010-01-01 00:00:00 5\n", series, ["line 2"]),
    ("dat", PROFILES, profiles, ["line 3", "line 5", "line 11", "line 13", "line 18"]),
    ("csv", CAST + "2010-01-01,1,10,35\n2010-01-01,x,10,35\n2010-01-02,1,500,35\n2010-01-32,1,10,35\n"
     "2010-01-03,1,10,350\n", mooring, ["line 5", "line 3", "temperature", "salinity"]),
    ("csv", SENSORS + "2010-01-02,500,10,35\n2010-01-01,10,10,350\n", mooring,
     ["time", "temperature", "salinity"]),
    ("csv", "time,sst [bananas]\n2010-01-02,x\n2010-01-01,10\n2010-01-01,10\n",
     lambda path: read_numbers(path, "sea_surface_temperature", "sst", start_time=START),
     ["line 2", "time", "sst"]),
]  # fmt: skip
ON_BOTH, LEVELS = ("TIME", "DEPTH"), ("N_PROF", "N_LEVELS")
MOORING = xr.Dataset(
    {
        "TEMP": (ON_BOTH, np.full((5, 3), 10.0), {"units": "bananas"}),
        "PSAL": (ON_BOTH, np.full((5, 3), 350.0), {"units": "1"}),
    },
    {
        "TIME": ("TIME", [0.0, 1, 1, 3, 2], {"units": "days since 2010-01-01"}),
        "DEPTH": ("DEPTH", [1.0, 5.0, 9.0], {"units": "fathom", "positive": "down"}),
    },
)
FLOAT = xr.Dataset(
    {
        "JULD": ("N_PROF", [20000.0, 20001.0], {"units": "dayz since 1950-01-01"}),
        "LATITUDE": ("N_PROF", [50.0, 150.0]),
        "LONGITUDE": ("N_PROF", [0.0, 500.0]),
        "PRES": (LEVELS, [[1.0, 5.0], [1.0, 1e6]], {"units": "decibar"}),
        "TEMP": (LEVELS, np.full((2, 2), 10.0), {"units": "bananas"}),
        "PSAL": (LEVELS, [[350.0, 35.0], [35.0, 35.0]], {"units": "psu"}),
        "DATA_MODE": ("N_PROF", [b"X", b"R"]),
    }
)
argo = lambda path: read_argo(path, start_time=START)  # noqa: E731
DATASETS: list[tuple[xr.Dataset, Callable[[Path], object], list[str]]] = [
    (MOORING, mooring, ["DEPTH", "TIME", "TEMP", "PSAL"]),
    (FLOAT, argo, ["JULD", "PRES", "TEMP", "PSAL", "LONGITUDE", "LATITUDE", "DATA_MODE"]),
]


def test_every_mistake_of_a_file_has_a_line(tmp_path):
    for number, (ending, text, read, named) in enumerate(TEXTS):
        path = tmp_path / f"{number}.{ending}"
        path.write_text(text, encoding="utf-8")
        found = [line.split(": ")[1] for line in lines_of(lambda: read(path))]  # noqa: B023
        assert sorted(found) == sorted(named), text
    for number, (dataset, read, named) in enumerate(DATASETS):
        path = tmp_path / f"{number}.nc"
        dataset.to_netcdf(path)
        found = [line.split(": ")[1] for line in lines_of(lambda: read(path))]  # noqa: B023
        assert sorted(found) == sorted(named), number


def test_several_readings():
    def fail(error):
        raise error

    assert all_of([lambda: 1, lambda: 2]) == [1, 2]
    config, other = ConfigError("a: expected b, got c."), FileFormatError("f", "k", "e", "g", "do it")
    assert lines_of(lambda: all_of([lambda: fail(config), lambda: fail(other)])) == [str(config), str(other)]
    many = [lambda i=i: fail(ConfigError(f"problem {i}")) for i in range(30)]
    assert lines_of(lambda: all_of(many), ConfigError)[-1] == "... and 11 more mistakes."
    with pytest.raises(ZeroDivisionError):  # what is no mistake of the input is not collected
        all_of([lambda: fail(config), lambda: 1 / 0])

    def body() -> None:
        with and_also(lambda: fail(other), lambda: None):
            fail(FileFormatError("f", "first", "e", "g", "do it"))

    assert [line.split(": ")[1] for line in lines_of(body)] == ["first", "k"]


def test_a_message_is_no_longer_than_a_screen():
    message = within_a_screen("\n".join("x" * 90 for _ in range(500)))
    assert len(message) <= 2000 and len(message.splitlines()) <= 25 and "more lines" in message
    assert shortened("a\x1b[31m\nb") == "a\\x1b[31m\\nb" and len(shortened("y" * 10**6)) <= 400
    error = FileFormatError("f" * 5000, "k" * 5000, "e" * 5000, "g" * 5000, "correct it")
    assert len(str(error)) < 2000 and str(error).endswith("correct it.")
