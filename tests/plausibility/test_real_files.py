"""Real files through the rules of plausibility: a note on one of them is a false alarm."""

import datetime
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import lakes
from benchmarks.observation_files import _NEMO, _UNITS, START
from tunax_lite import io
from tunax_lite.air_sea import BulkForcing, DownwardLongwave
from tunax_lite.config import build_run, load_run
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

ROOT = Path(__file__).parents[2]
DATA = [Path(one) for one in os.environ.get("TUNAX_LITE_DATA", "").split(os.pathsep) if one]
MOST = 0.05
"""Fraction of good files with a note that is accepted."""
PAPA = (50.1, -144.9)
# Parameters of ERA5: quantity, factor to hourly means, and offset.
ERA5 = {
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


def les(path: Path) -> Evidence:
    if path.suffix == ".jld2":
        return evidence_of(*io.read_lesbrary(path))
    return evidence_of(*(io.read_legay if path.parts[-2] == "les_legay" else io.read_cf_netcdf)(path))


def mooring(path: Path) -> Evidence:
    if "C1D_PAPA" not in path.name:
        return evidence_of_observations(io.read_oceansites(path, start_time=START))
    weather, measure = io.read_weather(
        path, start_time=START, variables=_NEMO, units=_UNITS, humidity_measure="specific"
    )
    forcing = BulkForcing(weather, humidity_measure=measure, longwave=DownwardLongwave())
    return evidence_of_forcing(forcing, *PAPA, START)


def reanalysis(path: Path) -> Evidence:
    """Parameters at a point in the middle of a file; most files lack what `read_era5` needs."""
    file, found, place, start = read_contents(path), {}, {}, None
    for name, (quantity, factor, offset) in ERA5.items():
        if name not in file:
            continue
        variable = file[name]
        time, values = read_time(find_axis(file, variable, None, "time")), variable.numbers()
        for axis, dim in reversed(list(enumerate(variable.dims))):
            if dim in ("latitude", "longitude"):
                middle = values.shape[axis] // 2
                values = np.take(values, middle, axis)
                place[dim] = float(file[dim].numbers()[middle])
        assert time.epoch is not None
        start = time.epoch + datetime.timedelta(seconds=float(time.seconds[0]))
        seconds = time.seconds - time.seconds[0] - (1800.0 if factor < 1.0 else 0.0)
        values = values.reshape(-1) * factor + offset
        found[quantity] = Samples(quantity, f"weather.{quantity}", seconds, values)
    if not found:
        raise ValueError("expected a parameter of the weather, got none")
    return Evidence(weather=found, start=start, **place)


def lake(one: lakes.Lake, span: tuple[str, str]) -> Evidence:
    measured = lakes.chain(lakes.folder() / one.chain[0], *one.chain[1:])
    return evidence_of(*lakes.period(one.case, measured, span)[:2])


READERS: dict[str, Callable[[Path], Evidence]] = {
    "les": les,
    "lesbrary": les,
    "les_legay": les,
    "moorings": mooring,
    "argo": lambda path: evidence_of_observations(io.read_argo(path, start_time=START)),
    "era5": reanalysis,
}


def inputs_of(folder: Path) -> Iterator[tuple[str, Callable[[], Evidence]]]:
    if folder.name == "lakes":
        for one in lakes.LAKES:
            for span in one.periods:
                yield f"{one.name} {span[0]}", lambda one=one, span=span: lake(one, span)
    for path in sorted((*folder.rglob("*.nc"), *folder.rglob("*.jld2"))) * (folder.name in READERS):
        yield path.name, lambda path=path: READERS[folder.name](path)


@pytest.mark.long
@pytest.mark.parametrize("name", [*READERS, "lakes"])
def test_real_files_raise_no_false_alarm(name):
    folder = next((one / name for one in DATA if (one / name).is_dir()), None)
    if folder is None:
        pytest.skip("no real files in $TUNAX_LITE_DATA")
    found = {}
    for file, make in inputs_of(folder):
        try:
            with collecting() as left:
                evidence = make()
        except (ValueError, FileNotFoundError):
            continue  # another test says which files no reader takes
        found[file] = [str(one) for one in findings_of(evidence, left)]
    noted = {file: notes for file, notes in found.items() if notes}
    assert found and len(noted) <= max(1, MOST * len(found)), noted


@pytest.mark.long
def test_a_real_lake_raises_no_false_alarm():
    if not any((one / "lakes").is_dir() for one in DATA):
        pytest.skip("no real files in $TUNAX_LITE_DATA")
    run = build_run(load_run(ROOT / "configs" / "runs" / "lough_feeagh.yaml"))
    assert not [note for note in run.notes if "`accept: [" in note]
