"""Comparison of closures with large-eddy simulations: errors and time per step, by resolution and time step.

Model and reference are compared on the coarser of their two grids, to which the other is averaged
conservatively, so that neither is penalised for its resolution. Errors are root mean squares over all cells,
weighted by volume, and all observed times from `start` on; the velocity error is the length of the vector (u
- u_ref, v - v_ref). Mixed layer depths of both are computed on the same grid.

The number of steps is an argument of the compiled program, so that one program per closure and resolution
serves all time steps, durations and cases of equal structure. Time per step is the shortest of several runs
of a whole case without output, extended beyond its end to at least 5000 steps; compilation does not count.
"""

import dataclasses
import functools
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from .._types import Scalar, precision_of, without_weak_types
from ..column.arguments import case_over_steps
from ..column.case import Case, remap
from ..column.grid import Grid
from ..column.integrate import advance, start_of
from ..column.model import Model
from ..column.observations import Observations
from ..column.state import State
from ..column.trajectory import Restart
from ..io.checksums import digest_of_tree, sealing, unsealed
from ..io.writing import write_text
from ..plausibility.water_limits import extremes
from ..runtime import compile_program
from ..runtime.compilation import Program, Shared
from ..runtime.engine import AbstractEngine, ThisProcess
from ..runtime.jax_setup import failures_as_values
from .observed import AbstractOperator, AtCenters, OneNumber
from .target import Comparison, errors_of_states, modelled_by_states

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
        missing = [variable for variable in VARIABLES if variable not in observations.profiles]
        if missing:
            raise ValueError(
                f"{name}: expected profiles of {', '.join(VARIABLES)}, got none of {', '.join(missing)}; "
                "compare with a complete simulation, or add `observed: {}` for any observations."
            )
        z, centers = np.asarray(observations.z), np.asarray(self.case.grid.z_center)
        # Faces midway between uneven levels make cells whose centers are close to the levels.
        slack = 0.2 * np.asarray(self.case.grid.cell_thickness)
        if z.shape != centers.shape or np.any(np.abs(z - centers) > slack):
            raise ValueError(
                f"{name}: expected profiles on the {centers.size} cells of the case, got {z.size} heights "
                f"from {z[0]:g} to {z[-1]:g} m; compare with a simulation that covers the column, or add "
                "`observed: {}` for any observations."
            )
        times = np.asarray(observations.time)
        if times.size < 2 or abs(times[0]) > 1e-6 or np.ptp(np.diff(times)) > 1e-6:
            raise ValueError(
                f"{name}: expected at least two times, equally spaced from 0 s on, got {times.size} from "
                f"{times[0]:g} s on; compare with a simulation that was saved regularly, or add "
                "`observed: {}` for any observations."
            )
        if not all(np.isfinite(observations.profiles[variable]).all() for variable in VARIABLES):
            raise ValueError(f"{name}: expected finite profiles, got values that are missing; fill them.")

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


@dataclasses.dataclass(frozen=True)
class ShownCase:
    """Profiles of a case for figures, all `(n_cells, n_times)` on one grid."""

    name: str
    time: np.ndarray  # [s]
    grid: Grid
    reference: Profiles  # large-eddy simulation
    runs: dict[str, Profiles]  # by label of the closure


class ProfileScore:
    """A reference as what profiles on a model grid of the same depth are compared with.

    Times before `start` [s] are ignored. The base of the mixed layer differs from the uppermost cell by
    `temperature_difference` [K], because layers of a few hours are often shallower than the 10 m of
    `usual_reference_depth`; if nothing does, it is the deepest center. With the averaging `points`, the model
    is interpolated to the levels of the reference, with equal weights.
    """

    def __init__(
        self,
        reference: Reference,
        grid: Grid,
        start: float,
        temperature_difference: float,
        averaging: str = "cell_means",
    ):
        case, observations, at_points = reference.case, reference.observations, averaging == "points"
        self.name, self.n_cells, self.group = case.name, grid.n_cells, reference.group
        self.grid = grid if grid.n_cells <= case.grid.n_cells and not at_points else case.grid
        self.time = np.asarray(observations.time)
        selected = self.time >= start * (1.0 - 1e-9)
        if not selected.any():
            raise ValueError(
                f"{self.name}: expected a start before the last profile at {self.time[-1]:g} s, got "
                f"{start:g} s; choose an earlier one."
            )
        self._to_grid = _remapping(grid, self.grid)
        share = np.asarray(self.grid.cell_volume) / float(self.grid.mean_depth)
        if at_points:
            z, rows = np.asarray(observations.z), np.eye(grid.n_cells)
            self._to_grid = np.stack([np.interp(z, np.asarray(grid.z_center), row) for row in rows], axis=1)
            share = np.full(self.grid.n_cells, 1.0 / self.grid.n_cells)
        from_reference = _remapping(case.grid, self.grid)
        profiles = observations.profiles
        self.reference = {name: from_reference @ np.asarray(profiles[name]).T for name in VARIABLES}
        threshold = np.format_float_positional(temperature_difference, trim="0")
        self._layer = f"mixed_layer_depth_{threshold}K_from_0m"
        at_times = (selected / selected.sum())[:, None]
        counts = dict.fromkeys(VARIABLES, jnp.asarray(at_times * share))
        operators: dict[str, AbstractOperator] = dict.fromkeys(VARIABLES, AtCenters())
        self._comparison = Comparison(
            case=case.on(self.grid).unlabelled(),
            dt=jnp.asarray(reference.interval),
            observed={name: jnp.asarray(values.T) for name, values in self.reference.items()},
            counts=counts | {self._layer: jnp.asarray(at_times)},
            factors={},
            operators=operators | {self._layer: OneNumber()},
            n_frames=self.time.size - 1,
            steps_per_frame=1,
        )
        layers = modelled_by_states(self._comparison, _states(self.reference))[self._layer]
        observed = self._comparison.observed | {self._layer: layers}
        self._comparison = dataclasses.replace(self._comparison, observed=observed)

    def averaged(self, profiles: Profiles) -> dict[str, np.ndarray]:
        """Profiles of the model on the common grid."""
        return {name: self._to_grid @ profiles[name] for name in VARIABLES}

    def scores(self, averaged: Profiles) -> tuple[float, float, float]:
        """Errors of temperature [K], velocity [m s-1] and mixed layer depth [m] of averaged profiles."""
        errors = errors_of_states(self._comparison, _states(averaged))
        temperature, u, v, layer = (errors[name].root_mean_square for name in (*VARIABLES, self._layer))
        return temperature, math.hypot(u, v), layer


def _states(profiles: Profiles) -> State:
    """States with these profiles, times along the leading axis."""
    leaves: dict[str, Any] = {  # fields of a state
        name: jnp.asarray(profiles[name].T, float) for name in VARIABLES
    }
    return State(**leaves, salinity=jnp.zeros_like(leaves["temperature"]))


def _remapping(source: Grid, target: Grid) -> np.ndarray:
    """Conservative remapping as a matrix, `(n_target, n_source)`."""
    return np.asarray(remap(jnp.eye(source.n_cells, dtype=source.z_face.dtype), source, target))


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


def persistence(reference: Reference, grid: Grid) -> Profiles:
    """The initial profiles of a case on a grid at all times of its reference."""
    state, n_times = reference.case.on(grid).initial_state, reference.observations.time.size
    return {name: np.repeat(np.asarray(getattr(state, name))[:, None], n_times, axis=1) for name in VARIABLES}


def at_common_times(
    stored: StoredResult,
    reference: Reference,
    start: float,
    temperature_difference: float,
    averaging: str = "cell_means",
) -> tuple[ProfileScore, Profiles]:
    """A stored result and the reference at the times that both have.

    Raises `ValueError` for a different depth, or too few common times.
    """
    stored.check_depth(reference.case.grid)
    observed = reference.observations
    times = np.asarray(observed.time)
    nearest = np.argmin(np.abs(times[:, None] - stored.time), axis=1)
    common = np.flatnonzero(np.abs(stored.time[nearest] - times) <= 1e-3)
    if common.size < 2 or times[common[-1]] < start:
        raise ValueError(
            f"{stored.label}: expected a result at times of {stored.case}, every "
            f"{reference.interval:g} s, got {common.size} of them between {stored.time[0]:g} and "
            f"{stored.time[-1]:g} s; store it more often."
        )
    chosen = {name: values[common] for name, values in observed.profiles.items()}
    observed = dataclasses.replace(observed, time=observed.time[common], profiles=chosen)
    part = dataclasses.replace(reference, observations=observed)
    score = ProfileScore(part, stored.grid, start, temperature_difference, averaging)
    return score, {name: stored.profiles[name][:, nearest[common]] for name in VARIABLES}


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
        others = _number(velocity, 1), _number(depth, 1), _number(shortest, 2)
        errors = (_number(1e3 * value, 2) for value in (*temperature, _mean(temperature)))
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
        lines.append((closure, *(_number(1e3 * value, 1) for value in numbers)))
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
            cells.append(_number(1e3 * _mean([row.temperature_rms for row in own]), 2))
        lines.append((closure, *cells))
    return Summary(
        "Resolution and time step",
        "Mean over the cases of the root mean square error of temperature [mK].",
        ("closure", *(f"{resolution}, {step:g} s" for step, resolution in settings)),
        tuple(lines),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(value: float, digits: int) -> str:
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


OfCase = tuple[ComparisonRow, Profiles | None]
"""A row, and the profiles behind it where they are to be shown."""


class KeptRows:
    """Rows by candidate and resolution in files, so that an interrupted comparison can resume.

    Each file is named after everything that its rows depend on.

    Args:
        folder: created with the first rows; other files in it are ignored.
        candidates: of the comparison; their numbers and settings identify the files.
        settings: everything else that rows depend on, as text.
    """

    def __init__(self, folder: Path, candidates: Sequence[Candidate], settings: str):
        self._folder, self._models = folder, {}
        for candidate in candidates:
            identity = digest_of_tree(candidate.model, settings, candidate.label)
            self._models[candidate.label] = identity

    def find(self, label: str, n_cells: int | float) -> list[OfCase] | None:
        """The stored rows; `None` if there are none."""
        path = self._path(label, n_cells)
        if not path.is_file():
            return None
        advice = "remove it: its rows are computed again"
        with np.load(unsealed(path, "part of a comparison", advice), allow_pickle=False) as file:
            rows = [ComparisonRow(**row) for row in json.loads(str(file["rows"]))]
            names = [name.split("/") for name in file.files if name != "rows"]
            shown = [
                {name: file[f"{index}/{name}"] for at, name in names if at == str(index)}
                for index in range(len(rows))
            ]
        return [(row, profiles or None) for row, profiles in zip(rows, shown, strict=True)]

    def keep(self, label: str, n_cells: int | float, found: Sequence[OfCase]) -> None:
        """Store all rows, atomically."""
        rows = json.dumps([dataclasses.asdict(row) for row, _ in found])
        profiles = {
            f"{index}/{name}": values
            for index, (_, of_case) in enumerate(found)
            for name, values in (of_case or {}).items()
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        with sealing(self._path(label, n_cells)) as file:
            np.savez(file, allow_pickle=False, rows=np.array(rows), **profiles)

    def clear(self) -> None:
        """Remove the files of these candidates, and the folder if it is then empty."""
        known = set(self._models.values())
        for path in self._folder.glob("*.npz"):
            if path.stem.partition("_")[0] in known:
                path.unlink()
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _path(self, label: str, n_cells: int | float) -> Path:
        return self._folder / f"{self._models[label]}_{n_cells!r}.npz"


@failures_as_values()
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
    kept: KeptRows | None = None,
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
    how = start, temperature_difference, averaging
    places = {n: [placed(reference, n, *how) for reference in references] for n in n_cells}
    # One resolution after another, so that an interrupted comparison has all closures at the first ones.
    results: dict[tuple[str, int | float], Sequence[OfCase]] = {}
    left: list[tuple[Candidate, int | float]] = []
    for n, candidate in itertools.product(n_cells, candidates):
        if kept is not None and (earlier := kept.find(candidate.label, n)) is not None:
            results[candidate.label, n] = earlier
        else:
            left.append((candidate, n))

    def take(number: int, computed: Sequence[OfCase]) -> None:
        candidate, n = left[number]
        # There are many profiles; only these are drawn.
        drawn = [(row, profiles if (n, row.time_step) == shown else None) for row, profiles in computed]
        results[candidate.label, n] = drawn
        if kept is not None:
            kept.keep(candidate.label, n, drawn)
        for row, _ in drawn:
            report(row)

    for row, _ in itertools.chain.from_iterable(list(results.values())):
        report(row)
    n_frames = [reference.observations.time.size - 1 for reference in references]
    engine = ThisProcess() if engine is None else engine
    engine.map(functools.partial(_rows_of, places, settings, n_frames, n_timings), left, take)
    rows, all_shown = [], dict[str, ShownCase]()
    for label, n in itertools.product(labels, n_cells):
        for (row, profiles), (index, *_) in zip(results[label, n], settings, strict=True):
            rows.append(row)
            if profiles is not None:
                score = places[n][index][1]
                empty = ShownCase(score.name, score.time, score.grid, score.reference, {})
                all_shown.setdefault(score.name, empty).runs[label] = profiles
    for n, (index, dt, _) in itertools.product(n_cells if with_persistence else (), settings):
        case, score = places[n][index]
        rows.append(_row(PERSISTENCE, score, dt, persistence(references[index], case.grid), asked=n)[0])
    for result in stored:
        score, profiles = at_common_times(result, by_name[result.case], *how)
        rows.append(_row(result.label, score, result.time_step, profiles)[0])
    return Compared(tuple(rows), tuple(all_shown.values()))


def placed(
    reference: Reference, n: int | float, start: float, difference: float, averaging: str
) -> tuple[Case, ProfileScore]:
    """The case of a reference on a grid of n cells, or of cells of a thickness, and its score."""
    depth = float(reference.case.grid.depth)
    grid = Grid.uniform(depth, n if isinstance(n, int) else max(3, round(depth / n)))
    score = ProfileScore(reference, grid, start, difference, averaging)
    return reference.case.on(grid).unlabelled(), score


def _rows_of(
    places: dict[int | float, list[tuple[Case, ProfileScore]]],
    settings: Sequence[tuple[int, float, int]],
    n_frames: Sequence[int],
    n_timings: int,
    pair: tuple[Candidate, int | float],
) -> list[OfCase]:
    """Rows and profiles of a candidate at one resolution; the settings share programs."""
    (candidate, n), found = pair, []
    programs: Shared[Program] = Shared()
    for index, dt, steps_per_frame in settings:
        case, score = places[n][index]
        run = candidate.model, case, dt, steps_per_frame, n_frames[index]
        found.append(_row(candidate.label, score, dt, *_outcome(*run, programs, n_timings), asked=n))
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
        case = case_over_steps(model, case, dt)
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
    score: ProfileScore,
    dt: float,
    profiles: Profiles | None,
    timing=math.nan,
    note: str = "",
    asked: int | float = 0,
) -> OfCase:
    nothing = scores = math.nan, math.nan, math.nan
    if profiles is not None:
        profiles = score.averaged(profiles)
        scores = score.scores(profiles)
        if not all(map(math.isfinite, scores[:2])):
            profiles, scores, note = None, nothing, "errors too large for a number"
    where = label, score.name, score.n_cells, dt
    thickness = math.nan if isinstance(asked, int) else asked
    told = profiles is not None, note, thickness, score.group
    return ComparisonRow(*where, *scores, timing, *told), profiles
