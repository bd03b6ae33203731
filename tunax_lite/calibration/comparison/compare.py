"""Run closures on cases at several resolutions and time steps; compile once per closure and resolution.

The number of steps is an argument of the compiled program, so that it serves all time steps, durations and
cases of equal structure. Time per step is the shortest of several runs of a whole case without output,
extended beyond its end to at least 5000 steps; compilation does not count.
"""

import abc
import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ..._types import Scalar, precision_of, without_weak_types
from ...column.case import Case
from ...column.grid import Grid
from ...column.integrate import advance, start_of
from ...column.model import Model
from ...column.state import State
from ...column.trajectory import Restart
from ...io.water_limits import extremes
from ...runtime import Program, Shared, compile_program
from ...runtime.engine import AbstractEngine, ThisProcess
from .reference import (
    PERSISTENCE,
    VARIABLES,
    Profiles,
    Reference,
    ShownCase,
    StoredResult,
    Yardstick,
    at_common_times,
    persistence,
)
from .summary import ComparisonRow

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


OfCase = tuple[ComparisonRow, Profiles | None]
"""A row, and the profiles behind it where they are to be shown."""


class AbstractKept(abc.ABC):
    """Storage of rows by candidate and resolution, so that an interrupted comparison can resume."""

    @abc.abstractmethod
    def find(self, label: str, n_cells: int | float) -> list[OfCase] | None:
        """The stored rows; `None` if there are none."""

    @abc.abstractmethod
    def keep(self, label: str, n_cells: int | float, found: Sequence[OfCase]) -> None:
        """Store all rows, atomically."""


def compare_closures(
    candidates: Sequence[Candidate],
    references: Sequence[Reference],
    *,
    n_cells: Sequence[int | float],
    time_steps: Sequence[float],
    start: float = 7200.0,
    temperature_difference: float = 0.05,
    averaging: str = "cell_means",
    shown: tuple[int | float, float] | None = None,
    n_timings: int = 5,
    with_persistence: bool = False,
    stored: Sequence[StoredResult] = (),
    engine: AbstractEngine | None = None,
    kept: AbstractKept | None = None,
    report: Callable[[ComparisonRow], None] = lambda row: None,
) -> Compared:
    """Errors and times of all candidates on all references.

    Args:
        candidates: with distinct labels.
        references: with distinct names.
        n_cells: of uniform grids; a floating-point number is the cell thickness [m].
        time_steps: [s], divisors of the time between profiles.
        start: first time to evaluate [s].
        temperature_difference: criterion for the mixed layer depth [K].
        averaging: `cell_means` on the coarser of the grids of model and reference, or `points`: the model is
            interpolated to the levels of the reference, with equal weights.
        shown: resolution and time step whose profiles are stored.
        n_timings: runs to measure the time per step; 0 to skip.
        with_persistence: whether to add rows for persistence of the initial profiles, for each resolution and
            time step.
        stored: results of other models on these cases, one row each, on their own grids and at their own
            times.
        engine: runs candidates; by default this process. With several workers, times per step are measured
            while others run.
        kept: storage of finished rows; none by default.
        report: called with each row of a candidate.

    Returns:
        Rows by candidate, resolution, case and time step, then those of persistence and stored results. A run
        that raises, is not finite, or whose water cannot be, has a row with the reason; unlikely water is a
        note.

    Raises:
        ValueError: duplicate labels or names, or times that are not multiples of each other.
    """
    labels, by_name = [each.label for each in candidates], {each.case.name: each for each in references}
    names = [reference.case.name for reference in references]
    _check(labels, stored, {PERSISTENCE} if with_persistence else set(), names)
    settings = [(i, dt, ref.n_steps(dt)) for i, ref in enumerate(references) for dt in time_steps]

    def place(reference: Reference, n: int | float) -> tuple[Case, Yardstick]:
        depth = float(reference.case.grid.depth)
        grid = Grid.uniform(depth, n if isinstance(n, int) else max(3, round(depth / n)))
        yardstick = Yardstick(reference, grid, start, temperature_difference, averaging)
        return reference.case.on(grid).unlabelled(), yardstick

    places = {n: [place(reference, n) for reference in references] for n in n_cells}
    n_frames = [reference.observations.time.size - 1 for reference in references]
    all_shown: dict[str, ShownCase] = {}
    rows = []
    # One resolution after another, so that an interrupted comparison has all closures at the first ones.
    pairs = [(candidate, n) for n in n_cells for candidate in candidates]
    results: dict[tuple[str, int | float], Sequence[OfCase]] = {}
    for candidate, n in pairs:
        found = None if kept is None else kept.find(candidate.label, n)
        if found is not None:
            results[candidate.label, n] = found
    left = [(candidate, n) for candidate, n in pairs if (candidate.label, n) not in results]

    def take(number: int, found: Sequence[OfCase]) -> None:
        candidate, n = left[number]
        # There are many profiles; only these are drawn.
        found = [(row, each if (n, row.time_step) == shown else None) for row, each in found]
        results[candidate.label, n] = found
        if kept is not None:
            kept.keep(candidate.label, n, found)
        for row, _ in found:
            report(row)

    for found in results.values():
        for row, _ in found:
            report(row)
    engine = ThisProcess() if engine is None else engine
    engine.map(functools.partial(_rows_of, places, settings, n_frames, n_timings), left, take)
    for label, n in itertools.product(labels, n_cells):
        for (row, profiles), (index, *_) in zip(results[label, n], settings, strict=True):
            stick = places[n][index][1]
            rows.append(row)
            if profiles is not None:
                empty = ShownCase(stick.name, stick.time, stick.grid, stick.reference, {})
                all_shown.setdefault(stick.name, empty).runs[label] = profiles
    if with_persistence:
        for n in n_cells:
            for index, dt, _ in settings:
                case, stick = places[n][index]
                rows.append(
                    _row(PERSISTENCE, stick, dt, persistence(references[index], case.grid), asked=n)[0]
                )
    for result in stored:
        stick, profiles = at_common_times(result, by_name[result.case], start, temperature_difference)
        rows.append(_row(result.label, stick, result.time_step, profiles)[0])
    return Compared(tuple(rows), tuple(all_shown.values()))


def _rows_of(
    places: dict[int | float, list[tuple[Case, Yardstick]]],
    settings: Sequence[tuple[int, float, int]],
    n_frames: Sequence[int],
    n_timings: int,
    pair: tuple[Candidate, int | float],
) -> list[OfCase]:
    """Rows and profiles of a candidate at one resolution; the settings share programs."""
    (candidate, n), found = pair, []
    programs: Shared[Program] = Shared()
    for index, dt, steps_per_frame in settings:
        case, stick = places[n][index]
        run = candidate.model, case, dt, steps_per_frame, n_frames[index]
        found.append(_row(candidate.label, stick, dt, *_outcome(*run, programs, n_timings), asked=n))
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
    case: Case,
    dt: float,
    steps_per_frame: int,
    n_frames: int,
    programs: Shared[Program],
    n_timings: int,
) -> tuple[Profiles | None, float, str]:
    """Profiles `(n_cells, n_times)`, the time per step [us], and the reason if there are none.

    `programs` are those compiled for the model.
    """
    try:
        model, case = without_weak_types((model, case), precision_of(case=case))
        given = model, case, _starts(model, case), jnp.asarray(dt, case.grid.z_face.dtype)
        program = programs.get(lambda: compile_program(_advance, *given, _count(0)), given)
        profiles, note = _profiles(program, given, dt, steps_per_frame, n_frames)
        n_steps, seconds = max(_STEPS_TIMED, steps_per_frame * n_frames), [math.nan]
        for _ in range(n_timings):
            begin = time.perf_counter()
            jax.block_until_ready(program(*given, _count(n_steps)))
            seconds.append(time.perf_counter() - begin)
        return profiles, 1e6 * float(np.fmin.reduce(seconds)) / n_steps, note
    # Whatever a closure raises, continue with the others.
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        return None, math.nan, message[:200]


def _profiles(
    program: Program, given: tuple, dt: float, steps_per_frame: int, n_frames: int
) -> tuple[Profiles | None, str]:
    model, case, restart, step = given
    states = [restart.state]
    for frame in range(1, n_frames + 1):
        restart, is_finite = program(model, case, restart, step, _count(steps_per_frame))
        if not bool(is_finite):
            return None, f"not finite after {frame * steps_per_frame * dt / 3600.0:.3g} h"
        states.append(restart.state)
    is_possible, note = _judged_water(case, states, steps_per_frame * dt)
    profiles = {name: np.stack([np.asarray(getattr(s, name)) for s in states], axis=-1) for name in VARIABLES}
    return profiles if is_possible else None, note


def _judged_water(case: Case, states: Sequence[State], interval: float) -> tuple[bool, str]:
    """Whether the water of all frames can be, and a note on the worst that cannot, or is unlikely."""
    temperature, salinity = (
        np.stack([np.asarray(getattr(state, name)) for state in states])
        for name in ("temperature", "salinity")
    )
    time = interval * np.arange(len(states))
    found = extremes(temperature, salinity, case.grid.z_center, time, has_ice=case.ice is not None)
    found.sort(key=lambda one: not one.is_impossible)
    if not found:
        return True, ""
    worst = found[0]
    kind = "water that cannot be" if worst.is_impossible else "unlikely water"
    return not worst.is_impossible, f"{kind}: {worst.described(f'{worst.time / 3600.0:.3g} h')}"


def _count(n: int) -> jax.Array:
    return jnp.asarray(n, jnp.int32)


_starts = eqx.filter_jit(start_of)


def _advance(
    model: Model, case: Case, start: Restart, dt: Scalar, n_steps: Int[Array, ""]
) -> tuple[Restart, Bool[Array, ""]]:
    end = advance(model, case, start, dt, n_steps)
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((end.state, end.clo_state))]
    return end, jnp.all(jnp.stack(finite))


def _row(
    label: str,
    yardstick: Yardstick,
    dt: float,
    profiles: Profiles | None,
    timing=math.nan,
    note: str = "",
    asked: int | float = 0,
) -> OfCase:
    nothing = scores = math.nan, math.nan, math.nan
    if profiles is not None:
        profiles = yardstick.averaged(profiles)
        scores = yardstick.scores(profiles)
        if not all(map(math.isfinite, scores[:2])):
            profiles, scores, note = None, nothing, "errors too large for a number"
    where = label, yardstick.name, yardstick.n_cells, dt
    thickness = math.nan if isinstance(asked, int) else asked
    told = profiles is not None, note, thickness, yardstick.group
    return ComparisonRow(*where, *scores, timing, *told), profiles
