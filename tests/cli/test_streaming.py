"""Runs that are written while they go on."""

import dataclasses
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
from tunax_lite.io.errors import FileFormatError

GRID = tl.Grid.uniform(40.0, 10)
TIMES: dict[str, Any] = {"dt": 60.0, "duration": 36000.0, "output_interval": 1200.0}


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


@pytest.mark.parametrize("interval", [1200.0, 1260.0])  # the second leaves a shorter last frame
def test_pieces_are_the_whole_run(tmp_path, whole, interval):
    path, ends = tmp_path / "out.nc", []
    times: dict[str, Any] = {**TIMES, "output_interval": interval, "memory_budget": 9000}  # ten frames
    expected = tl.simulate(tl.Model(tl.KEpsilon()), case_of(), **TIMES | {"output_interval": interval})
    model = tl.Model(tl.KEpsilon())
    streaming.run_to_file(
        model, case_of(), path, **times, report=lambda piece: ends.append(float(piece.time[-1]))
    )
    assert len(ends) > 2 and ends[-1] == 36000.0
    assert_equal(io.read_trajectory(path), expected)
    assert [found.name for found in tmp_path.iterdir()] == ["out.nc"]


def change(path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_flipped_bit_of_a_file_is_noticed(tmp_path, whole):
    """NetCDF compares the checksum of every chunk."""
    path = tmp_path / "out.nc"
    io.write_dataset(io.to_dataset(whole), path)
    change(path, path.read_bytes().index(np.asarray(GRID.z_face).tobytes()) + 3)  # stored as they are
    with error_naming(FileFormatError, "out.nc"):
        io.read_trajectory(path)


def test_a_run_that_fails_late_leaves_nothing(tmp_path):
    heat = np.full(31, -200.0)
    series = tl.TimeSeriesForcing.from_values(np.linspace(0.0, 36000.0, 31), heat_flux=heat)
    heat[25:] = 1e300  # which no constructor accepts
    series = eqx.tree_at(lambda it: it.fluxes.heat_flux, series, jnp.asarray(heat))
    with error_naming(FloatingPointError, "30000 s"):
        to_file(tmp_path / "out.nc", dataclasses.replace(case_of(), forcing=series), memory_budget=9000)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_pieces_of_equal_length_and_their_means_are_the_run(tmp_path, monkeypatch):
    path, whole = tmp_path / "out.nc", tmp_path / "whole.nc"
    diagnostics: dict[str, Any] = {"diagnostics": ["heat_content", "shear_production"], "means": True}
    to_file(whole, case_of(), **diagnostics)
    # Four pieces of 8 frames for 30: the last overlaps.
    monkeypatch.setattr(streaming, "_WORK_OF_A_PIECE", 200 * 8)
    programs = []
    to_file(path, case_of(), report=lambda it: programs.append(it.n_frames), **diagnostics)
    assert programs == [9, 9, 9, 9]  # no separate program for the last
    one, other = (xr.load_dataset(each, decode_times=False) for each in (path, whole))
    xr.testing.assert_equal(one, other)
    np.testing.assert_allclose(np.diff(one["heat_content"]), -200.0 * 1200.0, rtol=1e-6)
    assert one["temperature_mean"].attrs["cell_methods"] == "time: mean"
    np.testing.assert_array_equal(one["time_bounds"][1:], np.stack([one["time"][:-1], one["time"][1:]], 1))
    assert io.read_trajectory(path).means is None  # a run goes on from it as from any other
