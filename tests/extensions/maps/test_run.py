"""Maps run in tiles and pieces as `simulate` does their columns, on many workers, whatever happens."""

import dataclasses
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tests.extensions.maps.ocean import SETTINGS, ocean
from tests.extensions.maps.synthetic import (
    HOUR,
    RUN,
    SLOW,
    SMALL,
    VARIABLES,
    assert_identical,
    by_column,
    interrupt,
)
from tests.kills import wait_for
from tunax_lite import Grid, Model, PacanowskiPhilander, simulate
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.extensions.maps import store as stores
from tunax_lite.extensions.maps.gridded import GriddedColumns
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map, run_tile
from tunax_lite.extensions.maps.sections import GridPoints, MapSection
from tunax_lite.extensions.maps.setup import Layout, MapRun
from tunax_lite.extensions.maps.sources import open_source
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.writing import OverwriteError
from tunax_lite.runtime.engine import ThisProcess, open_engine


def test_columns_of_a_map_are_those_of_a_batch(whole):
    case = RUN.columns.case(np.arange(RUN.columns.n_columns), 0.0, RUN.duration)
    times = {"dt": RUN.dt, "output_interval": RUN.output_interval, "duration": RUN.duration}
    trajectory = simulate(RUN.model, case, **times)  # pyright: ignore
    expected = {"temperature": trajectory.state.temperature} | diagnose(trajectory, case, VARIABLES[2:])
    expected["eddy_diffusivity"] = trajectory.clo_state.eddy_diffusivity
    with xr.open_zarr(whole, chunks=None) as store:
        assert store.attrs["tunax_lite_complete"] is True
        ends = np.array(["2001-03-01T06", "2001-03-05"], "M8[ns]")
        np.testing.assert_array_equal(store.time.values[[0, -1]], ends)
        # Profiles are kept in single precision; another number of columns side by side changes rounding.
        close: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-9}
        for name, values in expected.items():
            np.testing.assert_allclose(by_column(store[name]), values[1:], **close, err_msg=name)
        assert store.initial_temperature.units == "degC"
        for name in VARIABLES:
            first = by_column(store[f"initial_{name}"])
            np.testing.assert_allclose(first, expected[name][0], **close, err_msg=name)
        on_land = np.setdiff1d(np.arange(54), RUN.columns.index)
        assert np.isnan(store.temperature.values.reshape(16, 12, 54)[..., on_land]).all()
        np.testing.assert_array_equal(by_column(store.height_face), case.grid.z_face)


@pytest.mark.long
def test_results_do_not_depend_on_tiles(plan, whole, tmp_path, monkeypatch):
    assert plan.memory < 2**31
    assert planned(RUN, 10).layout.n_rows == 2
    with error_naming(ValueError, "output_interval 21600 342000"):
        planned(dataclasses.replace(RUN, duration=95 * HOUR))
    at_start = 4 * (12 + 13) + 3 * 8
    assert plan.n_bytes == 30 * (8 * (12 + 13) + at_start + 16 * at_start)
    run_map(RUN, stores.create_store(tmp_path / "map.zarr", RUN, plan), ThisProcess())
    with xr.open_zarr(whole, chunks=None) as one, xr.open_zarr(tmp_path / "map.zarr", chunks=None) as two:
        xr.testing.assert_allclose(one, two, rtol=1e-6)
    monkeypatch.setattr("tunax_lite.runtime.memory.free_on_host", lambda: 2**29)
    with error_naming(MemoryError, "map --columns"):
        planned(RUN)


def test_a_run_goes_on_where_it_was_ended(plan, whole, tmp_path):
    path = tmp_path / "map.zarr"
    small = plan._replace(layout=SMALL)
    stores.create_store(path, RUN, small)
    run_tile(RUN, path, 1)
    interrupt(RUN, path, 0)
    (path / "temperature" / "c" / "0" / "x.partial").write_bytes(b"half")
    with xr.open_zarr(path) as store:  # with dask, while it is not complete
        assert store.attrs["tunax_lite_complete"] is False
        assert int(store.sea_surface_temperature.notnull().sum()) > 0
    with error_naming(OverwriteError, "map.zarr --resume --overwrite"):
        stores.existing_store(path, RUN, resume=False, overwrite=False)
    other = dataclasses.replace(RUN, dt=900.0)
    with error_naming(OverwriteError, "map.zarr --overwrite"):
        stores.existing_store(path, other, resume=True, overwrite=False)
    with error_naming(FileFormatError, "map.zarr --resume"):
        open_source(str(path), Path)  # as the input of another map
    store: Any = stores.existing_store(path, RUN, resume=True, overwrite=False)
    run_map(RUN, store, ThisProcess())
    assert_identical(path, whole)
    assert stores.existing_store(path, RUN, resume=True, overwrite=False).is_complete  # type: ignore
    assert stores.existing_store(path, RUN, resume=False, overwrite=True) is None
    stores.create_store(path, RUN, small)
    assert not stores.MapStore(path).is_complete and not list(path.rglob("temperature/c/*"))


@pytest.mark.long
def test_two_workers_of_which_one_is_killed_give_the_bits_of_one_process(plan, whole, tmp_path):
    path = tmp_path / "map.zarr"
    with open_engine(workers=2) as engine:
        one = next(iter(engine._client.run(os.getpid).values()))  # type: ignore

        def kill_one() -> None:
            wait_for(lambda: list(path.glob("restart/*.npz")))
            os.kill(one, signal.SIGKILL)

        thread = threading.Thread(target=kill_one)
        thread.start()
        store = stores.create_store(path, SLOW, plan._replace(layout=SMALL))
        report = run_map(SLOW, store, engine)
        thread.join()
        assert one not in engine._client.run(os.getpid).values()  # type: ignore
    assert not report.broken and report.peak_memory > 0
    assert_identical(path, whole)


def test_a_damaged_state_is_named_and_damaged_chunks_fail_to_load(plan, whole, tmp_path):
    path = tmp_path / "map.zarr"
    store = stores.create_store(path, RUN, plan._replace(layout=SMALL))
    interrupt(RUN, path, 0)
    store.state_path(0).write_bytes(b"")
    with error_naming(FileFormatError, "00000.npz remove"):
        run_map(RUN, store, ThisProcess())
    store.state_path(0).unlink()
    run_map(RUN, store, ThisProcess())
    assert_identical(path, whole)
    chunk = path / "temperature/c/2/0/1/0"
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 1
    chunk.write_bytes(data)
    with xr.open_zarr(path, chunks=None) as found, error_naming(ValueError, "checksum"):
        found.temperature.load()


LEVELS, LAYOUT = Grid.stretched(1.0, 8, surface_zoom=1.0), Layout(1, 2, 9, 9)
SST = "sea_surface_temperature"


def run_on(path: Path) -> MapRun:
    points = GridPoints(spacing=40.0, latitude=[-40.0, 40.0])
    columns = GriddedColumns(MapSection(**SETTINGS, points=points), LEVELS, sources=[str(path)])
    return MapRun(Model(PacanowskiPhilander()), columns, HOUR, 6 * HOUR, 48 * HOUR, (SST,))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_a_map_does_not_continue_with_another_input(tmp_path, kind):
    source, path, values = tmp_path / f"ocean.{kind}", tmp_path / "map.zarr", ocean()
    values.to_netcdf(source) if kind == "nc" else values.to_zarr(source, zarr_format=3, consolidated=False)
    run = run_on(source)
    changed = max(source.rglob("*") if source.is_dir() else [source])
    store = stores.create_store(path, run, planned(run)._replace(layout=LAYOUT))
    os.utime(changed, (0, time.time() + 10.0))
    with error_naming(FileFormatError, f"map.zarr {source.name} --overwrite"):
        stores.existing_store(path, run_on(source), resume=True, overwrite=False)
    change = lambda done, where: os.utime(changed, (0, time.time() + 20.0))  # noqa: E731
    with error_naming(FileFormatError, f"map.zarr {source.name} --overwrite"):  # while it runs
        run_map(run, store, ThisProcess(), report=change)
    assert not stores.MapStore(path).is_complete
