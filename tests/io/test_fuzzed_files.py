"""Damaged files end in a result or in an error of the package that names the file, never in another one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_cli import KATO
from tests.errors import error_naming
from tests.io.observation_files import cf_dataset
from tests.io.test_broken_files import START
from tests.io.test_broken_files import table as weather_table
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.io import FileFormatError, read_cf_netcdf, read_oceansites, read_series, read_weather
from tunax_lite.io.errors import reading

RUN = yaml.safe_load(Path(KATO).read_text(encoding="utf-8"))
RUN["case"]["forcing"] = {"stress_u": {"time": [0.0, 108000.0], "values": [0.1, 0.1]}, "heat_flux": -50.0}
RUN["model"] = {"closure": {"name": "constant", "parameters": {"viscosity": 1e-3}}}
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


def netcdf(folder: Path) -> bytes:
    """A classic file: the library of HDF5 can crash on flipped bits."""
    cf_dataset().to_netcdf(folder / "good.nc", engine="netcdf4", format="NETCDF3_CLASSIC")
    return (folder / "good.nc").read_bytes()


BYTES = st.binary(max_size=8) | st.just(bytes(64))
Reader = Callable[[Path], object]
FORMATS: dict[str, tuple[Callable[[Path], st.SearchStrategy[bytes]], Reader]] = {
    "values of run.yaml": (lambda folder: configurations(), lambda path: build_run(load_run(path))),
    "run.yaml": (
        lambda folder: damaged(yaml.safe_dump(RUN).encode(), TEXTS),
        lambda path: build_run(load_run(path)),
    ),
    "a.nc": (lambda folder: damaged(netcdf(folder), BYTES), read_cf_netcdf),
    "a.csv": (
        lambda folder: damaged(weather_table().encode(), TEXTS),
        lambda path: read_weather(path, start_time=START),
    ),
    "a.dat": (
        lambda folder: damaged(SERIES.encode(), TEXTS),
        lambda path: read_series(path, "1", "stress_u", start_time=START, unit="N m-2"),
    ),
    "p.dat": (lambda folder: damaged(PROFILES.encode(), TEXTS), profiles_of),
}


@pytest.mark.parametrize("n", [25, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_read_or_named(name, n, tmp_path):
    strategy, read = FORMATS[name]
    path = tmp_path / name.split()[-1]

    @settings(max_examples=n, derandomize=True, deadline=None, database=None)
    @given(strategy(tmp_path))
    def holds(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        except (ConfigError, FileFormatError, FileNotFoundError) as error:
            assert path.name in str(error), str(error)
            assert len(str(error)) < 20_000

    holds()


def test_errors_of_libraries_name_the_file():
    for kind in (KeyError, OverflowError, RuntimeError, RecursionError, UnicodeError):
        with error_naming(FileFormatError, "data.nc word"), reading("data.nc", "a table"):
            raise kind("word")
