"""Damaged files end in a result or in an error of the package that names the file, never in another one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import error_naming
from tests.io.observation_files import cf_dataset
from tests.io.test_broken_files import START
from tests.io.test_broken_files import table as weather_table
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.io import FileFormatError, read_cf_netcdf, read_oceansites, read_series, read_weather
from tunax_lite.io.errors import reading

RUN: dict[str, Any] = {
    "case": {
        "format": "idealised",
        "depth": 16.0,
        "duration": 3600.0,
        "temperature": {"surface": 20.0, "gradient": 0.01},
        "coriolis_parameter": 1e-4,
        "forcing": {"time": [0.0, 3600.0], "stress_u": [0.1, 0.1], "heat_flux": -50.0},
    },
    "grid": {"kind": "uniform", "n_cells": 8},
    "model": {"closure": {"name": "constant", "parameters": {"viscosity": 1e-3}}},
    "time": {"step": 600.0, "output_interval": 1200.0},
}
SERIES = "".join(f"2015-03-01 0{hour}:00:00 0.1 0.0\n" for hour in range(6))
PROFILES = "".join(f"2015-03-0{day} 00:00:00 3 2\n-1 12\n-5 11\n-15 10\n" for day in (1, 2))
WORDS = st.sampled_from(
    [" nan ", " inf ", "1e400", "-1", "0", "9" * 30, "9" * 5000, "1D5", "1_0", "0x10", "\u0661", "2\u00b9",
     "", ",", ";", "\t", "\n", "\r", "\u2028", '"', "#", "[", "{", "]", ": ", "- ", "&a ", "*a ", "!!int a",
     "\0", "\x1b[31m", "0000-03-01", "9999-12-31", "2015-02-30", "25:00:00", "+14:00", "[hPa]", "é" * 300]
)  # fmt: skip
TEXTS = (WORDS | st.text(max_size=8)).map(lambda text: text.encode("utf-8", "surrogatepass"))
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, 5e-324, 1e300, 2**63])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS | st.just("../../../etc/passwd"),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=4,
)


@st.composite
def damaged(draw, content: bytes, pieces: st.SearchStrategy[bytes]) -> bytes:
    """Bytes of which some parts are replaced, or the end is missing."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.sampled_from([0, 1, 4, 64]))] = draw(pieces)
    return bytes(data[: draw(st.just(len(data)) | st.integers(0, len(data)))])


def places(content: Any, path: tuple = ()) -> list[tuple]:
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    return [place for key in keys for place in ((*path, key), *places(content[key], (*path, key)))]


@st.composite
def configurations(draw) -> bytes:
    """A configuration with one key of another value, or without it."""
    content = yaml.safe_load(yaml.safe_dump(RUN))
    *above, last = draw(st.sampled_from(places(content)))
    inner: Any = content
    for key in above:
        inner = inner[key]
    if draw(st.integers(0, 5)):
        inner[last] = draw(VALUES)
    else:
        del inner[last]
    return yaml.safe_dump(content).encode("utf-8", "surrogatepass")


def profiles_of(path: Path) -> None:
    options: dict[str, Any] = {"variables": {"temperature": "1"}, "units": {"temperature": "degC"}}
    read_oceansites(path, start_time=START, conservative=False, **options)


def netcdf(folder: Path, kind: Any) -> bytes:
    cf_dataset().to_netcdf(folder / "good.nc", engine="netcdf4", format=kind)
    return (folder / "good.nc").read_bytes()


BYTES = st.binary(max_size=8) | st.just(bytes(64))
FORMATS: dict[str, tuple[Callable[[Path], st.SearchStrategy[bytes]], str, Callable[[Path], object]]] = {
    "values": (lambda folder: configurations(), "run.yaml", lambda path: build_run(load_run(path))),
    "YAML": (
        lambda folder: damaged(yaml.safe_dump(RUN).encode(), TEXTS),
        "run.yaml",
        lambda path: build_run(load_run(path)),
    ),
    "NetCDF": (lambda folder: damaged(netcdf(folder, "NETCDF3_CLASSIC"), BYTES), "a.nc", read_cf_netcdf),
    "CSV": (
        lambda folder: damaged(weather_table().encode(), TEXTS),
        "a.csv",
        lambda path: read_weather(path, start_time=START),
    ),
    "series": (
        lambda folder: damaged(SERIES.encode(), TEXTS),
        "a.dat",
        lambda path: read_series(path, "1", "stress_u", start_time=START, unit="N m-2"),
    ),
    "profiles": (lambda folder: damaged(PROFILES.encode(), TEXTS), "p.dat", profiles_of),
}


@pytest.mark.parametrize("n", [25, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_read_or_named(name, n, tmp_path):
    strategy, file, read = FORMATS[name]
    path = tmp_path / file

    @settings(max_examples=n, derandomize=True, deadline=None, database=None)
    @given(strategy(tmp_path))
    def holds(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        except (ConfigError, FileFormatError, FileNotFoundError) as error:
            assert file in str(error), str(error)
            assert len(str(error)) < 20_000

    holds()


def test_a_cut_netcdf_4_file_is_named(tmp_path):
    """Bits of HDF5 are not flipped here: its library can crash on them."""
    content, path = netcdf(tmp_path, "NETCDF4"), tmp_path / "a.nc"
    for keep in range(0, len(content), len(content) // 20):
        path.write_bytes(content[:keep])
        with error_naming(FileFormatError, "a.nc"):
            read_cf_netcdf(path)


def test_errors_of_libraries_name_the_file():
    for kind in (KeyError, OverflowError, RuntimeError, RecursionError, UnicodeError):
        with error_naming(FileFormatError, "data.nc word"), reading("data.nc", "a table"):
            raise kind("word")
