"""Trajectories to datasets and files, and back bit by bit."""

import os
import stat

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tunax_lite.closures import CloState, MassFluxConvection
from tunax_lite.io import (
    FileFormatError,
    Provenance,
    read_trajectory,
    replacing,
    to_dataset,
    write_dataset,
    write_trajectory,
)


def run(closure, *, batch=(), duration=3600.0, start=None):
    grid = tl.Grid.stretched(40.0, 6, surface_zoom=1.0)
    case = tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(
            grid, temperature=lambda z: 18.0 + 0.1 * z, tracers={"dye": lambda z: jnp.exp(z / 10.0)}
        ),
        forcing=tl.ConstantForcing(
            tl.SurfaceFluxes(stress_u=jnp.full(batch, 0.1), stress_v=0.0, heat_flux=-50.0)
        ),
        coriolis_parameter=1e-4,
    )
    model = tl.Model(closure)
    return tl.simulate(model, case, dt=300.0, duration=duration, output_interval=900.0, start=start)


CLOSURES = [
    tl.Constant(),
    tl.ConvectiveAdjustment(),
    tl.PacanowskiPhilander(),
    tl.KEpsilon(),
    MassFluxConvection(local=tl.ConvectiveAdjustment()),
]


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("closure", CLOSURES, ids=lambda closure: type(closure).__name__)
def test_reads_back_bit_by_bit(tmp_path, closure):
    trajectory = run(closure)
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)


@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_a_batch_reads_back(tmp_path, batch):
    trajectory = run(tl.KEpsilon(), batch=batch)
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)
    dims = to_dataset(trajectory)["temperature"].dims
    assert dims == ("time", "z_center", "column", "column_1")[: 2 + len(batch)]


def test_columns_of_different_grids_read_back(tmp_path):
    trajectory = run(tl.KEpsilon(), batch=(2,))
    faces = jnp.asarray(trajectory.grid.z_face) * jnp.array([1.0, 2.0])
    trajectory = eqx.tree_at(lambda t: t.grid, trajectory, tl.Grid(faces))
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)


def test_single_precision_and_nan_read_back(tmp_path):
    trajectory = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if leaf.dtype == jnp.float64 else leaf, run(tl.KEpsilon())
    )
    broken = trajectory.state.u.at[-1].set(jnp.nan)
    trajectory = eqx.tree_at(lambda t: t.state.u, trajectory, broken)
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)


@pytest.mark.parametrize("frame", [1, -1])
def test_a_run_goes_on_from_a_file_bit_by_bit(tmp_path, frame):
    whole = run(tl.KEpsilon(), duration=7200.0)
    first = run(tl.KEpsilon(), duration=3600.0)
    write_trajectory(first, tmp_path / "run.nc")
    restart = read_trajectory(tmp_path / "run.nc").restart(frame)
    done = int(restart.step) * 300.0
    rest = run(tl.KEpsilon(), duration=7200.0 - done, start=restart)
    n = rest.n_frames
    assert_same(rest, eqx.tree_at(lambda t: t.grid, jax.tree.map(lambda x: x[-n:], whole), whole.grid))


def test_file_follows_cf(tmp_path):
    provenance = Provenance(config="model: 1", case="strong_wind", parameters="{}", command="tunax-lite run")
    write_trajectory(
        run(tl.KEpsilon()), tmp_path / "run.nc", provenance=provenance, start_time="2011-03-21 00:00:00"
    )
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        assert dataset.sizes == {"time": 5, "z_center": 6, "z_face": 7, "bounds": 2}
        assert dataset["time"].values[1] == np.datetime64("2011-03-21T00:15:00")
        names = {"temperature", "salinity", "u", "v", "dye", "step", "eddy_diffusivity", "eddy_viscosity"}
        assert names <= set(dataset.data_vars)
        assert dataset["turbulent_kinetic_energy"].dims == ("time", "z_face")
        assert dataset["turbulent_kinetic_energy"].attrs["units"] == "m2 s-2"
        assert dataset["dissipation_rate"].attrs["standard_name"].startswith("specific_turbulent")
        assert dataset["z_center"].attrs["positive"] == "up"
        assert dataset["temperature"].attrs["units"] == "degC"
        bounds = dataset["z_center_bounds"].values
        np.testing.assert_array_equal(bounds[:, 1], dataset["z_face"].values[1:])
        assert dataset.attrs["Conventions"] == "CF-1.11"
        assert dataset.attrs["tunax_lite_config"] == "model: 1"
        assert dataset.attrs["tunax_lite_version"] == tl.__version__
        assert dataset.attrs["tunax_lite_case"] == "strong_wind"
        assert dataset.attrs["tunax_lite_parameters"] == "{}"
        assert dataset.attrs["history"].endswith(": tunax-lite run")
        assert dataset.attrs["closure_state"] == "tunax_lite.closures.energy.TurbulenceState"
        assert not any("_FillValue" in v.encoding for v in dataset.variables.values())


class OwnState(CloState):
    eddy_viscosity: tl.FaceArray
    eddy_diffusivity: tl.FaceArray
    boundary_layer_depth: tl.Scalar
    nonlocal_transport: None = None


def own_trajectory():
    trajectory = run(tl.KEpsilon())
    clo_state = OwnState(
        eddy_viscosity=trajectory.clo_state.eddy_viscosity,
        eddy_diffusivity=trajectory.clo_state.eddy_diffusivity,
        boundary_layer_depth=jnp.arange(trajectory.n_frames, dtype=float),
    )
    return eqx.tree_at(lambda t: t.clo_state, trajectory, clo_state)


def test_closures_from_outside_the_package(tmp_path):
    trajectory = own_trajectory()
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)
    dataset = to_dataset(trajectory)
    assert dataset["boundary_layer_depth"].dims == ("time",)
    dataset.attrs["closure_state"] = "somewhere.else.State"
    write_dataset(dataset, tmp_path / "other.nc")
    with pytest.raises(FileFormatError, match="attribute closure_state.*somewhere.else.State"):
        read_trajectory(tmp_path / "other.nc")
    assert_same(read_trajectory(tmp_path / "other.nc", clo_state_class=OwnState), trajectory)


@pytest.mark.parametrize("name", ["temperature", "step", "eddy_viscosity"])
def test_names_that_are_taken(name):
    trajectory = run(tl.Constant())
    tracers = {name: trajectory.state.u}
    trajectory = eqx.tree_at(lambda t: t.state.tracers, trajectory, tracers)
    with pytest.raises(ValueError, match=f"got '{name}' twice"):
        to_dataset(trajectory)


def test_a_closure_state_that_cannot_be_written():
    trajectory = own_trajectory()
    nested = eqx.tree_at(lambda t: t.clo_state.boundary_layer_depth, trajectory, {"a": jnp.zeros(5)})
    with pytest.raises(ValueError, match="got dict in 'boundary_layer_depth'"):
        to_dataset(nested)
    odd = eqx.tree_at(lambda t: t.clo_state.boundary_layer_depth, trajectory, jnp.zeros((5, 4)))
    with pytest.raises(ValueError, match="boundary_layer_depth.*cells, faces or per column"):
        to_dataset(odd)


@pytest.mark.parametrize("missing", ["eddy_viscosity", "temperature", "step", "z_face"])
def test_a_file_that_lacks_a_variable(tmp_path, missing):
    write_dataset(to_dataset(run(tl.Constant())).drop_vars(missing), tmp_path / "run.nc")
    with pytest.raises(FileFormatError, match=f"run.nc: {missing}: expected a variable"):
        read_trajectory(tmp_path / "run.nc")


def test_writing_creates_folders_and_replaces_older_files(tmp_path):
    path = tmp_path / "a" / "b" / "run.nc"
    write_trajectory(run(tl.Constant()), path)
    write_trajectory(run(tl.KEpsilon()), path)
    assert "dissipation_rate" in xr.load_dataset(path)
    assert [p.name for p in path.parent.iterdir()] == ["run.nc"]
    # As any file that the user writes: not closed to others.
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_a_failure_leaves_the_older_file_and_nothing_else(tmp_path):
    path = tmp_path / "run.nc"
    write_trajectory(run(tl.Constant()), path)
    before = path.read_bytes()
    unwritable = to_dataset(run(tl.Constant())).assign_attrs(config={"not": "text"})
    with pytest.raises(TypeError):
        write_dataset(unwritable, path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_bytes(b"half of a fi")
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_paths_that_cannot_be_written(tmp_path, monkeypatch):
    dataset = to_dataset(run(tl.Constant()))
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OSError, match="file/run.nc: expected a folder"):
        write_dataset(dataset, tmp_path / "file" / "run.nc")
    with pytest.raises(IsADirectoryError, match="expected a file to write, got a folder"):
        write_dataset(dataset, tmp_path)
    # An administrator may write everywhere, so the answer of the system is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="expected a folder with write permission"):
        write_dataset(dataset, tmp_path / "run.nc")
