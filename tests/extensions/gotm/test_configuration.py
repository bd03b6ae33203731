"""Cases of GOTM in a configuration of the package: what they bring, and what it replaces."""

from typing import Any

import jax
import numpy as np
import pytest
import yaml

from tests.errors import error_naming, notes_in
from tests.extensions.gotm.folders import assert_fields, write_case, write_series
from tests.extensions.gotm.test_mapping import CLOSURES, INSIDE, SURFACE, kpp
from tunax_lite.cli.check import check
from tunax_lite.cli.evaluate import evaluate
from tunax_lite.cli.session import build_with_parameters
from tunax_lite.closures import KEpsilon, PacanowskiPhilander
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.config import ConfigError, build_calibration, build_run, load_calibration, load_run
from tunax_lite.config.stored import save_closure
from tunax_lite.extensions.gotm import build_gotm, load_gotm


@pytest.fixture
def build(tmp_path):
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
    loaded = load_run(tmp_path / "run.yaml")
    assert not {"grid", "model", "time"} & set(yaml.safe_load(loaded.text))
    (tmp_path / "again.yaml").write_text(loaded.text)
    again = build_run(load_run(tmp_path / "again.yaml"))
    assert_fields(again, TIMES | {"case.grid.n_cells": 8})


def test_grid_times_and_closure_can_be_replaced(build):
    run = build(
        grid={"kind": "stretched", "n_cells": 12, "surface_zoom": 2.0},
        time={"dt": 300.0, "output_interval": 3600.0, "duration": 7200.0},
        model={"closure": {"name": "pacanowski_philander"}},
    )
    assert_fields(run, {"dt": 300.0, "output_interval": 3600.0, "model.closure": PacanowskiPhilander})
    assert run.duration_from(0.0) == 7200.0
    thickness = np.asarray(run.case.grid.cell_thickness)
    assert thickness.size == 12 and thickness[-1] < 0.5 * thickness[0]
    np.testing.assert_allclose(thickness.sum(), 16.0)


def test_unsupported_settings_are_refused_unless_they_are_to_be_ignored(build, recwarn):
    change = {"fabm": {"use": True, "feedbacks": {"shade": True}}}
    with error_naming(ConfigError, "fabm.use ignore_unsupported=true"):
        build(change=change)
    for settings in ({"location.latitude": 0.0}, {"location": {"latitude": 0.0}}):  # dotted and nested
        assert float(build({"settings": settings}).case.coriolis_parameter) == 0.0
    build({"ignore_unsupported": True}, change)
    assert any("fabm.use" in note for note in notes_in(recwarn))


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
    check(config=source, settings=["time.dt=300", "turbulence.turb_param.k_min=1e-7"], output=target)
    assert f"wrote {target}" in capsys.readouterr().out
    run = build_run(load_run(target))
    expected = {"dt": 300.0, "model.closure.turbulent_kinetic_energy_floor": 1e-7}
    assert_fields(run, expected | {"model.discretisation": GotmDiscretisation})
    with error_naming(ConfigError, "--output again.yaml"):
        check(config=target, output=tmp_path / "again.yaml")
    assert not (tmp_path / "again.yaml").exists()


def written(tmp_path, *changes) -> Any:
    path = write_case(tmp_path, *changes)
    own: Any = build_gotm(load_gotm(path)).run
    text = load_run(path).short_text
    (tmp_path / "ours.yaml").write_text(text)
    return own, yaml.safe_load(text), build_run(load_run(tmp_path / "ours.yaml"))


WAVES = {"turb_method": "first_order", "iw": {"method": "large", "num": 2e-4}}
CHANGES: list[dict] = [{"turbulence": turbulence} for turbulence, *_ in CLOSURES]
CHANGES += [{"turbulence": WAVES | {"stab_method": "munk_anderson"}}, {"grid": {"ddu": 1.5, "ddl": 0.5}}]
CHANGES += [kpp(surface_layer=SURFACE, interior=INSIDE) | {"waves": {"Hs": 1.5}}]


@pytest.mark.long
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


def test_numbers_that_no_closure_takes_name_the_line_of_gotms_file(tmp_path):
    with error_naming(ConfigError, "turbulence.turb_param.k_min 0.001 0.5"):
        written(tmp_path, {"turbulence": {"turb_param": {"k_min": 0.5}}})


SST = 12.0 + 0.1 * np.arange(25)
OBSERVED = {"surface_temperature": True, "surface_interval": 7200.0}
KNOTS = {"fluxes": ["stress_scale"], "knots": 36000.0}
CORRECTIONS = KNOTS | {"initial": ["temperature", "u"], "z": [-12, -4]}


@pytest.fixture
def write(tmp_path):
    def of(case=None, change=None, **sections):
        write_series(tmp_path / "sst.dat", SST)
        file = {"surface": {"sst": {"method": "file", "file": "sst.dat"}}}
        write_case(tmp_path, file, change or {})
        case = {"format": "gotm", "path": "small.gotm.yaml", "observations": OBSERVED} | (case or {})
        if "parameters" in sections:
            corrections = sections.pop("corrections", CORRECTIONS)
            cases = [{"case": case, "corrections": corrections}]
            misfit = {"weights": {"sea_surface_temperature": 1.0}}
            sections = {"cases": cases, "grid": {"kind": "native"}, "misfit": misfit, **sections}
        else:
            sections["case"] = case
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(sections, sort_keys=False))
        return path

    return of


def test_the_surface_temperature_of_the_files_is_observed(write):
    def observed(observations) -> Any:
        return build_run(load_run(write({"observations": observations}))).observations

    observations = observed(OBSERVED)
    np.testing.assert_array_equal(observations.time, 7200.0 * np.arange(13))
    np.testing.assert_allclose(observations.series["sea_surface_temperature"], SST[::2])
    assert observations.names == ("sea_surface_temperature",) and observed(None) is None
    assert observed(OBSERVED | {"surface_interval": 1e7}).time.size == 1  # the start is a multiple of all
    for wrong, parts in (
        ({"surface_temperature": True, "profiles": True}, "temperature.method constant"),
        ({"profiles": False}, "case.observations surface_temperature profiles"),
    ):
        with error_naming(ConfigError, parts):
            observed(wrong)


CORRELATED = {"prior": "correlated_normal", "mean": 1.0, "standard_deviation": 0.2, "length": 36000.0}
PARAMETERS = {
    "c_eps_1": {"lower": 1.2, "upper": 1.7},
    "cases.small.forcing.stress_scale": CORRELATED,
    "case.initial_correction.temperature": {"prior": "normal", "mean": 0.0, "standard_deviation": 0.5},
    "case.coriolis_parameter": {"lower": 0.9e-4, "upper": 1.1e-4},
}


def test_parameters_of_a_case_are_free_with_its_corrections(write):
    free = build_calibration(load_calibration(write(parameters=PARAMETERS))).free_parameters
    assert free.paths == (
        "c_eps_1",
        *(f"cases.small.forcing.stress_scale[{i}]" for i in range(4)),  # a knot every ten hours of a day
        *(f"case.initial_correction.temperature[{i}]" for i in range(2)),
        "case.coriolis_parameter",
    )
    assert [p.coordinate for p in free.numbers[1:7]] == [0.0, 36000.0, 72000.0, 108000.0, -12.0, -4.0]
    assert free.units["case.coriolis_parameter"] == "s-1"


def test_corrections_that_cannot_be_are_refused(write):
    stress, numbers = {"fluxes": ["stress_scale"]}, "cases.small.coriolis_parameter"
    for corrections, parameter, parts in (
        (stress | {"period": 5.0}, None, "cases.0.corrections knots"),
        ({"fluxes": ["heat_bias"]}, None, "cases.0.corrections.fluxes heat_bias heat_flux_bias"),
        ({"fluxes": ["shortwave_flux_scale"]}, None, "cases.0.corrections shortwave_flux_scale"),
        ({"knots": [0.0, 1.0]}, None, "cases.0.corrections fluxes"),
        ({"initial": ["temperature"], "z": [-4, -12]}, None, "cases.0.corrections -4 -12"),
        ({"initial": ["temperature"]}, "cases.small.forcing.stress_scale", numbers),
        ({}, "cases.large.coriolis_parameter", numbers),
        ({}, "c_eps_9", "KEpsilon c_eps_2"),
    ):
        path = write(parameters={parameter or "c_eps_1": {}}, corrections=corrections)
        with error_naming(ConfigError, f"{parts} {parameter or ''}"):
            build_calibration(load_calibration(path))


def test_a_run_takes_the_numbers_of_its_corrections(write, tmp_path, recwarn):
    numbers, forcing = tmp_path / "parameters.yaml", "case.forcing.stress_scale"
    values = {"c_eps_1": 1.5, forcing: [1.0, 1.1, 1.2, 1.3], "cases.another.coriolis_parameter": 1e-4}
    values["cases.small.initial_correction.temperature"] = [0.1, -0.2]
    numbers.write_text(yaml.safe_dump({"closure": "KEpsilon", "parameters": values}))
    run = build_with_parameters(load_run(write(corrections=CORRECTIONS)), numbers)
    assert "1 numbers of other cases are ignored" in "\n".join(notes_in(recwarn))
    increment = run.case.start_state.temperature - run.case.initial_state.temperature
    np.testing.assert_allclose(increment, np.interp(run.case.grid.z_center, [-12.0, -4.0], [0.1, -0.2]))
    np.testing.assert_allclose(run.case.forcing.at(54000.0).stress_u, 1.15 * 0.1)  # pyright: ignore
    assert float(run.model.closure.c_eps_1) == 1.5  # pyright: ignore
    with error_naming(ConfigError, f"{forcing}[0] case.coriolis_parameter"):
        build_with_parameters(load_run(write()), numbers)


def test_a_calibration_has_grid_closure_and_step_of_the_set_up_unless_it_gives_them(write):
    path = write(parameters={"c_omega_1": {"lower": 0.4, "upper": 0.7}}, corrections={})
    content = yaml.safe_load(path.read_text())
    del content["grid"]
    (target,) = content["cases"]
    target["case"]["settings"] = {"turbulence": {"len_scale_method": "omega"}}
    path.write_text(yaml.safe_dump(content))
    setup = build_calibration(load_calibration(path))
    (own,) = setup.targets
    assert (type(setup.model.closure).__name__, own.case.grid.n_cells, own.dt) == ("KOmega", 8, 600.0)
    assert isinstance(setup.model.discretisation, GotmDiscretisation)
    path.write_text(yaml.safe_dump(content | {"time": {"dt": 300.0}}))
    assert build_calibration(load_calibration(path)).targets[0].dt == 300.0
    other = {**target, "case": {**target["case"], "name": "another", "settings": {"time": {"dt": 1200.0}}}}
    path.write_text(yaml.safe_dump(content | {"cases": [target, other]}))
    with error_naming(ConfigError, "cases.1.case model"):
        load_calibration(path)


def test_a_set_up_in_place_of_a_calibration_is_named_as_such(tmp_path):
    with error_naming(ConfigError, "gotm.yaml case: {format: gotm, path: FILE}"):
        load_calibration(write_case(tmp_path))


def test_a_file_of_parameters_of_the_closure_of_the_set_up_is_evaluated(write, tmp_path):
    path = write(
        change=kpp(surface_layer=SURFACE, interior=INSIDE),
        evaluation={"variables": ["sea_surface_temperature"], "start": 0.0},
    )
    closure = build_run(load_run(path)).model.closure
    assert not isinstance(closure, KEpsilon)  # the default of a configuration
    save_closure(tmp_path / "closure.yaml", closure)
    one, other = evaluate(path, (), tmp_path / "closure.yaml")["errors"]
    assert one["root_mean_square"] == other["root_mean_square"] > 0.0

    run = yaml.safe_load(path.read_text(encoding="utf-8"))
    cycles, observed = {"leads": [21600.0]}, {"path": "sst.dat", "error": 0.1, "error_column": None}
    path.write_text(yaml.safe_dump({"run": run, "observations": observed, "cycles": cycles}))
    answer = check(path, (), tmp_path / "closure.yaml")
    assert answer["kind"] == "assimilation"
