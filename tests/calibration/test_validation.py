"""Cases left out and the initial profile kept: against numbers worked out by hand."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import tunax_lite as tl
from tests.calibration.twins import CHEAP_FREE, cheap_targets
from tests.cli.running import invoked
from tests.errors import error_naming
from tunax_lite import calibration as cal
from tunax_lite.calibration import LevenbergMarquardt, MeanSquare, Target, validation
from tunax_lite.calibration.validation import CrossValidationRow

MODEL = tl.Model(tl.PacanowskiPhilander())


@pytest.fixture(scope="module")
def validated(tmp_path_factory):
    """A cross-validation that was interrupted while the first case was left out, done, and done again."""
    folder = tmp_path_factory.mktemp("validation")

    def validate(**options):
        fit = MODEL, CHEAP_FREE, cheap_targets(), LevenbergMarquardt(), 3, folder
        return validation.cross_validate(*fit, score=MeanSquare(), **options)

    def interrupting(left_out):
        def report(*arguments):
            if left_out is not None:
                raise KeyboardInterrupt

        return report

    with pytest.raises(KeyboardInterrupt):
        validate(begin=interrupting)
    return validate(), validate(), folder


@pytest.mark.long
def test_a_case_left_out_has_no_part_in_the_calibration(validated):
    found, again, folder = validated
    assert again.rows == found.rows and len(found.rows) == 6
    names = {path.name for path in folder.iterdir()}
    assert names == {"checkpoint.eqx", *(f"without_stress_{s}" for s in ("0.1_heat_-200", "0.2_heat_50"))}
    first, second = cheap_targets()
    alone = cal.calibrate(MODEL, CHEAP_FREE, [first], LevenbergMarquardt(), 3, score=MeanSquare())
    without = found.without[second.case.name]
    np.testing.assert_array_equal(without.history.x, alone.history.x)
    (row,) = [r for r in found.rows if (r.case, r.variable) == (second.case.name, "temperature")]
    model = dataclasses.replace(MODEL, closure=without.closure)
    run = tl.simulate(model, second.case, dt=second.dt, output_interval=1800.0)
    observed = np.asarray(second.observations.profiles["temperature"])
    error = np.asarray(run.state.temperature) - observed
    assert row.left_out == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
    assert row.uncalibrated == without.errors(0)[row.case]["temperature"]
    assert row.calibrated == found.calibrated.errors()[row.case]["temperature"]
    assert row.better == (row.left_out < row.uncalibrated) and row.unit == "K"
    kept = observed - np.asarray(second.case.initial_state.temperature)
    assert row.persistence == pytest.approx(np.sqrt(np.mean(kept**2)), rel=1e-12)


def test_a_case_at_several_resolutions_is_left_out_as_a_whole(tmp_path):
    found = validation.left_out_together(dict.fromkeys(["wind@32", "calm", "wind@64,60s", "rain@32"]))
    assert found == {"wind": ("wind@32", "wind@64,60s"), "calm": ("calm",), "rain@32": ("rain@32",)}
    of_groups = validation.left_out_together({"a@32": "x", "b": "x", "c": "y", "d@32": None, "d@64": None})
    assert of_groups == {"x": ("a@32", "b"), "y": ("c",), "d": ("d@32", "d@64")}
    targets, names = cheap_targets(), ("a@16", "a@32")
    cases = [dataclasses.replace(each.case, name=name) for each, name in zip(targets, names, strict=True)]
    same = [dataclasses.replace(each, case=case) for each, case in zip(targets, cases, strict=True)]
    for given in (same, targets[:1]):  # which leaves none
        with error_naming(ValueError, "cross_validate weight 1"):
            validation.cross_validate(MODEL, CHEAP_FREE, given, LevenbergMarquardt(), 1, tmp_path)
    names = ["a b", "a/b", "c"]
    folders = [validation.folder_without(name, names) for name in names]
    assert folders == ["without_a_b_1", "without_a_b_2", "without_c"]


def test_persistence_between_centers_and_frames():
    target = cheap_targets()[0]
    time, z = jnp.asarray([700.0, 5000.0]), jnp.asarray([-50.0, -21.0, -3.0])
    observed = jnp.asarray([[19.0, 19.5, jnp.nan], [19.1, 19.4, 20.2]])
    observations = tl.Observations(time, z, {"temperature": observed})
    comparison = Target(target.case, observations, dt=300.0).comparison
    difference = (20.0 + 0.02 * np.asarray(z)) - np.asarray(observed)
    expected = np.sqrt(np.nanmean(difference**2))
    assert validation.persistence_errors(comparison)["temperature"].root_mean_square == pytest.approx(
        expected, rel=1e-12
    )


COOLING = {"format": "cf_netcdf", "path": "synthetic:wind_and_cooling"}


def test_tables_of_cases_left_out(tmp_path):
    rows = [
        CrossValidationRow("free_convection", "temperature", "K", 0.05, 0.0775, 0.0024, 0.0048),
        CrossValidationRow("strong_wind", "temperature", "K", 0.01, 0.0069, 0.0031, 0.0131),
        CrossValidationRow("strong_wind", "u", "m s-1", 0.01, 0.0069, 0.0031, math.nan),
    ]
    validation.write_table(tmp_path / "table.csv", rows)
    again = validation.read_table(tmp_path / "table.csv")
    assert again[:2] == tuple(rows[:2]) and math.isnan(again[2].left_out)
    (tmp_path / "other.csv").write_text("case,variable\na,temperature\n")
    with error_naming(ValueError, "other.csv case variable unit persistence"):
        validation.read_table(tmp_path / "other.csv")


LESS_HEAT = {**COOLING, "mapping": {"name": "less_heat", "fluxes": {"heat_flux": -50.0}}}
CONFIG = {
    "cases": [{"case": COOLING}, {"case": LESS_HEAT}],
    "grid": {"kind": "uniform", "n_cells": 12},
    "model": {"closure": {"name": "pacanowski_philander"}},
    "time": {"dt": 600.0},
    "misfit": {"end": 10800.0},
    "parameters": {"alpha": {"lower": 1.0, "upper": 20.0}},
    "optimiser": {"name": "levenberg_marquardt"},
    "n_iterations": 2,
}


def _said(*arguments, code=0):
    return " ".join(invoked(*arguments, code=code).output.split())


@pytest.mark.long
def test_command_writes_tables_and_the_report_says_what_they_say(tmp_path):
    config, folder = tmp_path / "two.yaml", tmp_path / "out"
    config.write_text(yaml.safe_dump(CONFIG))
    output = _said("cross-validate", config, "--output", folder)
    assert "iteration 1, best" in output
    names = {"cross_validation.csv", "parameters.yaml", "profiles.png"}
    assert names <= {path.name for path in folder.iterdir()}
    rows = validation.read_table(folder / "cross_validation.csv")
    assert [row.case for row in rows] == ["synthetic_wind_and_cooling", "less_heat"]
    _said("report", folder)
    page = (folder / "report.html").read_text()
    assert 'id="cross-validation"' in page
    said = _said("evaluate", config, "--parameters", folder / "parameters.yaml")
    assert "less_heat temperature" in said
