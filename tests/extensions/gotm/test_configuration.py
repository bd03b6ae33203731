"""Cases of GOTM in a configuration of the package: what they bring, and what it replaces."""

import os
from typing import Any

import jax
import numpy as np
import pytest
import yaml

from tests.conftest import find_gotm_case
from tests.errors import error_naming
from tests.extensions.gotm.folders import assert_fields, write_case, write_series
from tests.extensions.gotm.test_mapping import CLOSURES, INSIDE, SURFACE, kpp
from tunax_lite.cli.check import check
from tunax_lite.closures import PacanowskiPhilander
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.extensions.gotm import build_gotm, load_gotm


@pytest.fixture
def build(tmp_path):
    """A run from the sections of a configuration beside a small case of GOTM."""

    def of(case=None, change=None, **sections):
        write_series(tmp_path / "tau.dat", 0.1 + np.zeros(30))
        stress = {"surface": {"fluxes": {"tx": {"method": "file", "file": "tau.dat"}}}}
        write_case(tmp_path, stress, change or {})
        data = {"case": {"format": "gotm", "path": "small.gotm.yaml"} | (case or {}), **sections}
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(data))
        return build_run(load_run(path))

    return of


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


TIMES = {"dt": 600.0, "output_interval": 21600.0}


def test_what_is_not_given_is_that_of_gotm(build, tmp_path):
    run = build()
    own: Any = build_gotm(load_gotm(tmp_path / "small.gotm.yaml")).run
    assert_same((run.case, run.model), (own.case, own.model))
    assert_fields(run, TIMES | {"model.closure.turbulent_kinetic_energy_floor": 1e-8})
    assert run.duration_from(0.0) == 86400.0
    # The stored text has no defaults that the run does not follow.
    loaded = load_run(tmp_path / "run.yaml")
    assert not {"grid", "model", "time"} & set(yaml.safe_load(loaded.text))
    (tmp_path / "again.yaml").write_text(loaded.text)
    again = build_run(load_run(tmp_path / "again.yaml"))
    assert_fields(again, TIMES | {"case.grid.n_cells": 8})


def test_grid_times_and_closure_can_be_replaced(build):
    run = build(
        grid={"kind": "stretched", "n_cells": 12, "surface_zoom": 2.0},
        time={"step": 300.0, "output_interval": 3600.0, "duration": 7200.0},
        model={"closure": {"name": "pacanowski_philander"}},
    )
    assert_fields(run, {"dt": 300.0, "output_interval": 3600.0, "model.closure": PacanowskiPhilander})
    assert run.duration_from(0.0) == 7200.0
    thickness = np.asarray(run.case.grid.cell_thickness)
    assert thickness.size == 12 and thickness[-1] < 0.5 * thickness[0]
    np.testing.assert_allclose(thickness.sum(), 16.0)


def test_unsupported_settings_are_refused_unless_they_are_to_be_ignored(build):
    change = {"fabm": {"use": True, "feedbacks": {"shade": True}}}
    with error_naming(ConfigError, "fabm.use --ignore-unsupported"):
        build(change=change)
    for settings in ({"location.latitude": 0.0}, {"location": {"latitude": 0.0}}):  # dotted and nested
        assert float(build({"settings": settings}).case.coriolis_parameter) == 0.0
    run = build({"ignore_unsupported": True}, change)
    assert any("fabm.use" in note for note in run.notes)


def test_what_cannot_be_used_is_named(build):
    faces = {"grid": {"kind": "faces", "z_face": [-15.0, -8.0, -4.0, 0.0]}}
    for case, sections, error, parts in (
        ({"path": "none.yaml"}, {}, FileNotFoundError, "run.yaml 3 case.path none.yaml"),
        ({"settings": {"grid.nlevs": 3}}, {}, ConfigError, "run.yaml grid.nlevs=3 grid.nlevs grid.nlev"),
        ({"setting": {}}, {}, ConfigError, "case.setting settings"),
        ({}, faces, ConfigError, "grid 16 15"),
    ):
        with error_naming(error, parts):
            build(case, **sections)


def test_a_configuration_of_the_package_is_written_for_a_case(build, tmp_path, capsys):
    build()
    source, target = tmp_path / "small.gotm.yaml", tmp_path / "ours.yaml"
    check(config=source, settings=["time.dt=300", "turbulence.turb_param.k_min=1e-7"], write_config=target)
    assert f"wrote {target}" in capsys.readouterr().out
    run = build_run(load_run(target))
    expected = {"dt": 300.0, "model.closure.turbulent_kinetic_energy_floor": 1e-7}
    assert_fields(run, expected | {"model.discretisation": GotmDiscretisation})
    with error_naming(ConfigError, "--write-config again.yaml"):
        check(config=target, write_config=tmp_path / "again.yaml")
    assert not (tmp_path / "again.yaml").exists()


def written(tmp_path, *changes) -> Any:
    """A case, the configuration that is written for it, and the run of that."""
    source = load_gotm(write_case(tmp_path, *changes))
    own: Any = build_gotm(source).run
    text = source.as_configuration()
    (tmp_path / "ours.yaml").write_text(text)
    return own, yaml.safe_load(text), build_run(load_run(tmp_path / "ours.yaml"))


WAVES = {"turb_method": "first_order", "iw": {"method": "large", "num": 2e-4}}
CHANGES: list[dict] = [{"turbulence": turbulence} for turbulence, *_ in CLOSURES]
CHANGES += [{"turbulence": WAVES | {"stab_method": "munk_anderson"}}, {"grid": {"ddu": 1.5, "ddl": 0.5}}]
CHANGES += [kpp(surface_layer=SURFACE, interior=INSIDE) | {"waves": {"Hs": 1.5}}]


def test_grid_model_and_times_are_written_out_to_the_bit(tmp_path):
    for change in CHANGES:
        numbers = {"physical_constants": {"avmolu": 2e-6}, "time": {"cnpar": 0.75}}
        own, content, run = written(tmp_path, change, numbers)
        grid, model = content["grid"], content["model"]
        assert grid["n_cells"] == 8 and (grid["kind"] == "stretched") == ("grid" in change)
        assert model["theta"] == 0.75 and model["molecular_viscosity"] == 2e-6
        assert_same((run.case.grid, run.model), (own.case.grid, own.model))


TIDE = {"method": "tidal", "constant_value": 0.1, "tidal": {"amp_1": 0.5, "phase_1": 300.0, "amp_2": 0.2}}
TILTED = {"type": "gradients", "s_adv": True, "gradients": {"dsdx": {"method": "constant"}}}
DRIFT = {"us": {"method": "empirical"}, "dusdz": {"method": "us"}, "dvsdz": {"method": "vs"}}
TWO = {"method": "two_layer", "two_layer": {"z_s": 4.0, "t_s": 20.0, "z_b": 8.0, "t_b": 10.0}}
BUOYANT = {"method": "buoyancy", "NN": 1e-4, "two_layer": {"s_s": 30.0}}
OFF = {"method": "off", "constant_value": 12.0}
WEATHER = {"fluxes": {"method": "kondo"}, "u10": 5.0, "airt": 284.0, "hum": 80.0, "airp": 101300.0}
EVERYTHING: dict[str, dict] = {
    "layers": {"grid": {"method": "file_h", "file": "layers.dat"}},
    "tides": {"mimic_3d": {"ext_pressure": {"type": "average_velocity", "dpdy": TIDE}, "zeta": TIDE}},
    "gradients": {"mimic_3d": {"int_pressure": TILTED, "w": {"max": 1e-4, "height": -8.0}}},
    "plume": {"mimic_3d": {"int_pressure": {"type": "plume", "plume": {"x_slope": 0.01}}}},
    "two layers": {"temperature": TWO, "velocities": {"u": 0.3, "relax": {"tau": 1e4, "ramp": 1e5}}},
    "buoyancy frequency": {"salinity": BUOYANT},
    "relaxation": {"temperature": {"type": "in-situ", "relax": {"tau": 1e6, "tau_s": 1e3, "h_s": 3.0}}},
    # In-situ 12 degrees everywhere is a gradient of conservative temperature, which is held.
    "held": {"temperature": OFF | {"type": "in-situ"}, "salinity": OFF | {"type": "practical"}},
    "tangent": {"equation_of_state": {"method": "linear_teos-10"}},
    "light": {"light_extinction": {"method": "jerlov-ii"}},
    "weather": {"surface": WEATHER | {"swr": {"method": "calculate"}, "precip": 1e-7}},
    "waves": {"surface": WEATHER, "waves": {"stokes_drift": DRIFT}},
    "freezing": {"surface": {"ice": {"model": "simple"}, "swr": {"constant_value": 50.0}}},
    "kappa": {"turbulence": {"keps": {"sig_peps": True}, "turb_param": {"compute_kappa": False}}},
}


@pytest.mark.long
def test_what_is_written_is_the_whole_case_to_the_bit(tmp_path):
    (tmp_path / "layers.dat").write_text("8\n" + "2.0\n" * 8)
    for name, change in EVERYTHING.items():
        own, content, run = written(tmp_path, change)
        assert content["case"]["format"] == "site", name
        assert_same((run.case, run.model), (own.case, own.model))
        assert (run.diagnostics, run.means) == (own.diagnostics, own.means), name


@pytest.mark.long
@pytest.mark.skipif("TUNAX_LITE_DATA" not in os.environ, reason="needs the GOTM cases below $TUNAX_LITE_DATA")
def test_cases_of_gotm_are_written_to_the_bit(tmp_path):
    for name in ("ows_papa/ows_papa_meteo", "langmuir/langmuir_kpp_exp", "estuary/estuary"):
        source = load_gotm(find_gotm_case(f"{name}.gotm.yaml"))
        (tmp_path / "ours.yaml").write_text(source.as_configuration())
        own: Any = build_gotm(source).run
        run = build_run(load_run(tmp_path / "ours.yaml"))
        assert_same((run.case, run.model), (own.case, own.model))


def test_numbers_that_no_closure_takes_name_the_line_of_gotms_file(tmp_path):
    with error_naming(ConfigError, "turbulence.turb_param.k_min 0.001 0.5"):
        written(tmp_path, {"turbulence": {"turb_param": {"k_min": 0.5}}})
