"""Coupled columns reject what cannot be, and warn of what is not likely."""

import warnings

import numpy as np
import pytest

import tunax_lite as tl
from tests.cli.test_notes import write_upward
from tests.errors import error_naming
from tests.plausibility.test_plausibility import case_of
from tunax_lite import SurfaceFluxes
from tunax_lite.extensions.coupling.bmi import Bmi
from tunax_lite.extensions.coupling.component import Component


def test_a_component_rejects_what_cannot_be():
    component = Component(tl.Model(tl.Constant()), case_of(), dt=600.0)
    now = component.init()
    with error_naming(ValueError, "Component.step shortwave_flux 1e6"):
        component.step(now, SurfaceFluxes(shortwave_flux=1e6))
    with error_naming(ValueError, "salinity 0 60 -3"):
        component.set_value(now, "salinity", -3.0)
    stepped = component.step(now, SurfaceFluxes(heat_flux=-200.0))
    assert float(stepped.state.temperature[-1]) < 12.0


def test_a_coupled_model_rejects_what_cannot_be(tmp_path):
    (tmp_path / "run.yaml").write_text(
        "case: {format: idealised, depth: 16.0, duration: 3600.0, temperature: {surface: 20.0}}\n"
        "grid: {kind: uniform, n_cells: 8}\nmodel: {closure: {name: k_epsilon}}\ntime: {step: 600.0}\n"
    )
    column = Bmi()
    column.initialize(str(tmp_path / "run.yaml"))
    for name, value in (("temperature", 293.0), ("turbulent_kinetic_energy", -1e-3)):
        size = column.get_value(name, np.empty(column.get_var_nbytes(name) // 8)).size
        with error_naming(ValueError, f"{value:g}"):
            column.set_value(name, np.full(size, value))
    with error_naming(ValueError, "-10000 10000 1e6"):
        column.set_value("surface_heat_flux", np.array([1e6]))
    column.set_value("surface_heat_flux", np.array([-100.0]))


def test_the_basic_model_interface_warns_of_the_same(tmp_path, monkeypatch):
    write_upward(tmp_path, monkeypatch)
    with pytest.warns(UserWarning, match=r"profiles gain -2\.59e\+07.*accept: \[heat_budget\]"):
        Bmi().initialize("run.yaml")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bmi().initialize("accepting_run.yaml")
