"""What happened in a calibration, iteration by iteration, and what came out of it."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import numpy as np

from ..case import Case
from ..closures.base import AbstractClosure
from .evaluation import AbstractEvaluation
from .parameters import ResolvedParameters, with_case_parameters, with_parameters


class History(eqx.Module):
    """One row per iteration, which is one evaluation of the kind that the method needs.

    Args:
        loss: `(n_iterations,)`; NaN or infinite where a run broke down.
        gradient_norm: of the gradient to the unconstrained vector, or NaN without one; `(n_iterations,)`.
        is_finite: whether the evaluation, with its gradient if it has one, was finite, `(n_iterations,)`.
        of_all_cases: whether the loss is that of all cases, `(n_iterations,)`; else it is an estimate from
            a few, and scores and errors of the others are NaN.
        rejected: whether the method took the step back, `(n_iterations,)`.
        start: number of the start that the iteration belongs to, `(n_iterations,)`.
        n_failed: members of an ensemble that broke down, `(n_iterations,)`.
        x: unconstrained vector, of an ensemble the mean, `(n_iterations, n_parameters)`.
        values: physical values, `(n_iterations, n_parameters)`.
        scores: `(n_iterations, n_cases)`.
        errors: root mean square errors, `(n_iterations, n_cases, n_variables)`.
    """

    loss: np.ndarray
    gradient_norm: np.ndarray
    is_finite: np.ndarray
    of_all_cases: np.ndarray
    rejected: np.ndarray
    start: np.ndarray
    n_failed: np.ndarray
    x: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    errors: np.ndarray

    @classmethod
    def empty(cls, n_iterations: int, n_parameters: int, n_cases: int, n_variables: int) -> "History":
        """Rows of zeros, to be read into or, with no rows, to append to."""
        return cls(
            loss=np.zeros(n_iterations),
            gradient_norm=np.zeros(n_iterations),
            is_finite=np.zeros(n_iterations, dtype=bool),
            of_all_cases=np.zeros(n_iterations, dtype=bool),
            rejected=np.zeros(n_iterations, dtype=bool),
            start=np.zeros(n_iterations, dtype=int),
            n_failed=np.zeros(n_iterations, dtype=int),
            x=np.zeros((n_iterations, n_parameters)),
            values=np.zeros((n_iterations, n_parameters)),
            scores=np.zeros((n_iterations, n_cases)),
            errors=np.zeros((n_iterations, n_cases, n_variables)),
        )

    @property
    def n_iterations(self) -> int:
        return self.loss.size

    @property
    def best_iteration(self) -> int:
        """The iteration of the lowest finite loss of all cases, the first of equals.

        Raises:
            ValueError: a history without a finite loss.
        """
        if not self._comparable.any():
            raise ValueError("history: expected an iteration with a finite loss, got none.")
        return int(np.argmin(np.where(self._comparable, self.loss, np.inf)))

    @property
    def best_loss(self) -> float:
        """The lowest finite loss of all cases; infinite without one."""
        return float(np.min(self.loss, where=self._comparable, initial=np.inf))

    @property
    def _comparable(self) -> np.ndarray:
        """Whether the loss of an iteration says how good it is beside the others."""
        return self.is_finite & self.of_all_cases

    @property
    def best_by_start(self) -> tuple[int | None, ...]:
        """The best iteration of each start, `None` where no loss was finite."""
        best = []
        for number in range(int(self.start.max(initial=-1)) + 1):
            own = np.where(self._comparable & (self.start == number), self.loss, np.inf)
            best.append(int(np.argmin(own)) if np.isfinite(own).any() else None)
        return tuple(best)

    @property
    def n_non_finite_at_end(self) -> int:
        """Evaluations in a row, up to the last one, that were not finite."""
        return int(np.argmax(np.append(self.is_finite[::-1], True)))

    def append(self, x, values, evaluation: AbstractEvaluation, rejected: bool, start: int = 0) -> "History":
        """The history with one more iteration."""
        row = (
            evaluation.fit.loss,
            evaluation.gradient_norm,
            evaluation.is_finite,
            evaluation.fit.of_all_cases,
            rejected,
            start,
            evaluation.n_failed,
            np.asarray(x),
            np.asarray(values),
            evaluation.fit.scores,
            evaluation.fit.errors,
        )
        columns = (getattr(self, field.name) for field in dataclasses.fields(self))
        return History(
            *(
                np.append(column, np.asarray(new, column.dtype)[None], axis=0)
                for column, new in zip(columns, row, strict=True)
            )
        )


@dataclasses.dataclass(frozen=True)
class CalibrationResult:
    """What a calibration leaves behind; the best iterate is the one of the lowest loss.

    Args:
        closure: with the best parameters.
        cases: by name, with the best numbers; their order is that of `history.scores`.
        free_parameters: with bounds, start values and units.
        history: all iterations.
        variables: what the last axis of `history.errors` stands for.
        stop_reason: why it ended, as a clause.
        prior_weight: of the priors of the parameters in the loss.
    """

    closure: AbstractClosure
    cases: Mapping[str, Case]
    free_parameters: ResolvedParameters
    history: History
    variables: tuple[str, ...]
    stop_reason: str
    prior_weight: float = 0.0

    @classmethod
    def from_history(
        cls,
        start_closure: AbstractClosure,
        start_cases: Mapping[str, Case],
        free_parameters: ResolvedParameters,
        history: History,
        variables: tuple[str, ...],
        stop_reason: str,
        prior_weight: float = 0.0,
    ) -> "CalibrationResult":
        """Take the best iterate of a history."""
        best = history.values[history.best_iteration].tolist()
        values = free_parameters.with_tied(dict(zip(free_parameters.paths, best, strict=True)))
        closure = with_parameters(start_closure, values)
        cases = {name: with_case_parameters(case, values) for name, case in start_cases.items()}
        return cls(closure, cases, free_parameters, history, variables, stop_reason, prior_weight)

    @property
    def case_names(self) -> tuple[str, ...]:
        return tuple(self.cases)

    @property
    def best(self) -> dict[str, float]:
        """The best physical values by path, those that are tied to others included."""
        row = self.history.values[self.history.best_iteration].tolist()
        return self.free_parameters.with_tied(dict(zip(self.free_parameters.paths, row, strict=True)))

    @property
    def start(self) -> dict[str, float]:
        """The physical values that the calibration started from, by path."""
        free = self.free_parameters
        return free.with_tied({number.path: number.start for number in free.numbers})

    @property
    def units(self) -> dict[str, str]:
        """Units of the parameters by path."""
        return self.free_parameters.units

    @property
    def best_loss(self) -> float:
        return self.history.best_loss

    @property
    def lowest_by_start(self) -> tuple[float | None, ...]:
        """The lowest loss that each start came to, `None` where no evaluation was finite."""
        best = self.history.best_by_start
        return tuple(None if iteration is None else float(self.history.loss[iteration]) for iteration in best)

    @property
    def n_rejected(self) -> int:
        """Steps that the method took back."""
        return int(self.history.rejected.sum())

    @property
    def n_non_finite(self) -> int:
        """Evaluations that broke down; each is also a rejected step."""
        return int((~self.history.is_finite).sum())

    @property
    def n_failed(self) -> int:
        """Members of ensembles that broke down, in all iterations together."""
        return int(self.history.n_failed.sum())

    def errors(self, iteration: int | None = None) -> dict[str, dict[str, float]]:
        """Root mean square errors by case and variable [unit of the variable].

        Args:
            iteration: by default the best one; 0 is the start.
        """
        row = self.history.errors[self.history.best_iteration if iteration is None else iteration]
        return {
            case: {
                variable: float(row[i, j])
                for j, variable in enumerate(self.variables)
                if not np.isnan(row[i, j])
            }
            for i, case in enumerate(self.case_names)
        }
