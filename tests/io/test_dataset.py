"""Trajectories to datasets and files, and back bit by bit."""

import os
import stat
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import netCDF4
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.closures import CloState, MassFluxConvection
from tunax_lite.column.diagnostics import diagnose
from tunax_lite.io import (
    FileFormatError,
    Provenance,
    keep_variables,
    read_trajectory,
    replacing,
    to_dataset,
    write_dataset,
    write_trajectory,
)
from tunax_lite.io.writing import file_name


def make_case(*, batch=(), **place) -> tl.Case:
    grid = tl.Grid.stretched(40.0, 6, surface_zoom=1.0)
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(
            grid, temperature=lambda z: 18.0 + 0.1 * z, tracers={"dye": lambda z: jnp.exp(z / 10.0)}
        ),
        forcing=tl.ConstantForcing(
            tl.SurfaceFluxes(stress_u=jnp.full(batch, 0.1), stress_v=0.0, heat_flux=-50.0)
        ),
        coriolis_parameter=1e-4,
        **place,
    )


def run(closure, *, batch=()):
    model, case = tl.Model(closure), make_case(batch=batch)
    return tl.simulate(model, case, dt=300.0, duration=3600.0, output_interval=900.0)


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def of_different_grids() -> tl.Trajectory:
    trajectory = run(tl.KEpsilon(), batch=(2,))
    faces = jnp.asarray(trajectory.grid.z_face) * jnp.array([1.0, 2.0])
    return eqx.tree_at(lambda t: t.grid, trajectory, tl.Grid(faces))


def of_single_precision_with_nan() -> tl.Trajectory:
    trajectory = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if leaf.dtype == jnp.float64 else leaf, run(tl.KEpsilon())
    )
    return eqx.tree_at(lambda t: t.state.u, trajectory, trajectory.state.u.at[-1].set(jnp.nan))


TRAJECTORIES: dict[str, Callable[[], tl.Trajectory]] = {
    "mass flux": lambda: run(MassFluxConvection(local=tl.ConvectiveAdjustment())),
    "batch of two axes": lambda: run(tl.ConstantDiffusivity(), batch=(2, 3)),
    "grids": of_different_grids,
    "float32": of_single_precision_with_nan,
}
CHEAP = ("grids", "float32")


@pytest.mark.parametrize(
    "name", [name if name in CHEAP else pytest.param(name, marks=pytest.mark.long) for name in TRAJECTORIES]
)
def test_reads_back_bit_by_bit(tmp_path, name):
    trajectory = TRAJECTORIES[name]()
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)
    columns = ("column", "column_1")[: trajectory.state.u.ndim - 2]
    assert to_dataset(trajectory)["temperature"].dims == ("time", "z_center", *columns)


def test_file_follows_cf(tmp_path):
    provenance = Provenance(config="model: 1", case="strong_wind", parameters="{}", command="tunax-lite run")
    path = tmp_path / "run.nc"
    write_trajectory(run(tl.KEpsilon()), path, provenance=provenance, start_time="2011-03-21 00:00:00")
    with xr.open_dataset(path) as dataset:
        assert dataset.sizes == {"time": 5, "z_center": 6, "z_face": 7, "bounds": 2}
        names = {"temperature", "salinity", "u", "v", "dye", "step", "eddy_diffusivity", "eddy_viscosity"}
        assert names <= set(dataset.data_vars)
        assert dataset["turbulent_kinetic_energy"].dims == ("time", "z_face")
        assert dataset["turbulent_kinetic_energy"].attrs["units"] == "m2 s-2"
        assert dataset["temperature"].attrs["units"] == "degC"
        bounds = dataset["z_center_bounds"].values
        np.testing.assert_array_equal(bounds[:, 1], dataset["z_face"].values[1:])
        kept = {"config": "model: 1", "version": tl.__version__, "case": "strong_wind", "parameters": "{}"}
        assert {f"tunax_lite_{key}": value for key, value in kept.items()}.items() <= dataset.attrs.items()
        assert dataset.attrs["Conventions"] == "CF-1.11"
        assert not any("_FillValue" in v.encoding for v in dataset.variables.values())


class OwnState(CloState):
    eddy_viscosity: tl.FaceArray
    eddy_diffusivity: tl.FaceArray
    boundary_layer_depth: tl.Scalar


def own_trajectory():
    trajectory = run(tl.KEpsilon())
    given, depth = trajectory.clo_state, jnp.arange(trajectory.n_frames, dtype=float)
    own = OwnState(given.eddy_viscosity, given.eddy_diffusivity, depth)
    return eqx.tree_at(lambda t: t.clo_state, trajectory, own)


def test_closures_from_outside_the_package(tmp_path):
    trajectory = own_trajectory()
    write_trajectory(trajectory, tmp_path / "run.nc")
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)
    dataset = to_dataset(trajectory)
    assert dataset["boundary_layer_depth"].dims == ("time",)
    dataset.attrs["closure_state"] = "somewhere.else.State"
    write_dataset(dataset, tmp_path / "other.nc")
    with error_naming(FileFormatError, "closure_state somewhere.else.State"):
        read_trajectory(tmp_path / "other.nc")


def test_names_that_are_taken_or_that_no_file_can_have():
    trajectory = run(tl.ConstantDiffusivity())
    for name in ("temperature", "step", "eddy_viscosity"):
        dyed = eqx.tree_at(lambda t: t.state.tracers, trajectory, {name: trajectory.state.u})
        with error_naming(ValueError, f"to_dataset {name}"):
            to_dataset(dyed)
    grid = tl.Grid.uniform(10.0, 4)
    for name in ("temperature", "z_center", "a b", "a/b", "", "a" * 300):
        with error_naming(ValueError, "State"):
            tl.State.from_profiles(grid, temperature=20.0, tracers={name: 1.0})
    assert tl.State.from_profiles(grid, temperature=20.0, tracers={"θ_2": 1.0}).tracers
    assert file_name("/a\nb") == "_a_b" and len(file_name("x" * 1000)) == 100


def test_a_closure_state_that_cannot_be_written():
    for value, parts in (({"a": jnp.zeros(5)}, "dict"), (jnp.zeros((5, 4)), "5 4")):
        odd = eqx.tree_at(lambda t: t.clo_state.boundary_layer_depth, own_trajectory(), value)
        with error_naming(ValueError, f"boundary_layer_depth {parts}"):
            to_dataset(odd)


def test_a_file_that_lacks_a_variable(tmp_path):
    dataset = to_dataset(run(tl.ConstantDiffusivity()))
    for missing in ("eddy_viscosity", "temperature", "step", "z_face"):
        write_dataset(dataset.drop_vars(missing), tmp_path / "run.nc")
        with error_naming(FileFormatError, f"run.nc {missing}"):
            read_trajectory(tmp_path / "run.nc")


def test_writing_replaces_older_files_or_leaves_them_and_nothing_else(tmp_path):
    path, dataset = tmp_path / "a" / "b" / "run.nc", to_dataset(run(tl.ConstantDiffusivity()))
    write_dataset(dataset, path)
    write_trajectory(run(tl.KEpsilon()), path)
    assert "dissipation_rate" in xr.load_dataset(path)
    # As any file that the user writes: not closed to others.
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_dataset(dataset.assign_attrs(config={"not": "text"}), path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_bytes(b"half of a fi")
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["run.nc"]


def test_paths_that_cannot_be_written(tmp_path):
    dataset = to_dataset(run(tl.ConstantDiffusivity()))
    (tmp_path / "file").write_text("not a folder")
    with error_naming(OSError, "file"):
        write_dataset(dataset, tmp_path / "file" / "run.nc")
    with error_naming(IsADirectoryError, str(tmp_path)):
        write_dataset(dataset, tmp_path)


PAPA = {"latitude": 50.1, "longitude": -144.9, "start_time": "2011-03-21T00:00:00", "name": "papa"}
STRATUS = {"latitude": -20.0, "longitude": -85.0, "start_time": "2011-03-21T00:00:00", "name": "stratus"}


def test_a_case_with_a_date_and_a_place(tmp_path):
    case, trajectory = make_case(**PAPA), run(tl.KEpsilon())
    dataset = to_dataset(trajectory, case=case)
    expected = np.datetime64("2011-03-21T00:00:00") + np.arange(5) * np.timedelta64(900, "s")
    assert dataset["time"].dtype.kind == "M" and np.array_equal(dataset["time"].values, expected)
    assert (dataset["latitude"].item(), dataset["longitude"].item()) == (50.1, -144.9)
    # Both ways into a file give the same times, and it is read back bit by bit.
    write_dataset(dataset, tmp_path / "one.nc")
    write_trajectory(trajectory, tmp_path / "two.nc", case=case)
    for name in ("one.nc", "two.nc"):
        assert_same(read_trajectory(tmp_path / name), trajectory)
        with xr.open_dataset(tmp_path / name) as found:
            assert np.array_equal(found["time"].values, expected)
            assert_same(read_trajectory(found), trajectory)
            assert "latitude" in found.coords and found["temperature"].coords["longitude"] == -144.9
    assert to_dataset(trajectory)["time"].dtype == np.float64  # a case without a date


def test_columns_of_a_batch_say_what_they_are(tmp_path):
    case = tl.stack_cases([make_case(**PAPA), make_case(**STRATUS)])
    closure = tl.ConstantDiffusivity(viscosity=jnp.array([1e-3, 2e-3]))
    trajectory = tl.simulate(tl.Model(closure), case, dt=300.0, duration=900.0, output_interval=900.0)
    write_trajectory(trajectory, tmp_path / "run.nc", case=case, closure=closure)
    assert_same(read_trajectory(tmp_path / "run.nc"), trajectory)
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        one = dataset.swap_dims(column="site").sel(site="stratus")
        np.testing.assert_array_equal(one["temperature"], trajectory.state.temperature[..., 1])
        expected = {"latitude": -20.0, "longitude": -85.0, "viscosity": 2e-3}
        assert {name: one[name].item() for name in expected} == expected
        # What is the same in all columns is no coordinate.
        assert set(dataset.coords) - {"time", "z_center", "z_face"} == {"site", *expected}
    named = to_dataset(trajectory, case=case, dims=("member",))
    assert named["temperature"].dims == ("time", "z_center", "member")


def test_names_of_axes_that_do_not_fit_are_refused():
    trajectory = run(tl.KEpsilon(), batch=(2,))
    options: Any
    for options, message in (
        ({"dims": ("member", "site")}, "dims member site 1 2"),
        ({"dims": ("time",)}, "dims time 1 2"),
    ):
        with error_naming(ValueError, message):
            to_dataset(trajectory, **options)
    with error_naming(ValueError, "case longitude 400"):
        make_case(longitude=400.0)


def test_a_file_keeps_the_variables_that_are_named(tmp_path):
    path, case = tmp_path / "run.nc", make_case(**PAPA)
    trajectory = run(tl.KEpsilon())
    write_trajectory(trajectory, path, case=case)
    keep_variables(path, ["temperature", "eddy_diffusivity"])
    with xr.open_dataset(path) as dataset:
        assert set(dataset.data_vars) == {"temperature", "eddy_diffusivity", "step", "z_center_bounds"}
        assert set(dataset.coords) == {"time", "z_center", "z_face", "latitude", "longitude"}
        np.testing.assert_array_equal(dataset["temperature"], trajectory.state.temperature)
    with error_naming(FileFormatError, "run.nc temperature eddy_diffusivity output.variables"):
        read_trajectory(path)
    with error_naming(ValueError, "run.nc salinity temperature"):
        keep_variables(path, ["salinity"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.nc"]


def test_a_layer_without_a_base_is_missing_in_a_file(tmp_path):
    case = make_case()
    case = eqx.tree_at(lambda c: c.initial_state.temperature, case, jnp.full(6, 18.0))
    times: dict[str, Any] = {"dt": 300.0, "duration": 900.0, "output_interval": 900.0}
    trajectory = tl.simulate(tl.Model(tl.ConstantDiffusivity(1.0, 1.0)), case, **times)
    found = diagnose(trajectory, case, ["mixed_layer_depth_from_10m", "heat_content"])
    write_trajectory(trajectory, tmp_path / "a.nc", case=case, diagnostics=found)
    write_dataset(to_dataset(trajectory, case=case, diagnostics=found), tmp_path / "b.nc")
    for name in ("a.nc", "b.nc"):
        with netCDF4.Dataset(tmp_path / name) as file:
            layer = file["mixed_layer_depth_from_10m"]
            assert np.isnan(layer._FillValue) and np.ma.is_masked(layer[:])
            assert "_FillValue" not in file["heat_content"].ncattrs()
