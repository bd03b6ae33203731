"""Comparison of closures with large-eddy simulations, or with any observations.

With simulations: errors and time per step, by resolution and time step. Model and reference are compared as
targets, as means over the cells of the coarser of their two grids, to which the other is averaged
conservatively, so that neither is penalised for its resolution. Errors are root mean squares over all cells,
weighted by thickness, and all observed times from `start` on; the velocity error is the length of the vector
(u - u_ref, v - v_ref). Mixed layer depths are those of means over the cells of the model.

The number of steps is an argument of the compiled program, so that one program per closure and resolution
serves all time steps, durations and cases of equal structure. Time per step is the shortest of several runs
of a whole case without output, extended beyond its end to at least 5000 steps; compilation does not count.

With any observations, unequal in time, at any heights, of several variables: each run is compared with them
as `evaluate` does, at the observed times and heights, over a time window.
"""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from .._types import Scalar, precision_of, without_weak_types
from ..closures.base import EddyCoefficients
from ..column.arguments import case_over_steps
from ..column.case import Case
from ..column.grid import Grid
from ..column.integrate import advance, start_of
from ..column.model import Model
from ..column.observations import Observations
from ..column.state import State
from ..column.trajectory import Restart, Trajectory
from ..io.series import Series
from ..io.writing import write_text
from ..numerics.regridding import regrid
from ..plausibility.water_limits import extremes
from ..runtime import compile_program
from ..runtime.compilation import Program, Shared
from ..runtime.engine import AbstractEngine, ThisProcess
from ..runtime.jax_setup import failures_as_values
from .observed import Averaging, ComparedVariable, OneNumber, depends_on, faces_from_centers
from .target import Comparison, Target, errors_and_water, errors_of_states, modelled_by_states
from .validation import ErrorRow, rows_of, run_to_the_end

VARIABLES = ("temperature", "u", "v")

Profiles = Mapping[str, np.ndarray]
"""Variables by name, `(n_cells, n_times)`."""


@dataclasses.dataclass(frozen=True)
class Reference:
    """A case on the grid of a large-eddy simulation, with its profiles on all cells.

    Raises `ValueError` for profiles that are missing, at other heights, at irregular times, or not finite.
    """

    case: Case
    observations: Observations
    group: str = ""  # of cases from one source, for summaries

    def __post_init__(self):
        name, observations = self.case.name, self.observations
        if missing := [variable for variable in VARIABLES if variable not in observations.profiles]:
            raise ValueError(
                f"{name}: expected profiles of {', '.join(VARIABLES)}, got none of {', '.join(missing)}; "
                "compare with a complete simulation, or add `observed: {}` for any observations."
            )
        z, centers = np.asarray(observations.z), np.asarray(self.case.grid.z_center)
        # Faces midway between uneven levels make cells whose centers are close to the levels.
        slack = 0.2 * np.asarray(self.case.grid.cell_thickness)
        if z.shape != centers.shape or np.any(np.abs(z - centers) > slack):
            raise ValueError(
                f"{name}: expected profiles on the {centers.size} cells of the case, got "
                f"{z.shape[-1]} heights from {np.nanmin(z):g} to {np.nanmax(z):g} m; compare with a "
                "simulation that covers the column, or add `observed: {}` for any observations."
            )
        if not all(np.isfinite(observations.profiles[variable]).all() for variable in VARIABLES):
            raise ValueError(
                f"{name}: missing values in the profiles; expected values on all cells at all times; fill "
                "them, or add `observed: {}`."
            )
        times = np.asarray(observations.time)
        if times.size < 2 or abs(times[0]) > 1e-6 or np.ptp(np.diff(times)) > 1e-6:
            raise ValueError(
                f"{name}: expected at least two times, equally spaced from 0 s on, got {times.size} from "
                f"{times[0]:g} s on; compare with a simulation that was saved regularly, or add "
                "`observed: {}` for any observations."
            )

    @property
    def interval(self) -> float:
        """Time between profiles [s]."""
        return float(self.observations.time[1])

    def n_steps(self, time_step: float) -> int:
        """Steps between two profiles; `ValueError` for a step [s] that does not divide the time."""
        n = round(self.interval / time_step)
        if n < 1 or abs(n * time_step - self.interval) > 1e-6 * self.interval:
            raise ValueError(
                f"expected time steps that divide the time between the profiles of {self.case.name}, "
                f"{self.interval:g} s, got {time_step:g} s; choose another step."
            )
        return n

    def target(self, size: int | float | Grid, how: "Judging") -> Target:
        """The target on a grid: of n cells, of cells of a thickness [m], or a given one."""
        depth = float(self.case.grid.depth)
        if not isinstance(size, Grid):
            size = Grid.uniform(depth, size if isinstance(size, int) else max(3, round(depth / size)))
        weights = dict.fromkeys((*VARIABLES, how.layer), 1.0)
        window = how.start * (1.0 - 1e-9), math.inf
        given = {"dt": self.interval, "averaging": how.averaging, "samples_forcing": True}
        observations, own = self.observations, self.case.grid
        if how.averaging == "cell_means" and size.n_cells <= own.n_cells:
            # The levels alone do not determine the faces of uneven cells.
            faces = np.asarray(own.z_face, dtype=float), np.asarray(size.z_face, dtype=float)
            profiles = {
                name: jnp.asarray(regrid(np.asarray(values, dtype=float).T, *faces).T)
                for name, values in observations.profiles.items()
            }
            observations = dataclasses.replace(observations, z=size.z_center, profiles=profiles)
        return Target(self.case.on(size), observations, weights, time_window=window, **given)


@dataclasses.dataclass(frozen=True)
class Judging:
    """How runs are compared with simulations.

    Args:
        start: first time to evaluate [s].
        temperature_difference: from the uppermost cell to the base of the mixed layer [K]; layers of a few
            hours are often shallower than the 10 m of the usual reference depth.
        averaging: `cell_means` on the coarser of the grids of model and simulation, or `points`: the model is
            interpolated to the levels of the simulation, with equal weights.
    """

    start: float = 7200.0
    temperature_difference: float = 0.05
    averaging: str = "cell_means"

    @property
    def layer(self) -> str:
        """Name of the mixed layer depth."""
        threshold = np.format_float_positional(self.temperature_difference, trim="0")
        return f"mixed_layer_depth_{threshold}K_from_0m"


@dataclasses.dataclass(frozen=True)
class ShownCase:
    """Profiles of a case for figures, all `(n_cells, n_times)` on one grid."""

    name: str
    time: np.ndarray  # [s]
    grid: Grid
    reference: Profiles  # large-eddy simulation
    runs: dict[str, Profiles]  # by label of the closure


def profiles_for_figures(target: Target, states: State) -> tuple[Profiles, Profiles]:
    """Profiles of model and reference at all times, on the levels where they are compared."""
    comparison = dataclasses.replace(target, time_window=(0.0, math.inf)).comparison
    modelled = modelled_by_states(comparison, states)
    found = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name in VARIABLES:
        one = comparison.variables[name]
        levels = np.asarray(one.counts).any(axis=0)
        for profiles, values in zip(found, (modelled[name], one.observed), strict=True):
            profiles[name] = np.asarray(values)[:, levels].T
    return found


_SAME_TIME = 1e-3
"""Difference of times of a stored result and of observations that count as equal [s]."""

PERSISTENCE = "persistence"
"""Label of the initial profile kept."""


@dataclasses.dataclass(frozen=True)
class StoredResult:
    """A run of another model, or an earlier run, on a case of the comparison."""

    label: str
    case: str
    time: np.ndarray  # [s] since the start
    grid: Grid  # own grid
    profiles: Profiles  # of temperature, u and v
    time_step: float  # of the run [s]

    def check_depth(self, grid: Grid) -> None:
        """Raise `ValueError` if the result is not of the depth of the case, which has this grid."""
        depth, own_depth = float(self.grid.depth), float(grid.depth)
        if abs(depth - own_depth) > 1e-6 * own_depth:
            raise ValueError(
                f"{self.label}: expected a result over the {own_depth:g} m of {self.case}, got {depth:g} m; "
                "name that of the same case."
            )


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
        times = comparison.times
    if times[-1] > stored.time[-1] + _SAME_TIME:
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


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
    """One closure on one case at one resolution and time step; missing numbers are NaN."""

    closure: str
    case: str
    n_cells: int
    time_step: float  # [s]
    temperature_rms: float  # root mean square error of temperature [K]
    velocity_rms: float  # root mean square length of the velocity error [m s-1]
    mixed_layer_depth_rms: float  # root mean square error of the mixed layer depth [m]
    microseconds_per_step: float  # of one column, compiled, without output [us]
    finite: bool  # whether state and closure are finite, and water can be, at all times compared
    note: str = ""  # reason for missing numbers, or unlikely water
    cell_thickness: float = math.nan  # if requested [m]; NaN if n_cells was requested
    group: str = ""  # of cases from one source

    @property
    def resolution(self) -> str:
        """The requested resolution, in words."""
        return resolution_in_words(self.n_cells if math.isnan(self.cell_thickness) else self.cell_thickness)


def resolution_in_words(asked: int | float) -> str:
    """A number of cells, or their thickness [m]."""
    return f"{asked} cells" if isinstance(asked, int) else f"cells of {asked:g} m"


@dataclasses.dataclass(frozen=True)
class Summary:
    """A part of a comparison as rows of text cells."""

    title: str
    explanation: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def summaries(rows: Sequence[ComparisonRow], *, resolution: str, time_step: float) -> tuple[Summary, ...]:
    """By case and group at one resolution and time step; means over cases; failed runs."""
    chosen = [row for row in rows if row.resolution == resolution and row.time_step == time_step]
    parts = [_by_case(chosen, resolution, time_step), _by_resolution(rows)]
    if any(row.group for row in chosen):
        parts.insert(1, _by_group(chosen, resolution, time_step))
    without_errors = [row for row in rows if not row.finite]
    unlikely = [row for row in rows if row.finite and row.note]
    for title, text, what, noted in (
        ("Not finite", "Rows without errors.", "why", without_errors),
        ("Unlikely water", "Their errors mean little.", "which", unlikely),
    ):
        cells = [(r.closure, r.case, f"{r.n_cells}", f"{r.time_step:g}", r.note) for r in noted]
        if cells:
            parts.append(Summary(title, text, ("closure", "case", "cells", "step [s]", what), tuple(cells)))
    return tuple(parts)


def _by_case(chosen: Sequence[ComparisonRow], resolution: str, time_step: float) -> Summary:
    cases = list(dict.fromkeys(row.case for row in chosen))
    lines = []
    for closure in dict.fromkeys(row.closure for row in chosen):
        own = {row.case: row for row in chosen if row.closure == closure}
        temperature = [own[case].temperature_rms if case in own else math.nan for case in cases]
        times = [row.microseconds_per_step for row in own.values()]
        shortest = min(filter(math.isfinite, times), default=math.nan)
        velocity = 1e3 * _mean([row.velocity_rms for row in own.values()])
        depth = _mean([row.mixed_layer_depth_rms for row in own.values()])
        others = number(velocity, 1), number(depth, 1), number(shortest, 2)
        errors = (number(1e3 * value, 2) for value in (*temperature, _mean(temperature)))
        lines.append((closure, *errors, *others))
    units = ("mean [mK]", "velocity [mm/s]", "mixed layer [m]", "time per step [us]")
    names = [case.replace("_", " ") for case in cases]
    return Summary(
        f"{resolution}, steps of {time_step:g} s",
        "Root mean square errors of temperature by case [mK] and their mean over the cases; means over "
        "the cases of those of velocity and of the depth of the mixed layer; the shortest time per step.",
        ("closure", *names, *units),
        tuple(lines),
    )


def _by_group(chosen: Sequence[ComparisonRow], resolution: str, time_step: float) -> Summary:
    groups, lines = list(dict.fromkeys(row.group for row in chosen)), []
    for closure in dict.fromkeys(row.closure for row in chosen):
        own = [row for row in chosen if row.closure == closure]
        errors = [[row.temperature_rms for row in own if row.group == group] for group in groups]
        everything = [row.temperature_rms for row in own]
        worst = max(everything) if all(map(math.isfinite, everything)) else math.nan
        numbers = (*map(_mean, errors), _mean(everything), worst)
        lines.append((closure, *(number(1e3 * value, 1) for value in numbers)))
    return Summary(
        f"By source, {resolution}, steps of {time_step:g} s",
        "Mean over the cases of a source, and over all, of the root mean square error of temperature, and "
        "the largest one [mK].",
        ("closure", *(group.replace("_", " ") or "others" for group in groups), "mean", "worst"),
        tuple(lines),
    )


def _by_resolution(rows: Sequence[ComparisonRow]) -> Summary:
    def fineness(row: ComparisonRow) -> float:
        return float(row.n_cells) if math.isnan(row.cell_thickness) else -row.cell_thickness

    ordered = sorted(rows, key=lambda row: (row.time_step, fineness(row)))
    settings = list(dict.fromkeys((row.time_step, row.resolution) for row in ordered))
    lines = []
    for closure in dict.fromkeys(row.closure for row in rows):
        cells = []
        for setting in settings:
            own = [r for r in rows if (r.closure, r.time_step, r.resolution) == (closure, *setting)]
            cells.append(number(1e3 * _mean([row.temperature_rms for row in own]), 2))
        lines.append((closure, *cells))
    return Summary(
        "Resolution and time step",
        "Mean over the cases of the root mean square error of temperature [mK].",
        ("closure", *(f"{resolution}, {step:g} s" for step, resolution in settings)),
        tuple(lines),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def number(value: float, digits: int) -> str:
    """A number for a table, with a dash for one that is missing."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


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


_STEPS_TIMED = 5000  # at least: the overhead of a call equals some 50 steps


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with the label of its rows."""

    label: str
    model: Model


@dataclasses.dataclass(frozen=True)
class Compared:
    """Result of a comparison: the table, and by case the profiles at one resolution and time step."""

    rows: tuple[ComparisonRow, ...]
    shown: tuple[ShownCase, ...]


Outcome = tuple[State | None, float, str]
"""States at the times of the reference, time per step [us], and the reason if there are none."""


@failures_as_values()
def compare_closures(
    candidates: Sequence[Candidate],
    references: Sequence[Reference],
    *,
    n_cells: Sequence[int | float],
    time_steps: Sequence[float],
    how: Judging = Judging(),  # noqa: B008
    shown: tuple[int | float, float] | None = None,
    n_timings: int = 5,
    with_persistence: bool = False,
    stored: Sequence[StoredResult] = (),
    engine: AbstractEngine | None = None,
    report: Callable[[ComparisonRow], None] = lambda row: None,
) -> Compared:
    """Errors and times of all candidates on all references.

    Args:
        candidates: with distinct labels.
        references: with distinct names.
        n_cells: of uniform grids; a floating-point number is the cell thickness [m].
        time_steps: [s], divisors of the time between profiles.
        how: what is compared.
        shown: resolution and time step whose profiles are stored.
        n_timings: runs to measure the time per step; 0 to skip.
        with_persistence: whether to add rows for persistence of the initial profiles, for each resolution and
            time step.
        stored: results of other models on these cases, one row each, on their own grids and at those of their
            times that the simulations have too.
        engine: runs candidates; by default this process. With several workers, times per step are measured
            while others run.
        report: called with each row of a candidate.

    Returns:
        Rows by candidate, resolution, case and time step, then those of persistence and stored results. A run
        that raises, is not finite, or whose water cannot be, has a row with the reason; unlikely water is a
        note.

    Raises:
        ValueError: duplicate labels or names, or times that are not multiples of each other.
    """
    by_name = {reference.case.name: reference for reference in references}
    reserved = {PERSISTENCE} if with_persistence else set[str]()
    _check([each.label for each in candidates], stored, reserved, [each.case.name for each in references])
    settings = [(i, dt, each.n_steps(dt)) for i, each in enumerate(references) for dt in time_steps]
    targets = {n: [each.target(n, how) for each in references] for n in n_cells}
    groups = [reference.group for reference in references]
    for target in itertools.chain(*targets.values()):
        _ = target.comparison  # raises errors before anything runs
    pairs = [(candidate, n) for n in n_cells for candidate in candidates]
    results: dict[tuple[str, int | float], list[tuple[ComparisonRow, Profiles | None]]] = {}

    def take(number: int, outcomes: Sequence[tuple[ComparisonRow, Profiles | None]]) -> None:
        candidate, n = pairs[number]
        results[candidate.label, n] = list(outcomes)
        for row, _ in outcomes:
            report(row)

    engine = ThisProcess() if engine is None else engine
    engine.map(functools.partial(_rows_of, targets, groups, settings, n_timings, shown), pairs, take)
    rows, all_shown = [], dict[str, ShownCase]()
    for candidate, n in itertools.product(candidates, n_cells):
        for (row, profiles), (index, *_) in zip(results[candidate.label, n], settings, strict=True):
            rows.append(row)
            if profiles is not None:
                if row.case not in all_shown:
                    all_shown[row.case] = _empty(references[index], targets[n][index])
                all_shown[row.case].runs[candidate.label] = profiles
    for n, (index, dt, _) in itertools.product(n_cells if with_persistence else (), settings):
        target = targets[n][index]
        outcome = _kept(target.case, target), math.nan, ""
        rows.append(_row(PERSISTENCE, target, groups[index], dt, outcome, asked=n))
    for result in stored:
        reference = by_name[result.case]
        target, states = _stored_on(result, reference, how)
        rows.append(_row(result.label, target, reference.group, result.time_step, (states, math.nan, "")))
    return Compared(tuple(rows), tuple(all_shown.values()))


def _kept(case: Case, target: Target) -> State:
    """The initial state at all times of a target."""
    n_times = target.comparison.n_frames + 1
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (n_times, *jnp.shape(x))), case.start_state)


def _empty(reference: Reference, target: Target) -> ShownCase:
    """A case to draw, without runs."""
    own = target.case.grid
    _, profiles = profiles_for_figures(target, _kept(target.case, target))
    grid = own if len(profiles[VARIABLES[0]]) == own.n_cells else reference.case.grid
    return ShownCase(target.case.name, np.asarray(reference.observations.time), grid, profiles, {})


def _stored_on(stored: StoredResult, reference: Reference, how: Judging) -> tuple[Target, State]:
    """A stored result as states, and the target at the times that both have.

    Raises `ValueError` for a different depth, or too few common times.
    """
    stored.check_depth(reference.case.grid)
    times = np.asarray(reference.observations.time)
    common = np.abs(times[:, None] - stored.time).min(axis=1) <= _SAME_TIME
    if common.sum() < 2 or times[common][-1] < how.start:
        raise ValueError(
            f"{stored.label}: expected a result at times of {stored.case}, every "
            f"{reference.interval:g} s, got {common.sum()} of them between {stored.time[0]:g} and "
            f"{stored.time[-1]:g} s; store it more often."
        )
    target = reference.target(stored.grid, how)
    observed, window = target.observations, (target.time_window[0], times[common][-1] * (1.0 + 1e-9))
    profiles = {name: np.where(common[:, None], observed.profiles[name], np.nan) for name in VARIABLES}
    chosen = dataclasses.replace(observed, profiles={name: jnp.asarray(x) for name, x in profiles.items()})
    target = dataclasses.replace(target, observations=chosen, time_window=window)
    return target, on_target(stored, target).state


def _rows_of(
    targets: Mapping[int | float, Sequence[Target]],
    groups: Sequence[str],
    settings: Sequence[tuple[int, float, int]],
    n_timings: int,
    shown: tuple[int | float, float] | None,
    pair: tuple[Candidate, int | float],
) -> list[tuple[ComparisonRow, Profiles | None]]:
    """Rows of a candidate at one resolution, and the profiles to be shown; the settings share programs."""
    (candidate, n), found = pair, []
    programs: Shared[Program] = Shared()
    for index, dt, steps_per_frame in settings:
        target = targets[n][index]
        n_frames = target.comparison.n_frames
        outcome = _outcome(candidate.model, target, dt, steps_per_frame, n_frames, programs, n_timings)
        row = _row(candidate.label, target, groups[index], dt, outcome, asked=n)
        states = outcome[0] if row.finite and (n, dt) == shown else None
        found.append((row, None if states is None else profiles_for_figures(target, states)[0]))
    return found


def _check(labels: list[str], stored: Sequence[StoredResult], reserved: set[str], names: list[str]) -> None:
    for kind, given in (("closures of different labels", labels), ("cases of different names", names)):
        if not given or len(set(given)) < len(given):
            raise ValueError(
                f"compare_closures: expected {kind}, at least one, got {', '.join(given) or 'none'}; "
                "rename or add one."
            )
    seen: set[tuple[str, str]] = set()
    for result in stored:
        if result.case not in names:
            raise ValueError(
                f"{result.label}: expected a result of one of the cases {', '.join(names)}, got "
                f"{result.case}."
            )
        if result.label in reserved.union(labels) or (result.label, result.case) in seen:
            raise ValueError(
                f"{result.label}: expected stored results with labels of their own and one for a case, got "
                "that label again; choose another one."
            )
        seen.add((result.label, result.case))


def _outcome(
    model: Model,
    target: Target,
    dt: float,
    steps_per_frame: int,
    n_frames: int,
    programs: Shared[Program],
    n_timings: int,
) -> Outcome:
    """The run of a model on a target; `programs` are those compiled for the model."""
    try:
        case = case_over_steps(model, target.case.unlabelled(), dt)
        model, case = without_weak_types((model, case), precision_of(case=case))
        given = model, case, _starts(model, case), jnp.asarray(dt, case.grid.z_face.dtype)
        program = programs.get(lambda: compile_program(_advance, *given, _count(0)), given)
        states, note = _states(program, given, dt, steps_per_frame, n_frames)
        n_steps, seconds = max(_STEPS_TIMED, steps_per_frame * n_frames), [math.nan]
        for _ in range(n_timings):
            begin = time.perf_counter()
            jax.block_until_ready(program(*given, _count(n_steps)))
            seconds.append(time.perf_counter() - begin)
        return states, 1e6 * float(np.fmin.reduce(seconds)) / n_steps, note
    # Whatever a closure raises, continue with the others.
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        return None, math.nan, message[:200]


def _states(
    program: Program, given: tuple, dt: float, steps_per_frame: int, n_frames: int
) -> tuple[State | None, str]:
    """States at all frames, unless the water cannot be, and a note on the worst of it."""
    model, case, restart, step = given
    states = [restart.state]
    for frame in range(1, n_frames + 1):
        restart, is_finite = program(model, case, restart, step, _count(steps_per_frame))
        if not bool(is_finite):
            return None, f"not finite after {frame * steps_per_frame * dt / 3600.0:.3g} h"
        states.append(restart.state)
    run = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    time = steps_per_frame * dt * np.arange(n_frames + 1)
    has_ice = case.ice is not None
    found = extremes(run.temperature, run.salinity, case.grid.z_center, time, has_ice=has_ice)
    if not found:
        return run, ""
    worst = min(found, key=lambda one: not one.is_impossible)
    kind = "water that cannot be" if worst.is_impossible else "unlikely water"
    note = f"{kind}: {worst.described(f'{worst.time / 3600.0:.3g} h')}"
    return None if worst.is_impossible else run, note


def _count(n: int) -> jax.Array:
    return jnp.asarray(n, jnp.int32)


_starts = eqx.filter_jit(start_of)


def _advance(
    model: Model, case: Case, start: Restart, dt: Scalar, n_steps: Int[Array, ""]
) -> tuple[Restart, Bool[Array, ""]]:
    end = advance(model, case, start, dt, n_steps)
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((end.state, end.clo_state))]
    return end, jnp.all(jnp.stack(finite))


def _by_thickness(target: Target) -> Comparison:
    """The comparison of a target with profiles weighted by cell thickness, or equally at points."""

    def weighted(one: ComparedVariable) -> ComparedVariable:
        if target.averaging == "points" or isinstance(one.operator, OneNumber):
            return one
        faces = np.asarray(target.case.grid.z_face)
        if isinstance(one.operator, Averaging):  # over the cells of the simulation
            faces = faces_from_centers(np.asarray(target.observations.z, dtype=float), target.case.name)
        counts = one.counts * np.diff(faces)
        return dataclasses.replace(one, counts=counts / counts.sum())

    variables = {name: weighted(one) for name, one in target.comparison.variables.items()}
    return dataclasses.replace(target.comparison, variables=variables)


def _row(
    label: str, target: Target, group: str, dt: float, outcome: Outcome, asked: int | float = 0
) -> ComparisonRow:
    states, timing, note = outcome
    errors = [math.nan] * 4
    if states is not None:
        found = errors_of_states(_by_thickness(target), states)
        errors = [found[name].root_mean_square for name in target.weights]
        if not all(map(math.isfinite, errors[:3])):
            states, errors, note = None, [math.nan] * 4, "errors too large for a number"
    temperature, u, v, layer = errors
    thickness = math.nan if isinstance(asked, int) else asked
    where = label, target.case.name, target.case.grid.n_cells, dt
    scores = temperature, math.hypot(u, v), layer, timing
    return ComparisonRow(*where, *scores, states is not None, note, thickness, group)


@dataclasses.dataclass(frozen=True)
class ObservedComparison:
    """Result of `compare_observed`: the table, and the runs by label of the closure, for each target."""

    rows: tuple[ErrorRow, ...]
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
    rows, runs = list[ErrorRow](), [dict[str, Trajectory]() for _ in targets]
    n_all = len(candidates) * len(targets)
    others = [
        {one.label: on_target(one, target) for one in stored if one.case == target.case.name}
        for target in targets
    ]
    for number, target in enumerate(targets):
        for place, candidate in enumerate(candidates):
            own = _judged(candidate.label, candidate.model, target)
            rows += own
            if not own[0].note:
                runs[number][candidate.label] = run_to_the_end(candidate.model, target)
            done = (number * len(candidates) + place + 1) / n_all
            report(done, f"{target.case.name} with {candidate.label}")
        for label, trajectory in others[number].items():
            rows += rows_of(label, target, errors_of_states(target.comparison, trajectory.state))
            runs[number][label] = trajectory
    return ObservedComparison(tuple(rows), tuple(targets), tuple(runs))


def _judged(label: str, model: Model, target: Target) -> list[ErrorRow]:
    errors, water = errors_and_water(model, target.comparison)
    note = next((one.described(f"{one.time:g} s") for one in water if one.is_impossible), "")
    if not all(math.isfinite(errors[name].root_mean_square) for name in target.weights):
        note = "not finite"
    return rows_of(label, target, errors, note)


def tables(rows: Sequence[ErrorRow]) -> tuple[Summary, ...]:
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


def _cell(row: ErrorRow | None) -> str:
    if row is None or not math.isfinite(row.root_mean_square):
        return "–"
    return f"{row.root_mean_square:.3g} ({row.mean:+.2g})"
