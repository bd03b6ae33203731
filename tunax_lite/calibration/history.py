"""History and result of a calibration, and remarks on its parameters."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ..closures.base import AbstractClosure
from ..column.case import Case
from .known import paths_in_short, with_case_parameters, with_parameters
from .parameters import FreeNumber, ResolvedParameters
from .priors import LogBounded, LogNormal, LogUniform, Normal
from .problem import Evaluation


class History(eqx.Module):
    """One row per iteration, which is one evaluation of the kind that the method needs.

    A loss that does not include all cases is an estimate, and the other cases have NaN.
    """

    loss: np.ndarray  # (n_iterations,), as all others up to x; NaN or infinite where a run failed
    gradient_norm: np.ndarray  # of the gradient with respect to the unconstrained vector; NaN without one
    is_finite: np.ndarray  # whether the evaluation, including any gradient, was finite
    of_all_cases: np.ndarray  # whether the loss includes all cases
    rejected: np.ndarray  # whether the method rejected the step
    start: np.ndarray  # index of the first guess
    n_failed: np.ndarray  # number of failed ensemble members
    x: np.ndarray  # unconstrained vector, or ensemble mean, (n_iterations, n_parameters)
    values: np.ndarray  # physical values, (n_iterations, n_parameters)
    scores: np.ndarray  # (n_iterations, n_cases)
    errors: np.ndarray  # root mean square errors, (n_iterations, n_cases, n_variables)

    @classmethod
    def empty(cls, n_iterations: int, n_parameters: int, n_cases: int, n_variables: int) -> "History":
        """Rows of zeros, to read into or, with no rows, to append to."""
        kinds = [float, float, bool, bool, bool, int, int, float, float, float, float]
        shapes = [()] * 7 + [(n_parameters,), (n_parameters,), (n_cases,), (n_cases, n_variables)]
        pairs = zip(shapes, kinds, strict=True)
        return cls(*(np.zeros((n_iterations, *shape), kind) for shape, kind in pairs))

    @property
    def n_iterations(self) -> int:
        return self.loss.size

    @property
    def best_iteration(self) -> int:
        """Iteration with the lowest finite loss of all cases, the first of equals, or a `ValueError`."""
        if not self._comparable.any():
            raise ValueError("history: expected an iteration with a finite loss, got none.")
        return int(np.argmin(np.where(self._comparable, self.loss, np.inf)))

    @property
    def best_loss(self) -> float:
        """The lowest finite loss of all cases; infinite if there is none."""
        return float(np.min(self.loss, where=self._comparable, initial=np.inf))

    @property
    def _comparable(self) -> np.ndarray:
        """Whether the loss of an iteration can be compared with others."""
        return self.is_finite & self.of_all_cases

    @property
    def best_by_start(self) -> tuple[int | None, ...]:
        """The best iteration of each start; `None` if no loss was finite."""
        starts = range(int(self.start.max(initial=-1)) + 1)
        own = [np.where(self._comparable & (self.start == i), self.loss, np.inf) for i in starts]
        return tuple(int(np.argmin(loss)) if np.isfinite(loss).any() else None for loss in own)

    @property
    def n_non_finite_at_end(self) -> int:
        """Number of successive evaluations at the end that were not finite."""
        return int(np.argmax(np.append(self.is_finite[::-1], True)))

    def append(self, x, values, evaluation: Evaluation, rejected: bool, start: int = 0) -> "History":
        row = (
            evaluation.fit.loss,
            evaluation.gradient_norm,
            evaluation.is_finite,
            evaluation.fit.of_all_cases,
            rejected,
            start,
            int(evaluation.failed.sum()),
            np.asarray(x),
            np.asarray(values),
            evaluation.fit.scores,
            evaluation.fit.errors,
        )
        pairs = zip(vars(self).values(), row, strict=True)
        return History(*(np.append(old, np.asarray(new, old.dtype)[None], axis=0) for old, new in pairs))


@dataclasses.dataclass(frozen=True)
class CalibrationResult:
    """Result of a calibration; the best iterate has the lowest loss."""

    closure: AbstractClosure  # with the best parameters
    cases: Mapping[str, Case]  # by name, with the best numbers; in the order of `history.scores`
    free_parameters: ResolvedParameters
    history: History
    variables: tuple[str, ...]  # along the last axis of `history.errors`
    stop_reason: str  # why it ended, as a clause
    prior_weight: float = 0.0  # weight of the priors in the loss

    @classmethod
    def from_history(
        cls,
        closure: AbstractClosure,
        cases: Mapping[str, Case],
        free_parameters: ResolvedParameters,
        history: History,
        *others: Any,  # further fields
    ) -> "CalibrationResult":
        """Closure and cases with the best iterate of a history; other fields are passed on."""
        values = free_parameters.by_path(history.values[history.best_iteration])
        closure = with_parameters(closure, values)
        cases = {name: with_case_parameters(case, values) for name, case in cases.items()}
        return cls(closure, cases, free_parameters, history, *others)

    @property
    def case_names(self) -> tuple[str, ...]:
        return tuple(self.cases)

    @property
    def best(self) -> dict[str, float]:
        """The best physical values by path, including tied parameters."""
        return self.free_parameters.by_path(self.history.values[self.history.best_iteration])

    @property
    def start(self) -> dict[str, float]:
        """The physical values of the first guess, by path."""
        free = self.free_parameters
        return free.with_tied({number.path: number.start for number in free.numbers})

    @property
    def units(self) -> dict[str, str]:
        return self.free_parameters.units

    @property
    def best_loss(self) -> float:
        return self.history.best_loss

    @property
    def lowest_by_start(self) -> tuple[float | None, ...]:
        """The lowest loss from each start; `None` if no evaluation was finite."""
        best = self.history.best_by_start
        return tuple(None if iteration is None else float(self.history.loss[iteration]) for iteration in best)

    @property
    def n_rejected(self) -> int:
        """Number of steps that the method rejected."""
        return int(self.history.rejected.sum())

    @property
    def n_non_finite(self) -> int:
        """Number of evaluations that failed; each is also a rejected step."""
        return int((~self.history.is_finite).sum())

    @property
    def n_failed(self) -> int:
        """Number of ensemble members that failed, over all iterations."""
        return int(self.history.n_failed.sum())

    def errors(self, iteration: int | None = None) -> dict[str, dict[str, float]]:
        """Root mean square errors by case and variable [its unit], at an iteration or the best one."""
        rows = self.history.errors[self.history.best_iteration if iteration is None else iteration]
        by_case = (dict(zip(self.variables, row.tolist(), strict=True)) for row in rows)
        known = ({name: error for name, error in of.items() if not math.isnan(error)} for of in by_case)
        return dict(zip(self.case_names, known, strict=True))


NEAR_A_BOUND = 0.02
"""Fraction of the range between its bounds, or of its logarithm, within which a parameter is on one."""
_STILL = 1e-3
"""Change of the unconstrained number, whose prior has the standard deviation 1, that counts as none."""
_IDLE = "did not move"


def remarks(result: CalibrationResult) -> dict[str, str]:
    """Remarks by path, on parameters that need one.

    Parameters at a bound would move beyond it: the bound determines their value. The loss does not depend on
    parameters that did not move, or too weakly for the method.
    """
    best, start = result.best, result.start
    found = {}
    for free in result.free_parameters.numbers:
        said = _on_bound(free, best[free.path]) or _still(free, start[free.path], best[free.path])
        if said:
            found[free.path] = said
    for tied in result.free_parameters.tied:
        if tied.to in found:
            found[tied.path] = f"as {tied.to}: {found[tied.to]}"
    return found


def remarks_in_short(found: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    """The same by the names of `in_short`; for a vector, with the number of entries per remark."""
    short = {}
    for label, behind in paths_in_short(paths).items():
        said = [found[path] for path in behind if path in found]
        if len(behind) == 1:
            short |= dict.fromkeys([label] if said else [], "".join(said))
            continue
        still = said.count(_IDLE)
        counts = (len(said) - still, "on a bound"), (still, _IDLE)
        text = ", ".join(f"{number} of {len(behind)} {what}" for number, what in counts if number)
        short |= {label: text} if text else {}
    return short


def _on_bound(free: FreeNumber, value: float) -> str:
    prior = free.distribution
    lower, upper, middle, place = prior.lower, prior.upper, prior.middle, value
    if isinstance(prior, LogBounded | LogNormal | LogUniform):
        lower, upper, middle, place = map(_logarithm, (lower, upper, middle, place))
    # From the median, because one bound may be infinitely far away.
    if place - lower < 2.0 * NEAR_A_BOUND * (middle - lower):
        return f"on its lower bound, {prior.lower:.6g}"
    if upper - place < 2.0 * NEAR_A_BOUND * (upper - middle):
        return f"on its upper bound, {prior.upper:.6g}"
    return ""


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _still(free: FreeNumber, start: float, value: float) -> str:
    prior = free.distribution
    if isinstance(prior, Normal):  # also for numbers of a correlated vector
        change = (value - start) / prior.standard_deviation
    else:
        change = prior.to_unconstrained(value) - prior.to_unconstrained(start)
    return _IDLE if abs(change) < _STILL else ""
