"""What a map or a large batch asks of the machine is looked at before it starts."""

import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.maps.ocean import ocean
from tests.extensions.maps.test_gridded import columns
from tests.helpers import CASES
from tunax_lite import Model, PacanowskiPhilander, simulate
from tunax_lite.cli import session
from tunax_lite.column import integrate as simulation
from tunax_lite.io.errors import FileFormatError

CONFIG = Path(__file__).parents[3] / "configs/maps/synthetic.yaml"
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 3600.0, "output_interval": 60.0}


@pytest.mark.long
def test_maps_of_too_many_steps_are_refused_and_of_many_told(tmp_path):
    settings = "--set", "time.step=1e-3", "--output", tmp_path / "map.zarr"
    message = invoked("map", CONFIG, *settings, code=2).output
    assert not missing_from(message, "time.step 1e9 2.59e9") and not list(tmp_path.iterdir())
    # 89 columns of 30 cells, a month in steps of 0.02 s, at 2e-8 s per cell and step: 1.9 hours.
    message = invoked("check", CONFIG, "--set", "time.step=0.02").output
    assert not missing_from(message, "1.9 hours 1.3e8 30 89")
    assert "of computing" not in invoked("check", CONFIG).output


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
