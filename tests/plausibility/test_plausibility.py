"""Rules of plausibility: accepted rules, extremes of nature, and impossible values, which are errors."""

from typing import Any

import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming, notes_in
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.io.errors import FileFormatError, check_possible
from tunax_lite.plausibility import findings_of, remarks
from tunax_lite.plausibility.inputs import Evidence, Samples
from tunax_lite.plausibility.rules import codes_in, top_of_atmosphere


def case_of(temperature: float = 12.0, **changes) -> tl.Case:
    grid = tl.Grid.uniform(20.0, 8)
    state = tl.State.from_profiles(grid, temperature=temperature, salinity=35.0)
    fluxes = SurfaceFluxes(stress_u=0.1, heat_flux=-50.0)
    return tl.Case(grid, state, ConstantForcing(fluxes), coriolis_parameter=1e-4, **changes)


def test_accepted_rules_are_silent():
    evidence = Evidence(coriolis_parameter=-1e-4, latitude=45.0)
    assert [one.rule for one in findings_of(evidence)] == ["coriolis_parameter"]
    assert findings_of(evidence, accept=["coriolis_parameter"]) == ()


def test_python_rejects_what_cannot_be():
    with error_naming(ValueError, "temperature -5 60 degC 293 K"):
        case_of(293.0)
    with error_naming(FileFormatError, "restart.nc tke turbulent_kinetic_energy 0 -1e-6"):
        check_possible("restart.nc", "tke", "turbulent_kinetic_energy", np.array([1e-6, -1e-6]))


def test_sun_above_the_atmosphere_has_the_mean_of_the_sphere():
    start = "2015-07-03"
    latitudes, days = np.linspace(-89.0, 89.0, 90), np.arange(0.0, 365.0, 5.0) * 86400.0
    means = [top_of_atmosphere(days, start, float(at), 0.0, daily=True).mean() for at in latitudes]
    mean = np.average(means, weights=np.cos(np.deg2rad(latitudes)))
    assert mean == pytest.approx(1361.0 / 4.0, rel=0.01)


def test_codes_are_found_where_values_are_far():
    good = 15.0 + np.sin(np.arange(200.0))
    assert codes_in(good, "air_temperature") is None
    for code in (-9.99, 99.9, 999.0, 0.0):
        values = good.copy()
        values[[20, 21, 150]] = code
        assert codes_in(values, "air_temperature") == (code, 3)


def test_extremes_of_nature_are_no_alarm():
    hours = np.arange(0.0, 30.0 * 86400.0, 3600.0)
    z = np.linspace(-10.0, -0.5, 12)

    def series(**values):
        return {name: Samples(name, name, hours, one + 0.0 * hours) for name, one in values.items()}

    def start(**values):
        rows = {name: np.broadcast_to(one, (1, 12)) for name, one in values.items()}
        return {"initial": {name: Samples(name, name, np.zeros(1), one, z) for name, one in rows.items()}}

    night = series(shortwave=0.0, air_temperature=-40.0 + np.sin(hours))
    gust = series(wind_speed=6.0 + 25.0 * np.exp(-(((hours - 1e6) / 7200.0) ** 2)))
    evidence: dict[str, Any]
    for evidence in (
        {"weather": night, "latitude": 80.0, "longitude": 10.0, "start": "2015-12-10"},
        {"weather": gust},
        start(temperature=18.0, salinity=np.linspace(35.0, 0.0, 12)),
        start(temperature=np.linspace(4.0, 0.0, 12), salinity=0.0),
    ):
        assert findings_of(Evidence(**evidence)) == ()


def test_remarks_of_a_batch_look_at_one_column():
    case = tl.stack_cases([case_of(), case_of()])
    assert remarks(case, column=1) == ()
    assert [one.rule for one in remarks(case_of(latitude=-45.0))] == ["coriolis_parameter"]


def test_a_run_accepts_rules_by_name(tmp_path, recwarn):
    path = tmp_path / "run.yaml"
    path.write_text(
        "case: {format: idealised, depth: 16, duration: 3600, temperature: 20, forcing: {heat_flux: -0.1}}\n"
        "grid: {kind: uniform, n_cells: 8}\nmodel: {closure: {name: constant}}\ntime: {dt: 600.0}\n"
    )
    for accepted, n_notes in (([], 1), (["accept=[surface_heat_flux]"], 0)):
        build_run(load_run(path, accepted))
        assert len(notes_in(recwarn)) == n_notes
    with error_naming(ConfigError, "accept heat heat_sign"):
        load_run(path, ["accept=[heat]"])
