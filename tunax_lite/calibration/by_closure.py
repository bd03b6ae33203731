"""Closures on any observed cases: errors of every observed variable, and the runs behind them.

Observations may be unequal in time, at any heights, of several variables, of lakes: each run is compared with
them as `evaluate` does, at the observed times and heights, over a time window.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..closures.base import EddyCoefficients
from ..column.model import Model
from ..column.observables import unit_of_difference
from ..column.trajectory import Trajectory
from ..io.series import Series
from ..plausibility.water_limits import Extreme
from .comparison import Candidate, StoredResult, Summary
from .observed import depends_on
from .target import ErrorOf, Target, errors_and_water, errors_of_states
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
    stored: Sequence[StoredResult] = (),
) -> ObservedComparison:
    """Errors of closures on targets; a run that is not finite, or no water, has no errors and a note.

    Args:
        candidates: models with their labels.
        targets: cases with observations; variables are those with a weight.
        report: called after each run with the fraction done and what was run.
        stored: results of other models on these cases, interpolated to the grids and times of the targets.

    Raises:
        ValueError: a stored result of another depth, too short, or without an observed variable.
    """
    rows, runs = list[ObservedRow](), [dict[str, Trajectory]() for _ in targets]
    n_all = len(candidates) * len(targets)
    others = [
        {one.label: on_target(one, target) for one in stored if one.case == target.case.name}
        for target in targets
    ]
    for number, target in enumerate(targets):
        for place, candidate in enumerate(candidates):
            own, trajectory = _of_run(candidate.label, candidate.model, target)
            rows += own
            if trajectory is not None:
                runs[number][candidate.label] = trajectory
            done = (number * len(candidates) + place + 1) / n_all
            report(done, f"{target.case.name} with {candidate.label}")
        for label, trajectory in others[number].items():
            rows += _rows(label, target, errors_of_states(target.comparison, trajectory.state), "")
            runs[number][label] = trajectory
    return ObservedComparison(tuple(rows), tuple(targets), tuple(runs))


def _of_run(label: str, model: Model, target: Target) -> tuple[list[ObservedRow], Trajectory | None]:
    errors, beyond = errors_and_water(model, target.comparison)
    note = _reason(beyond)
    if not all(math.isfinite(errors[name].root_mean_square) for name in target.weights):
        note = "not finite"
    rows = _rows(label, target, errors, note)
    return rows, None if note else run_to_the_end(model, target)


def on_target(stored: StoredResult, target: Target) -> Trajectory:
    """A stored result on the cells of a target at the times of its comparison, without a closure state."""
    case, comparison = target.case, target.comparison
    stored.check_depth(case.grid)
    profiles = target.observations.profiles
    needed = {part for name in target.weights for part in ([name] if name in profiles else depends_on(name))}
    if absent := sorted(needed - stored.profiles.keys()):
        given = ", ".join(stored.profiles)
        raise ValueError(
            f"{stored.label}: expected {', '.join(absent)} of {stored.case}, got {given}; choose others in "
            "observed.variables."
        )
    times = np.asarray(target.observations.time, dtype=float)[target.times]
    if comparison.in_time is None:
        times = np.arange(len(next(iter(comparison.observed.values())))) * comparison.steps_per_frame
        times = times * float(comparison.dt)
    if times[-1] > stored.time[-1] * (1.0 + 1e-9):
        raise ValueError(
            f"{stored.label}: expected a result of {stored.case} up to {times[-1]:g} s, got one up to "
            f"{stored.time[-1]:g} s; give observed.end."
        )
    z, own_z = np.asarray(case.grid.z_center), np.asarray(stored.grid.z_center)

    def placed(values: np.ndarray) -> jax.Array:
        rows = Series(stored.time, values.T).on(times)
        return jnp.asarray(np.stack([np.interp(z, own_z, row) for row in rows]))

    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (times.size, *x.shape)), case.start_state)
    state = dataclasses.replace(start, **{name: placed(values) for name, values in stored.profiles.items()})
    at_rest = jnp.zeros((times.size, *case.grid.z_face.shape))
    steps = jnp.asarray(np.rint(times / target.dt), int)
    return Trajectory(case.grid, jnp.asarray(times), steps, state, EddyCoefficients(at_rest, at_rest))


def _rows(label: str, target: Target, errors: Mapping[str, ErrorOf], note: str) -> list[ObservedRow]:
    rows = []
    for variable in target.weights:
        root, mean = errors[variable].root_mean_square, errors[variable].mean
        known = (math.nan, math.nan) if note else (root, mean)
        unit = unit_of_difference(variable, target.case.tracer_units)
        rows.append(ObservedRow(label, target.case.name, variable, unit, *known, note))
    return rows


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
