"""Calibration on a map: a heat flux correction for every column, and shared parameters.

Blocks of columns may be evaluated anywhere; sums are taken over all columns in order, so that iterates are
identical for any number of workers. The file of the iterations holds everything that the next one depends on.
"""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...calibration.results import read_tree, write_tree
from ...io.checksums import Digests, check_digest
from ...runtime.engine import AbstractEngine
from .equations import Block, Equations, MapFit, equations_of, step

_LEAST_DAMPING, _FIRST_DAMPING, _MOST_DAMPING = 1e-4, 1e-2, 1e8
_GROWTH, _SHRINKAGE = 8.0, 0.25
_LITTLE = 0.1
"""Part of the loss; where a step of the corrections alone gains less, the next one is joint."""


@dataclasses.dataclass
class Progress:
    """An unfinished fit: the best parameters so far, their equations, and the dampings.

    Args:
        x: unconstrained shared parameters; correction: of each column [W m-2].
        losses, trials, accepted: of all evaluations, in order.
        first: initial misfit of each column [K2].
        weight: fraction of the area in each column; 0 for columns that failed initially.
        is_joint: whether the next trial changes the shared parameters, too.
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
        """The lowest loss so far [K2]."""
        return min(self.losses)

    @property
    def n_left_out(self) -> int:
        """Number of columns that failed initially."""
        return int(np.sum(self.weight == 0.0))

    def note(self, loss: float, x: np.ndarray, accepted: bool) -> None:
        """Record an evaluation."""
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
    """Fit the corrections of all columns and the shared parameters together.

    Args:
        n_iterations: evaluations of the loss and its derivatives, including those before an interruption.
        engine: evaluates blocks of columns; iterates do not depend on it.
        path: file to go on from where it is there, written after every evaluation.
        begin: called before the first evaluation if there are earlier ones; report: after each; part: with
            the fraction of one that is done.

    Raises:
        FloatingPointError: no column has a finite initial misfit.
        FileFormatError: a damaged file, or input that changes meanwhile.
        ValueError: a file of another fit, or of other input.
    """
    parts = {} if path is None else _parts(path, fit)
    progress = None if path is None or not path.exists() else _read(path, fit, parts)
    if progress is not None:
        begin(progress)
    n = fit.run.columns.n_columns
    work = functools.partial(equations_of, fit)  # a single object: an engine sends it to its workers once
    trial = (np.asarray(fit.free.start(), float), np.zeros(n)) if progress is None else progress.trial
    while progress is None or len(progress.losses) < n_iterations:
        blocks = [Block(columns, trial[0], trial[1][columns]) for columns in fit.blocks]
        found = _evaluated(engine, work, blocks, part)
        equations = found.penalised(trial[1], fit.penalty)
        if progress is None:
            progress = _begun(fit, *trial, equations, found.is_finite)
        else:
            _learn(fit, progress, *trial, equations)
        dampings = progress.damping, progress.dampings
        weight = progress.weight * fit.weight(progress.equations)
        change = step(progress.equations, weight, *dampings, is_joint=progress.is_joint)
        trial = progress.trial = (progress.x + change[0], progress.correction + change[1])
        if path is not None:
            _write(path, fit, progress, parts)
        report(progress)
    return progress


def _evaluated(
    engine: AbstractEngine,
    equations_of_fit: Callable[[Block], Equations],
    items: list[Block],
    part: Callable[[float], None],
) -> Equations:
    done = iter(range(1, len(items) + 1))
    found = engine.map(equations_of_fit, items, lambda number, result: part(next(done) / len(items)))
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
    begun.note(float(np.sum(begun.weight * fit.counts(equations.mean_square))), x, True)
    return begun


def _without(equations: Equations, there: np.ndarray) -> Equations:
    """Equations with zeros for failed columns."""
    return Equations(*(np.where(there, part, 0.0) for part in equations))


def _learn(fit: MapFit, progress: Progress, x: np.ndarray, correction: np.ndarray, found: Equations) -> None:
    """Accept what lowers the loss: a joint step as a whole, corrections alone column by column.

    After a rejected joint step, only corrections change, until that gains little.
    """
    used, before, was_joint = progress.weight > 0.0, progress.loss, progress.is_joint
    misfit = np.where(used & np.isfinite(found.mean_square), found.mean_square, np.inf)
    loss = float(np.sum(progress.weight[used] * fit.counts(misfit[used])))
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
        loss = float(np.sum(progress.weight * fit.counts(progress.equations.mean_square)))
    progress.note(loss, x, accepted)
    progress.is_joint = accepted if was_joint else before - loss < _LITTLE * before


def _damped(damping: np.ndarray | float, is_better: np.ndarray | bool | np.bool_) -> np.ndarray:
    factor = np.where(is_better, _SHRINKAGE, _GROWTH)
    return np.asarray(np.clip(damping * factor, _LEAST_DAMPING, _MOST_DAMPING))


_KIND = "file with the iterations of a calibration on a map"


def _parts(path: Path, fit: MapFit) -> dict[str, str]:
    """What identifies a fit; digests of its input are kept beside its file."""
    digests = Digests(path.with_suffix(".inputs.json"))
    found = digests.of(fit.run.columns.inputs)
    digests.save()
    return {"configuration": fit.fingerprint[:16]} | found


def _write(path: Path, fit: MapFit, progress: Progress, parts: dict[str, str]) -> None:
    for name, digest in _parts(path, fit).items():
        if digest != parts[name]:
            advice = "restore it: the iterations before this one are kept"
            check_digest(Path(name), parts[name], "when the calibration started", advice, digest)
    held = {field.name: getattr(progress, field.name) for field in dataclasses.fields(progress)}
    header = {name: held.pop(name) for name in ("damping", "is_joint", "losses", "accepted")}
    write_tree(path, {"fingerprint": parts} | header, held | {"trials": np.stack(progress.trials)})


def _read(path: Path, fit: MapFit, parts: dict[str, str]) -> Progress:
    n, x = fit.run.columns.n_columns, np.asarray(fit.free.start(), float)
    column, m = np.zeros(n), x.size + 1
    like = {name: column for name in ("correction", "dampings", "first", "weight")}
    like |= {"x": x, "trial": (x, column)}
    like |= {"equations": Equations(column, np.zeros((m, n)), np.zeros((m, m, n)))}

    def tree(header: dict) -> dict:
        return like | {"trials": np.zeros((len(header["losses"]), x.size))}

    header, held = read_tree(path, parts, tree, _KIND)
    del header["fingerprint"]
    return Progress(**header | held | {"trials": list(held["trials"])})
