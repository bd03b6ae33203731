"""Closures on any observations: known errors at unequal times, several variables, failed runs."""

import csv
import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.test_comparison import write_gotm
from tests.cli.running import invoked
from tests.errors import error_naming
from tests.io.observation_files import N_CELLS, write_lesbrary
from tunax_lite.calibration import Target
from tunax_lite.calibration.by_closure import compare_observed, tables
from tunax_lite.calibration.comparison import Candidate, StoredResult
from tunax_lite.plotting import plot_closures_and_cases


def resting(name: str, **observed) -> Target:
    """Uniform water at rest, which no closure changes, seen at unequal times by three instruments."""
    grid = tl.Grid.uniform(10.0, 5)
    case = tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=15.0),
        tl.ConstantForcing(tl.SurfaceFluxes()),
        name=name,
        duration=7200.0,
    )
    time = jnp.array([600.0, 1800.0, 6000.0])
    seen = tl.Observations(time, z=jnp.array([-8.0, -3.0, -1.0]), name=name, source="mooring", **observed)
    return Target(case, seen, dt=600.0, weights=dict.fromkeys(seen.names, 1.0))


def warm(by: float):
    values = np.full((3, 3), 15.0 + by)
    values[1, 2] = np.nan  # a gap has no error
    return jnp.asarray(values)


def test_errors_are_those_of_the_observations_and_a_failed_run_has_a_reason():
    targets = [
        resting("warmer", profiles={"temperature": warm(0.5), "u": jnp.full((3, 3), 0.1)}),
        resting("surface", profiles={}, series={"sea_surface_temperature": jnp.array([14.0, jnp.nan, 16.0])}),
    ]
    good = Candidate("constant", tl.Model(tl.Constant()))
    bad = eqx.tree_at(lambda model: model.closure.diffusivity, good.model, jnp.asarray(np.nan))
    found = compare_observed([good, Candidate("broken", bad)], targets)
    rows = {(row.closure, row.case, row.variable): row for row in found.rows}
    assert len(rows) == 6
    own = rows["constant", "warmer", "temperature"]
    # The numbers are those put in: round-off of 15 degC.
    assert (own.root_mean_square, own.mean, own.unit) == (pytest.approx(0.5), pytest.approx(-0.5), "K")
    assert rows["constant", "warmer", "u"].root_mean_square == pytest.approx(0.1, rel=1e-12)
    surface = rows["constant", "surface", "sea_surface_temperature"]
    assert surface.root_mean_square == pytest.approx(1.0) and surface.mean == pytest.approx(0.0, abs=1e-12)
    failed = rows["broken", "warmer", "temperature"]
    assert np.isnan(failed.root_mean_square) and failed.note
    assert [set(runs) for runs in found.runs] == [{"constant"}, {"constant"}]
    parts = {part.title: part for part in tables(found.rows)}
    assert parts["temperature [K]"].rows == (("constant", "0.5 (-0.5)"), ("broken", "–"))
    assert {line[:2] for line in parts["Failed"].rows} == {("broken", "warmer"), ("broken", "surface")}
    figure = plot_closures_and_cases(found)
    titles = [axes.get_title().splitlines()[-1] for axes in figure.axes if axes.get_title()]
    assert titles[:2] == ["constant: 0.5 K", "constant: 1 K"] and len(titles) == 4


def stored(n_cells: int = 3, depth: float = 10.0, end: float = 7200.0, **changes) -> StoredResult:
    """Water of another model that warms by 1 K in 7200 s, on a grid of its own."""
    time = np.linspace(0.0, end, 5)
    warming = np.tile(15.0 + time / 7200.0, (n_cells, 1))
    profiles = {"temperature": warming, "u": 0.0 * warming, "v": 0.0 * warming} | changes
    return StoredResult("GOTM", "warmer", time, tl.Grid.uniform(depth, n_cells), profiles, np.nan)


def test_results_of_other_models_are_judged_on_the_cells_and_at_the_times_of_the_observations():
    series = {"sea_surface_temperature": jnp.array([15.0 + 1.0 / 12.0, 15.25, jnp.nan])}
    target = resting("warmer", profiles={"temperature": warm(0.0), "u": warm(-15.0)}, series=series)
    candidates, salinity = [Candidate("constant", tl.Model(tl.Constant()))], np.full((3, 5), 35.0)
    found = compare_observed(candidates, [target], stored=[stored(salinity=salinity)])
    rows = {(row.closure, row.variable): row for row in found.rows}
    # Three instruments at 600 and 6000 s, two at 1800 s.
    errors = np.repeat([600.0, 1800.0, 6000.0], [3, 2, 3]) / 7200.0
    own = rows["GOTM", "temperature"]
    assert own.root_mean_square == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    assert own.mean == pytest.approx(np.mean(errors), rel=1e-6)
    assert rows["GOTM", "u"].root_mean_square == 0.0
    # The temperature of the profiles, not the `sst` of the step before.
    assert rows["GOTM", "sea_surface_temperature"].root_mean_square < 1e-6
    assert set(found.runs[0]) == {"constant", "GOTM"}
    without = dataclasses.replace(stored(), profiles={"v": salinity})
    for wrong, parts in (
        (stored(depth=20.0), "GOTM 10 20 warmer"),
        (stored(end=3600.0), "GOTM 6000 3600 observed.end"),
        (without, "GOTM temperature u observed.variables"),
    ):
        with error_naming(ValueError, parts):
            compare_observed(candidates, [target], stored=[wrong])


@pytest.mark.long
def test_the_command_writes_a_table_of_variables_and_one_figure(tmp_path):
    write_lesbrary(tmp_path / "little.jld2")
    (tmp_path / "few.yaml").write_text(
        "closures: [constant, {name: constant, label: still, parameters: {viscosity: 0.0}}]\n"
        "cases: [{format: lesbrary, path: little.jld2}]\nstart: 600.0\n"
        "observed: {variables: [temperature, u], time_step: 60.0, grid: {kind: native}}\n"
        "stored: [{label: GOTM, path: gotm.nc}]\n"
    )
    faces = np.tile(np.linspace(-4.0 * N_CELLS, 0.0, 4), (3, 1))
    of_cells = {name: (("time", "z"), np.full((3, 3), 19.0)) for name in ("temp", "u", "v")}
    time = ("time", [0.0, 900.0, 1800.0], {"units": "seconds since 2000-01-01 00:00:00"})
    write_gotm(tmp_path / "gotm.nc", time=time, zi=(("time", "zi"), faces), **of_cells)
    invoked("compare", tmp_path / "few.yaml", "--output", tmp_path / "out")
    with open(tmp_path / "out/comparison.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["closure"], row["variable"]) for row in rows] == [
        (label, name) for label in ("constant", "still", "GOTM") for name in ("temperature", "u")
    ]
    assert all(float(row["root_mean_square"]) > 0.0 for row in rows)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"comparison.{end}" for end in ("csv", "md", "png")}
