"""Formats of published files, their readers, and how many files of each are readable.

    python -m benchmarks.observation_files docs/observation_files.md

reads every file of data in `$TUNAX_LITE_DATA` (not configurations and texts for people), and writes the table
of the page. `rows` returns each file with its reader and, if it is refused, the reason.
"""

import datetime
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tunax_lite as tl
from tunax_lite import io
from tunax_lite.extensions.maps.fields import FileField
from tunax_lite.extensions.maps.sections import Gridded
from tunax_lite.extensions.maps.sources import open_source

START = "2010-01-01"
_NEMO: dict[str, Any] = dict(
    zip(
        "wind_u wind_v air_temperature humidity air_pressure shortwave longwave precipitation".split(),
        "sowinu10 sowinv10 sotemair sohumspe somslpre sosudosw sosudolw sowaprec".split(),
        strict=True,
    )
)
_UNITS = {"wind_u": "m/s", "wind_v": "m/s", "air_temperature": "K", "air_pressure": "Pa"}
_PLACES = {
    "feedinlib": (52.6, 13.2),
    "pvlib": (55.695, 12.495),
    "newcds_java": (-7.85, 108.79),
    "earthkit": (52.0, 0.0),
}
_PLACES |= {"newcds_telangana": (17.5, 79.0), "newcds_valdivia": (-39.5, -74.0)}


def _era5(path: Path, reader: Callable[..., Any]) -> Any:
    latitude, longitude = next(place for name, place in _PLACES.items() if name in path.parts)
    return reader(path, latitude=latitude, longitude=longitude, start_time=START)


def _sst(path: Path) -> Any:
    latitude, longitude = next(place for name, place in _PLACES.items() if name in path.parts)
    position = (latitude, longitude)
    return io.read_numbers(path, "sea_surface_temperature", "sst", start_time=START, position=position)


def _profiles(path: Path) -> Any:
    """Of text, whose column of temperature (or the first of others) has no name that says so, and no unit."""
    names = {"feeagh": "Water_Temperature_celsius", "erken": "WTEMP", "sparkling": "temp"}
    name = next((name for folder, name in names.items() if folder in path.parts), "1")
    given: dict[str, Any] = {"variables": {"temperature": name}, "units": {"temperature": "degC"}}
    return io.read_oceansites(path, start_time=START, conservative=False, **given)


def _fields(path: Path) -> str:
    """Where the variable of most dimensions of a gridded file lies, and when."""
    dataset = open_source(path, Path)
    name = max(map(str, dataset.data_vars), key=lambda one: dataset[one].ndim)
    start, how = datetime.datetime.fromisoformat(START), Gridded(variable=name)
    reader = FileField("", how, [dataset], start, 86400.0)
    found = f"{' x '.join(map(str, reader.points.shape))} points of {name}"
    if (times := reader.times) is not None:
        n = np.unique(times.records).size
        found += f", {n} times" + (", a climatology" if times.repeats else "")
    return found + (f", {dataset.sizes[reader.vertical]} levels" if reader.vertical is not None else "")


READERS: list[tuple[str, str, Callable[[Path], Any]]] = [
    (
        "moorings/papa_nemo_c1d/forcing",
        "`read_weather(variables, units)`",
        lambda path: io.read_weather(
            path, start_time=START, variables=_NEMO, units=_UNITS, humidity_measure="specific"
        ),
    ),
    (
        r"moorings/(.*\.nc|oce_papa)",
        "`read_oceansites()`",
        lambda path: io.read_oceansites(path, start_time=START),
    ),
    (r"(lakes|gotm_cases).*(bathy|hypsograph)", "`read_hypsography()`", io.read_hypsography),
    (r".*(prof.*\.dat|temp.*\.csv)", "`read_oceansites(variables, units)`", lambda path: _profiles(path)),
    (r".*\.(dat|csv)", "`read_table()`", io.read_table),
    (r"argo/.*\.nc", "`read_argo()`", lambda path: io.read_argo(path, start_time=START)),
    (r"era5/.*valdivia.*accum", "`read_era5_fluxes()`", lambda path: _era5(path, io.read_era5_fluxes)),
    (r"era5/.*(java|valdivia).*instant", '`read_numbers("sst", position)`', _sst),
    (r"era5/", "`read_era5()`", lambda path: _era5(path, io.read_era5)),
    (r"les/.*\.nc", "`read_cf_netcdf()`", io.read_cf_netcdf),
    (r"les_legay/.*\.nc", "`read_legay()`", io.read_legay),
    (r"lesbrary/.*\.jld2", "`read_lesbrary()`", io.read_lesbrary),
    (r"maps/.*\.(nc|cdf|gz)", "`tunax-lite map`", lambda path: _fields(path)),
]
"""Expressions for paths, and readers; the first that reads a file counts, or the first that fits it."""


def _found(read: Any) -> str:
    """What a reader gave, in a few words."""
    read = read[1] if isinstance(read, tuple) and hasattr(read[1], "profiles") else read
    if hasattr(read, "profiles"):
        parts = [f"{int(np.isfinite(np.asarray(v)).sum())} {name}" for name, v in read.profiles.items()]
        rejected = sum(read.rejected.values())
        parts += [f"{rejected} flagged"] if rejected else []
        return f"{read.time.size} times, " + ", ".join(parts) + (", varying heights" if read.moves else "")
    series = read[0] if isinstance(read, tuple) else read
    if isinstance(series, str):
        return series
    if isinstance(series, np.ndarray):
        return f"{series.size} heights"
    if hasattr(series, "variables"):
        names = [name for name in series.variables if name != "time"]
        return f"{series['time'].values.size} times of {', '.join(names)}"
    return f"{series.time.size} times"


def rows(folder: Path, kind: str = "") -> Iterator[tuple[str, str, bool, str]]:
    """Path, reader, whether it read the file, and what it found or why it refused; of one kind or all."""
    for path in sorted((folder / kind).rglob("*")):
        name = str(path.relative_to(folder))
        fitting = [(label, read) for pattern, label, read in READERS if re.match(pattern, name)]
        if not path.is_file() or not fitting:
            continue
        refused = ""
        for label, read in fitting:
            try:
                yield name, label, True, _found(read(path))
                break
            except (ValueError, FileNotFoundError) as error:
                said = str(error).removeprefix(str(path)).removeprefix(": ")
                refused = refused or textwrap.shorten(said.replace(str(folder) + "/", ""), 240)
        else:
            yield name, fitting[0][0], False, refused


FORMATS: list[tuple[str, str, str]] = [
    (r"argo/", "Argo: core, synthetic and Copernicus files", "biogeochemical file without temperature"),
    (r"moorings/imos/", "IMOS moorings", "every value is flagged as bad"),
    (r"moorings/.*(oceansites|OSP32)", "OceanSITES and NEMO profiles", ""),
    (r"moorings/papa_nemo_c1d/init", "NEMO restart profile", "its times are impossible"),
    (r"moorings/papa_nemo_c1d/", "NEMO weather", ""),
    (r"moorings/oce_papa/", "PMEL text with quality codes", ""),
    (r"era5/", "ERA5, single files of requests", "lacks variables that a run needs, or is a zip"),
    (r"les/", "large-eddy simulations, CF NetCDF", ""),
    (r"lesbrary/", "LESbrary, JLD2", ""),
    (r"les_legay/", "simulation of Legay et al.", ""),
    (r"lakes/.*(meteo|nldas|met_file|swr|precip)", "weather of lakes, CSV and text", ""),
    (r"lakes/", "lakes: thermistors, hypsography, streams", "profile without a time"),
    (r"maps/mom6", "MOM6 columns", ""),
    (r"maps/ferret", "climatologies (COADS, Levitus)", "packed by gzip"),
    (r".*(prof|hypsograph).*\\.dat", "profiles in GOTM's format", ""),
    (r".*", "series in GOTM's format and tables", "a grid, or profiles without names of columns"),
]
"""Expressions for paths; formats; why files of them are refused. The first that fits counts."""


def table(folder: Path) -> str:
    """The table of the page: by format the readers, the numbers of files, and why some are refused."""
    found: dict[str, list[tuple[str, bool]]] = {label: [] for _, label, _ in FORMATS}
    for name, reader, is_read, _ in rows(folder):
        label = next(label for pattern, label, _ in FORMATS if re.match(pattern, name))
        found[label].append((reader, is_read))
    lines = ["| format | reader | files | read | refused because |", "| --- | --- | ---: | ---: | --- |"]
    for _, label, reason in FORMATS:
        readers = ", ".join(dict.fromkeys(reader for reader, _ in found[label]))
        n_read = sum(is_read for _, is_read in found[label])
        if found[label]:
            lines.append(f"| {label} | {readers} | {len(found[label])} | {n_read} | {reason} |")
    every = [is_read for files in found.values() for _, is_read in files]
    return "\n".join([*lines, f"| all | | {len(every)} | {sum(every)} | |"])


def main() -> None:
    tl.configure(cache_folder=None)
    page = Path(sys.argv[1])
    before, mark, _ = page.read_text(encoding="utf-8").partition("<!-- the table -->\n")
    page.write_text(before + mark + table(Path(os.environ["TUNAX_LITE_DATA"])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
