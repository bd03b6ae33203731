"""Pools in results: their units in tables and files, and what figures show of them."""

import json

import netCDF4
import numpy as np
import pytest
import yaml

from tests.cli.running import invoked
from tests.errors import missing_from
from tests.extensions.biogeochemistry.test_files import CASE
from tunax_lite.calibration import by_closure
from tunax_lite.calibration.validation import ObservedCase
from tunax_lite.config import build_run, evaluation_of, load_run
from tunax_lite.config.build import with_observations
from tunax_lite.plotting import files_figures

pytestmark = pytest.mark.long

POOLS = ("npzd_nut", "npzd_phy")
DAY = 86400.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two days with budgets, beside bottles of nitrate and phytoplankton at three depths."""
    folder = tmp_path_factory.mktemp("pools")
    depths = [(day, depth) for day in (1, 2, 3) for depth in (5, 20, 40)]
    rows = [f"2015-01-{day:02d},{z},{3.0 + 0.1 * z - 0.2 * day},{0.2 * day}" for day, z in depths]
    head = "time,depth [m],nitrate [mmol m-3],phytoplankton [mmol m-3]"
    (folder / "bottles.csv").write_text("\n".join([head, *rows]) + "\n")
    observed = {"npzd_nut": "nitrate", "npzd_phy": "phytoplankton"}
    bottles = {"format": "oceansites", "paths": "bottles.csv", "tracers": observed}
    config = {
        "case": CASE | {"duration": 2 * DAY, "observations": bottles},
        "grid": {"kind": "uniform", "n_cells": 10},
        "time": {"step": 3600.0, "output_interval": DAY / 4},
        "evaluation": {"start": 0.0},
        "output": {"budgets": True, "means": True},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(config))
    invoked("run", folder / "run.yaml", "--output", folder / "run.nc")
    return folder


def test_tables_have_the_units_of_pools(folder):
    def said(*arguments) -> dict:
        return json.loads(invoked(*arguments, "--json").stdout)

    (case,) = said("check", folder / "run.yaml")["cases"]
    units = {one["name"]: one["unit"] for one in case["inputs"]}
    named = [f"{kind} {pool}" for kind in ("initial", "observed") for pool in POOLS]
    assert {units[name] for name in named} == {"mmol m-3"} and units["initial u"] == "m s-1"
    errors = said("evaluate", folder / "run.yaml")["errors"]
    assert {one["variable"]: one["unit"] for one in errors} == dict.fromkeys(POOLS, "mmol m-3")
    budgets = {one["name"]: one["unit"] for one in said("budget", folder / "run.nc")["budgets"]}
    assert budgets["heat"] == "W m-2" and {budgets[pool] for pool in POOLS} == {"mmol m-2 s-1"}
    with netCDF4.Dataset(folder / "run.nc") as file:
        of_term, mean = file["npzd_nut_budget_life"], file["npzd_nut_mean"]
        assert (of_term.units, mean.units) == ("mmol m-2 s-1", "mmol m-3")
        assert of_term.long_name == "change of the nutrients of the column: life"
    model, (target,) = evaluation_of(load_run(folder / "run.yaml"))
    found = by_closure.compare_observed([by_closure.Candidate("own", model)], [target])
    assert {row.unit for row in found.rows} == {"mmol m-3"}
    assert {unit for _, unit, _ in ObservedCase("bottles", model, target).errors(model)} == {"mmol m-3"}


def test_a_variable_to_evaluate_that_was_not_observed_is_told(folder):
    named = ["evaluation.variables=[npzd_nut, npzd_chl]"]
    _, (target,) = evaluation_of(load_run(folder / "run.yaml", named))
    assert set(target.weights) == {"npzd_nut"}
    (note,) = [said for said in target.observations.notes if "npzd_chl" in said]
    assert not missing_from(note, "run.yaml evaluation.variables left npzd_nut npzd_phy")


def test_a_run_stands_beside_the_pools_that_were_observed(folder):
    loaded = load_run(folder / "run.yaml")
    beside = with_observations(build_run(loaded), loaded.place.below("case"))
    figures = files_figures([folder / "run.nc"], beside)
    panels = {panel.get_xlabel(): panel for panel in figures["profiles"].axes if panel.get_visible()}
    assert {"nutrients [mmol m⁻³]", "phytoplankton [mmol m⁻³]"} <= panels.keys()
    assert not any("detritus" in label for label in panels)
    observed, run = panels["nutrients [mmol m⁻³]"].get_lines()
    np.testing.assert_allclose(np.asarray(observed.get_xdata()), [6.4, 4.4, 2.9])
    with netCDF4.Dataset(folder / "run.nc") as file:
        np.testing.assert_allclose(np.asarray(run.get_xdata()), file["npzd_nut"][-1])
    named = [panel.get_ylabel() for panel in figures["series"].axes]
    assert "nutrients\nat 5 m [mmol m⁻³]" in named
    # Without observations, every pool that varies.
    alone = files_figures([folder / "run.nc"])["profiles"].axes
    assert "detritus [mmol m⁻³]" in [panel.get_xlabel() for panel in alone]
