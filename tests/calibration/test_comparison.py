"""Closures side by side: errors against numbers worked out by hand, rows that say what went wrong, files."""

import csv
import dataclasses
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
from tests.io.observation_files import N_CELLS as N_CELLS_OF_FILE
from tests.io.observation_files import write_lesbrary
from tunax_lite.calibration import Target, comparison
from tunax_lite.calibration.comparison import (
    Candidate,
    Judging,
    Reference,
    StoredResult,
    compare_closures,
    compare_observed,
    summaries,
    tables,
)
from tunax_lite.calibration.target import errors_of_states
from tunax_lite.closures import AbstractPlainClosure
from tunax_lite.io import write_trajectory
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.runs import read_stored_run

DEPTH, N_CELLS, DT = 32.0, 8, 60.0
NAMES = ("temperature", "u", "v")
CONSTANT = tl.Model(tl.ConstantDiffusivity())
BROKEN = eqx.tree_at(lambda model: model.closure.diffusivity, CONSTANT, jnp.asarray(np.nan))
HOW = Judging(1200.0)
GIVEN: dict[str, Any] = {"n_cells": [N_CELLS], "time_steps": [DT], "how": HOW, "n_timings": 0}


def _constant(label: str, mixing: float, **changes) -> Candidate:
    return Candidate(label, tl.Model(tl.ConstantDiffusivity(viscosity=mixing, diffusivity=mixing), **changes))


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


def _reference(case: tl.Case) -> Reference:
    run = tl.simulate(CONSTANT, case, dt=DT, output_interval=600.0)
    profiles = {name: getattr(run.state, name) for name in NAMES}
    return Reference(case, tl.Observations(run.time, case.grid.z_center, profiles, name="small"))


@pytest.fixture(scope="module")
def reference():
    return _reference(_case())


class Refusing(AbstractPlainClosure):
    """A closure that does not like its inputs."""

    def init(self, inputs):
        raise ValueError("Refusing: expected a step of at most 1 s.\nChoose a shorter one.")

    def step(self, clo_state, inputs, dt):
        raise AssertionError("never reached")


@pytest.mark.long
def test_table_of_closures_one_of_which_blows_up(reference):
    seen = []
    compared = compare_closures(
        [
            Candidate("same", CONSTANT),
            Candidate("exploding", BROKEN),
            _constant("explicit", 1e3, theta=0.0),
            Candidate("refusing", tl.Model(Refusing())),
            _constant("weak", 1e-3),
        ],
        [reference],
        **GIVEN | {"time_steps": [DT, 600.0], "n_timings": 1},
        shown=(N_CELLS, DT),
        report=seen.append,
    )
    rows = {(row.closure, row.time_step): row for row in compared.rows}
    assert seen == list(compared.rows) and len(rows) == 10
    same = rows["same", DT]
    # The program makes the same steps as `simulate`, in the same order; averages add in another one.
    assert same.temperature_rms < 1e-13 and same.velocity_rms < 1e-15 and same.mixed_layer_depth_rms < 1e-9
    assert same.finite and same.note == "" and 0.0 < same.microseconds_per_step < 1e4
    assert rows["same", 600.0].temperature_rms > 1e-5
    for label, dt, note in (
        ("exploding", DT, "0.167 h"),
        ("explicit", DT, "water that cannot be"),
        ("refusing", DT, "at most 1 s. Choose"),
    ):
        row = rows[label, dt]
        assert not row.finite and note in row.note and "\n" not in row.note
        assert np.isnan([row.temperature_rms, row.velocity_rms, row.mixed_layer_depth_rms]).all()
    (shown,) = compared.shown
    assert list(shown.runs) == ["same", "weak"]
    difference = {name: shown.runs["weak"][name] - shown.reference[name] for name in NAMES}
    weak = rows["weak", DT]
    square = {name: np.mean(values[:, 2:] ** 2) for name, values in difference.items()}  # from 1200 s on
    assert weak.temperature_rms == pytest.approx(np.sqrt(square["temperature"]), rel=1e-12)
    assert weak.velocity_rms == pytest.approx(np.sqrt(square["u"] + square["v"]), rel=1e-12)


@pytest.mark.long
def test_water_beyond_its_limits_is_noted():
    # 4 m of still water at 19.96 degC lose Q 43 200 s / (1026 * 3992 * 4) K = 23.7 K.
    reference = _reference(_case(tl.SurfaceFluxes(heat_flux=-9e3), hours=12.0))
    (row,) = compare_closures([_constant("still", 1e-8)], [reference], **GIVEN).rows
    assert row.finite and np.isfinite(row.temperature_rms)
    assert row.note.startswith("unlikely water: temperature -3.7")
    titles = [part.title for part in summaries([row], resolution=row.resolution, time_step=DT)]
    assert titles[2:] == ["Unlikely water"]


def _states(target: Target, profiles) -> tl.State:
    n_times = len(profiles["u"])
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (n_times, *x.shape)), target.case.start_state)
    return dataclasses.replace(start, **profiles)


def test_errors_are_those_of_means_on_the_coarser_grid(reference):
    for n_cells in (4, 16):
        target = reference.target(n_cells, Judging(0.0))
        rng, les = np.random.default_rng(3), reference.observations.profiles
        model = {name: jnp.asarray(rng.normal(size=(les["u"].shape[0], n_cells))) for name in NAMES}
        shape = les["u"].shape[0], min(n_cells, N_CELLS), -1
        means = {name: [each[name].reshape(shape).mean(2) for each in (model, les)] for name in NAMES}
        errors = errors_of_states(target.comparison, _states(target, model))
        for name, (one, other) in means.items():
            expected = np.sqrt(np.mean((one - other) ** 2))
            assert errors[name].root_mean_square == pytest.approx(float(expected), rel=1e-12)


def test_references_and_comparisons_that_are_refused(reference):
    seen = reference.observations
    for changed, message in (
        ({"profiles": {"temperature": seen.profiles["temperature"]}}, "small temperature u v"),
        ({"time": seen.time + 600.0}, "small 0 7 600"),
        ({"time": seen.time**2}, "small 7 0"),
        ({"z": seen.z - 1.0}, "small 8 -31 -3"),
        ({"profiles": seen.profiles | {"u": seen.profiles["u"].at[2, 1].set(np.nan)}}, "small missing"),
    ):
        with error_naming(ValueError, message):
            Reference(reference.case, dataclasses.replace(seen, **changed))
    one = [Candidate("a", CONSTANT)]
    for settings, message in (
        ({"time_steps": [700.0]}, "small 600 700"),
        ({"how": Judging(7200.0)}, "small 3600 7200"),
        ({"candidates": []}, "compare_closures none"),
        ({"candidates": 2 * one}, "compare_closures a"),
    ):
        with error_naming(ValueError, message):
            compare_closures(**{"candidates": one, "references": [reference], **GIVEN, **settings})


def test_error_of_the_mixed_layer_depth_of_linear_profiles():
    case = _case()
    z, time = np.asarray(case.grid.z_center), jnp.asarray([0.0, 600.0])
    slope = {"reference": 0.02, "model": 0.01}
    profile = {name: np.stack([20.0 + value * z] * 2) for name, value in slope.items()}
    zero = jnp.zeros((2, N_CELLS))
    observed = {"temperature": jnp.asarray(profile["reference"]), "u": zero, "v": zero}
    reference = Reference(case, tl.Observations(time, case.grid.z_center, observed))
    target = reference.target(case.grid, Judging(0.0, 0.1))
    states = _states(target, observed | {"temperature": jnp.asarray(profile["model"])})
    layer = errors_of_states(target.comparison, states)["mixed_layer_depth_0.1K_from_0m"]
    # 2 m below the surface lies the uppermost center; from there 0.1 K are 5 m and 10 m.
    assert layer.root_mean_square == pytest.approx(5.0, rel=1e-9)


def test_initial_profiles_kept_and_stored_results_are_rows_too(reference):
    observed = reference.observations
    profiles = {name: np.asarray(observed.profiles[name]).T[:, ::2] for name in NAMES}
    profiles["temperature"] = profiles["temperature"] + 0.01
    time = np.append(np.asarray(observed.time)[::2], 1e5)  # every other time, and one that the case lacks
    profiles = {name: np.append(values, values[:, -1:], axis=1) for name, values in profiles.items()}
    peer = StoredResult("peer", "small", time, reference.case.grid, profiles, 30.0)
    given = {"candidates": [Candidate("a", CONSTANT)], "references": [reference], **GIVEN}
    _, kept, stored = compare_closures(with_persistence=True, stored=[peer], **given).rows
    assert (kept.closure, kept.finite) == ("persistence", True) and np.isnan(kept.microseconds_per_step)
    start = np.asarray(reference.case.initial_state.temperature)
    change = np.asarray(observed.profiles["temperature"]) - start
    assert kept.temperature_rms == pytest.approx(np.sqrt(np.mean(change[2:] ** 2)), rel=1e-12)
    assert (stored.closure, stored.n_cells, stored.time_step) == ("peer", N_CELLS, 30.0)
    assert stored.temperature_rms == pytest.approx(0.01, rel=1e-9) and stored.velocity_rms < 1e-15
    for change, message in (
        ({"case": "large"}, "peer small large"),
        ({"label": "a"}, "a label"),
        ({"time": time + 100.0}, "peer small 600 0 100"),
        ({"grid": tl.Grid.uniform(64.0, N_CELLS)}, "peer small 32 64"),
    ):
        with error_naming(ValueError, message):
            compare_closures(stored=[dataclasses.replace(peer, **change)], **given)


@pytest.mark.parametrize(
    "faces, own_faces, error",
    [
        ([-32, -20, -12, -6, 0], [-32, -20, -12, -6, 0], np.sqrt(6 / 32)),
        ([-32, -20, -12, -6, 0], np.linspace(-32, 0, 9), np.sqrt(6 / 32)),  # over the simulation's cells
        ([-32, -20, -4, -1, 0], [-32, -20, -4, 0], 0.25 * np.sqrt(4 / 32)),  # the levels do not fix the faces
    ],
)
def test_uneven_cells_count_by_thickness(faces, own_faces, error):
    grid, own = (tl.Grid(jnp.asarray(each, float)) for each in (faces, own_faces))
    still, time = np.zeros((3, 4)), np.array([0.0, 600.0, 1200.0])
    warm_above = {"temperature": 20.0 + (still + [0, 0, 0, 1]), "u": still, "v": still}
    observed = tl.Observations(time, grid.z_center, {name: jnp.asarray(x) for name, x in warm_above.items()})
    profiles = {name: np.full((own.n_cells, 3), 20.0 * (name == "temperature")) for name in NAMES}
    ends_early = StoredResult("peer", "small", time - [0.0, 0.0, 5e-4], own, profiles, 30.0)
    references = [Reference(_case().on(grid), observed)]
    given = GIVEN | {"n_cells": [4], "references": references, "stored": [ends_early]}
    rows = compare_closures([Candidate("a", CONSTANT)], **given).rows
    assert rows[-1].temperature_rms == pytest.approx(error, rel=1e-9)


@pytest.mark.long
def test_errors_at_the_levels_of_the_simulation_with_cells_of_a_thickness(reference):
    candidate, given = (
        _constant("a", 1e-3),
        GIVEN | {"n_cells": [16.0], "how": Judging(1200.0, averaging="points")},
    )
    references = [dataclasses.replace(reference, group="some")]
    compared = compare_closures([candidate], references, shown=(16.0, DT), **given)
    (row,), (shown,) = compared.rows, compared.shown
    assert (row.n_cells, row.cell_thickness, row.resolution, row.group) == (3, 16.0, "cells of 16 m", "some")
    case = reference.case.on(tl.Grid.uniform(DEPTH, 3))
    run = tl.simulate(candidate.model, case, dt=DT, output_interval=600.0).state.temperature
    z, centers = np.asarray(reference.observations.z), np.asarray(case.grid.z_center)
    at_levels = np.stack([np.interp(z, centers, profile) for profile in np.asarray(run)])
    difference = at_levels - np.asarray(reference.observations.profiles["temperature"])
    assert row.temperature_rms == pytest.approx(np.sqrt(np.mean(difference[2:] ** 2)), rel=1e-12)
    np.testing.assert_allclose(shown.runs["a"]["temperature"], at_levels.T, rtol=1e-12)


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
    xr.Dataset(given, attrs={"gotm_yaml": "time:\n   dt: 30.0\n"}).to_netcdf(path)
    return path


def test_results_of_gotm_and_of_this_package_are_read(tmp_path):
    run = read_stored_run(write_gotm(tmp_path / "gotm.nc"))
    np.testing.assert_array_equal(run.z_face, [-10.0, -4.0, 0.0])
    np.testing.assert_array_equal(run.profiles["temperature"], [[10.0, 12.0, 14.0], [11.0, 13.0, 15.0]])
    assert run.dt == 30.0
    for change, message in (
        ({"temp": None}, "bad.nc temp u v zi"),
        ({"time": (("time",), [0.0, 1.0, 2.0], {"units": "months since 2000-01-01"})}, "bad.nc time months"),
    ):
        with error_naming(FileFormatError, message):
            read_stored_run(write_gotm(tmp_path / "bad.nc", **change))
    case = _case()
    trajectory = tl.simulate(CONSTANT, case, dt=DT, output_interval=600.0)
    write_trajectory(trajectory, tmp_path / "own.nc")
    own = read_stored_run(tmp_path / "own.nc")
    np.testing.assert_array_equal(own.profiles["u"], np.asarray(trajectory.state.u).T)
    np.testing.assert_array_equal(own.z_face, case.grid.z_face)


def test_summaries_show_means_and_what_failed():
    def row(closure, case, dt, error, note=""):
        errors = error, 2.0 * error, 1e3 * error
        return comparison.ComparisonRow(closure, case, 8, dt, *errors, 4.0, not note, note)

    rows = [row("a", "x", 60.0, 0.001), row("a", "y", 60.0, 0.003), row("a", "x", 600.0, 0.002)]
    rows += [row("b", "x", 60.0, 0.005), row("b", "y", 60.0, np.nan, "why"), row("b", "x", 600.0, 0.1)]
    by_case, by_resolution, failed = summaries(rows, resolution="8 cells", time_step=60.0)
    assert by_case.rows[0] == ("a", "1.00", "3.00", "2.00", "4.0", "2.0", "4.00")
    assert by_resolution.rows == (("a", "2.00", "2.00"), ("b", "–", "100.00"))
    assert failed.rows == (("b", "y", "8", "60", "why"),)


CONFIG = """
closures:
  - constant
  - {name: constant, label: calibrated, parameters: values.yaml}
  - {name: constant, label: given, parameters: {viscosity: 0.03, diffusivity: 0.02}}
cases: [{format: lesbrary, path: little.jld2}]
n_cells: [4, 8]
time_steps: [60.0, 600.0]
start: 600.0
n_timings: 1
figures: {n_cells: 8, time_step: 60.0}
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
    assert {row["finite"] for row in rows} == {"true"}
    constant, calibrated, given = ([row["temperature_rms"] for row in rows[i : i + 4]] for i in (0, 4, 8))
    assert calibrated == given != constant
    names = set("comparison.csv comparison.md profiles_little_case.png sections_little_case.png".split())
    assert {path.name for path in out.iterdir()} == names
    # Chosen ones alone, and the same numbers again.
    chosen = ("--closures", "given", "--cases", "little_case")
    invoked("compare", config, "--output", tmp_path / "one", *chosen)
    untimed = [row | {"microseconds_per_step": ""} for row in rows + _rows(tmp_path / "one")]
    assert untimed[8:16] == untimed[16:]


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
    found = compare_observed([Candidate("constant", CONSTANT), Candidate("broken", BROKEN)], targets)
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


def stored(n_cells: int = 3, depth: float = 10.0, end: float = 7200.0, **changes) -> StoredResult:
    """Water of another model that warms by 1 K in 7200 s, on a grid of its own."""
    time = np.linspace(0.0, end, 5)
    warming = np.tile(15.0 + time / 7200.0, (n_cells, 1))
    profiles = {"temperature": warming, "u": 0.0 * warming, "v": 0.0 * warming} | changes
    return StoredResult("GOTM", "warmer", time, tl.Grid.uniform(depth, n_cells), profiles, np.nan)


def test_results_of_other_models_are_judged_on_the_cells_and_at_the_times_of_the_observations():
    series = {"sea_surface_temperature": jnp.array([15.0 + 1.0 / 12.0, 15.25, jnp.nan])}
    target = resting("warmer", profiles={"temperature": warm(0.0), "u": warm(-15.0)}, series=series)
    candidates, salinity = [Candidate("constant", CONSTANT)], np.full((3, 5), 35.0)
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
def test_the_command_writes_a_table_of_variables_and_figures(tmp_path):
    write_lesbrary(tmp_path / "little.jld2")
    (tmp_path / "few.yaml").write_text(
        "closures: [constant, {name: constant, label: still, parameters: {viscosity: 0.0}}]\n"
        "cases: [{format: lesbrary, path: little.jld2}]\nstart: 600.0\n"
        "observed: {variables: [temperature, u], time_step: 60.0, grid: {kind: native}}\n"
        "stored: [{label: GOTM, path: gotm.nc}]\n"
    )
    faces = np.tile(np.linspace(-4.0 * N_CELLS_OF_FILE, 0.0, 4), (3, 1))
    of_cells = {name: (("time", "z"), np.full((3, 3), 19.0)) for name in ("temp", "u", "v")}
    time = ("time", [0.0, 900.0, 1800.0], {"units": "seconds since 2000-01-01 00:00:00"})
    write_gotm(tmp_path / "gotm.nc", time=time, zi=(("time", "zi"), faces), **of_cells)
    invoked("compare", tmp_path / "few.yaml", "--output", tmp_path / "out")
    rows = _rows(tmp_path / "out")
    expected = [(label, name) for label in ("constant", "still", "GOTM") for name in ("temperature", "u")]
    assert [(row["closure"], row["variable"]) for row in rows] == expected
    assert all(float(row["root_mean_square"]) > 0.0 for row in rows)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    figures = {"profiles_little_case.png", "sections_little_case.png"}
    assert names == {"comparison.csv", "comparison.md"} | figures
