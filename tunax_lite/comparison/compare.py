"""Run every closure on every case at every resolution and time step; compile once per closure and resolution.

The number of steps is an argument of the compiled program, so that one serves all time steps, lengths and
cases of equal structure. Time per step is the shortest of several runs of a whole case without output, which
goes on beyond its end where it has less than 5000 steps; compilation does not count.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from .._types import Scalar, precision_of, without_weak_types
from ..case import Case
from ..grid import Grid
from ..model import Model
from ..runtime import Program, compile_program, shapes_of
from ..simulation import advance, start_of
from ..state import State
from ..trajectory import Restart
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

_STEPS_TIMED = 5000  # at least: a call by itself takes as long as some 50 steps


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with the label of its rows."""

    label: str
    model: Model


@dataclasses.dataclass(frozen=True)
class Compared:
    """What a comparison gives: the table, and the profiles of one resolution and time step by case."""

    rows: tuple[ComparisonRow, ...]
    shown: tuple[ShownCase, ...]


class _Frame(NamedTuple):
    state: State
    is_finite: Bool[Array, ""]


def compare_closures(
    candidates: Sequence[Candidate],
    references: Sequence[Reference],
    *,
    n_cells: Sequence[int],
    time_steps: Sequence[float],
    start: float = 7200.0,
    temperature_difference: float = 0.05,
    shown: tuple[int, float] | None = None,
    n_timings: int = 5,
    with_persistence: bool = False,
    stored: Sequence[StoredResult] = (),
    report: Callable[[ComparisonRow], None] = lambda row: None,
) -> Compared:
    """Errors and times of all candidates on all references.

    Args:
        candidates: with different labels.
        references: with different names.
        n_cells: of uniform grids.
        time_steps: [s], which divide the times between profiles.
        start: first time that counts [s].
        temperature_difference: that defines the depth of the mixed layer [K].
        shown: resolution and time step whose profiles are kept.
        n_timings: runs for the time per step; 0 leaves it out.
        with_persistence: whether the initial profiles kept have rows too, for each resolution and time step.
        stored: results of other models on these cases, each a row on its own grid, compared at the times that
            it has.
        report: called after each row of a candidate.

    Returns:
        Rows by candidate, resolution, case and time step, then those of persistence and of stored results. A
        run that raises or is not finite is a row that says so.

    Raises:
        ValueError: labels or names twice, or times that do not fit.
    """
    _check_names("closures of different labels", [candidate.label for candidate in candidates])
    taken = {candidate.label for candidate in candidates} | ({PERSISTENCE} if with_persistence else set())
    _check_stored(stored, taken, references)
    _check_names("cases of different names", [reference.case.name for reference in references])
    settings = [(i, dt, ref.n_steps(dt)) for i, ref in enumerate(references) for dt in time_steps]
    places = {n: [_Place.of(ref, n, start, temperature_difference) for ref in references] for n in n_cells}
    kept: dict[str, ShownCase] = {}
    rows = []
    for candidate in candidates:
        for n in n_cells:
            programs: dict = {}
            for index, dt, steps_per_frame in settings:
                place, n_frames = places[n][index], references[index].n_intervals
                run = _Run(candidate.model, place.case, dt, steps_per_frame, n_frames)
                row, profiles = _row(candidate.label, place, run.outcome(programs, n_timings), dt)
                rows.append(row)
                report(row)
                if shown == (n, dt) and profiles is not None:
                    _keep(kept, place.yardstick, candidate.label, profiles)
    if with_persistence:
        for n in n_cells:
            for index, dt, _ in settings:
                unchanged = persistence(references[index], places[n][index].case.grid)
                rows.append(_row(PERSISTENCE, places[n][index], _Outcome(unchanged, math.nan, ""), dt)[0])
    rows += _stored_rows(stored, references, start, temperature_difference)
    return Compared(tuple(rows), tuple(kept.values()))


def _check_names(expected: str, names: Sequence[str]) -> None:
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"compare_closures: expected {expected}, at least one, got {', '.join(names) or 'none'}; "
            "rename or add one."
        )


def _check_stored(stored: Sequence[StoredResult], taken: set[str], references: Sequence[Reference]) -> None:
    names = [reference.case.name for reference in references]
    seen = set()
    for result in stored:
        if result.case not in names:
            raise ValueError(
                f"{result.label}: expected a result of one of the cases {', '.join(names)}, got "
                f"{result.case}."
            )
        if result.label in taken or (result.label, result.case) in seen:
            raise ValueError(
                f"{result.label}: expected stored results with labels of their own and one for a case, got "
                "that label again; choose another one."
            )
        seen.add((result.label, result.case))


def _stored_rows(
    stored: Sequence[StoredResult], references: Sequence[Reference], start: float, difference: float
) -> list[ComparisonRow]:
    by_name = {reference.case.name: reference for reference in references}
    rows = []
    for result in stored:
        reference = by_name[result.case]
        yardstick, profiles = at_common_times(
            result, reference, start=start, temperature_difference=difference
        )
        place = _Place(reference.case.on(result.grid), yardstick)
        rows.append(_row(result.label, place, _Outcome(profiles, math.nan, ""), result.time_step)[0])
    return rows


class _Place(NamedTuple):
    """A case on a grid of the model, and what is compared there."""

    case: Case
    yardstick: Yardstick

    @classmethod
    def of(cls, reference: Reference, n_cells: int, start: float, temperature_difference: float) -> "_Place":
        grid = Grid.uniform(float(reference.case.grid.depth), n_cells)
        yardstick = Yardstick(reference, grid, start=start, temperature_difference=temperature_difference)
        return cls(reference.case.on(grid).unlabelled(), yardstick)


def _keep(kept: dict[str, ShownCase], stick: Yardstick, label: str, profiles: Profiles) -> None:
    empty = ShownCase(stick.name, stick.time, stick.grid, stick.reference, {})
    kept.setdefault(stick.name, empty).runs[label] = profiles


class _Outcome(NamedTuple):
    """Profiles `(n_cells, n_times)` or why there are none, and the time per step [us]."""

    profiles: Profiles | None
    microseconds_per_step: float
    note: str


@dataclasses.dataclass(frozen=True)
class _Run:
    model: Model
    case: Case
    dt: float
    steps_per_frame: int
    n_frames: int

    def outcome(self, programs: dict, n_timings: int) -> _Outcome:
        """Run and time; `programs` holds those that were compiled for the model, by what they take."""
        try:
            model, case = without_weak_types((self.model, self.case), precision_of(case=self.case))
            given = model, case, _starts(model, case), jnp.asarray(self.dt, case.grid.z_face.dtype)
            key = shapes_of(given)
            if key not in programs:
                programs[key] = compile_program(_advance, *given, _count(0))
            profiles, note = self._profiles(programs[key], given)
            timing = self._microseconds(programs[key], given, n_timings)
            return _Outcome(profiles, timing, note)
        # Whatever a closure raises, the others are compared all the same.
        except Exception as error:
            message = " ".join(str(error).split()) or type(error).__name__
            return _Outcome(None, math.nan, message[:200])

    def _profiles(self, program: Program, given: tuple) -> tuple[Profiles | None, str]:
        model, case, restart, dt = given
        states = [restart.state]
        for frame in range(1, self.n_frames + 1):
            restart, saved = program(model, case, restart, dt, _count(self.steps_per_frame))
            if not bool(saved.is_finite):
                hours = frame * self.steps_per_frame * self.dt / 3600.0
                return None, f"not finite after {hours:.3g} h"
            states.append(saved.state)
        return {
            name: np.stack([np.asarray(getattr(state, name)) for state in states], axis=-1)
            for name in VARIABLES
        }, ""

    def _microseconds(self, program: Program, given: tuple, n_timings: int) -> float:
        if n_timings < 1:
            return math.nan
        n_steps = max(_STEPS_TIMED, self.steps_per_frame * self.n_frames)
        seconds = []
        for _ in range(n_timings):
            begin = time.perf_counter()
            jax.block_until_ready(program(*given, _count(n_steps)))
            seconds.append(time.perf_counter() - begin)
        return 1e6 * min(seconds) / n_steps


def _count(n: int) -> jax.Array:
    return jnp.asarray(n, jnp.int32)


_starts = eqx.filter_jit(start_of)


def _advance(
    model: Model, case: Case, start: Restart, dt: Scalar, n_steps: Int[Array, ""]
) -> tuple[Restart, _Frame]:
    end = advance(model, case, start, dt, n_steps)
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((end.state, end.clo_state))]
    return end, _Frame(end.state, jnp.all(jnp.stack(finite)))


def _row(label: str, place: _Place, outcome: _Outcome, dt: float) -> tuple[ComparisonRow, Profiles | None]:
    yardstick = place.yardstick
    profiles = None if outcome.profiles is None else yardstick.averaged(outcome.profiles)
    scores = (math.nan,) * 3 if profiles is None else dataclasses.astuple(yardstick.scores(profiles))
    if not all(map(math.isfinite, scores[:2])) and profiles is not None:
        profiles, scores = None, (math.nan,) * 3
        outcome = outcome._replace(note="errors too large for a number")
    row = ComparisonRow(
        label,
        yardstick.name,
        place.case.grid.n_cells,
        dt,
        *scores,
        microseconds_per_step=outcome.microseconds_per_step,
        finite=profiles is not None,
        note=outcome.note,
    )
    return row, profiles
