"""Calibration on a map: a correction of the heat flux for every column, and numbers that all share.

    loss = sum_i a_i [ mean_k (T_i(t_k) - observed_i(t_k))^2 + (penalty q_i)^2 ] / sum_i a_i

over the times with observations. T_i is the temperature of the uppermost cell at the ends of the frames, a_i
the area of a column, and q_i its correction, which is constant in time. Columns do not see each other. So the
residuals of column i depend on q_i and on the m shared numbers x alone: m + 1 tangents through the time loop,
each for all columns at once, are the whole Jacobian by n + m numbers, and its normal equations are diagonal
but for m rows and columns. Corrections are eliminated from them column by column, which leaves m equations
for x (Gauss and Newton, with the damping of Levenberg and Marquardt).

Blocks of columns are evaluated anywhere; sums go over all columns in their order, so that iterates are the
same to the bit on any number of workers.

Source: Golub and Pereyra (2003), Inverse Problems 19, R1-R26, on such variables that are eliminated.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..calibration import ResolvedParameters
from ..case import Case
from ..checkpointing import Auto
from ..corrections import CorrectedForcing
from ..engine import AbstractEngine
from ..io.errors import FileFormatError
from ..io.writing import replacing
from ..model import Model
from ..runtime import Program, Shared, compile_program
from ..simulation import batched_case, end_and_frames, start_of
from .setup import MapRun

BLOCK = 64
"""Columns that are evaluated together."""
LARGEST_CHANGE = 0.5
"""Of an unconstrained number that all columns share, in one step."""
LARGEST_CORRECTION = 150.0
"""Change of a correction in one step [W m-2]."""
_LEAST_DAMPING, _FIRST_DAMPING, _MOST_DAMPING = 1e-4, 1e-2, 1e8
_GROWTH, _SHRINKAGE = 8.0, 0.25
_LITTLE = 0.1
"""Part of the loss; where a step of the corrections alone gains less, the next one is joint."""
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class MapFit:
    """What is fitted on a map, as one thing that can be pickled.

    Args:
        run: the map, whose variables do not matter; residuals are those at the ends of its frames.
        free: numbers of the closure that all columns share.
        penalty: misfit that a correction counts as [K m2 W-1].
        begin: time up to which frames do not count [s].
    """

    run: MapRun
    free: ResolvedParameters
    penalty: float = 0.0
    begin: float = 0.0

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames that count [s]."""
        ends = self.run.output_interval * np.arange(1, self.run.n_frames + 1)
        found = ends[ends > self.begin]
        if not found.size:
            raise ValueError(
                f"start: expected a time before the end of the run, {self.run.duration:g} s, got "
                f"{self.begin:g} s; extend the run, or begin earlier."
            )
        return found

    @property
    def blocks(self) -> list[np.ndarray]:
        """Numbers of the columns that are evaluated together."""
        n = self.run.columns.n_columns
        return [np.arange(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]

    @property
    def area(self) -> np.ndarray:
        """Of each column, as a part of all."""
        area = np.cos(np.deg2rad(self.run.columns.latitude))
        return area / area.sum()

    def values(self, x: np.ndarray) -> np.ndarray:
        """The shared numbers, each in its own unit."""
        return np.asarray(self.free.to_physical(jnp.asarray(x)))

    @property
    def fingerprint(self) -> str:
        """Changes with whatever the iterates depend on."""
        known = self.run.fingerprint, repr(self.free), self.penalty, self.begin
        return hashlib.sha256(repr(known).encode()).hexdigest()


class Equations(NamedTuple):
    """Mean squares of each column [K2], half their derivatives by the shared numbers and the correction."""

    mean_square: np.ndarray  # (n_columns,)
    gradient: np.ndarray  # (m + 1, n_columns)
    matrix: np.ndarray  # (m + 1, m + 1, n_columns), without second derivatives of the residuals

    @property
    def is_finite(self) -> np.ndarray:
        """Of which columns all is."""
        derivatives = np.isfinite(self.gradient).all(axis=0) & np.isfinite(self.matrix).all(axis=(0, 1))
        return np.isfinite(self.mean_square) & derivatives

    def penalised(self, correction: np.ndarray, penalty: float) -> "Equations":
        """With what the corrections cost; without derivatives where they are not finite."""
        known = self.is_finite
        gradient, matrix = np.where(known, self.gradient, 0.0), np.where(known, self.matrix, 0.0)
        gradient[-1] += penalty**2 * correction
        matrix[-1, -1] += penalty**2
        return Equations(self.mean_square + (penalty * correction) ** 2, gradient, matrix)


class _Item(NamedTuple):
    columns: np.ndarray
    correction: np.ndarray


def equations_of(fit: MapFit, x: np.ndarray, item: _Item) -> Equations:
    """Normal equations of a block of columns, at the unconstrained vector of the shared numbers."""
    missing = BLOCK - len(item.columns)
    columns = np.concatenate([item.columns, np.repeat(item.columns[-1:], missing)])
    correction = np.concatenate([item.correction, np.zeros(missing)])
    batch = fit.run.batch(columns, 0.0, fit.run.duration)
    dtype = batch[1].grid.z_face.dtype
    observed = jnp.asarray(fit.run.columns.observed(columns, fit.times), dtype)
    given = jnp.asarray(x, dtype), jnp.asarray(correction, dtype), batch, observed
    program = _programs.get(
        lambda: compile_program(functools.partial(_equations, fit), *given), given, fit.fingerprint
    )
    found = jax.device_get(program(*given))
    return Equations(*(np.asarray(part, float)[..., : len(item.columns)] for part in found))


_programs: Shared[Program] = Shared(most=1)


def _equations(fit: MapFit, x: Any, correction: Any, batch: tuple[Model, Case], observed: Any) -> Equations:
    model, case = batch
    m, (n,) = x.shape[0], correction.shape
    there = jnp.isfinite(observed)
    number = jnp.maximum(jnp.sum(there, axis=0), 1).astype(x.dtype)

    def residuals(x, correction):
        calibrated = dataclasses.replace(model, closure=fit.free.insert(model.closure, x))
        forcing = CorrectedForcing(case.forcing, None, heat_flux_bias=correction[None])
        own = batched_case(calibrated, dataclasses.replace(case, forcing=forcing))
        _, temperature = end_and_frames(
            calibrated,
            own,
            start_of(calibrated, own),
            fit.run.dt,
            n_frames=fit.run.n_frames,
            steps_per_frame=fit.run.steps_per_frame,
            checkpointing=Auto(),
            save=lambda restart: restart.state.temperature[-1],
        )
        return jnp.where(there, temperature[-observed.shape[0] :] - observed, 0.0)

    # Every column has numbers of its own that are equal, so that one tangent is a column of all Jacobians.
    at = jnp.broadcast_to(x[:, None], (m, n)), correction
    directions = jnp.broadcast_to(jnp.eye(m + 1, dtype=x.dtype)[:, :, None], (m + 1, m + 1, n))
    push = lambda d: jax.jvp(residuals, at, (d[:m], d[m]))  # noqa: E731
    found, jacobian = jax.vmap(push, out_axes=(None, 0))(directions)  # columns stay the last axis
    mean_square = jnp.sum(found**2, axis=0) / number
    gradient = jnp.sum(jacobian * found, axis=1) / number
    matrix = jnp.sum(jacobian[:, None] * jacobian[None], axis=2) / number
    return Equations(mean_square, gradient, matrix)  # pyright: ignore[reportArgumentType]


def step(
    equations: Equations, area: np.ndarray, damping: float, dampings: np.ndarray, *, is_joint: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The step of the shared numbers and of all corrections to the minimum of the damped quadratic function.

    Args:
        equations: with the penalty; area: of each column, as a part of all.
        damping: that the diagonal of the shared numbers grows by [1]; dampings: of each correction.
        is_joint: whether the shared numbers change at all.
    """
    gradient, matrix = equations.gradient, equations.matrix
    own = matrix[-1, -1] * (1.0 + dampings)
    inverse = np.where(own > 0.0, 1.0 / np.where(own > 0.0, own, 1.0), 0.0)
    border = matrix[:-1, -1]  # (m, n)
    reduced = np.sum(area * (matrix[:-1, :-1] - border[:, None] * border[None] * inverse), axis=-1)
    reduced += damping * np.diag(np.sum(area * np.diagonal(matrix[:-1, :-1]).T, axis=-1))
    right = np.sum(area * (gradient[:-1] - border * gradient[-1] * inverse), axis=-1)
    shared = -np.linalg.lstsq(reduced, right, rcond=1e-12)[0]
    shared *= float(is_joint) * min(1.0, LARGEST_CHANGE / max(np.abs(shared).max(initial=0.0), 1e-300))
    change = -(gradient[-1] + shared @ border) * inverse
    return shared, np.clip(change, -LARGEST_CORRECTION, LARGEST_CORRECTION)


@dataclasses.dataclass
class Progress:
    """A fit on the way: the best numbers so far, the equations there, and the dampings.

    Args:
        x: unconstrained shared numbers; correction: of each column [W m-2].
        losses, trials, accepted: of all evaluations, in their order.
        first: misfit of each column at the start [K2].
        weight: of each column in the loss; 0 of those that broke down at the start.
        is_joint: whether the trial, which is evaluated next, changes the shared numbers, too.
    """

    x: np.ndarray
    correction: np.ndarray
    equations: Equations
    damping: float
    dampings: np.ndarray
    losses: list[float]
    trials: list[np.ndarray]
    accepted: list[bool]
    first: np.ndarray
    weight: np.ndarray
    is_joint: bool
    trial: tuple[np.ndarray, np.ndarray]

    @property
    def loss(self) -> float:
        """The lowest so far [K2]."""
        return min(self.losses)

    @property
    def n_left_out(self) -> int:
        """Columns that broke down at the start."""
        return int(np.sum(self.weight == 0.0))

    def note(self, loss: float, x: np.ndarray, accepted: bool) -> None:
        """Remember an evaluation."""
        self.losses.append(loss)
        self.trials.append(x)
        self.accepted.append(accepted)


Report = Callable[[Progress], None]
"""Called after each evaluation."""


def fit_map(
    fit: MapFit,
    n_iterations: int,
    engine: AbstractEngine,
    *,
    path: Path | None = None,
    begin: Report = lambda progress: None,
    report: Report = lambda progress: None,
    part: Callable[[float], None] = lambda done: None,
) -> Progress:
    """Fit the corrections of all columns and the shared numbers together.

    Args:
        n_iterations: evaluations of the loss and its derivatives, those before an interruption included.
        engine: what evaluates blocks of columns; iterates do not depend on it.
        path: file to go on from where it is there, written after every evaluation.
        begin: called before the first, where there were some before; report: after each; part: with the
            fraction of one that is done.

    Raises:
        FloatingPointError: no column has a finite misfit at the start.
        ValueError: a file of another fit.
    """
    progress = None if path is None or not path.exists() else _read(path, fit)
    if progress is not None:
        begin(progress)
    n = fit.run.columns.n_columns
    trial = (np.asarray(fit.free.start(), float), np.zeros(n)) if progress is None else progress.trial
    while progress is None or len(progress.losses) < n_iterations:
        found = _evaluated(fit, *trial, engine, part)
        equations = found.penalised(trial[1], fit.penalty)
        if progress is None:
            progress = _begun(fit, *trial, equations, found.is_finite)
        else:
            _learn(progress, *trial, equations)
        dampings = progress.damping, progress.dampings
        change = step(progress.equations, progress.weight, *dampings, is_joint=progress.is_joint)
        trial = progress.trial = (progress.x + change[0], progress.correction + change[1])
        if path is not None:
            _write(path, fit, progress)
        report(progress)
    return progress


def _evaluated(
    fit: MapFit, x: np.ndarray, correction: np.ndarray, engine: AbstractEngine, part: Callable[[float], None]
) -> Equations:
    items = [_Item(columns, correction[columns]) for columns in fit.blocks]
    done = iter(range(1, len(items) + 1))
    found = engine.map(
        functools.partial(equations_of, fit, x), items, lambda number, result: part(next(done) / len(items))
    )
    return Equations(*(np.concatenate(each, axis=-1) for each in zip(*found, strict=True)))


def _begun(
    fit: MapFit, x: np.ndarray, correction: np.ndarray, equations: Equations, there: np.ndarray
) -> Progress:
    if not there.any():
        raise FloatingPointError(
            "calibrate: expected a finite misfit with derivatives at the start, got none in all "
            f"{there.size} columns; try a shorter time step, or other start values."
        )
    weight = np.where(there, fit.area, 0.0)
    equations = _without(equations, there)
    begun = Progress(
        x, correction, equations, _FIRST_DAMPING, np.full(there.size, _FIRST_DAMPING), [], [], [],
        np.where(there, equations.mean_square, np.nan), weight / weight.sum(), True, (x, correction),
    )  # fmt: skip
    begun.note(float(np.sum(begun.weight * equations.mean_square)), x, True)
    return begun


def _without(equations: Equations, there: np.ndarray) -> Equations:
    """With zeros for columns that broke down."""
    return Equations(*(np.where(there, part, 0.0) for part in equations))


def _learn(progress: Progress, x: np.ndarray, correction: np.ndarray, found: Equations) -> None:
    """Take what lowers the loss: of a joint step all or nothing, of corrections alone column by column.

    After a joint step that does not lower the loss corrections go on by themselves, until that gains little.
    """
    used, before, was_joint = progress.weight > 0.0, progress.loss, progress.is_joint
    misfit = np.where(used & np.isfinite(found.mean_square), found.mean_square, np.inf)
    loss = float(np.sum(progress.weight[used] * misfit[used]))
    taken = better = misfit < progress.equations.mean_square
    if was_joint:
        taken = used & (loss < before)
        progress.damping = float(_damped(progress.damping, loss < before))
    if taken.any() or not was_joint:
        progress.dampings = _damped(progress.dampings, better)
    accepted = bool(taken.any())
    if accepted:
        progress.x, progress.correction = x, np.where(taken, correction, progress.correction)
        both = zip(found, progress.equations, strict=True)
        progress.equations = Equations(*(np.where(taken, new, old) for new, old in both))
    if not was_joint:
        loss = float(np.sum(progress.weight * progress.equations.mean_square))
    progress.note(loss, x, accepted)
    progress.is_joint = accepted if was_joint else before - loss < _LITTLE * before


def _damped(damping: Any, is_better: Any) -> Any:
    return np.clip(damping * np.where(is_better, _SHRINKAGE, _GROWTH), _LEAST_DAMPING, _MOST_DAMPING)


_ARRAYS = ("x", "correction", "dampings", "first", "weight")


def _write(path: Path, fit: MapFit, progress: Progress) -> None:
    known = {name: getattr(progress, name) for name in _ARRAYS}
    known |= {f"equations_{name}": part for name, part in progress.equations._asdict().items()}
    known |= {"trial_x": progress.trial[0], "trial_correction": progress.trial[1]}
    known |= {"losses": progress.losses, "trials": progress.trials, "accepted": progress.accepted}
    header = json.dumps(
        {
            "format": _FORMAT,
            "fingerprint": fit.fingerprint,
            "damping": progress.damping,
            "is_joint": progress.is_joint,
        }
    )
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, header=header, **known)


def _read(path: Path, fit: MapFit) -> Progress:
    expected, advice = "the iterations of a calibration on a map", "choose another folder, or --overwrite"
    try:
        with np.load(path) as file:
            held = {name: file[name] for name in file.files}
        header = json.loads(str(held["header"]))
    except (OSError, ValueError, KeyError) as error:
        raise FileFormatError(path, "iterations", expected, str(error), advice) from error
    if (header["format"], header["fingerprint"]) != (_FORMAT, fit.fingerprint):
        raise ValueError(
            f"{path}: expected the iterations of this calibration, with the same configuration and input, "
            f"got those of another one; {advice}."
        )
    equations = Equations(*(held[f"equations_{name}"] for name in Equations._fields))
    return Progress(
        **{name: held[name] for name in _ARRAYS},
        equations=equations,
        damping=header["damping"],
        is_joint=header["is_joint"],
        losses=held["losses"].tolist(),
        trials=list(held["trials"]),
        accepted=held["accepted"].tolist(),
        trial=(held["trial_x"], held["trial_correction"]),
    )
