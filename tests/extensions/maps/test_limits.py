"""What a map or a large batch asks of the machine is looked at before it starts."""

import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tests.errors import error_naming, missing_from
from tests.extensions.maps.ocean import ocean
from tests.extensions.maps.test_gridded import columns
from tests.helpers import CASES
from tunax_lite import Model, PacanowskiPhilander, simulate
from tunax_lite.cli.commands import app
from tunax_lite.column import integrate as simulation
from tunax_lite.io.errors import FileFormatError

CONFIG = str(Path(__file__).parents[3] / "configs/maps/synthetic.yaml")
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 3600.0, "output_interval": 60.0}


def said(code: int, *arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.long
def test_maps_of_too_many_steps_are_refused_and_of_many_told(tmp_path):
    output = ["--output", str(tmp_path / "map.zarr")]
    message = said(2, "map", CONFIG, "--set", "time.step=1e-3", *output)
    assert not missing_from(message, "time.step 1e9 2.59e9") and not list(tmp_path.iterdir())
    # 89 columns of 30 cells, a month in steps of 0.02 s, at 2e-8 s per cell and step: 1.9 hours.
    message = said(0, "check", CONFIG, "--set", "time.step=0.02")
    assert not missing_from(message, "1.9 hours 1.3e8 30 89")
    assert "of computing" not in said(0, "check", CONFIG)


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


def test_frames_that_do_not_fit_are_refused_before_they_are_computed(monkeypatch):
    monkeypatch.setattr(simulation, "free_memory", lambda device: 1e8)
    case = CASES["wind"]
    spread = lambda leaf: jnp.broadcast_to(leaf[:, None], (len(leaf), 10**4))  # noqa: E731
    case = eqx.tree_at(lambda c: c.initial_state, case, jax.tree.map(spread, case.initial_state))
    with error_naming(MemoryError, "simulate 61 10000 output_interval"):
        simulate(Model(PacanowskiPhilander()), case, **TIMES)


def test_the_device_runs_out_of_memory(monkeypatch):
    def exhausted(*arguments, **options):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 58792800000 bytes.")

    monkeypatch.setattr(simulation, "_simulate", exhausted)
    with error_naming(MemoryError, "simulate RESOURCE_EXHAUSTED output_interval"):
        simulate(Model(PacanowskiPhilander()), CASES["wind"], **TIMES)
