"""Runs that are written while they go on."""

import dataclasses
import functools
import json
import shutil
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite import io
from tunax_lite.cli import streaming
from tunax_lite.io import runs
from tunax_lite.io.errors import FileFormatError

GRID = tl.Grid.uniform(40.0, 10)
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 36000.0, "output_interval": 1200.0}
SMALL = 9000
"""Bytes: about ten frames of 30."""
IN_PARTS: dict[str, Any] = {"memory_budget": SMALL, "diagnostics": ["heat_content"]}


class Stopped(Exception):
    """Stands for anything that ends the process."""


def stop_after(n_reports: int, ends: list[float]):

    def report(progress):
        ends.append(progress.time)
        if len(ends) == n_reports:
            raise Stopped

    return report


def case_of(heat: float = -200.0) -> tl.Case:
    state = tl.State.from_profiles(GRID, temperature=lambda z: 15.0 + 0.05 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=heat))
    return tl.Case(GRID, state, forcing, duration=36000.0)


def to_file(path, case, **options):
    streaming.run_to_file(tl.Model(tl.KEpsilon()), case, path, **TIMES, **options)


def assert_equal(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def whole():
    return tl.simulate(tl.Model(tl.KEpsilon()), case_of(), **TIMES)


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory):
    """The parts of a run that ended after its second part."""
    path, ends = tmp_path_factory.mktemp("parts") / "out.nc", []
    with pytest.raises(Stopped):
        to_file(path, case_of(), **IN_PARTS, report=stop_after(2, ends))
    assert ends == [12000.0, 24000.0] and not path.exists()
    assert len(runs.parts_of(path)) == 2
    return runs.parts_folder(path)


@pytest.fixture
def continued(in_parts, whole, tmp_path):
    """A copy of those parts; and a function that continues the run and compares it with the whole."""
    path, ends = tmp_path / "out.nc", []
    shutil.copytree(in_parts, runs.parts_folder(path))

    def go_on():
        to_file(path, case_of(), **IN_PARTS, report=lambda progress: ends.append(progress.time))
        assert_equal(io.read_trajectory(path), whole)
        assert [found.name for found in tmp_path.iterdir()] == ["out.nc"]
        return ends

    return path, go_on


@pytest.mark.long
def test_a_part_that_was_not_noted_is_computed_again(continued):
    path, go_on = continued
    notes = runs.parts_folder(path) / "run.json"
    known = json.loads(notes.read_text())
    del known["parts"]["000001.nc"]
    notes.write_text(json.dumps(known))
    assert go_on() == [24000.0, 36000.0]
    np.testing.assert_array_equal(io.read_trajectory(path, every=10).time, 12000.0 * np.arange(4))


@pytest.mark.long
def test_a_run_that_is_interrupted_before_its_shorter_last_frame(tmp_path):
    path, ends = tmp_path / "out.nc", []
    times: dict[str, Any] = {**TIMES, "output_interval": 1260.0}  # 28 whole and 12 steps
    whole = tl.simulate(tl.Model(tl.KEpsilon()), case_of(), **times)
    assert float(whole.time[-1]) == 36000.0
    run = functools.partial(streaming.run_to_file, tl.Model(tl.KEpsilon()), case_of(), path, **times)
    with pytest.raises(Stopped):
        run(memory_budget=SMALL, report=stop_after(4, ends))
    assert ends == [12600.0, 25200.0, 35280.0, 36000.0]
    run(memory_budget=SMALL)
    assert_equal(io.read_trajectory(path), whole)


def change(path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda parts: change(parts[1], 5000), "000001.nc SHA-256"),
        (lambda parts: change(parts[0].with_name("run.json"), 0), "run.json"),
    ],
)
def test_a_damaged_part_is_named(continued, damage, named):
    path, go_on = continued
    folder = runs.parts_folder(path)
    damage(runs.parts_of(path))
    with error_naming(FileFormatError, named):
        go_on()
    if "000001" in named:
        (folder / "000001.nc").unlink()  # as the message says
        go_on()


def test_parts_of_another_case_model_or_start_are_refused(continued, whole):
    path, _ = continued
    for closure, case, start in (
        (tl.KEpsilon(), case_of(heat=-100.0), None),
        (tl.KEpsilon(c_eps_1=1.5), case_of(), None),
        (tl.KEpsilon(), case_of(), whole.restart(0)),
    ):
        with error_naming(ValueError, "out.nc.parts configuration"):
            streaming.run_to_file(tl.Model(closure), case, path, start=start, **TIMES, **IN_PARTS)


def test_a_flipped_bit_of_a_file_is_noticed(tmp_path, whole):
    """NetCDF compares the checksum of every chunk."""
    path = tmp_path / "out.nc"
    io.write_dataset(io.to_dataset(whole), path)
    change(path, path.read_bytes().index(np.asarray(GRID.z_face).tobytes()) + 3)  # stored as they are
    with error_naming(FileFormatError, "out.nc"):
        io.read_trajectory(path)


def test_a_run_that_fails_late_keeps_its_parts(tmp_path):
    path, heat = tmp_path / "out.nc", np.full(31, -200.0)
    series = tl.TimeSeriesForcing.from_values(np.linspace(0.0, 36000.0, 31), heat_flux=heat)
    heat[25:] = 1e300  # which no constructor accepts
    series = eqx.tree_at(lambda it: it.fluxes.heat_flux, series, jnp.asarray(heat))
    with error_naming(FloatingPointError, "out.nc.parts"):
        to_file(path, dataclasses.replace(case_of(), forcing=series), memory_budget=SMALL)
    parts = sorted((tmp_path / "out.nc.parts").glob("*.nc"))
    assert parts and not path.exists()
    assert np.all(np.isfinite(io.read_trajectory(parts[-1]).state.temperature))


@pytest.mark.long
def test_pieces_of_equal_length_and_their_means_are_the_run_wherever_it_is_interrupted(tmp_path, monkeypatch):
    # Four pieces of 8 frames for 30: the last overlaps.
    monkeypatch.setattr(streaming, "_WORK_OF_A_PIECE", 200 * 8)
    path, whole = tmp_path / "out.nc", tmp_path / "whole.nc"
    ends, programs = [], []

    def interrupt(progress):
        ends.append(progress.time)
        programs.append(progress.trajectory.n_frames)
        raise KeyboardInterrupt

    diagnostics: dict[str, Any] = {"diagnostics": ["heat_content", "shear_production"], "means": True}
    for parts in range(1, 5):
        with pytest.raises(KeyboardInterrupt):
            to_file(path, case_of(), report=interrupt, **diagnostics)
        assert not path.exists() and len(runs.parts_of(path)) == parts
    runs.join_parts(runs.parts_of(path), tmp_path / "so_far.nc")
    assert io.count_frames(tmp_path / "so_far.nc") == 31
    assert ends == [9600.0, 19200.0, 28800.0, 36000.0]
    assert programs == [9, 9, 9, 9]  # no separate program for the last
    to_file(path, case_of(), **diagnostics)
    monkeypatch.undo()
    to_file(whole, case_of(), **diagnostics)
    one, other = (xr.load_dataset(each, decode_times=False) for each in (path, whole))
    xr.testing.assert_equal(one, other)
    np.testing.assert_allclose(np.diff(one["heat_content"]), -200.0 * 1200.0, rtol=1e-6)
    assert one["temperature_mean"].attrs["cell_methods"] == "time: mean"
    np.testing.assert_array_equal(one["time_bounds"][1:], np.stack([one["time"][:-1], one["time"][1:]], 1))
    assert io.read_trajectory(path).means is None  # a run goes on from it as from any other
    assert {found.name for found in tmp_path.iterdir()} == {"out.nc", "whole.nc", "so_far.nc"}


def test_a_frame_that_does_not_fit_is_refused_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "free_memory", lambda: 1000)
    with error_naming(MemoryError, "ulimit -v"):
        to_file(tmp_path / "out.nc", case_of())
    assert not list(tmp_path.iterdir())
