"""`tunax-lite budget`: budgets from the file of a run, closed, with the prescribed terms."""

import json

import netCDF4
import numpy as np
import pytest

from tests.cli.running import RUN, configuration, invoked
from tests.errors import missing_from


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    path = tmp_path_factory.mktemp("budget") / "out.nc"
    forcing = {"stress_u": 0.1, "heat_flux": -150.0, "freshwater_flux": 1e-4}
    config = configuration(
        path.with_name("run.yaml"),
        RUN,
        case=RUN["case"] | {"duration": 7200.0, "forcing": forcing},
        grid={"kind": "stretched", "n_cells": 10, "surface_zoom": 1.0},
        time={"dt": 600.0, "output_interval": 2400.0},
        output={"budgets": True, "means": True, "diagnostics": ["surface_heat_flux"]},
    )
    invoked("run", config, "--output", path)
    return path


def budgets(path) -> list[dict]:
    return json.loads(invoked("budget", path, "--json").stdout)["budgets"]


def test_a_configuration_is_no_file_of_a_run(out):
    for command in ("budget", "plot"):
        said = invoked(command, out.with_name("run.yaml"), code=3).output
        assert not missing_from(said, "run.yaml NetCDF"), said


def test_budgets_close_from_the_file_and_hold_what_was_prescribed(out):
    found = {one["name"]: one for one in budgets(out)}
    assert list(found) == ["heat", "salt", "kinetic_energy"]
    assert all(one["closed"] and one["largest_residual"] <= one["rounding"] for one in found.values())
    heat, energy = found["heat"], found["kinetic_energy"]
    assert heat["terms"] == pytest.approx({"surface_exchange": -150.0}, rel=1e-12)
    assert heat["change"] == pytest.approx(-150.0, rel=1e-9) and heat["rounding"] < 1e-6
    with netCDF4.Dataset(out) as file:
        faces, u, v = (np.asarray(file[name][:]) for name in ("z_face", "u", "v"))
        mean, budget = file["surface_heat_flux_mean"], file["heat_budget_surface_exchange"]
        for variable in (mean, budget):
            assert variable.cell_methods == "time: mean" and variable.units == "W m-2"
        assert budget.dimensions == ("time",) and file["time"].bounds == "time_bounds"
        np.testing.assert_array_equal(mean[1:], budget[1:])
        # By hand: the energy of the last frame over the length of the run, from rest.
        by_hand = 0.5 * file.reference_density * np.sum(np.diff(faces) * (u[-1] ** 2 + v[-1] ** 2))
    assert energy["change"] == pytest.approx(by_hand / 7200.0, rel=1e-12)
    assert energy["terms"]["mixing"] < 0.0 < energy["terms"]["surface_exchange"]


def test_a_flux_that_is_missing_leaves_a_residual_and_without_budgets_there_are_none(out):
    changed, other = out.with_name("changed.nc"), out.with_name("other.nc")
    changed.write_bytes(out.read_bytes())
    with netCDF4.Dataset(changed, "a") as file:
        file["heat_budget_surface_exchange"][1] = -149.0
    (heat, salt, _) = budgets(changed)
    assert not heat["closed"] and heat["largest_residual"] == pytest.approx(1.0, rel=1e-6) and salt["closed"]
    with netCDF4.Dataset(out) as source, netCDF4.Dataset(other, "w") as file:
        file.setncatts({name: source.getncattr(name) for name in source.ncattrs()})
    assert not missing_from(invoked("budget", other, code=3).output, "other.nc output.budgets")


def test_the_text_names_terms_and_residual(out):
    assert invoked("budget", out).output.count(": closed,") == 3
