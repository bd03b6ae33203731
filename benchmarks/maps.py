"""Columns on a map, from files and into a store: against the same columns as one batch, and the world's."""

import contextlib
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import netCDF4
import numpy as np

import tunax_lite as tl
from tunax_lite.extensions.maps.gridded import GriddedColumns
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map
from tunax_lite.extensions.maps.sections import FluxFields, MapSection
from tunax_lite.extensions.maps.setup import MapRun
from tunax_lite.extensions.maps.store import create_store
from tunax_lite.runtime.engine import AbstractEngine, ThisProcess, open_engine

from .harness import MICRO, Row, Setting, on_cores, time_in_turn

HOUR, DAY = 3600.0, 86400.0
VARIABLES = "temperature", "salinity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"


def write_input(path: Path, n_days: int, n_lat: int, n_lon: int) -> None:
    """Hourly fluxes over a stratified ocean, of which every tenth point is land."""
    random = np.random.default_rng(0)
    shape = n_lat, n_lon
    land = random.random(shape) < 0.1
    depth, n_times = np.arange(0.0, 301.0, 20.0), 24 * n_days + 1
    with netCDF4.Dataset(path, "w") as file:
        for name, values, unit in (
            ("time", np.arange(n_times) * 1.0, "hours since 2001-01-01"),
            ("depth", depth, "m"),
            ("lat", np.linspace(-60.0, 60.0, n_lat), "degrees_north"),
            ("lon", np.linspace(0.0, 300.0, n_lon), "degrees_east"),
        ):
            file.createDimension(name, len(values))
            variable = file.createVariable(name, "f8", (name,))
            variable[:], variable.units = values, unit
            if name == "depth":
                variable.positive = "down"
        fields = {
            "temperature": (("depth",), "degC", 25.0 - 0.05 * depth[:, None, None] + 0.0 * land),
            "salinity": (("depth",), "g kg-1", 35.0 + 0.0 * depth[:, None, None] + 0.0 * land),
            "stress_u": (("time",), "N m-2", 0.1 * random.standard_normal((n_times, *shape))),
            "heat_flux": (("time",), "W m-2", -80.0 + 20.0 * random.standard_normal((n_times, *shape))),
        }
        for name, (first, unit, values) in fields.items():
            chunks = (1, *shape) if first == ("time",) else None
            variable = file.createVariable(
                name, "f4", (*first, "lat", "lon"), fill_value=1e20, chunksizes=chunks, zlib=True, complevel=1
            )
            variable[:] = np.ma.masked_array(
                values, np.broadcast_to(land & (first != ("time",)), values.shape)
            )
            variable.units = unit


def a_map(path: Path, n_days: int) -> MapRun:
    """Half-hourly steps of k-epsilon, daily frames."""
    section = MapSection(
        start_time="2001-01-01T00:00:00",
        duration=n_days * DAY,
        paths=[str(path)],
        temperature_kind="conservative",
        salinity_kind="absolute",
        fluxes=FluxFields(stress_u="stress_u", heat_flux="heat_flux"),
    )
    columns = GriddedColumns(section, tl.Grid.stretched(1.0, 50, surface_zoom=2.0), find=Path)
    return MapRun(tl.Model(tl.KEpsilon()), columns, 0.5 * HOUR, DAY, n_days * DAY, VARIABLES)


class _Measured(NamedTuple):
    """Seconds of first runs, the least of others, and columns times steps of a run."""

    first: dict[str, float]
    least: dict[str, float]
    steps: float


def _measure(folder: Path, n_days: int, two: AbstractEngine | None) -> _Measured:
    """A map of so many days, and the same columns as one batch in memory."""
    run = a_map(folder / "ocean.nc", n_days)
    model, case = run.batch(np.arange(run.columns.n_columns), 0.0, run.duration)
    begin = time.perf_counter()
    plan = planned(run)
    planning = time.perf_counter() - begin

    def batch(output_interval: float):
        found = tl.simulate(model, case, dt=run.dt, duration=run.duration, output_interval=output_interval)
        return jax.block_until_ready(found.state.temperature)

    def whole(engine: AbstractEngine) -> int:
        path = folder / "map.zarr"
        shutil.rmtree(path, ignore_errors=True)
        return run_map(run, create_store(path, run, plan), engine).peak_memory

    calls: dict[str, Callable[[], object]] = {
        "batch, the end alone": partial(batch, run.duration),
        "batch, with frames in memory": partial(batch, run.output_interval),
        "map": partial(whole, ThisProcess()),
    }
    if two is not None:
        calls["map, two workers"] = partial(whole, two)
    first = {}
    for way, call in calls.items():
        begin = time.perf_counter()
        call()
        first[way] = time.perf_counter() - begin + (planning if way.startswith("map") else 0.0)
    least = time_in_turn(calls, rounds=3, seconds=60.0)
    return _Measured(first, least, run.columns.n_columns * run.duration / run.dt)


def measure_maps(setting: Setting) -> list[Row]:
    """Time of a column-step of a map, us, reading and writing included, over that of a batch; two workers.

    Of whole runs with their programs compiled, and of what a longer one takes more: without the files that
    are opened, the water of the start, and the store that is made.
    """
    n_days, *shape = (12, 20, 40) if setting.quick else (60, 40, 60)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, two, begin = Path(name), None, time.perf_counter()
        write_input(folder / "ocean.nc", n_days, *shape)
        if len(setting.cores) > 1:
            begin = time.perf_counter()
            with on_cores(setting.cores[:2]):
                two = stack.enter_context(open_engine(2))
        opened = time.perf_counter() - begin
        found = [_measure(folder, days, two) for days in (n_days // 3, n_days)]
    (_, before, n_before), (first, whole, n_steps) = found
    steady = {way: whole[way] - before[way] for way in whole}
    bare = "batch, the end alone"
    return [
        {
            "way": way,
            "us": MICRO * whole[way] / n_steps,
            "steady_us": MICRO * steady[way] / (n_steps - n_before),
            "over_batch": whole[way] / whole[bare],
            "steady_over_batch": steady[way] / steady[bare],
            "one_over_two": whole["map"] / whole[way] if way.endswith("workers") else None,
            "steady_one_over_two": steady["map"] / steady[way] if way.endswith("workers") else None,
            # Of the first run: it is planned, and programs are compiled, or read from their cache.
            "start_seconds": first[way] - whole[way] + (opened if way.endswith("workers") else 0.0),
        }
        for way in whole
    ]


LIFE = "{life: {name: biogeochemistry, models: {npzd: npzd}, n_sinking_substeps: null}}"
"""Terms of a map with plankton, whose sinking takes as many substeps as the thinnest cells need."""


def measure_world(setting: Setting) -> list[Row]:
    """The world's ocean on two workers: seconds of the command, and the most memory of all its processes."""
    data = os.environ.get("TUNAX_LITE_DATA")
    if not data:
        raise SystemExit("benchmarks: set TUNAX_LITE_DATA to the folder that holds maps/ferret")
    run = "a month, 12 degrees" if setting.quick else "a year, 2 degrees"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (Path(data) / "maps/ferret").glob("*.cdf*"):
            if path.suffix == ".gz":
                (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
            else:
                (folder / path.name).symlink_to(path.resolve())
        short = ["map.points.spacing=12", "map.duration=2592000"] if setting.quick else []
        rows = []
        for models, terms in (("none", []), ("npzd", [f"map.terms={LIFE}"])):
            seconds, memory = _world_map(folder, [f"map.folder={folder}", *short, *terms], setting.cores)
            rows.append({"run": run, "models": models, "seconds": seconds, "memory_bytes": memory})
    return rows


def _world_map(folder: Path, settings: Sequence[str], cores: Sequence[int]) -> tuple[float, int]:
    """Seconds and most memory of the command, start and compilation included."""
    configuration = Path(__file__).parents[1] / "configs/maps/world_ocean.yaml"
    command = [sys.executable, "-c", "from tunax_lite.cli import main; main()", "map", str(configuration)]
    command += ["--workers", "2", "--output", str(folder / "world.zarr"), "--overwrite"]
    command += [each for one in settings for each in ("--set", one)]
    start, most = time.perf_counter(), 0
    with on_cores(cores), open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    while process.poll() is None:
        most = max(most, sum(map(proportional_memory, processes_of(process.pid))))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit((folder / "log").read_text())
    return time.perf_counter() - start, most


def processes_of(process: int) -> list[int]:
    """A process with all that it started, and these did."""
    found = [process]
    for one in found:  # which grows
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, path.read_text().split())
    return found


def proportional_memory(process: int) -> int:
    """Bytes of a process that are its own, and its share of those that several have; 0 of one that ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0
