"""CF NetCDF files of large-eddy simulations: background mixing, Stokes drift, means of velocities."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

import tunax_lite as tl
from tests.errors import error_naming, notes_in
from tunax_lite.closures import ConstantDiffusivity
from tunax_lite.column.terms.stokes_drift import AbstractStokesDrift
from tunax_lite.io import FileFormatError, Mapping, read_cf_netcdf, to_dataset

LEVELS = np.arange(-39.0, 0.0, 2.0)
DRIFT = 0.1 * np.exp(LEVELS / 5.0)


def les_dataset(*, drift: np.ndarray | None = None, comment: str = "") -> xr.Dataset:
    """Twenty cells of 2 m at 0, 15 and 30 min; a drift is `(z)` or `(time, z)`."""
    time = ("time", [0.0, 900.0, 1800.0], {"units": "seconds since 2000-01-01", "standard_name": "time"})
    z = ("z", LEVELS, {"units": "m", "positive": "up", "standard_name": "height"})
    profile = np.broadcast_to(20.0 + 0.01 * LEVELS, (3, LEVELS.size))
    of_z = ("time", "z")
    variables = {
        "temperature": (of_z, profile, {"units": "degC", "standard_name": "sea_water_potential_temperature"}),
        "u": (of_z, 0.0 * profile + 0.05, {"units": "m s-1"}),
        "v": (of_z, 0.0 * profile, {"units": "m s-1"}),
        "surface_stress_u": ("time", [0.1, 0.1, 0.1], {"units": "N m-2"}),
        "surface_stress_v": ("time", [0.0, 0.0, 0.0], {"units": "N m-2"}),
        "surface_heat_flux": ("time", [-75.0, -75.0, -75.0], {"units": "W m-2"}),
    }
    if drift is not None:
        dims = of_z if drift.ndim == 2 else ("z",)
        variables["stokes_drift_u"] = (dims, drift, {"units": "m s-1"})
    attributes = {"title": "horizontally averaged large-eddy simulation", "comment": comment}
    attributes |= {"coriolis_parameter": 1e-4, "thermal_expansion": 2e-4, "gravity": 9.81}
    attributes |= {"reference_density": 1026.0, "heat_capacity": 3991.0}
    attributes |= {"background_viscosity": 1e-4, "background_diffusivity": 2e-5}
    return xr.Dataset(variables, {"time": time, "z": z}, attributes)


def drift_of(case: tl.Case) -> AbstractStokesDrift:
    drift = case.interior.stokes_drift
    assert drift is not None
    return drift


def test_background_mixing_replaces_that_of_the_model(recwarn):
    case, _ = read_cf_netcdf(les_dataset())
    assert (case.background_viscosity, case.background_diffusivity) == (1e-4, 2e-5)
    assert case.interior.stokes_drift is None and not notes_in(recwarn)
    assert isinstance(case.forcing, tl.ConstantForcing)
    closure = ConstantDiffusivity(viscosity=0.0, diffusivity=0.0)
    without = dataclasses.replace(case, background_viscosity=None, background_diffusivity=None)
    same = tl.Model(closure, molecular_viscosity=1e-4, molecular_diffusivity=2e-5)
    first, other = (tl.simulate(*pair).state for pair in ((tl.Model(closure), case), (same, without)))
    np.testing.assert_array_equal(other.temperature, first.temperature)
    np.testing.assert_array_equal(other.u, first.u)


def test_a_drift_over_time_or_depth_alone_lies_on_the_cells_of_any_grid():
    over_time = np.stack([DRIFT, 2.0 * DRIFT, 4.0 * DRIFT])
    drifts = [drift_of(read_cf_netcdf(les_dataset(drift=drift))[0]) for drift in (DRIFT, over_time)]
    case, _ = read_cf_netcdf(les_dataset(drift=over_time))
    np.testing.assert_allclose(drifts[0].at(case.grid, 1e6)[0], DRIFT, rtol=1e-12)
    np.testing.assert_allclose(drifts[1].at(case.grid, 1350.0)[0], 3.0 * DRIFT, rtol=1e-12)
    np.testing.assert_array_equal(drifts[1].at(case.grid, 1350.0)[1], 0.0)
    # Linearly from the two uppermost levels, at -3 and -1 m.
    at_surface = drifts[0].at_surface(0.0)
    assert at_surface is not None
    np.testing.assert_allclose(at_surface[0], 1.5 * DRIFT[-1] - 0.5 * DRIFT[-2], rtol=1e-12)
    for n_cells in (10, 40, 33):
        moved = case.on(tl.Grid.uniform(40.0, n_cells))
        (u, v), grid = drift_of(moved).at(moved.grid, 0.0), moved.grid
        assert u.shape == v.shape == (n_cells,)
        np.testing.assert_allclose(jnp.sum(u * grid.cell_thickness), 2.0 * DRIFT.sum(), rtol=1e-12)


def test_the_file_or_the_mapping_says_what_velocities_are(recwarn):
    for comment, mapping, mean, noted in (
        ("u and v are Lagrangian means: no Stokes-Coriolis force", Mapping(), "lagrangian", False),
        ("u and v are Eulerian means", Mapping(), "eulerian", False),
        ("Lagrangian", Mapping(velocities="eulerian"), "eulerian", False),
        ("", Mapping(), "eulerian", True),
    ):
        case, _ = read_cf_netcdf(les_dataset(drift=DRIFT, comment=comment), mapping)
        assert case.interior.velocities == mean
        assert any("assumed eulerian" in note for note in notes_in(recwarn)) == noted
    with error_naming(FileFormatError, "u v velocities"):
        read_cf_netcdf(les_dataset(drift=DRIFT, comment="Lagrangian, or Eulerian"))


def test_a_drift_with_a_gap_or_on_other_levels():
    drift = np.stack([DRIFT] * 3)
    drift[1, 4] = np.nan
    with error_naming(FileFormatError, "stokes_drift_u nan 2000-01-01T00:15:00 1"):
        read_cf_netcdf(les_dataset(drift=drift))
    dataset = les_dataset()
    dataset["stokes_drift_u"] = ("depth_of_waves", DRIFT[:5], {"units": "m s-1"})
    with error_naming(FileFormatError, "stokes_drift_u z depth_of_waves"):
        read_cf_netcdf(dataset)


def test_constants_of_the_water_are_read_set_or_noted(recwarn):
    dataset, water = les_dataset(), tl.LinearEquationOfState(thermal_expansion=1e-4)
    del dataset.attrs["thermal_expansion"], dataset.attrs["reference_density"]
    case, _ = read_cf_netcdf(dataset)
    (note,) = notes_in(recwarn)
    assert "thermal_expansion = 0.0002" in note and "reference_density = 1027" in note
    written = to_dataset(
        tl.simulate(tl.Model(ConstantDiffusivity()), case, dt=600.0, duration=600.0), case=case
    ).attrs
    assert written["thermal_expansion"] == 2e-4 and "draft" not in written
    dataset.attrs |= {"alpha": 1.7e-4, "beta": 2e-11}  # this beta is the gradient of f
    case, _ = read_cf_netcdf(dataset.assign(rho0=1025.0))
    read: Any = case.equation_of_state
    assert (read.thermal_expansion, read.haline_contraction, read.reference_density) == (
        1.7e-4,
        7.8e-4,
        1025.0,
    )
    (note,) = notes_in(recwarn)
    assert "beta" in note
    assert read_cf_netcdf(dataset, Mapping(equation_of_state=water))[0].equation_of_state is water
