"""Maps run in tiles and pieces as `simulate` does their columns, on many workers, whatever happens."""

import dataclasses
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
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
from tests.kills import started, wait_for
from tunax_lite import simulate
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.extensions.maps import store as stores
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map, run_tiles
from tunax_lite.extensions.maps.sources import open_source
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.protection import OverwriteError
from tunax_lite.runtime.engine import ThisProcess, open_engine


def simulated(duration: float):
    """All columns as one batch."""
    case = RUN.columns.case(np.arange(RUN.columns.n_columns), 0.0, duration)
    times = {"dt": RUN.dt, "output_interval": RUN.output_interval, "duration": duration}
    trajectory = simulate(RUN.model, case, **times, means=True)  # pyright: ignore
    assert trajectory.means is not None
    means = {"temperature_mean": trajectory.means.state.temperature}
    return trajectory, case, {"temperature": trajectory.state.temperature} | means


def test_columns_of_a_map_are_those_of_a_batch(whole):
    trajectory, case, expected = simulated(RUN.duration)
    expected |= diagnose(trajectory, case, VARIABLES[2:])
    expected["eddy_diffusivity"] = trajectory.clo_state.eddy_diffusivity
    with xr.open_zarr(whole, chunks=None) as store:
        assert store.attrs["tunax_lite_complete"] is True
        ends = np.array(["2001-03-01T06", "2001-03-05"], "M8[ns]")
        np.testing.assert_array_equal(store.time.values[[0, -1]], ends)
        # Profiles are kept in single precision; another number of columns side by side changes rounding.
        close = {"rtol": 1e-6, "atol": 1e-9}
        for name, values in expected.items():
            np.testing.assert_allclose(by_column(store[name]), values[1:], **close, err_msg=name)
        assert "initial_temperature_mean" not in store
        for name in VARIABLES:
            first = store[f"initial_{name}"]
            assert first.long_name == f"{store[name].long_name} at the start, 2001-03-01 00:00"
            np.testing.assert_allclose(by_column(first), expected[name][0], **close, err_msg=name)
        on_land = np.setdiff1d(np.arange(54), RUN.columns.index)
        assert np.isnan(store.temperature.values.reshape(16, 12, 54)[..., on_land]).all()
        np.testing.assert_array_equal(by_column(store.height_face), case.grid.z_face)


SHORTER = dataclasses.replace(RUN, duration=94 * HOUR)
"""15 whole frames, and one of 4 h."""


@pytest.mark.long
def test_a_shorter_last_frame_is_at_the_end_wherever_a_run_is_ended(plan, tmp_path):
    path, mixed = tmp_path / "map.zarr", tmp_path / "mixed.zarr"
    run_map(SHORTER, path, SMALL, plan.variables, ThisProcess(), 3)
    with xr.open_zarr(path, chunks=None, decode_times=False) as store:
        np.testing.assert_array_equal(store.time, np.append(np.arange(6.0, 91.0, 6.0), 94.0) * HOUR)
        np.testing.assert_array_equal(store.time_bounds[-1], [90.0 * HOUR, 94.0 * HOUR])
        for name, values in simulated(SHORTER.duration)[2].items():
            np.testing.assert_allclose(by_column(store[name]), values[1:], rtol=1e-6)
    stores.create(mixed, SHORTER, plan.variables, SMALL)
    interrupt(SHORTER, mixed, [1], 0.7)  # after three of four pieces: all whole ones
    store = stores.prepare(mixed, SHORTER.fingerprint, resume=True, overwrite=False)
    run_map(SHORTER, mixed, SMALL, plan.variables, ThisProcess(), store=store)
    assert_identical(mixed, path)


def test_pieces_before_a_shorter_frame_are_whole():
    assert [RUN.frames_per_piece(most) for most in (16, 9, 7, 5)] == [16, 8, 6, 4]
    assert [SHORTER.frames_per_piece(most) for most in (16, 9, 7, 4)] == [15, 5, 5, 3]
    with error_naming(ValueError, "output_interval 1800 21600"):
        _ = dataclasses.replace(RUN, duration=1800.0).length


@pytest.mark.long
def test_a_plan_fits_its_memory_and_results_do_not_depend_on_it(plan, whole, tmp_path):
    assert plan.layout.memory < 2**31
    at_start = 4 * (12 + 13) + 3 * 8
    assert plan.results == 30 * (at_start + 16 * (at_start + 4 * 12))
    run_map(RUN, tmp_path / "map.zarr", plan.layout, plan.variables, ThisProcess())
    with xr.open_zarr(whole, chunks=None) as one, xr.open_zarr(tmp_path / "map.zarr", chunks=None) as two:
        xr.testing.assert_allclose(one, two, rtol=1e-6)
    with error_naming(MemoryError, "map --memory 1"):
        planned(RUN, 2**20)


def test_a_run_goes_on_where_it_was_ended(plan, whole, tmp_path):
    """Ended in the middle of a tile; shards of a piece whose end was not noted are written again."""
    path = tmp_path / "map.zarr"
    stores.create(path, RUN, plan.variables, SMALL)
    run_tiles(RUN, path, [1])
    interrupt(RUN, path, [0])
    (path / "temperature" / "c" / "0" / "x.partial").write_bytes(b"half")
    with xr.open_zarr(path) as store:  # with dask, while it is not complete
        assert store.attrs["tunax_lite_complete"] is False
        assert int(store.sea_surface_temperature.notnull().sum()) > 0
    with error_naming(OverwriteError, "map.zarr --resume --overwrite"):
        stores.prepare(path, RUN.fingerprint, resume=False, overwrite=False)
    other = dataclasses.replace(RUN, dt=900.0)
    with error_naming(OverwriteError, "map.zarr --overwrite"):
        stores.prepare(path, other.fingerprint, resume=True, overwrite=False)
    with error_naming(FileFormatError, "map.zarr --resume"):
        open_source(str(path), Path)  # as the input of another map
    store = stores.prepare(path, RUN.fingerprint, resume=True, overwrite=False)
    run_map(RUN, path, SMALL, plan.variables, ThisProcess(), 3, store=store)
    assert_identical(path, whole)
    assert stores.prepare(path, RUN.fingerprint, resume=True, overwrite=False).is_complete  # type: ignore
    assert stores.prepare(path, RUN.fingerprint, resume=False, overwrite=True) is None
    stores.create(path, RUN, plan.variables, SMALL)
    assert not stores.MapStore(path).is_complete and not list(path.rglob("temperature/c/*"))


KILLED = """
import sys
from pathlib import Path
from tunax_lite.runtime import configure

configure()  # before there are any numbers
from tests.extensions.maps.synthetic import SLOW, SMALL
from tunax_lite.runtime.engine import open_engine
from tunax_lite.extensions.maps.plan import planned
from tunax_lite.extensions.maps.run import run_map

if __name__ == "__main__":
    with open_engine(1) as engine:
        run_map(SLOW, Path(sys.argv[1]), SMALL, planned(SLOW, 2**31).variables, engine, 2)
"""


@pytest.mark.long
def test_two_workers_of_which_one_is_killed_give_the_bits_of_one_process(plan, whole, tmp_path):
    path = tmp_path / "map.zarr"
    with open_engine(workers=2) as engine:
        one = next(iter(engine._client.run(os.getpid).values()))  # type: ignore

        def kill_one() -> None:
            wait_for(lambda: list(stores.parts_of(path).glob("*.npz")))
            os.kill(one, signal.SIGKILL)

        thread = threading.Thread(target=kill_one)
        thread.start()
        report = run_map(SLOW, path, SMALL, plan.variables, engine, 2)
        thread.join()
        assert one not in engine._client.run(os.getpid).values()  # type: ignore
    assert not report.broken and report.peak_memory > 0
    assert_identical(path, whole)


@pytest.mark.long
def test_a_client_that_is_killed_goes_on(plan, whole, tmp_path):
    path = tmp_path / "map.zarr"
    (tmp_path / "run.py").write_text(KILLED)
    process = started(tmp_path / "run.py", path)
    wait_for(lambda: process.poll() is not None or any(stores.parts_of(path).glob("*.npz")))
    process.kill()
    assert process.wait() == -signal.SIGKILL
    with xr.open_zarr(path, chunks=None) as found:
        found.load()  # whole, whatever is missing
    store = stores.prepare(path, SLOW.fingerprint, resume=True, overwrite=False)
    run_map(SLOW, path, SMALL, plan.variables, ThisProcess(), store=store)
    assert_identical(path, whole)
