"""Closures side by side: errors against numbers worked out by hand, rows that say what went wrong, files."""

import csv
import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.cli.running import invoked
from tests.errors import error_naming
from tests.io.observation_files import write_lesbrary
from tunax_lite.calibration import RootMeanSquare, Target, errors_and_run, misfit
from tunax_lite.calibration.comparison import compare, tables
from tunax_lite.calibration.target import errors_of_states
from tunax_lite.calibration.validation import ErrorRow
from tunax_lite.closures import AbstractPlainClosure
from tunax_lite.io.errors import FileFormatError
from tunax_lite.plotting.together import _run_of

DEPTH, N_CELLS, DT = 32.0, 8, 60.0
NAMES, LAYER = ("temperature", "u", "v"), "mixed_layer_depth_0.05K_from_0m"
CONSTANT = tl.Model(tl.ConstantDiffusivity())
BROKEN = eqx.tree_at(lambda model: model.closure.diffusivity, CONSTANT, jnp.asarray(np.nan))


def _constant(mixing: float, **changes) -> tl.Model:
    return tl.Model(tl.ConstantDiffusivity(viscosity=mixing, diffusivity=mixing), **changes)


def _case(forcing: tl.SurfaceFluxes | None = None, hours: float = 1.0) -> tl.Case:
    grid = tl.Grid.uniform(DEPTH, N_CELLS)
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z),
        forcing=tl.ConstantForcing(forcing or tl.SurfaceFluxes(stress_u=0.1, stress_v=0.0, heat_flux=-100.0)),
        coriolis_parameter=1e-4,
        duration=3600.0 * hours,
        name="small",
    )


def _observations(case: tl.Case) -> tl.Observations:
    run = tl.simulate(CONSTANT, case, dt=DT, output_interval=600.0)
    profiles = {name: getattr(run.state, name) for name in NAMES}
    return tl.Observations(run.time, case.grid.z_center, profiles, name="small")


def _target(case: tl.Case, observations: tl.Observations, dt: float = DT, **options: Any) -> Target:
    weights = dict.fromkeys((*NAMES, LAYER), 1.0)
    given: dict[str, Any] = {"time_window": (600.0, math.inf), "averaging": "cell_means"} | options
    return Target(case, observations, weights, dt=dt, **given)


@pytest.fixture(scope="module")
def simulated() -> Target:
    """Observations that the constant diffusivity meets."""
    case = _case()
    return _target(case, _observations(case))


class Refusing(AbstractPlainClosure):
    """A closure that does not like its inputs."""

    def init(self, inputs):
        raise ValueError("Refusing: expected a step of at most 1 s.\nChoose a shorter one.")

    def step(self, clo_state, inputs, dt):
        raise AssertionError("never reached")


@pytest.mark.long
def test_table_of_closures_one_of_which_blows_up(simulated):
    candidates = {
        "same": CONSTANT,
        "exploding": BROKEN,
        "explicit": _constant(1e3, theta=0.0),
        "refusing": tl.Model(Refusing()),
        "weak": _constant(1e-3),
    }
    compared = compare(candidates, {"8 cells": [simulated, dataclasses.replace(simulated, dt=600.0)]})
    rows = {(row.closure, row.dt, row.variable): row for row in compared.rows}
    assert len(rows) == len(compared.rows) == 40
    # The program makes the same steps as `simulate`, in the same order; averages add in another one.
    for name, limit in (("temperature", 1e-13), ("u", 1e-15), (LAYER, 1e-9)):
        assert rows["same", DT, name].root_mean_square < limit and rows["same", DT, name].note == ""
    assert rows["same", 600.0, "temperature"].root_mean_square > 1e-5
    for label, note in (
        ("exploding", "0.167 h"),
        ("explicit", "impossible water"),
        ("refusing", "at most 1 s. Choose"),
    ):
        failed = [rows[label, DT, name] for name in (*NAMES, LAYER)]
        assert all(np.isnan(row.root_mean_square) and note in row.note for row in failed)
    runs = compared.runs["small"]
    assert list(runs) == ["same", "weak"] and compared.shown == (simulated,)
    for name in NAMES:
        error = (getattr(runs["weak"].state, name) - simulated.observations.profiles[name])[1:]
        expected = np.sqrt(np.mean(np.asarray(error) ** 2))  # from 600 s on
        assert rows["weak", DT, name].root_mean_square == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.long
def test_water_beyond_its_limits_is_noted():
    # 4 m of still water at 19.96 degC lose Q 43 200 s / (1026 * 3992 * 4) K = 23.7 K.
    case = _case(tl.SurfaceFluxes(heat_flux=-9e3), hours=12.0)
    rows = compare({"still": _constant(1e-8)}, {"8 cells": [_target(case, _observations(case))]}).rows
    assert all(row.note.startswith("unlikely water: temperature -3.7") for row in rows)
    assert math.isfinite(rows[0].root_mean_square) and tables(rows)[-1].title == "Notes"


def _states(target: Target, profiles) -> tl.State:
    n_times = len(profiles["u"])
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (n_times, *x.shape)), target.case.start_state)
    return dataclasses.replace(start, **profiles)


def test_errors_are_those_of_means_on_the_coarser_grid(simulated):
    for n_cells in (4, 16):
        case = simulated.case.on(tl.Grid.uniform(DEPTH, n_cells))
        target = dataclasses.replace(simulated, case=case, time_window=(0.0, math.inf))
        rng, les = np.random.default_rng(3), simulated.observations.profiles
        model = {name: jnp.asarray(rng.normal(size=(les["u"].shape[0], n_cells))) for name in NAMES}
        shape = les["u"].shape[0], min(n_cells, N_CELLS), -1
        means = {name: [each[name].reshape(shape).mean(2) for each in (model, les)] for name in NAMES}
        errors = errors_of_states(target.comparison, _states(target, model))
        for name, (one, other) in means.items():
            expected = np.sqrt(np.mean((one - other) ** 2))
            assert errors[name].root_mean_square == pytest.approx(float(expected), rel=1e-12)


def test_error_of_the_mixed_layer_depth_of_linear_profiles():
    case, layer = _case(), "mixed_layer_depth_0.1K_from_0m"
    z, time = np.asarray(case.grid.z_center), jnp.asarray([0.0, 600.0])
    slope = {"reference": 0.02, "model": 0.01}
    profile = {name: jnp.asarray(np.stack([20.0 + value * z] * 2)) for name, value in slope.items()}
    observed = tl.Observations(time, case.grid.z_center, {"temperature": profile["reference"]})
    states = {"temperature": profile["model"], "u": jnp.zeros((2, N_CELLS))}
    for heights in (case.grid.z_center, case.grid.z_center - jnp.arange(N_CELLS - 1.0, -1.0, -1.0) / 100.0):
        target = Target(case, dataclasses.replace(observed, z=heights), {layer: 1.0}, dt=DT)
        errors = errors_of_states(target.comparison, _states(target, states))
        # 2 m below the surface lies the uppermost center; from there 0.1 K are 5 m and 10 m.
        assert errors[layer].root_mean_square == pytest.approx(5.0, rel=0.01)


def test_initial_profiles_kept_are_rows_too(simulated):
    observed = simulated.observations
    given: dict[str, Any] = {"candidates": {"a": CONSTANT}, "targets": {"grid": [simulated]}}
    rows = compare(with_persistence=True, **given).rows
    errors = {(row.closure, row.variable): row.root_mean_square for row in rows}
    assert list(dict.fromkeys(row.closure for row in rows)) == ["a", "persistence"]
    change = np.asarray(observed.profiles["temperature"]) - simulated.case.initial_state.temperature
    expected = float(np.sqrt(np.mean(change[1:] ** 2)))
    assert errors["persistence", "temperature"] == pytest.approx(expected, rel=1e-12)
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"candidates": {"persistence": CONSTANT}}, "persistence twice"),
        ({"candidates": {}}, "compare none"),
        ({"targets": {"grid": [simulated, simulated]}}, "compare small twice"),
        (
            {"targets": {"grid": [dataclasses.replace(simulated, time_window=(7200.0, math.inf))]}},
            "3600 7200",
        ),
    )
    for change, message in refused:
        with error_naming(ValueError, message):
            compare(with_persistence=True, **given | change)


@pytest.mark.parametrize("model_faces", [[-32, -20, -12, -6, 0], np.linspace(-32, 0, 9)])
def test_uneven_cells_count_by_thickness(model_faces):
    grid, model_grid = (tl.Grid(jnp.asarray(each, float)) for each in ([-32, -20, -12, -6, 0], model_faces))
    still, time = np.zeros((3, 4)), np.array([0.0, 600.0, 1200.0])
    warm_above = {"temperature": 20.0 + (still + [0, 0, 0, 1]), "u": still, "v": still}
    observed = tl.Observations(time, grid.z_center, {name: jnp.asarray(x) for name, x in warm_above.items()})
    state = tl.State.from_profiles(model_grid, temperature=20.0)
    case = dataclasses.replace(_case(tl.SurfaceFluxes()).on(model_grid), initial_state=state)
    target = dataclasses.replace(_target(case, observed), weights={"temperature": 1.0})
    rows = compare({"a": CONSTANT}, {"grid": [target]}, with_persistence=True).rows
    errors = [row.root_mean_square for row in rows]
    errors.append(errors_and_run(CONSTANT, target.comparison)[0]["temperature"].root_mean_square)
    score, _ = misfit(CONSTANT, target.comparison, RootMeanSquare(), tl.SaveEverything())
    np.testing.assert_allclose([*errors, score], np.sqrt(6 / 32), rtol=1e-9)


def write_gotm(path, **changes):
    """A result of GOTM of 2 cells at 3 times; changes replace variables, or remove them with `None`."""
    rows = np.arange(6.0).reshape(3, 2, 1, 1)
    faces = np.tile(np.reshape([-10.0, -4.0, 0.0], (1, 3, 1, 1)), (3, 1, 1, 1))
    column = ("time", "z", "lat", "lon")
    variables = {
        "time": (("time",), [0.0, 600.0, 1200.0], {"units": "seconds since 2000-01-01 00:00:00"}),
        "zi": (("time", "zi", "lat", "lon"), faces),
        "temp": (column, 10.0 + rows),
        "u": (column, 0.1 * rows),
        "v": (column, 0.0 * rows),
    } | changes
    given = {name: value for name, value in variables.items() if value is not None}
    xr.Dataset(given).to_netcdf(path)
    return path


def test_results_of_gotm_are_read(tmp_path):
    run, start = _run_of(write_gotm(tmp_path / "gotm.nc")) or pytest.fail("no run")
    assert start is not None and start.startswith("2000-01-01")
    np.testing.assert_array_equal(run.z_face, [-10.0, -4.0, 0.0])
    np.testing.assert_array_equal(run.time, [0.0, 600.0, 1200.0])
    np.testing.assert_array_equal(run.profiles["temperature"], [[10.0, 11.0], [12.0, 13.0], [14.0, 15.0]])
    still, _ = _run_of(write_gotm(tmp_path / "still.nc", u=None, v=None)) or pytest.fail("no run")
    assert set(still.profiles) == {"temperature"}
    assert _run_of(write_gotm(tmp_path / "mooring.nc", zi=None)) is None
    months = {"units": "months since 2000-01-01"}
    with error_naming(FileFormatError, "bad.nc time months"):
        _run_of(write_gotm(tmp_path / "bad.nc", time=(("time",), [0.0, 1.0, 2.0], months)))


def test_tables_show_means_and_what_failed():
    def row(closure, case, dt, error, note=""):
        return ErrorRow(closure, case, "temperature", "K", error, -error, "8 cells", dt, case, note)

    rows = [row("a", "x", 60.0, 0.001), row("a", "y", 60.0, 0.003), row("a", "x", 600.0, 0.002)]
    rows += [row("b", "x", 60.0, 0.005), row("b", "y", 60.0, np.nan, "why"), row("b", "x", 600.0, 0.1)]
    by_case, notes = tables(rows)
    assert by_case.rows[0] == ("a", "0.001 (-0.001)", "0.003 (-0.003)", "0.002", "0.003")
    assert notes.rows == (("b", "y", "8 cells", "60", "why"),)


CONFIG = """
closures:
  - constant
  - {name: constant, label: calibrated, parameters: values.yaml}
  - {name: constant, label: given, parameters: {viscosity: 0.03, diffusivity: 0.02}}
cases: [{format: lesbrary, path: little.jld2}]
grid: [{kind: uniform, n_cells: 8}, {kind: uniform, n_cells: 4}]
time: {dt: [60.0, 600.0]}
variables: [temperature]
start: 600.0
"""


def _rows(folder):
    with open(folder / "comparison.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_command_writes_table_summary_and_figures(tmp_path):
    config, out = tmp_path / "few.yaml", tmp_path / "out"
    write_lesbrary(tmp_path / "little.jld2")
    (tmp_path / "values.yaml").write_text(
        "closure: ConstantDiffusivity\nparameters: {viscosity: 0.03, diffusivity: {value: 0.02}}\n"
    )
    config.write_text(CONFIG)
    invoked("compare", config, "--output", out)
    rows = _rows(out)
    labels = ["constant", "calibrated", "given", "persistence"]
    assert [row["closure"] for row in rows[::4]] == labels and len(rows) == 16
    constant, calibrated, given = ([row["root_mean_square"] for row in rows[i : i + 4]] for i in (0, 4, 8))
    assert calibrated == given != constant
    names = set("comparison.csv comparison.md profiles_little_case.png sections_little_case.png".split())
    assert {path.name for path in out.iterdir()} == names
    # Chosen ones alone, and the same numbers again.
    chosen = ("--closures", "given", "--cases", "little_case")
    invoked("compare", config, "--output", tmp_path / "one", *chosen)
    assert rows[8:] == _rows(tmp_path / "one")


def resting(name: str, **observed) -> Target:
    """Uniform water at rest, which no closure changes, seen at unequal times by three instruments."""
    grid = tl.Grid.uniform(10.0, 5)
    state, forcing = tl.State.from_profiles(grid, temperature=15.0), tl.ConstantForcing(tl.SurfaceFluxes())
    case = tl.Case(grid, state, forcing, name=name, duration=7200.0)
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
    found = compare({"constant": CONSTANT, "broken": BROKEN}, {"5 cells": targets})
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
    assert [set(runs) for runs in found.runs.values()] == [{"constant"}, {"constant"}]
    parts = {part.title: part for part in tables(found.rows)}
    assert parts["temperature [K]"].rows == (("constant", "0.5 (-0.5)"), ("broken", "–"))
    assert {line[:2] for line in parts["Notes"].rows} == {("broken", "warmer"), ("broken", "surface")}


@pytest.mark.long
def test_the_command_writes_a_table_of_variables_and_figures(tmp_path):
    write_lesbrary(tmp_path / "little.jld2")
    (tmp_path / "few.yaml").write_text(
        "closures: [constant, {name: constant, label: still, parameters: {viscosity: 0.0}}]\n"
        "cases: [{format: lesbrary, path: little.jld2}]\nstart: 600.0\n"
        "variables: [temperature, u]\ntime: {dt: 60.0}\ngrid: {kind: native}\npersistence: false\n"
    )
    invoked("compare", tmp_path / "few.yaml", "--output", tmp_path / "out")
    rows = _rows(tmp_path / "out")
    expected = [(label, name) for label in ("constant", "still") for name in ("temperature", "u")]
    assert [(row["closure"], row["variable"]) for row in rows] == expected
    assert all(float(row["root_mean_square"]) > 0.0 for row in rows)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    figures = {"profiles_little_case.png", "sections_little_case.png"}
    assert names == {"comparison.csv", "comparison.md"} | figures
