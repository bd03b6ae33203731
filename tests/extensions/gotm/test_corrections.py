"""Corrections of cases and observations of GOTM's files, in configurations."""

from typing import Any

import numpy as np
import pytest
import yaml

from tests.errors import error_naming
from tests.extensions.gotm.folders import write_case, write_series
from tunax_lite.cli.session import build_source
from tunax_lite.column.discretisation import GotmDiscretisation
from tunax_lite.config import ConfigError, build_calibration, build_run, load_calibration, load_run

SST = 12.0 + 0.1 * np.arange(25)
OBSERVED = {"surface_temperature": True, "surface_interval": 7200.0}
KNOTS = {"fluxes": ["stress_scale"], "knot_interval": 36000.0}
CORRECTIONS = KNOTS | {"initial": ["temperature", "u"], "z": [-12, -4]}


@pytest.fixture
def write(tmp_path):
    """A configuration beside a small case of GOTM with a series of the surface temperature."""

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
    # The case is in conservative temperature already.
    np.testing.assert_allclose(observations.series["sea_surface_temperature"], SST[::2])
    assert observations.names == ("sea_surface_temperature",) and observed(None) is None
    assert (
        observed(OBSERVED | {"surface_interval": 1e7}).time.size == 1
    )  # the start is a multiple of anything
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
    both = stress | {"knots": [0.0, 1.0], "knot_interval": 5.0}
    for corrections, parameter, parts in (
        (stress | {"period": 5.0}, None, "cases.0.corrections knots knot_interval"),
        ({"fluxes": ["heat_bias"]}, None, "cases.0.corrections.fluxes heat_bias heat_flux_bias"),
        ({"fluxes": ["shortwave_flux_scale"]}, None, "cases.0.corrections shortwave_flux_scale"),
        ({"knots": [0.0, 1.0]}, None, "cases.0.corrections fluxes"),
        (both, None, "cases.0.corrections knots knot_interval"),
        ({"initial": ["temperature"], "z": [-4, -12]}, None, "cases.0.corrections -4 -12"),
        ({"initial": ["temperature"]}, "cases.small.forcing.stress_scale", numbers),
        ({}, "cases.large.coriolis_parameter", numbers),
        ({}, "c_eps_9", "KEpsilon c_eps_2"),
    ):
        path = write(parameters={parameter or "c_eps_1": {}}, corrections=corrections)
        with error_naming(ConfigError, f"{parts} {parameter or ''}"):
            build_calibration(load_calibration(path))


def test_a_run_takes_the_numbers_of_its_corrections(write, tmp_path):
    numbers, forcing = tmp_path / "parameters.yaml", "case.forcing.stress_scale"
    values = {"c_eps_1": 1.5, forcing: [1.0, 1.1, 1.2, 1.3], "cases.another.coriolis_parameter": 1e-4}
    values["cases.small.initial_correction.temperature"] = [0.1, -0.2]
    numbers.write_text(yaml.safe_dump({"closure": "KEpsilon", "parameters": values}))
    run = build_source(load_run(write(corrections=CORRECTIONS)), numbers)
    assert "1 numbers of other cases are ignored" in "\n".join(run.notes)
    increment = run.case.start_state.temperature - run.case.initial_state.temperature
    np.testing.assert_allclose(increment, np.interp(run.case.grid.z_center, [-12.0, -4.0], [0.1, -0.2]))
    np.testing.assert_allclose(run.case.forcing.at(54000.0).stress_u, 1.15 * 0.1)  # pyright: ignore
    assert float(run.model.closure.c_eps_1) == 1.5  # pyright: ignore
    with error_naming(ConfigError, f"{forcing}[0] case.coriolis_parameter"):
        build_source(load_run(write()), numbers)


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
    path.write_text(yaml.safe_dump(content | {"time": {"step": 300.0}}))
    assert build_calibration(load_calibration(path)).targets[0].dt == 300.0
    other = {**target, "case": {**target["case"], "name": "another", "settings": {"time": {"dt": 1200.0}}}}
    path.write_text(yaml.safe_dump(content | {"cases": [target, other]}))
    with error_naming(ConfigError, "cases.1.case model"):
        load_calibration(path)
