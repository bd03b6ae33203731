"""A case of GOTM goes on from a restart.nc."""

import dataclasses

import jax
import netCDF4
import numpy as np
import pytest

from tests.errors import error_naming
from tests.extensions.gotm.folders import START, run_of
from tunax_lite import simulate
from tunax_lite.config import ConfigError
from tunax_lite.io.errors import FileFormatError

HALF = {"time": {"stop": "2011-03-01 12:00:00"}}
LATER = {"time": {"start": "2011-03-01 12:00:00"}, "restart": {"load": True}}
OURS = {
    **{"temp": "temperature", "salt": "salinity", "u": "u", "v": "v", "num": "eddy_viscosity"},
    **{"nuh": "eddy_diffusivity", "tke": "turbulent_kinetic_energy", "eps": "dissipation_rate"},
}


def final(run):
    kept = simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval, start=run.start)
    return jax.tree.map(lambda leaf: np.asarray(leaf[-1]), (kept.state, kept.clo_state))


def write_restart(folder, parts, left_out=(), n=8):
    """Variables as GOTM has them: one record over depth, at one place."""
    held = {name: value for part in parts for name, value in vars(part).items()}
    with netCDF4.Dataset(folder / "restart.nc", "w") as file:
        for dim, size in (("time", None), ("z", n), ("zi", n + 1), ("lat", 1), ("lon", 1)):
            file.createDimension(dim, size)
        for theirs, ours in OURS.items():
            if theirs not in left_out:
                axis = "z" if theirs in ("temp", "salt", "u", "v") else "zi"
                variable = file.createVariable(theirs, "f8", ("time", axis, "lat", "lon"))
                variable[0] = np.resize(held[ours], (variable.shape[1], 1, 1))


@pytest.mark.long
def test_a_run_in_two_parts_ends_where_a_whole_one_does(tmp_path):
    whole = final(run_of(tmp_path))
    write_restart(tmp_path, final(run_of(tmp_path, HALF)))
    second = run_of(tmp_path, LATER)
    assert int(second.start.step) == 0
    for found, expected in zip(jax.tree.leaves(final(second)), jax.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    # The drag of the bottom does not begin from rest.
    assert not second.case.interior.bottom_friction.from_rest


def test_a_file_that_lacks_something_is_refused_unless_that_may_start_anew(tmp_path):
    with error_naming(FileNotFoundError, "restart.load restart.nc"):
        run_of(tmp_path, LATER)
    run = run_of(tmp_path)
    state, turbulence = run.case.initial_state, run.model.init(run.case)
    warmer = dataclasses.replace(state, temperature=state.temperature + 1.0)
    write_restart(tmp_path, (warmer, turbulence), left_out=("tke", "u"))
    with error_naming(FileFormatError, "u restart.allow_missing_variable"):
        run_of(tmp_path, LATER)
    again = run_of(tmp_path, LATER, {"restart": {"allow_missing_variable": True}})
    np.testing.assert_array_equal(again.case.initial_state.temperature, warmer.temperature)
    np.testing.assert_array_equal(again.case.initial_state.u, state.u)
    assert again.case.start_time != START
    np.testing.assert_array_equal(again.start.clo_state.eddy_viscosity, turbulence.eddy_viscosity)
    write_restart(tmp_path, (state, turbulence), n=10)
    with error_naming(FileFormatError, "temp 8 10"):
        run_of(tmp_path, LATER)
    (tmp_path / "restart.nc").write_text("none")
    with error_naming((FileFormatError, ConfigError), "restart.nc"):
        run_of(tmp_path, LATER)
