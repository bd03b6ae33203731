"""Columns on a map, from a file and into a store, against the same columns as one batch."""

import shutil
import tempfile
from functools import partial
from pathlib import Path

import jax
import netCDF4
import numpy as np

import tunax_lite as tl
from tunax_lite.engine import ThisProcess
from tunax_lite.maps import MapInput
from tunax_lite.maps.gridded import GriddedColumns
from tunax_lite.maps.plan import planned
from tunax_lite.maps.run import run_map
from tunax_lite.maps.settings import FluxFields, Gridded
from tunax_lite.maps.setup import MapRun

from .harness import MICRO, Row, Setting, time_in_turn

HOUR, DAY = 3600.0, 86400.0
VARIABLES = "temperature", "salinity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"
MEMORY = 2**30


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
    given = MapInput(
        start_time="2001-01-01T00:00:00",
        duration=n_days * DAY,
        paths=(str(path),),
        temperature_kind="conservative",
        salinity_kind="absolute",
        fluxes=FluxFields(stress_u=Gridded("stress_u"), heat_flux=Gridded("heat_flux")),
    )
    columns = GriddedColumns(given, tl.Grid.stretched(1.0, 50, surface_zoom=2.0), find=Path)
    return MapRun(tl.Model(tl.KEpsilon()), columns, 0.5 * HOUR, DAY, n_days * DAY, VARIABLES)


def measure_maps(setting: Setting) -> list[Row]:
    """Time of a column-step of a map, us, reading and writing included, over that of a batch."""
    n_days, *shape = (10, 20, 40) if setting.quick else (30, 40, 60)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(folder / "ocean.nc", n_days, *shape)
        run = a_map(folder / "ocean.nc", n_days)
        model, case = run.batch(np.arange(run.columns.n_columns), 0.0, run.duration)
        plan = planned(run, MEMORY)

        def batch(output_interval: float):
            found = tl.simulate(
                model, case, dt=run.dt, duration=run.duration, output_interval=output_interval
            )
            return jax.block_until_ready(found.state.temperature)

        def whole() -> int:
            path = folder / "map.zarr"
            shutil.rmtree(path, ignore_errors=True)
            return run_map(run, path, plan.layout, plan.variables, ThisProcess()).peak_memory

        ways = {
            "batch, the end alone": partial(batch, run.duration),
            "batch, with frames in memory": partial(batch, run.output_interval),
            "map": whole,
        }
        seconds = time_in_turn(ways, rounds=3, seconds=60.0)
        steps = run.columns.n_columns * run.duration / run.dt
        bare = seconds["batch, the end alone"]
    return [
        {
            "way": way,
            "n_columns": run.columns.n_columns,
            "us": MICRO * seconds[way] / steps,
            "over_batch": seconds[way] / bare,
        }
        for way in ways
    ]
