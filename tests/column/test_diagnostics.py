"""Quantities that follow from a run."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite import Case, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate, stack_cases
from tunax_lite._types import Scalar, parameter
from tunax_lite.closures import CATKE, KEpsilon, MassFluxConvection, PacanowskiPhilander
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.column.diagnostics import DIAGNOSTICS, diagnose
from tunax_lite.column.forcing import AbstractForcing, TimeSeriesForcing
from tunax_lite.column.observables import OBSERVABLES, ColumnState, observable
from tunax_lite.column.terms import BottomFriction, DriftVector, Interior, StokesDrift
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.physics import (
    Teos10,
    buoyancy_frequency_squared,
    buoyancy_per_kelvin,
    mixed_layer_depth,
    shear_squared,
)
from tunax_lite.quantities import QUANTITIES

GRID, SIMPLE = Grid.uniform(40.0, 20), Model(PacanowskiPhilander())
PRODUCTION = ("shear_production", "buoyancy_production", "shear_squared")


def case_of(heat: float) -> Case:
    state = State.from_profiles(GRID, temperature=lambda z: 15.0 + 0.05 * z, salinity=34.0, u=0.1)
    fluxes = SurfaceFluxes(stress_u=0.1, heat_flux=heat)
    return Case(GRID, state, ConstantForcing(fluxes), coriolis_parameter=1e-4, duration=36000.0)


def run(case: Case):
    return simulate(Model(KEpsilon()), case, dt=60.0, output_interval=3600.0)


def test_contents_change_by_what_enters_and_production_is_that_of_the_coefficients():
    case = case_of(-200.0)
    trajectory = run(case)
    found = diagnose(trajectory, case, list(DIAGNOSTICS))
    gained = np.asarray(found["heat_content"]) - found["heat_content"][0]
    np.testing.assert_allclose(gained, -200.0 * np.asarray(trajectory.time), rtol=1e-9, atol=1.0)
    np.testing.assert_allclose(found["salt_content"], 1e-3 * 1027.0 * 34.0 * 40.0, rtol=1e-12)
    n_squared = 9.81 * 2e-4 * np.diff(trajectory.state.temperature, axis=1) / 2.0
    eddy = np.asarray(trajectory.clo_state.eddy_diffusivity)[:, 1:-1]
    shear = np.diff(trajectory.state.u, axis=1) ** 2 + np.diff(trajectory.state.v, axis=1) ** 2
    for name, expected, atol in (
        ("buoyancy_frequency_squared", n_squared, 1e-16),
        ("buoyancy_production", -eddy * n_squared, 1e-18),
        ("shear_squared", shear / 4.0, 1e-25),
    ):
        np.testing.assert_allclose(found[name][:, 1:-1], expected, rtol=1e-10, atol=atol)
    for name, values in found.items():
        size = {"center": (20,), "face": (21,), "scalar": ()}[QUANTITIES[name].location]
        assert values.shape == (trajectory.n_frames, *size), name
    with error_naming(ValueError, "mixed_layer"):
        diagnose(trajectory, case, ["mixed_layer"])


def test_mixing_raises_the_potential_energy_and_cools_the_mixed_layer():
    case = case_of(0.0)
    trajectory = run(case)
    names = [name for name in DIAGNOSTICS if name.startswith("mixed_layer")]
    found = diagnose(trajectory, case, ["potential_energy", "kinetic_energy", *names])
    assert np.all(np.diff(found["potential_energy"]) > 0.0)
    np.testing.assert_allclose(found["kinetic_energy"][0], 0.5 * 1027.0 * 0.01 * 40.0, rtol=1e-12)
    # A sharp base: the criteria agree within the cells that it spans, and the start has no mixed layer.
    assert all(8.0 < found[name][-1] < 22.0 for name in names)
    np.testing.assert_allclose(found["mixed_layer_depth"][0], 10.0 + 0.2 / 0.05, rtol=1e-9)
    in_salt_water = 0.03 / (1027.0 * 2e-4 * 0.05)
    np.testing.assert_allclose(found["mixed_layer_depth_density"][0], 10.0 + in_salt_water, rtol=1e-9)


@pytest.mark.long
def test_fluxes_are_those_of_the_forcing_at_the_time_of_the_frame():
    time, rise = jnp.array([0.0, 36000.0]), jnp.array([0.0, 1.0])
    drift = StokesDrift(TimeSeries(time, DriftVector(0.1 * rise, 0.0 * rise)), 4.0)
    level = TimeSeries(time, 2.0 * rise)
    interior = Interior(bottom_friction=BottomFriction(), stokes_drift=drift, surface_elevation=level)
    stress = TimeSeriesForcing.from_values(time, stress_u=0.3 * rise, stress_v=0.4)
    case = dataclasses.replace(case_of(0.0), forcing=stress, interior=interior)
    trajectory = run(case)
    found = diagnose(trajectory, case, list(DIAGNOSTICS))
    fraction = np.arange(11) / 10.0
    np.testing.assert_allclose(found["surface_stress_u"], 0.3 * fraction, atol=1e-12)
    np.testing.assert_allclose(found["friction_velocity"], (np.hypot(0.3 * fraction, 0.4) / 1027.0) ** 0.5)
    # Of a heat flux that nothing computed the parts are not known.
    assert np.all(np.isnan(found["surface_latent_heat_flux"]))
    assert not np.any(found["surface_heat_flux"]) and not np.any(found["stokes_drift_v"])
    np.testing.assert_allclose(found["surface_elevation"], 2.0 * fraction, atol=1e-12)
    faces = 4.0 * np.exp(np.asarray(GRID.z_face) / 4.0)
    np.testing.assert_allclose(found["stokes_drift_u"][10], 0.1 * np.diff(faces) / 2.0, rtol=1e-12)
    # The law of the wall at the middle of the lowest cell, 1 m above the bottom.
    speed = np.hypot(trajectory.state.u[-1, 0], trajectory.state.v[-1, 0])
    expected = 0.4 * speed / np.log1p(1.0 / 0.0015)
    np.testing.assert_allclose(found["bottom_friction_velocity"][-1], expected, rtol=0.05)
    assert isinstance(trajectory.clo_state, TurbulenceState)
    tke = np.asarray(trajectory.clo_state.turbulent_kinetic_energy)
    expected = 1027.0 * np.trapezoid(tke, np.asarray(GRID.z_face), axis=1)
    np.testing.assert_allclose(found["turbulent_energy"], expected, rtol=1e-12)


@pytest.mark.long
def test_potential_energy_of_two_layers():
    state = State.from_profiles(GRID, temperature=lambda z: jnp.where(z > -20.0, 20.0, 10.0), salinity=35.0)
    case = Case(GRID, state, ConstantForcing(SurfaceFluxes()), duration=3600.0)
    found = diagnose(simulate(SIMPLE, case, dt=600.0), case, ["potential_energy", "buoyancy"])
    light = 9.81 * 2e-4 * 10.0
    np.testing.assert_allclose(np.ptp(found["buoyancy"][0]), light, rtol=1e-9)
    # The upper 20 m at the temperature of reference count nothing, the lower 20 m are denser by `light`.
    np.testing.assert_allclose(found["potential_energy"][0], -1027.0 * light * 20.0 * 30.0, rtol=1e-9)


class Restoring(AbstractForcing):
    """Heat that follows the temperature of the water: the flux of a step is not that of its end."""

    coefficient: Scalar = parameter(4e3)

    def at(self, time, water=None):
        assert water is not None
        return SurfaceFluxes(stress_u=jnp.asarray(0.1), heat_flux=-self.coefficient * water.temperature)

    def check_covers(self, start, end):
        del start, end


@pytest.mark.long  # of a frame: above
@pytest.mark.parametrize("means", [False, True])
def test_what_acts_in_a_step_is_that_of_the_step_before_a_frame(means):
    case = dataclasses.replace(case_of(0.0), forcing=Restoring(), duration=10800.0)
    model, names = SIMPLE, ["surface_heat_flux", "heat_content", *PRODUCTION]
    every = simulate(model, case, dt=600.0, output_interval=600.0)
    third = simulate(model, case, dt=600.0, output_interval=1800.0, step_starts=True, means=means)
    of_step, of_frame = diagnose(third, case, names, model), diagnose(third, case, names)
    content = 1027.0 * 3991.86796 * 2.0 * np.asarray(every.state.temperature).sum(axis=1)
    entered = (content[3::3] - content[2::3]) / 600.0
    np.testing.assert_allclose(of_step["surface_heat_flux"][1:], entered, rtol=1e-6)
    assert np.max(np.abs(of_frame["surface_heat_flux"][1:] - entered)) > 1.0
    assert third.step_starts is not None
    for field in ("eddy_viscosity", "eddy_diffusivity"):
        kept = getattr(third.step_starts.clo_state, field)[1:]
        np.testing.assert_array_equal(kept, getattr(every.clo_state, field)[2::3])
    p, b, s_squared = (np.asarray(of_step[name])[1:] for name in PRODUCTION)
    np.testing.assert_allclose(p, every.clo_state.eddy_viscosity[2::3] * s_squared, rtol=1e-12)
    n_squared = 9.81 * 2e-4 * np.diff(third.state.temperature, axis=1)[1:] / 2.0
    produced = -np.asarray(every.clo_state.eddy_diffusivity)[2::3, 1:-1] * n_squared
    np.testing.assert_allclose(b[:, 1:-1], produced, rtol=1e-10, atol=1e-18)
    # Before the first frame no step was made.
    for name in names:
        np.testing.assert_array_equal(of_step[name][0], of_frame[name][0])


@pytest.mark.long  # the columns of a run: test_case
def test_a_batch_in_blocks_has_the_diagnostics_of_its_columns():
    hour = dataclasses.replace(case_of(0.0), duration=3600.0)
    cases = [dataclasses.replace(hour, forcing=Restoring(k)) for k in (4e3, 1e3, 9.0)]
    both, options = stack_cases(cases), {"dt": 600.0, "output_interval": 1800.0, "step_starts": True}
    together = diagnose(simulate(SIMPLE, both, column_block=2, **options), both, list(DIAGNOSTICS), SIMPLE)
    for column, case in enumerate(cases):
        alone = diagnose(simulate(SIMPLE, case, **options), case, list(DIAGNOSTICS), SIMPLE)
        for name, values in together.items():
            np.testing.assert_allclose(values[..., column], alone[name], rtol=1e-7, atol=1e-12, err_msg=name)


def of_column(name: str):
    return lambda *column: observable(name)(ColumnState(*column))


OF_COLUMN = {name: of_column(name) for name in (*OBSERVABLES, "heat_content_above_15m")} | {
    "N2": buoyancy_frequency_squared,
    "S2": lambda state, grid, _: shear_squared(state, state, grid),
    "lift": buoyancy_per_kelvin,
    "of_profiles": lambda state, grid, _: mixed_layer_depth(state.temperature, grid),
}


@pytest.mark.parametrize("name", OF_COLUMN)
def test_observables_of_a_run_with_the_grid_of_one_column(name):
    for grid in (GRID, GRID.with_hypsography([-40.0, 0.0], [1e4, 1e6])):
        slopes, z = np.array([0.02, 0.04]), grid.z_center
        columns = [State.from_profiles(grid, temperature=20.0 + slope * z, u=slope * z) for slope in slopes]
        run = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), *columns)
        found, *expected = (OF_COLUMN[name](each, grid, Teos10()) for each in (run, *columns))
        np.testing.assert_allclose(found, np.stack(expected, axis=-1), rtol=1e-12)
        with error_naming(ValueError, "profiles 20 (2, 20)"):
            mixed_layer_depth(run.temperature.T, grid)


@pytest.mark.parametrize("closure", [CATKE(), MassFluxConvection(local=KEpsilon())])
def test_turbulent_energy_on_cells_and_beside_plumes(closure):
    case = case_of(-200.0)
    trajectory = simulate(Model(closure), case, dt=600.0, duration=3600.0, output_interval=3600.0)
    state: Any = trajectory.clo_state  # of either closure
    energy = np.asarray(getattr(state, "local", state).turbulent_kinetic_energy)[-1]
    cells = energy if len(energy) == 20 else 0.5 * (energy[1:] + energy[:-1])
    found = diagnose(trajectory, case, ["turbulent_energy"])["turbulent_energy"]
    np.testing.assert_allclose(found[-1], 1027.0 * 2.0 * cells.sum(), rtol=1e-12)
