"""Errors of closures on the same observations: of large-eddy simulations, moorings, profiles or lakes.

Every closure runs on every target, which is a case on a grid with a time step and its observations. Errors
are those of `target`, as in `tunax-lite evaluate`, but means over cells count by the thickness of the cells.
Where the observed times are multiples of the step, targets with the same number of cells share programs.
"""

import dataclasses
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..column.grid import Grid
from ..column.model import Model
from ..column.trajectory import Trajectory
from ..io.series import Series
from ..io.writing import write_text
from ..plausibility.water_limits import extremes_of
from ..runtime.engine import AbstractEngine, ThisProcess
from .observed import ComparedVariable, depends_on
from .target import (
    Comparison,
    ErrorPair,
    Target,
    errors_and_run,
    errors_of_states,
    initial_states,
    padded_together,
    run_of_states,
)
from .validation import ErrorRow, persistence_errors, rows_of

VARIABLES = ("temperature", "u", "v")

_SAME_TIME = 1e-3
"""Difference of times of a stored result and of observations that count as equal [s]."""

PERSISTENCE = "persistence"
"""Label of the forecast that keeps the initial profile."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with the label of its rows."""

    label: str
    model: Model


@dataclasses.dataclass(frozen=True)
class StoredResult:
    """A run of another model, or an earlier run, on a case of the comparison."""

    label: str
    case: str
    time: np.ndarray  # [s] since the start
    grid: Grid  # of the other model
    profiles: Mapping[str, np.ndarray]  # of temperature, u and v, `(n_cells, n_times)`


def on_target(stored: StoredResult, target: Target) -> Trajectory:
    """A stored result interpolated to the cells of a target and the times of its comparison.

    Raises `ValueError` for a result of another depth, that is too short, or that lacks an observed variable.
    """
    case, comparison = target.case, target.comparison
    depth, case_depth = float(stored.grid.depth), float(case.grid.depth)
    if abs(depth - case_depth) > 1e-6 * case_depth:
        raise ValueError(
            f"{stored.label}: expected a result over the {case_depth:g} m of {stored.case}, got {depth:g} m; "
            "choose a result of the same case."
        )
    profiles = target.observations.profiles
    needed = {part for name in target.weights for part in ([name] if name in profiles else depends_on(name))}
    if absent := sorted(needed - stored.profiles.keys()):
        raise ValueError(
            f"{stored.label}: expected {', '.join(absent)} of {stored.case}, got "
            f"{', '.join(stored.profiles)}; choose others in `variables`."
        )
    times = np.asarray(target.observations.time, dtype=float)[target.times]
    if comparison.in_time is None:
        times = comparison.times
    if times[-1] > stored.time[-1] + _SAME_TIME:
        raise ValueError(
            f"{stored.label}: expected a result of {stored.case} up to {times[-1]:g} s, got one up to "
            f"{stored.time[-1]:g} s; choose an earlier `end`."
        )
    z, stored_z = np.asarray(case.grid.z_center), np.asarray(stored.grid.z_center)

    def on_frames(values: np.ndarray) -> jax.Array:
        rows = Series(stored.time, values.T).on(times)
        return jnp.asarray(np.stack([np.interp(z, stored_z, row) for row in rows]))

    values = {name: on_frames(each) for name, each in stored.profiles.items()}
    states = dataclasses.replace(initial_states(case, times.size), **values)
    return run_of_states(case, states, times, np.rint(times / target.dt))


class Compared(NamedTuple):
    """Result of a comparison.

    Args:
        rows: by candidate, grid, case and time step, then those of stored results and of persistence.
        shown: targets on the first grid with the first time step, for figures.
        runs: successful runs of `shown`, by name of the case and label.
    """

    rows: tuple[ErrorRow, ...]
    shown: tuple[Target, ...]
    runs: Mapping[str, Mapping[str, Trajectory]]


def compare(
    candidates: Sequence[Candidate],
    targets: Mapping[str, Sequence[Target]],
    *,
    stored: Sequence[StoredResult] = (),
    with_persistence: bool = False,
    engine: AbstractEngine | None = None,
    report: Callable[[float, str], None] = lambda fraction, what: None,
) -> Compared:
    """Errors of all candidates on all targets.

    Args:
        candidates: with distinct labels.
        targets: by the name of their grid; all variables in their weights are compared.
        stored: results of other models on these cases, for the targets of `Compared.shown`.
        with_persistence: whether to add rows for persistence of the initial profiles, on all targets.
        engine: runs candidates; by default this process.
        report: called with the completed fraction and the last run.

    Returns:
        Rows. A run that raises, is not finite, or has impossible water has no errors, but a note with the
        reason; unlikely water is a note in addition to the errors.

    Raises:
        ValueError: no candidates or targets, duplicate labels or cases, or a stored result that does not
            fit.
    """
    first = list(next(iter(targets.values()), []))
    shown = tuple(target for target in first if target.dt == first[0].dt)
    _check(candidates, shown, stored, with_persistence)
    padded = {grid: _padded_if_possible(each, candidates[0].model) for grid, each in targets.items()}
    matches = [(target, each) for each in stored for target in shown if target.case.name == each.case]
    stored_runs = [(target, each.label, on_target(each, target)) for target, each in matches]
    pairs, n_done = list(itertools.product(candidates, targets)), itertools.count(1)

    def show_progress(number: int, result: object) -> None:
        candidate, grid = pairs[number]
        report(next(n_done) / len(pairs), f"{candidate.label}, {grid}")

    engine = ThisProcess() if engine is None else engine
    rows_and_runs = functools.partial(_rows_and_runs, padded, (next(iter(targets)), first[0].dt))
    results = engine.map(rows_and_runs, pairs, show_progress)
    rows, runs = list[ErrorRow](), {target.case.name: dict[str, Trajectory]() for target in shown}
    for (candidate, _), (rows_of_pair, runs_of_pair) in zip(pairs, results, strict=True):
        rows += rows_of_pair
        for name, run in runs_of_pair.items():
            runs[name][candidate.label] = run
    for target, label, run in stored_runs:
        rows += rows_of(label, target, errors_of_states(_by_thickness(target), run.state), pairs[0][1])
        runs[target.case.name][label] = run
    for grid, each in padded.items() if with_persistence else ():
        for target in each:
            comparison = _by_thickness(target)
            rows += rows_of(PERSISTENCE, target, persistence_errors(comparison), grid)
    return Compared(tuple(rows), shown, runs)


def _check(
    candidates: Sequence[Candidate],
    shown: Sequence[Target],
    stored: Sequence[StoredResult],
    with_persistence: bool,
) -> None:
    """Raise `ValueError` unless every label has one result for each case."""
    labels, names = [each.label for each in candidates], [target.case.name for target in shown]
    if not labels or not names:
        raise ValueError("compare: expected at least one closure and one case, got none; add one.")
    if unknown := [each for each in stored if each.case not in names]:
        raise ValueError(
            f"{unknown[0].label}: expected a result of one of the cases {', '.join(names)}, got "
            f"{unknown[0].case}."
        )
    results = Counter(itertools.product([*labels, *[PERSISTENCE] * with_persistence], names))
    results.update((each.label, each.case) for each in stored)
    (label, name), number = results.most_common(1)[0]
    if number > 1:
        raise ValueError(
            f"compare: expected one result with the label {label} for {name}, got {number}; rename one."
        )


def _padded_if_possible(targets: Sequence[Target], model: Model) -> Sequence[Target]:
    """Pad the targets on one grid so that they share programs, or return them as they are."""
    for target in targets:
        _ = target.comparison  # raises errors before anything runs
    try:
        padded = padded_together(targets, model)
        for target in padded:
            _ = target.comparison
    except ValueError:  # observed between two steps, or at heights that vary
        return targets
    return padded


def _rows_and_runs(
    targets: Mapping[str, Sequence[Target]], shown: tuple[str, float], pair: tuple[Candidate, str]
) -> tuple[list[ErrorRow], dict[str, Trajectory]]:
    """Rows of a candidate on one grid, and its runs by case if grid and time step are those `shown`."""
    (candidate, grid), rows, runs = pair, list[ErrorRow](), dict[str, Trajectory]()
    for target in targets[grid]:
        errors, run, note = _errors(candidate.model, target)
        rows += rows_of(candidate.label, target, errors, grid, note)
        if errors is not None and run is not None and (grid, target.dt) == shown:
            runs[target.case.name] = run
    return rows, runs


def _errors(model: Model, target: Target) -> tuple[Mapping[str, ErrorPair] | None, Trajectory | None, str]:
    """Errors and run, each `None` after a failure, and a note with the reason or on unlikely water."""
    try:
        errors, run = errors_and_run(model, _by_thickness(target))
    # Whatever a closure raises, continue with the others.
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        return None, None, message[:200]
    leaves = [np.asarray(leaf).reshape(run.n_frames, -1) for leaf in jax.tree.leaves(run.state)]
    is_finite = np.all([np.isfinite(leaf).all(axis=1) for leaf in leaves], axis=0)
    if not is_finite.all():
        return None, run, f"not finite after {float(run.time[int(is_finite.argmin())]) / 3600.0:.3g} h"
    water = extremes_of(run, has_ice=target.case.ice is not None)
    if not water:
        is_finite = all(math.isfinite(error.root_mean_square) for error in errors.values())
        return (errors, run, "") if is_finite else (None, run, "errors too large for a number")
    worst = min(water, key=lambda extreme: not extreme.is_impossible)
    kind = "impossible water" if worst.is_impossible else "unlikely water"
    note = f"{kind}: {worst.described(f'{worst.time / 3600.0:.3g} h')}"
    return None if worst.is_impossible else errors, run, note


def _by_thickness(target: Target) -> Comparison:
    """The comparison of a target in which means over cells count by the thickness of the cells."""

    def weighted(name: str, variable: ComparedVariable) -> ComparedVariable:
        thickness = target.sampled[name].thickness
        if thickness is None:
            return variable
        shares = variable.shares * thickness
        return dataclasses.replace(variable, shares=shares / shares.sum())

    variables = {name: weighted(name, variable) for name, variable in target.comparison.variables.items()}
    return dataclasses.replace(target.comparison, variables=variables)


@dataclasses.dataclass(frozen=True)
class Summary:
    """A part of a comparison as rows of text cells."""

    title: str
    explanation: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(rows: Sequence[ErrorRow]) -> tuple[Summary, ...]:
    """A table for each variable on the first grid, means by source, grid and time step, and notes."""
    grid, step = rows[0].grid, rows[0].time_step
    shown = [row for row in rows if (row.grid, row.time_step) == (grid, step)]
    setting = f"{grid}, steps of {step:g} s"
    parts = [_by_case(shown, variable, setting) for variable in dict.fromkeys(row.variable for row in shown)]
    rows_of_first = [row for row in rows if row.variable == rows[0].variable]
    if any(row.group for row in shown):
        groups = [(row, row.group.replace("_", " ") or "others") for row in rows_of_first if row in shown]
        parts.append(_means(f"By source, {setting}", groups))
    settings = [(row, f"{row.grid}, {row.time_step:g} s") for row in rows_of_first]
    if len({name for _, name in settings}) > 1:
        parts.append(_means("Grid and time step", settings))
    noted = dict.fromkeys((r.closure, r.case, r.grid, f"{r.time_step:g}", r.note) for r in rows if r.note)
    if noted:
        text = "Runs without errors, and runs with unlikely water, whose errors mean little."
        parts.append(Summary("Notes", text, ("closure", "case", "grid", "step [s]", "note"), tuple(noted)))
    return tuple(parts)


def _by_case(shown: Sequence[ErrorRow], variable: str, setting: str) -> Summary:
    rows = [row for row in shown if row.variable == variable]
    cases, lines = tuple(dict.fromkeys(row.case for row in rows)), []
    for closure in dict.fromkeys(row.closure for row in rows):
        of_closure = {row.case: row for row in rows if row.closure == closure}
        cells = [_cell(of_closure.get(case)) for case in cases]
        if len(cases) > 1:
            errors = [row.root_mean_square for row in of_closure.values()]
            cells += [number(float(function(errors)), 3, "g") for function in (np.mean, np.max)]
        lines.append((closure, *cells))
    return Summary(
        f"{variable.replace('_', ' ')} [{rows[0].unit}]",
        f"Root mean square error, and mean of model minus observed in brackets; {setting}.",
        ("closure", *(case.replace("_", " ") for case in cases), *("mean", "worst")[: 2 * (len(cases) > 1)]),
        tuple(lines),
    )


def _means(title: str, keyed: Sequence[tuple[ErrorRow, str]]) -> Summary:
    """Means over cases, a column for each key."""
    keys, lines = tuple(dict.fromkeys(key for _, key in keyed)), []
    for closure in dict.fromkeys(row.closure for row, _ in keyed):
        errors = {key: list[float]() for key in keys}
        for row, key in keyed:
            if row.closure == closure:
                errors[key].append(row.root_mean_square)
        lines.append(
            (closure, *(number(float(np.mean(each)), 3, "g") if each else "–" for each in errors.values()))
        )
    row = keyed[0][0]
    text = (
        f"Mean over the cases of the root mean square error of {row.variable.replace('_', ' ')} [{row.unit}]."
    )
    return Summary(title, text, ("closure", *keys), tuple(lines))


def _cell(row: ErrorRow | None) -> str:
    if row is None or not math.isfinite(row.root_mean_square):
        return "–"
    return f"{row.root_mean_square:.3g} ({row.mean:+.2g})"


def number(value: float, digits: int, kind: str = "f") -> str:
    """A number for a table, with a dash for one that is missing."""
    return f"{value:.{digits}{kind}}" if math.isfinite(value) else "–"


def write_markdown(
    path: str | Path, title: str, parts: Sequence[Summary], figures: Mapping[str, str], command: str
) -> None:
    """Write the summaries of a table as Markdown, with the command that made it and the figures."""
    lines = [f"# {title}", "", f"    {command}", ""]
    for part in parts:
        rule = ["---", *("---:" for _ in part.header[1:])]
        table = ["| " + " | ".join(row) + " |" for row in (part.header, rule, *part.rows)]
        lines += [f"## {part.title}", "", part.explanation, "", *table, ""]
    for shown, name in figures.items():
        lines += [f"![{shown}]({name})", ""]
    write_text(path, "\n".join(lines))
