"""Errors of closures on the same observations: large-eddy simulations, moorings, profiles or lakes.

Every closure runs on every target: a case on a grid, with a time step and observations. Targets with the same
number of cells share programs if all observed times are multiples of the step and the heights are fixed.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from ..column.model import Model
from ..column.trajectory import Trajectory
from ..io.writing import write_text
from ..plausibility.water_limits import extremes_of
from ..runtime.engine import AbstractEngine, ThisProcess
from ..runtime.jax_setup import failures_as_values
from .target import (
    ErrorPair,
    Target,
    errors_and_run,
    padded_together,
)
from .validation import ErrorRow, persistence_errors, rows_of

VARIABLES = ("temperature", "u", "v")

PERSISTENCE = "persistence"
"""Label of the forecast that keeps the initial profile."""


class Compared(NamedTuple):
    """Result of a comparison.

    Args:
        rows: by candidate, grid and target, then those of persistence.
        shown: targets on the first grid with the first time step, for figures.
        runs: successful runs of `shown`, by name of the case and label.
    """

    rows: tuple[ErrorRow, ...]
    shown: tuple[Target, ...]
    runs: Mapping[str, Mapping[str, Trajectory]]


@failures_as_values()
def compare(
    candidates: Mapping[str, Model],
    targets: Mapping[str, Sequence[Target]],
    *,
    with_persistence: bool = False,
    engine: AbstractEngine | None = None,
    report: Callable[[float, str], None] = lambda fraction, what: None,
) -> Compared:
    """Compute the errors of all candidates on all targets.

    Args:
        candidates: by the label of their rows.
        targets: by the name of their grid; all variables in their weights are compared.
        with_persistence: true to add rows for persistence of the initial profiles, on all targets.
        engine: runs each candidate on each grid; by default this process.
        report: called with the completed fraction, and the last candidate and grid.

    A run that raises, is not finite, or has impossible water has the error NaN and a note with the reason. A
    run with unlikely water has its errors and a note.

    Raises:
        ValueError: no candidates or targets, inconsistent targets, two cases of one name, or a candidate
            labelled `persistence` if rows with this label are added.
    """
    first = list(next(iter(targets.values()), []))
    shown = tuple(target for target in first if target.dt == first[0].dt)
    names = [target.case.name for target in shown]
    if not candidates or not names:
        raise ValueError("compare: expected at least one closure and one case, got none; add one.")
    for texts in (names, [*candidates, *[PERSISTENCE] * with_persistence]):
        if repeated := [text for text in texts if texts.count(text) > 1]:
            raise ValueError(
                f"compare: expected different labels and cases, got {repeated[0]} twice; rename one."
            )
    model = next(iter(candidates.values()))
    padded = {grid: _padded_if_possible(each, model) for grid, each in targets.items()}
    pairs, n_done = list(itertools.product(candidates.items(), targets)), itertools.count(1)

    def show_progress(number: int, result: object) -> None:
        (label, _), grid = pairs[number]
        report(next(n_done) / len(pairs), f"{label}, {grid}")

    engine = ThisProcess() if engine is None else engine
    rows_and_runs = functools.partial(_rows_and_runs, padded, (next(iter(targets)), first[0].dt))
    results = engine.map(rows_and_runs, pairs, show_progress)
    rows, runs = list[ErrorRow](), {target.case.name: dict[str, Trajectory]() for target in shown}
    for ((label, _), _), (rows_of_pair, runs_of_pair) in zip(pairs, results, strict=True):
        rows += rows_of_pair
        for name, run in runs_of_pair.items():
            runs[name][label] = run
    for grid, each in padded.items() if with_persistence else ():
        for target in each:
            rows += rows_of(PERSISTENCE, target, persistence_errors(target.comparison), grid)
    return Compared(tuple(rows), shown, runs)


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
    targets: Mapping[str, Sequence[Target]], shown: tuple[str, float], pair: tuple[tuple[str, Model], str]
) -> tuple[list[ErrorRow], dict[str, Trajectory]]:
    """Rows of a candidate on one grid, and its successful runs by case if grid and step are `shown`."""
    ((label, model), grid), rows, runs = pair, list[ErrorRow](), dict[str, Trajectory]()
    for target in targets[grid]:
        errors, run, note = _errors(model, target)
        rows += rows_of(label, target, errors, grid, note)
        if errors is not None and run is not None and (grid, target.dt) == shown:
            runs[target.case.name] = run
    return rows, runs


def _errors(model: Model, target: Target) -> tuple[Mapping[str, ErrorPair] | None, Trajectory | None, str]:
    """Return errors (`None` after a failure), run (`None` if it raised), and a note on failure or water."""
    try:
        errors, run = errors_and_run(model, target.comparison)
    # A closure may raise anything; continue with the others.
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


@dataclasses.dataclass(frozen=True)
class Summary:
    """A part of a comparison as rows of text cells."""

    title: str
    explanation: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(rows: Sequence[ErrorRow]) -> tuple[Summary, ...]:
    """Make a table for each variable on the first grid with the first time step, and one of all notes."""
    grid, step = rows[0].grid, rows[0].dt
    shown = [row for row in rows if (row.grid, row.dt) == (grid, step)]
    setting = f"{grid}, steps of {step:g} s"
    parts = [_by_case(shown, variable, setting) for variable in dict.fromkeys(row.variable for row in shown)]
    noted = dict.fromkeys((r.closure, r.case, r.grid, f"{r.dt:g}", r.note) for r in rows if r.note)
    if noted:
        text = "Runs without errors, and runs with unlikely water, whose errors mean little."
        parts.append(Summary("Notes", text, ("closure", "case", "grid", "dt [s]", "note"), tuple(noted)))
    return tuple(parts)


def _by_case(shown: Sequence[ErrorRow], variable: str, setting: str) -> Summary:
    rows = [row for row in shown if row.variable == variable]
    cases, lines = tuple(dict.fromkeys(row.case for row in rows)), []
    statistics = {"mean": np.mean, "worst": np.max} if len(cases) > 1 else {}
    for closure in dict.fromkeys(row.closure for row in rows):
        of_closure = {row.case: row for row in rows if row.closure == closure}
        cells = [_cell(of_closure.get(case)) for case in cases]
        errors = [row.root_mean_square for row in of_closure.values()]
        cells += [number(float(statistic(errors)), 3, "g") for statistic in statistics.values()]
        lines.append((closure, *cells))
    return Summary(
        f"{variable.replace('_', ' ')} [{rows[0].unit}]",
        f"Root mean square error, and mean of model minus observed in brackets; {setting}.",
        ("closure", *(case.replace("_", " ") for case in cases), *statistics),
        tuple(lines),
    )


def _cell(row: ErrorRow | None) -> str:
    if row is None or not math.isfinite(row.root_mean_square):
        return "–"
    return f"{row.root_mean_square:.3g} ({row.mean:+.2g})"


def number(value: float, digits: int, kind: str = "f") -> str:
    """Format a number for a table, with a dash for one that is not finite."""
    return f"{value:.{digits}{kind}}" if math.isfinite(value) else "–"


def write_markdown(
    path: str | Path, title: str, parts: Sequence[Summary], figures: Mapping[str, str], command: str
) -> None:
    """Write the tables of a comparison as Markdown, with the command and the figures."""
    lines = [f"# {title}", "", f"    {command}", ""]
    for part in parts:
        rule = ["---", *("---:" for _ in part.header[1:])]
        table = ["| " + " | ".join(row) + " |" for row in (part.header, rule, *part.rows)]
        lines += [f"## {part.title}", "", part.explanation, "", *table, ""]
    for shown, name in figures.items():
        lines += [f"![{shown}]({name})", ""]
    write_text(path, "\n".join(lines))
