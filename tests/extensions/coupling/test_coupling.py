"""Columns that other models step: the same numbers as `simulate`, derivatives through both, and the BMI."""

import dataclasses
import re
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.cli.test_notes import write_upward
from tests.errors import error_naming, missing_from
from tunax_lite.column.trajectory import prognostic_variables
from tunax_lite.config import build_run, load_run
from tunax_lite.extensions.coupling.bmi import Bmi
from tunax_lite.extensions.coupling.component import Component, CoupledForcing

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "coupling.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)
KATO_PHILLIPS = ROOT / "configs" / "runs" / "kato_phillips.yaml"


def column(**fluxes) -> tl.Case:
    grid, tracers = tl.Grid.uniform(depth=40.0, n_cells=20), {"dye": lambda z: -z}
    state = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.05 * z, tracers=tracers)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(**fluxes))
    return tl.Case(grid, state, forcing, coriolis_parameter=1e-4, duration=7200.0)


FLUXES = {"stress_u": 0.1, "heat_flux": -80.0, "shortwave_flux": 200.0}
MODEL = tl.Model(tl.PacanowskiPhilander())


def test_steps_under_the_same_fluxes_are_those_of_simulate():
    simulated = tl.simulate(MODEL, column(**FLUXES), dt=120.0, output_interval=1200.0)
    component = Component(MODEL, column(stress_u=0.1, heat_flux=7.0), dt=120.0)
    now, given = component.init(), tl.SurfaceFluxes(heat_flux=-80.0, shortwave_flux=200.0)
    for _ in range(6):
        now = component.step(now, given, 1200.0)
    assert int(now.step) == 60 and float(component.time(now)) == 7200.0
    state, mixing = simulated.state, simulated.clo_state
    expected = {name: getattr(state, name) for name in ("temperature", "salinity", "u", "v")}
    expected |= {"dye": state.tracers["dye"], "sea_surface_temperature": state.temperature[:, -1]}
    expected |= {name: getattr(mixing, name) for name in ("eddy_viscosity", "eddy_diffusivity")}
    assert set(prognostic_variables(now.state, now.clo_state)) <= set(expected)
    for name, values in expected.items():
        rounding = 1e-11 * (float(jnp.abs(values[-1]).max()) + 1e-12)
        np.testing.assert_allclose(component.get_value(now, name), values[-1], rtol=0.0, atol=rounding)


class WithAirPressure(tl.ConstantForcing):
    def air_pressure(self, time):
        return jnp.asarray(9e4)


def test_terms_use_the_air_pressure_of_the_case():
    forcing = CoupledForcing(WithAirPressure(tl.SurfaceFluxes()), tl.SurfaceFluxes(heat_flux=1.0))
    assert forcing.air_pressure(0.0) == 9e4


@pytest.mark.long
def test_a_given_stress_replaces_both_components_and_the_drag():
    cases = column(stress_u=0.1, stress_v=0.2, surface_drag=0.01), column(stress_v=0.3)
    components = [Component(MODEL, case, dt=120.0) for case in cases]
    one, other = (each.step(each.init(), tl.SurfaceFluxes(stress_v=0.3), 1200.0) for each in components)
    np.testing.assert_allclose(one.state.u, other.state.u, rtol=1e-12, atol=1e-15)


def test_values_are_set_and_read_by_name():
    component = Component(MODEL, column(stress_u=0.1), dt=120.0)
    now = component.set_value(component.init(), "dye", 3.0)
    now = component.set_value(now, "temperature", jnp.linspace(10.0, 12.0, 20))
    np.testing.assert_array_equal(component.get_value(now, "dye"), np.full(20, 3.0))
    assert float(component.get_value(now, "sea_surface_temperature")) == 12.0
    sun = tl.SurfaceFluxes(shortwave_flux=1e6)
    for call, parts in (
        (lambda: component.set_value(now, "temperature", jnp.zeros(3)), "temperature (20,) (3,)"),
        (lambda: component.set_value(now, "colour", 1.0), "temperature colour"),
        (lambda: component.get_value(now, "colour"), "colour"),
        (lambda: component.step(now, tl.SurfaceFluxes(), 100.0), "dt 120"),
        (lambda: component.step(now, sun), "Component.step shortwave_flux 1e6"),
        (lambda: component.set_value(now, "salinity", -3.0), "salinity 0 60 -3"),
    ):
        with error_naming(ValueError, parts):
            call()


@pytest.mark.long
def test_derivatives_pass_through_the_steps_of_a_scan():
    @jax.jit
    def final(numbers):
        model = tl.Model(tl.PacanowskiPhilander(viscosity_scale=numbers[0]))
        ocean = Component(model, column(stress_u=0.1), dt=600.0)
        fluxes = tl.SurfaceFluxes(heat_flux=numbers[1])
        turn = lambda now, _: (ocean.step(now, fluxes, 1200.0), None)  # noqa: E731
        return ocean.get_value(jax.lax.scan(turn, ocean.init(), None, 4)[0], "sea_surface_temperature")

    at, steps = jnp.array([0.01, 100.0]), jnp.diag(jnp.array([1e-5, 1e-2]))
    reverse = jax.grad(final)(at)
    central = [(final(at + step) - final(at - step)) / (2.0 * step.sum()) for step in steps]
    np.testing.assert_allclose(reverse, jax.jacfwd(final)(at), rtol=1e-9)
    np.testing.assert_allclose(reverse, central, rtol=2e-4)  # what limits of closures leave of a difference
    assert (np.abs(reverse) > 1e-6).all()


@pytest.mark.long
def test_a_year_of_both_models_has_a_gradient():
    guide = {}
    for block in BLOCKS[:2]:
        exec(compile(block, "coupling.md", "exec"), guide)  # noqa: S102
    run, (closure, exchange) = guide["mean_temperature"], guide["parameters"]
    higher, lower = (float(run((closure, exchange + step), 365)[0]) for step in (0.01, -0.01))
    assert 8.0 < float(guide["mean"]) < 20.0
    # A year of switches in the closure leaves some per cent of a difference.
    np.testing.assert_allclose(guide["by_exchange"], (higher - lower) / 0.02, rtol=0.05)
    assert np.isfinite(float(guide["by_closure"].c_eps_1))


@pytest.mark.long
def test_bmi_example_of_the_guide(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(BLOCKS[2], "coupling.md", "exec"), names)  # noqa: S102
    run = build_run(load_run(KATO_PHILLIPS))
    cooled = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1027, heat_flux=-100.0))
    case = dataclasses.replace(run.case, forcing=cooled)
    end = tl.simulate(run.model, case, dt=60.0, duration=21600.0, output_interval=21600.0).state
    # Linear between centers, down to where the water is colder than that at 10 m by 0.2 K.
    temperature, z = np.asarray(end.temperature[-1]), np.asarray(case.grid.z_center)
    colder = np.interp(-10.0, z, temperature) - 0.2
    last = int(np.flatnonzero(temperature < colder)[-1])
    two = slice(last, last + 2)
    expected = -np.interp(colder, temperature[two], z[two])
    np.testing.assert_allclose(names["depth"], expected, rtol=1e-9)


UNITS = {
    **dict.fromkeys(("temperature", "sea_surface_temperature"), "degC"),
    **dict.fromkeys(("u", "v"), "m s-1"),
    **dict.fromkeys(("eddy_viscosity", "eddy_diffusivity"), "m2 s-1"),
    **dict.fromkeys(("surface_stress_u", "surface_stress_v"), "N m-2"),
    **dict.fromkeys(("surface_heat_flux", "surface_shortwave_flux"), "W m-2"),
    **dict.fromkeys(("surface_freshwater_flux", "surface_salt_flux"), "kg m-2 s-1"),
    "salinity": "g kg-1",
    "turbulent_kinetic_energy": "m2 s-2",
    "dissipation_rate": "m2 s-3",
    "mixed_layer_depth": "m",
}


@pytest.mark.long
def test_bmi_answers_what_frameworks_ask_with_the_numbers_of_simulate():
    """The checks of CSDMS's bmi-tester 0.5.10, written anew; and what cannot be is refused."""
    bmi = Bmi()
    for needs_a_case in (bmi.get_time_step, bmi.get_end_time, bmi.get_current_time):
        with error_naming(RuntimeError, "initialize"):
            needs_a_case()
    assert bmi.initialize(str(KATO_PHILLIPS)) is None
    assert (bmi.get_start_time(), bmi.get_end_time(), bmi.get_time_step()) == (0.0, 108000.0, 60.0)
    inputs, outputs = bmi.get_input_var_names(), bmi.get_output_var_names()
    assert isinstance(inputs, tuple) and bmi.get_input_item_count() == len(set(inputs))
    assert isinstance(outputs, tuple) and bmi.get_output_item_count() == len(set(outputs))
    assert {*inputs, *outputs} == set(UNITS)
    grids = {}
    for name, unit in UNITS.items():
        assert bmi.get_var_location(name) in ("node", "edge", "face", "none")
        size = bmi.get_var_nbytes(name) // bmi.get_var_itemsize(name)
        values = np.full(size, 777.0, bmi.get_var_type(name))
        assert bmi.get_value(name, values) is values and not (values == 777.0).any()
        grid = bmi.get_var_grid(name)
        grids[grid] = bmi.get_grid_rank(grid)
        assert bmi.get_var_units(name) == unit and bmi.get_grid_size(grid) == size
    assert grids == {0: 0, 1: 1, 2: 1}
    shape, heights = np.zeros(1, np.int32), np.full(101, np.nan)
    assert bmi.get_grid_shape(2, shape) is shape and shape[0] == 101
    assert bmi.get_grid_x(2, heights) is heights and heights[0] == -50.0 and heights[-1] == 0.0
    assert bmi.update() is None and bmi.get_current_time() == 60.0
    bmi.update_until(1200.0)
    run = build_run(load_run(KATO_PHILLIPS))
    end = tl.simulate(run.model, run.case, dt=60.0, duration=1200.0, output_interval=1200.0)
    np.testing.assert_allclose(bmi.get_value("u", np.empty(100)), end.state.u[-1], rtol=0.0, atol=1e-12)
    assert bmi.get_value("surface_stress_u", np.empty(1))[0] == 0.1027
    bmi.set_value_at_indices("u", np.array([3]), np.array([0.5]))
    assert bmi.get_value_at_indices("u", np.empty(1), np.array([3]))[0] == 0.5
    for call, problem in (
        (lambda: bmi.update_until(1230.0), "dt 60 30"),
        (lambda: bmi.update_until(216000.0), "108000 216000"),
        (lambda: bmi.set_value("u", np.zeros(3)), "100 u"),
        (lambda: bmi.set_value("surface_stress_u", np.array([np.nan])), "1 surface_stress_u nan"),
        (lambda: bmi.get_var_units("colour"), "colour"),
        (lambda: bmi.update_until(600.0), "-600"),
        (lambda: bmi.get_grid_size(7), "0 2 7"),
        (lambda: bmi.get_grid_type(-1), "0 2 -1"),
    ):
        with error_naming(ValueError, problem):
            call()
    for call in (lambda: bmi.get_value_ptr("u"), lambda: bmi.get_grid_spacing(1, np.empty(1))):
        with pytest.raises(NotImplementedError):
            call()
    bmi.finalize()


def test_the_basic_model_interface_warns_of_the_same(tmp_path, monkeypatch):
    write_upward(tmp_path, monkeypatch)
    for name, is_warned in (("run", True), ("accepting_run", False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Bmi().initialize(f"{name}.yaml")
        said = "\n".join(str(each.message) for each in caught)
        assert is_warned == (not missing_from(said, "-2.59e+07 accept: [heat_budget]")), said
