"""`python -m tests.hostile.real_files`: real files through the rules of plausibility, which note nothing.

Every file below `$TUNAX_LITE_DATA` that a reader takes is a case, observations, weather or a map; a note on
one of them is a false alarm.
"""

import datetime
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import lakes
from benchmarks.observation_files import _NEMO, _UNITS, START
from tunax_lite import configure, io
from tunax_lite.air_sea import BulkForcing
from tunax_lite.column.observations import Observations
from tunax_lite.config import build_run, load_run
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.extensions.maps import build_map, load_map
from tunax_lite.io.axes import find_axis, read_time
from tunax_lite.io.netcdf import read_contents
from tunax_lite.plausibility import (
    Evidence,
    Samples,
    collecting,
    evidence_of,
    evidence_of_forcing,
    evidence_of_observations,
    findings_of,
)

FOLDERS = "les lesbrary les_legay moorings argo era5 lakes gotm_cases maps".split()
ROOT = Path(__file__).parents[2]
Alarms = tuple[str, ...]
_PAPA = (50.1, -144.9)
_PAPA_SITE = """
case:
  format: site
  latitude: 50.1
  longitude: -144.9
  start_time: 2011-01-01T00:00:00
  depth: 200.0
  duration: 31536000.0
  temperature: {path: FOLDER/t_prof_file.dat, column: 1}
  salinity: {path: FOLDER/s_prof_file.dat, column: 1}
  fluxes:
    stress_u: {path: FOLDER/momentumflux_file.dat, column: 1}
    stress_v: {path: FOLDER/momentumflux_file.dat, column: 2}
    heat_flux: {path: FOLDER/heatflux_file.dat, column: 1}
    shortwave_flux: {path: FOLDER/swr_file.dat, column: 1}
time: {step: 3600.0, output_interval: 86400.0}
"""


def of(make: Callable[[], Evidence]) -> Alarms:
    """Make evidence, and what the rules note about it."""
    with collecting() as left:
        evidence = make()
    return tuple(map(str, findings_of(evidence, left)))


def _les(path: Path) -> Alarms:
    reader = {".jld2": io.read_lesbrary}.get(path.suffix, io.read_cf_netcdf)
    reader = io.read_legay if path.parts[-2] == "les_legay" else reader
    return of(lambda: evidence_of(*reader(path)))


def _profiles(reader: Callable[..., Observations]) -> Callable[[Path], Alarms]:
    return lambda path: of(lambda: evidence_of_observations(reader(path, start_time=START)))


def _nemo(path: Path) -> Alarms:
    def make() -> Evidence:
        options: dict[str, Any] = {"variables": _NEMO, "units": _UNITS, "humidity_measure": "specific"}
        weather, measure = io.read_weather(path, start_time=START, **options)
        from tunax_lite.air_sea import DownwardLongwave

        forcing = BulkForcing(weather, humidity_measure=measure, longwave=DownwardLongwave())
        return evidence_of_forcing(forcing, *_PAPA, START)

    return of(make)


_ERA5 = {
    "u10": ("wind_u", 1.0, 0.0),
    "v10": ("wind_v", 1.0, 0.0),
    "t2m": ("air_temperature", 1.0, -273.15),
    "d2m": ("dew_point", 1.0, -273.15),
    "sp": ("air_pressure", 1.0, 0.0),
    "tcc": ("cloud_cover", 1.0, 0.0),
    "ssrd": ("shortwave", 1.0 / 3600.0, 0.0),
    "strd": ("longwave", 1.0 / 3600.0, 0.0),
    "tp": ("precipitation", 1.0 / 3600.0, 0.0),
}
"""Parameters: quantity, factor to hourly means, and offset."""


def _reanalysis(path: Path) -> Alarms:
    """Whatever parameters a file has, at a point in its middle: most files lack what `read_era5` needs."""

    def make() -> Evidence:
        file = read_contents(path)
        found, place, start = {}, {}, None
        for name, (quantity, factor, offset) in _ERA5.items():
            if name not in file:
                continue
            variable = file[name]
            time = read_time(find_axis(file, variable, None, "time"))
            values = variable.numbers()
            for axis, dim in reversed(list(enumerate(variable.dims))):
                if dim in ("latitude", "longitude"):
                    middle = values.shape[axis] // 2
                    values = np.take(values, middle, axis)
                    place[dim] = float(file[dim].numbers()[middle])
            assert time.epoch is not None
            start = time.epoch + datetime.timedelta(seconds=float(time.seconds[0]))
            seconds = time.seconds - time.seconds[0] - (1800.0 if factor < 1.0 else 0.0)
            found[quantity] = Samples(
                quantity, f"weather.{quantity}", seconds, values.reshape(-1) * factor + offset
            )
        if not found:
            raise ValueError("expected a parameter of the weather, got none")
        return Evidence(weather=found, start=start, **place)

    return of(make)


def _gotm(path: Path) -> Alarms:
    run = build_gotm(load_gotm(path)).run
    assert run is not None
    return _of_run(run.notes)


def _of_run(notes: tuple[str, ...]) -> Alarms:
    return tuple(note for note in notes if "`accept: [" in note)


def _papa_hourly(path: Path, scratch: Path) -> Alarms:
    (scratch / "papa.yaml").write_text(_PAPA_SITE.replace("FOLDER", str(path)))
    return _of_run(build_run(load_run(scratch / "papa.yaml")).notes)


def _lake(lake: lakes.Lake, span: tuple[str, str]) -> Alarms:
    measured = lakes.chain(lakes.folder() / lake.chain[0], *lake.chain[1:])
    return of(lambda: evidence_of(*lakes.period(lake.case, measured, span)[:2]))


def _map(name: str, folder: Path) -> Alarms:
    loaded = load_map(ROOT / "configs" / "maps" / f"{name}.yaml", [f"map.folder={folder}"])
    return _of_run(build_map(loaded).columns.notes)


def tries(data: Path, folder: str, scratch: Path) -> Iterator[tuple[str, Callable[[], Alarms]]]:
    """Names of real inputs of a folder, and what the rules note about them."""

    def files(pattern: str, read: Callable[[Path], Alarms]) -> Iterator[tuple[str, Callable[[], Alarms]]]:
        for path in sorted((data / folder).rglob(pattern)):
            yield str(path.relative_to(data)), lambda path=path: read(path)

    if folder in ("les", "lesbrary", "les_legay"):
        yield from files("*.nc", _les)
        yield from files("*.jld2", _les)
    elif folder == "moorings":
        yield from files("*C1D_PAPA*.nc", _nemo)
        yield from (one for one in files("*.nc", _profiles(io.read_oceansites)) if "C1D" not in one[0])
        papa = data / "moorings" / "papa_hourly"
        yield "moorings/papa_hourly", lambda: _papa_hourly(papa, scratch)
    elif folder == "argo":
        yield from files("*.nc", _profiles(io.read_argo))
    elif folder == "era5":
        yield from files("*.nc", _reanalysis)
    elif folder == "gotm_cases":
        yield from files("*.gotm.yaml", _gotm)
    elif folder == "lakes":
        feeagh = ROOT / "configs" / "runs" / "lough_feeagh.yaml"
        yield "lakes/gotmr", lambda: _of_run(build_run(load_run(feeagh)).notes)
        for lake in lakes.LAKES:
            for span in lake.periods:
                yield f"lakes/{lake.name} {span[0]}", lambda lake=lake, span=span: _lake(lake, span)
    elif folder == "maps":
        yield "maps/mom6_columns", lambda: _map("mom6_columns", data / "maps" / "mom6_columns")
        yield "maps/ferret", lambda: _map("world_ocean", _unpacked(data / "maps" / "ferret", scratch))


def _unpacked(folder: Path, scratch: Path) -> Path:
    import gzip

    for file in folder.iterdir():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        (scratch / file.name.removesuffix(".gz")).write_bytes(content)
    return scratch


def alarms_of(data: Path, folder: str, scratch: Path) -> dict[str, Alarms]:
    """Notes by input; inputs that no reader takes are left out."""
    found: dict[str, Alarms] = {}
    for name, look in tries(data, folder, scratch):
        try:
            found[name] = look()
        except (ValueError, FileNotFoundError) as error:
            if "-v" in sys.argv:
                print(f"  refused {name}: {error}")
    return found


def main() -> int:
    """Print the table."""
    import tempfile

    configure(precision="float64")
    data = Path(os.environ["TUNAX_LITE_DATA"].split(os.pathsep)[0])
    total, wrong = 0, 0
    print(f"{'folder':14}{'inputs':>8}{'with a note':>13}")
    for folder in [one for one in sys.argv[1:] if one in FOLDERS] or FOLDERS:
        with tempfile.TemporaryDirectory() as scratch:
            found = alarms_of(data, folder, Path(scratch))
        noted = {name: alarms for name, alarms in found.items() if alarms}
        total, wrong = total + len(found), wrong + len(noted)
        print(f"{folder:14}{len(found):8d}{len(noted):13d}", flush=True)
        for name, alarms in noted.items():
            for one in alarms:
                print(f"    {name}: {one}", flush=True)
    print(f"{'all':14}{total:8d}{wrong:13d}")
    return int(wrong > 0.05 * total)


if __name__ == "__main__":
    sys.exit(main())
