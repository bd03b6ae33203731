"""Columns that break down, limits of memory, and messages of the command and the engine."""

import dataclasses
import json
import os
import pickle
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.maps.ocean import ocean
from tests.extensions.maps.synthetic import HOUR, RUN, SMALL, SyntheticMap
from tests.extensions.maps.test_gridded import columns
from tests.helpers import CASES
from tunax_lite import Model, PacanowskiPhilander, simulate
from tunax_lite.cli import session
from tunax_lite.column import integrate as simulation
from tunax_lite.extensions.maps.run import run_map
from tunax_lite.extensions.maps.sources import open_source
from tunax_lite.extensions.maps.store import create_store
from tunax_lite.io.errors import FileFormatError
from tunax_lite.runtime.engine import ThisProcess, open_engine
from tunax_lite.runtime.engine.worker import Raised

ROOT = Path(__file__).parents[3]
BROKEN = 7
TINY = dataclasses.replace(RUN, columns=SyntheticMap(broken=(BROKEN, 40 * HOUR)))


@pytest.fixture(scope="module")
def made(plan, tmp_path_factory):
    path = tmp_path_factory.mktemp("broken") / "map.zarr"
    store = create_store(path, TINY, plan._replace(layout=SMALL))
    report = run_map(TINY, store, ThisProcess())
    return path, report


@pytest.mark.long
def test_a_column_that_breaks_down_is_named_and_the_others_are_kept(made):
    path, report = made
    (broken,) = report.broken
    columns = TINY.columns
    assert broken == (columns.latitude[BROKEN], columns.longitude[BROKEN], 42 * HOUR)
    assert broken.described(columns.epoch) == "12 S 5 E before 2001-03-02 18:00"
    with xr.open_zarr(path, chunks=None) as store:
        assert store.attrs["tunax_lite_not_finite"] == [broken._asdict()]
        values = store.heat_content.values.reshape(16, -1)[:, columns.index]
    missing = np.zeros_like(values, dtype=bool)
    missing[6:, BROKEN] = True  # from the frame on in which it broke down
    np.testing.assert_array_equal(np.isnan(values), missing)


@pytest.mark.long
def test_the_command_runs_refuses_and_goes_on(tmp_path):
    store = tmp_path / "ocean.zarr"
    command = ["map", ROOT / "configs/maps/synthetic.yaml", "--output", store]
    command += ["--set", "time.duration=172800", "--set", "model.closure.name=pacanowski_philander"]

    def run(code: int, *more: str) -> str:
        return invoked(*command, *more, code=code).output

    said = run(0)
    assert "89 columns of 9 x 10 points, 96 steps of 1800 s, 2 frames" in said and f"wrote {store}" in said
    assert "--overwrite" in run(2)
    assert "complete" in run(0, "--resume")
    assert "another" in run(2, "--resume", "--set", "time.dt=900")
    assert "plot a map with xarray" in invoked("plot", store, code=3).output


def test_an_engine_that_cannot_be_says_why_and_errors_come_back_from_workers():
    for workers, scheduler, parts in ((2, "tcp://127.0.0.1:1", "--workers --scheduler"), (0, None, "1 0")):
        with error_naming(ValueError, parts), open_engine(workers, scheduler=scheduler):
            pass
    told = FileFormatError("ocean.nc", "wind", "numbers", "none", "fill them")
    error = pickle.loads(pickle.dumps(Raised(type(told), told.args))).error()
    assert isinstance(error, FileFormatError) and str(error) == str(told)


class _Runs:
    """Makes a file where it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_store_that_would_run_a_program_is_refused_before_it_is_read(tmp_path):
    """Versions of zarr before 3.4 unpickle what a store of version 2 says; later ones refuse most of it."""
    array = tmp_path / "sea.zarr" / "x"
    array.mkdir(parents=True)
    (array.parent / ".zgroup").write_text('{"zarr_format": 2}')
    told = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "compressor": None}
    filters = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
    told |= {"fill_value": None, "order": "C", "filters": filters}
    (array / ".zarray").write_text(json.dumps(told))
    (array / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    (array / "0").write_bytes(pickle.dumps([_Runs(str(tmp_path / "ran"))]))
    with error_naming(FileFormatError, "sea.zarr x pickle"):
        open_source("sea.zarr", lambda name: tmp_path / name)
    assert not (tmp_path / "ran").exists()


CONFIG = ROOT / "configs/maps/synthetic.yaml"
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 3600.0, "output_interval": 60.0}


@pytest.mark.long
def test_maps_of_too_many_steps_are_refused(tmp_path):
    settings = "--set", "time.dt=1e-3", "--output", tmp_path / "map.zarr"
    message = invoked("map", CONFIG, *settings, code=2).output
    assert not missing_from(message, "time.dt 2.15e+09 2.59e+09") and not list(tmp_path.iterdir())


def test_a_map_without_zarr(bare, tmp_path):
    result = bare("map", CONFIG, "--output", tmp_path / "out.zarr")
    assert result.exit_code == session.BAD_INPUT, result.output
    assert "zarr" in result.stderr and "tunax_lite[cluster]" in result.stderr


def test_a_store_of_regular_files_alone_is_opened(tmp_path):
    for kind, zarr_format in (("device", 2), ("pipe", 3), ("nothing", 3)):
        path = tmp_path / f"{kind}.zarr"
        ocean().to_zarr(path, zarr_format=zarr_format, consolidated=zarr_format == 2)
        assert columns([str(path)]).inputs == columns([f"file://{path}"]).inputs == (path,)
        chunk = next(one for one in (path / "taux").rglob("*") if one.name[0].isdigit() and one.is_file())
        chunk.unlink()
        if kind == "pipe":
            os.mkfifo(chunk)
        else:
            chunk.symlink_to("/dev/zero" if kind == "device" else tmp_path / "nowhere")
        with error_naming(FileFormatError, str(chunk)):
            columns([str(path)])


def test_frames_and_programs_that_do_not_fit_the_memory(monkeypatch):
    model, case = Model(PacanowskiPhilander()), CASES["wind"]
    spread = lambda leaf: jnp.broadcast_to(leaf[:, None], (len(leaf), 10**4))  # noqa: E731
    large = eqx.tree_at(lambda c: c.initial_state, case, jax.tree.map(spread, case.initial_state))
    with monkeypatch.context() as patch:  # refused before they are computed
        patch.setattr(simulation, "free_memory", lambda device: 1e8)
        with error_naming(MemoryError, "simulate 61 10000 output_interval"):
            simulate(model, large, **TIMES)

    def exhausted(*arguments, **options):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 58792800000 bytes.")

    monkeypatch.setattr(simulation, "_simulate", exhausted)
    with error_naming(MemoryError, "simulate RESOURCE_EXHAUSTED output_interval"):
        simulate(model, case, **TIMES)
