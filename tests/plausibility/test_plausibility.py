"""Rules of plausibility: everyday mistakes are noted, good input is not, and impossible values are errors."""

import dataclasses
import datetime
import os
import re
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tests.helpers import some_long
from tests.hostile import mistakes, real_files
from tests.hostile.plausible_inputs import csv_weather, moored, weather
from tunax_lite.air_sea import SolarPosition
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes
from tunax_lite.io.errors import FileFormatError
from tunax_lite.plausibility import RULES, Evidence, Samples, findings_of, remarks, sun
from tunax_lite.plausibility.records import codes_in
from tunax_lite.plausibility.water import density

PAGE = Path(__file__).parents[2] / "docs" / "plausibility.md"
DATA = [Path(one) for one in os.environ.get("TUNAX_LITE_DATA", "").split(os.pathsep) if one]
LEAST, MOST = 0.8, 0.05
"""Mistakes that are to be noted, and good files that may be."""


def case_of(temperature: float = 12.0, **changes) -> tl.Case:
    grid = tl.Grid.uniform(20.0, 8)
    state = tl.State.from_profiles(grid, temperature=temperature, salinity=35.0)
    fluxes = SurfaceFluxes(stress_u=0.1, heat_flux=-50.0)
    return tl.Case(grid, state, ConstantForcing(fluxes), coriolis_parameter=1e-4, **changes)


@pytest.mark.parametrize("base", mistakes.BASES)
def test_good_input_has_no_note(base, tmp_path):
    make, read = mistakes.BASES[base]
    assert read(make(), tmp_path) == ()


def detected(rows) -> tuple[int, int]:
    noted = 0
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            noted += mistakes.is_noted(row, mistakes.outcome(row, Path(folder)))
    return noted, len(rows)


@pytest.mark.parametrize("every", some_long([3, 1], lambda every: every == 1))
@pytest.mark.parametrize("base", mistakes.BASES)
def test_four_of_five_everyday_mistakes_are_noted(base, every):
    """A third of them, or all: as with `python -m tests.hostile.mistakes`."""
    rows = [row for row in mistakes.TABLE if row.rule and row.base == base][::every]
    noted, tried = detected(rows)
    assert tried and noted >= LEAST * tried


def test_mistakes_name_rules_and_enough_of_them():
    named = {row.rule for row in mistakes.TABLE} - {"", "*"}
    assert named <= set(RULES)
    assert sum(bool(row.rule) for row in mistakes.TABLE) >= 250


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(f, marks=pytest.mark.long if f in ("maps", "gotm_cases", "lakes", "moorings") else [])
        for f in real_files.FOLDERS
    ],
)
def test_real_files_raise_no_false_alarm(folder, tmp_path, capsys):
    data = next((one for one in DATA if (one / folder).is_dir()), None)
    if data is None:
        pytest.skip("no real files in $TUNAX_LITE_DATA")
    found = real_files.alarms_of(data, folder, tmp_path)
    noted = {name: alarms for name, alarms in found.items() if alarms}
    with capsys.disabled():
        print(f"\n{folder}: {len(noted)} of {len(found)} with a note {noted or ''}")
    assert found
    assert len(noted) <= max(1, MOST * len(found))


def test_a_finding_says_number_cause_and_key(tmp_path):
    given = weather(10)
    given.scale("air_pressure", 0.92)
    (said,) = csv_weather(given, tmp_path)
    assert "weather.air_pressure" in said and "accept: [air_pressure]" in said
    # The mean of the pressure that was written, to the digits of the message.
    (got,) = re.findall(r"got ([\d.e+]+)", said)
    assert float(got) == pytest.approx(given.values["air_pressure"].mean(), rel=1e-3)


def test_accepted_rules_are_silent_and_unknown_ones_an_error():
    evidence = Evidence(coriolis_parameter=-1e-4, latitude=45.0)
    assert [one.rule for one in findings_of(evidence)] == ["coriolis_parameter"]
    assert findings_of(evidence, accept=["coriolis_parameter"]) == ()
    with error_naming(ValueError, "accept position sign_of_name"):
        findings_of(evidence, accept=["coriolis"])


def test_python_rejects_what_cannot_be():
    with error_naming(ValueError, "temperature -5 60 degC 293 K"):
        case_of(293.0)
    with error_naming(ValueError, "forcing heat_flux 1e6"):
        ConstantForcing(SurfaceFluxes(heat_flux=1e6))


def test_the_sun_is_that_of_the_bulk_forcing():
    """The equation of time, which the other one omits, is at most 16.5 minutes: 0.072 of the cosine."""
    start = "2015-07-03T05:00:00"
    evidence = Evidence(latitude=48.0, longitude=-9.0, start=datetime.datetime.fromisoformat(start))
    time = np.arange(0.0, 400.0 * 86400.0, 7200.0)
    position = SolarPosition(start, 48.0, -9.0)
    other = np.asarray(position.cosine_of_zenith(position.at(jnp.asarray(time))))
    np.testing.assert_allclose(np.maximum(sun.cosine_of_zenith(time, evidence), 0.0), other, atol=0.08)
    # 1361 W m-2 / 4 is the mean over the sphere and the year.
    latitudes = np.linspace(-89.0, 89.0, 90)
    days = np.arange(0.0, 365.0, 5.0) * 86400.0
    means = [
        sun.top_of_atmosphere(days, dataclasses.replace(evidence, latitude=float(at)), daily=True).mean()
        for at in latitudes
    ]
    weights = np.cos(np.deg2rad(latitudes))
    assert np.average(means, weights=weights) == pytest.approx(1361.0 / 4.0, rel=0.005)


def test_density_is_that_of_gsw():
    gsw = pytest.importorskip("gsw")
    temperature, salinity = np.meshgrid(np.linspace(0.0, 30.0, 7), np.linspace(0.0, 40.0, 5))
    # Conservative for in-situ temperature and absolute for practical salinity: 0.5 kg m-3 at the most.
    own = density(temperature, salinity / 1.0047)
    np.testing.assert_allclose(
        own, gsw.rho(salinity, gsw.CT_from_t(salinity, temperature, 0.0), 0.0), atol=0.5
    )


@pytest.mark.parametrize("code", [-9.99, 99.9, 999.0, 0.0])
def test_codes_are_found_where_values_are_far(code):
    values = 15.0 + np.sin(np.arange(200.0))
    assert codes_in(values, "air_temperature") is None
    values[[20, 21, 150]] = code
    assert codes_in(values, "air_temperature") == (code, 3)


def test_extremes_of_nature_are_no_alarm():
    """Polar night, tropical squalls, estuaries, the Dead Sea and dry lakes of the desert."""
    hours = np.arange(0.0, 30.0 * 86400.0, 3600.0)
    series = lambda name, values: Samples(name, f"weather.{name}", hours, values + 0.0 * hours)  # noqa: E731
    start = datetime.datetime(2015, 12, 10)
    night = {
        "shortwave": series("shortwave", 0.0),
        "air_temperature": series("air_temperature", -40.0 + np.sin(hours)),
    }
    assert findings_of(Evidence(weather=night, latitude=80.0, longitude=10.0, start=start)) == ()
    gust = 6.0 + 25.0 * np.exp(-(((hours - 1e6) / 7200.0) ** 2))
    assert findings_of(Evidence(weather={"wind_speed": series("wind_speed", gust)})) == ()
    z = np.linspace(-10.0, -0.5, 12)
    estuary = {
        "temperature": Samples("temperature", "initial temperature", np.zeros(1), 18.0 + 0.0 * z[None], z),
        "salinity": Samples("salinity", "initial salinity", np.zeros(1), np.linspace(35.0, 0.0, 12)[None], z),
    }
    assert findings_of(Evidence(initial=estuary)) == ()
    frozen = {
        "temperature": Samples(
            "temperature", "initial temperature", np.zeros(1), np.linspace(4.0, 0.0, 12)[None], z
        ),
        "salinity": Samples("salinity", "initial salinity", np.zeros(1), np.zeros((1, 12)), z),
    }
    assert findings_of(Evidence(initial=frozen)) == ()


def test_remarks_of_a_batch_look_at_one_column():
    case = tl.stack_cases([case_of(), case_of()])
    assert remarks(case, column=1) == ()
    assert [one.rule for one in remarks(case_of(latitude=-45.0))] == ["coriolis_parameter"]


def test_negative_turbulence_of_a_restart_is_an_error(tmp_path):
    from tunax_lite.io.errors import check_possible

    with error_naming(FileFormatError, "restart.nc tke turbulent_kinetic_energy 0 -1e-6"):
        check_possible("restart.nc", "tke", "turbulent_kinetic_energy", np.array([1e-6, -1e-6]))


def test_a_run_accepts_rules_by_name(tmp_path):
    from tunax_lite.config import ConfigError, build_run, load_run

    text = (
        "case: {format: idealised, depth: 16.0, duration: 3600.0, temperature: {surface: 20.0},\n"
        "       forcing: {heat_flux: -0.1}}\n"
        "grid: {kind: uniform, n_cells: 8}\nmodel: {closure: {name: constant}}\ntime: {step: 600.0}\n"
    )
    (tmp_path / "run.yaml").write_text(text)
    (note,) = build_run(load_run(tmp_path / "run.yaml")).notes
    assert "fluxes.heat_flux" in note and "0.1" in note and "accept: [surface_heat_flux]" in note
    (tmp_path / "run.yaml").write_text(text + "accept: [surface_heat_flux]\n")
    assert build_run(load_run(tmp_path / "run.yaml")).notes == ()
    (tmp_path / "run.yaml").write_text(text + "accept: [heat]\n")
    with error_naming(ConfigError, "accept heat heat_sign"):
        load_run(tmp_path / "run.yaml")


def test_moorings_are_compared_with_the_site(tmp_path):
    given = moored(20)
    given.options["position"] = (48.5, -9.5)  # 66 km away
    assert mistakes.BASES["mooring"][1](given, tmp_path) == ()


def test_the_page_lists_the_rules():
    text = PAGE.read_text(encoding="utf-8")
    assert mistakes.rules_as_markdown() in text
