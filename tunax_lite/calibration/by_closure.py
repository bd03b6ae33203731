"""Closures on any observed cases: errors of every observed variable, and the runs behind them.

Observations may be unequal in time, at any heights, of several variables, of lakes: each run is compared with
them as `evaluate` does, at the observed times and heights, over a time window.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from ..column.model import Model
from ..column.observables import unit_of_difference
from ..column.trajectory import Trajectory
from ..plausibility.water_limits import Extreme
from .comparison import Candidate, Summary
from .target import Target, errors_and_water
from .validation import run_to_the_end


@dataclasses.dataclass(frozen=True)
class ObservedRow:
    """One closure against one variable of one case [unit]; NaN if the run failed."""

    closure: str
    case: str
    variable: str
    unit: str
    root_mean_square: float
    mean: float  # model minus observed
    note: str = ""


@dataclasses.dataclass(frozen=True)
class ObservedComparison:
    """Result of `compare_observed`: the table, and the runs by label of the closure, for each target."""

    rows: tuple[ObservedRow, ...]
    targets: tuple[Target, ...]
    runs: tuple[Mapping[str, Trajectory], ...]


def compare_observed(
    candidates: Sequence[Candidate],
    targets: Sequence[Target],
    report: Callable[[float, str], None] = lambda fraction, name: None,
) -> ObservedComparison:
    """Errors of closures on targets; a run that is not finite, or no water, has no errors and a note.

    Args:
        candidates: models with their labels.
        targets: cases with observations; variables are those with a weight.
        report: called after each run with the fraction done and what was run.
    """
    rows, runs = list[ObservedRow](), [dict[str, Trajectory]() for _ in targets]
    n_all = len(candidates) * len(targets)
    for number, target in enumerate(targets):
        for place, candidate in enumerate(candidates):
            own, trajectory = _of_run(candidate.label, candidate.model, target)
            rows += own
            if trajectory is not None:
                runs[number][candidate.label] = trajectory
            done = (number * len(candidates) + place + 1) / n_all
            report(done, f"{target.case.name} with {candidate.label}")
    return ObservedComparison(tuple(rows), tuple(targets), tuple(runs))


def _of_run(label: str, model: Model, target: Target) -> tuple[list[ObservedRow], Trajectory | None]:
    errors, beyond = errors_and_water(model, target.comparison)
    note = _reason(beyond)
    if not all(math.isfinite(errors[name].root_mean_square) for name in target.weights):
        note = "not finite"
    rows = []
    for variable in target.weights:
        root, mean = errors[variable].root_mean_square, errors[variable].mean
        known = (math.nan, math.nan) if note else (root, mean)
        unit = unit_of_difference(variable)
        rows.append(ObservedRow(label, target.case.name, variable, unit, *known, note))
    return rows, None if note else run_to_the_end(model, target)


def _reason(beyond: Sequence[Extreme]) -> str:
    return next((one.described(f"{one.time:g} s") for one in beyond if one.is_impossible), "")


def tables(rows: Sequence[ObservedRow]) -> tuple[Summary, ...]:
    """One table per variable, closures in rows and cases in columns, and the runs that failed."""
    parts = []
    for variable in dict.fromkeys(row.variable for row in rows):
        own = [row for row in rows if row.variable == variable]
        cases, closures = (tuple(dict.fromkeys(getattr(r, key) for r in own)) for key in ("case", "closure"))
        found = {(row.closure, row.case): row for row in own}
        lines = [(closure, *(_cell(found.get((closure, case))) for case in cases)) for closure in closures]
        title = f"{variable.replace('_', ' ')} [{own[0].unit}]"
        text = "Root mean square error, and mean of model minus observed in brackets."
        parts.append(Summary(title, text, ("closure", *cases), tuple(lines)))
    failed = dict.fromkeys((row.closure, row.case, row.note) for row in rows if row.note)
    if failed:
        parts.append(Summary("Failed", "Runs without errors.", ("closure", "case", "why"), tuple(failed)))
    return tuple(parts)


def _cell(row: ObservedRow | None) -> str:
    if row is None or not math.isfinite(row.root_mean_square):
        return "–"
    return f"{row.root_mean_square:.3g} ({row.mean:+.2g})"
