"""A case of GOTM goes on from a restart.nc."""

import dataclasses

import jax
import netCDF4
import numpy as np
import pytest

from tests.errors import error_naming
from tests.extensions.gotm.folders import START, write_case
from tunax_lite import simulate
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm import build_gotm, load_gotm
from tunax_lite.io.errors import FileFormatError

HALF = {"time": {"stop": "2011-03-01 12:00:00"}}
LATER = {"time": {"start": "2011-03-01 12:00:00"}, "restart": {"load": True}}
OURS = {
    **{"temp": "temperature", "salt": "salinity", "u": "u", "v": "v", "num": "eddy_viscosity"},
    **{"nuh": "eddy_diffusivity", "tke": "turbulent_kinetic_energy", "eps": "dissipation_rate"},
}


def build(folder, *changes):
    run = build_gotm(load_gotm(write_case(folder, *changes))).run
    assert run is not None
    return run


def final(run):
    kept = simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval, start=run.start)
    return jax.tree.map(lambda leaf: np.asarray(leaf[-1]), (kept.state, kept.clo_state))


def write_restart(folder, parts, left_out=(), n=None):
    """Variables as GOTM has them: one record over depth, at one place."""
    held = {name: value for part in parts for name, value in vars(part).items()}
    with netCDF4.Dataset(folder / "restart.nc", "w") as file:
        for dim, size in (("time", None), ("z", n or 8), ("zi", (n or 8) + 1), ("lat", 1), ("lon", 1)):
            file.createDimension(dim, size)
        for theirs, ours in OURS.items():
            if theirs not in left_out:
                axis = "z" if theirs in ("temp", "salt", "u", "v") else "zi"
                variable = file.createVariable(theirs, "f8", ("time", axis, "lat", "lon"))
                variable[0] = np.resize(held[ours], (variable.shape[1], 1, 1))


@pytest.mark.long
def test_a_run_in_two_parts_ends_where_a_whole_one_does(tmp_path):
    whole = final(build(tmp_path))
    write_restart(tmp_path, final(build(tmp_path, HALF)))
    second = build(tmp_path, LATER)
    assert second.start is not None and int(second.start.step) == 0
    end = final(second)
    for found, expected in zip(jax.tree.leaves(end), jax.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    # The drag of the bottom does not begin from rest.
    friction = second.case.interior.bottom_friction
    assert friction is not None and not friction.from_rest


def test_a_file_that_cannot_be_is_an_error_that_says_why(tmp_path):
    with error_naming(FileNotFoundError, "restart.load restart.nc"):
        build(tmp_path, LATER)
    run = build(tmp_path)
    parts = run.case.initial_state, run.model.init(run.case)
    write_restart(tmp_path, parts, left_out=("tke",))
    with error_naming(FileFormatError, "tke restart.allow_missing_variable"):
        build(tmp_path, LATER)
    write_restart(tmp_path, parts, n=10)
    with error_naming(FileFormatError, "temp 8 10"):
        build(tmp_path, LATER)
    (tmp_path / "restart.nc").write_text("none")
    with error_naming((FileFormatError, ConfigError), "restart.nc"):
        build(tmp_path, LATER)


def test_what_is_missing_may_start_as_without_the_file(tmp_path):
    run = build(tmp_path)
    still = run.case.initial_state, run.model.init(run.case)
    warmer = dataclasses.replace(still[0], temperature=still[0].temperature + 1.0)
    write_restart(tmp_path, (warmer, still[1]), left_out=("tke", "u"))
    again = build(tmp_path, LATER | {"restart": {"load": True, "allow_missing_variable": True}})
    np.testing.assert_array_equal(again.case.initial_state.temperature, warmer.temperature)
    np.testing.assert_array_equal(again.case.initial_state.u, still[0].u)
    assert again.start is not None and again.case.start_time != START
    np.testing.assert_array_equal(again.start.clo_state.eddy_viscosity, still[1].eddy_viscosity)
