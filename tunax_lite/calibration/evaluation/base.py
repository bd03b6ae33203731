"""What every kind of evaluation has in common."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..parameters import UnconstrainedVector
from .problem import Problem


@dataclasses.dataclass(frozen=True)
class Fit:
    """How well one vector of parameters fits.

    Args:
        loss: mean of the scores, weighted by case, and what the priors add.
        scores: `(n_cases,)`.
        errors: root mean square error by case and variable, in the unit of the variable; NaN where a
            case does not observe a variable; `(n_cases, n_variables)`.
        of_all_cases: whether the loss is that of all cases; else it is an estimate from a few, and scores
            and errors of the others are NaN.
    """

    loss: float
    scores: np.ndarray
    errors: np.ndarray
    of_all_cases: bool = True

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss)


class AbstractEvaluation(abc.ABC):
    """What a method is told: the fit at the iterate, and more."""

    fit: Fit

    @property
    @abc.abstractmethod
    def is_finite(self) -> bool:
        """Whether the method can use it."""

    @property
    @abc.abstractmethod
    def gradient_norm(self) -> float:
        """Of the gradient of the loss to the unconstrained vector; NaN where there is none."""

    @property
    @abc.abstractmethod
    def n_failed(self) -> int:
        """Members of an ensemble that broke down."""


class AbstractGradientEvaluation(AbstractEvaluation):
    """One with the gradient of the loss to the unconstrained vector, `(n_parameters,)`."""

    gradient: np.ndarray

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def n_failed(self) -> int:
        return 0


class AbstractEvaluator(abc.ABC):
    """Programs that evaluate a problem; making one compiles them. The threads are those of the problem.

    Args:
        problem: what is evaluated.

    Raises:
        MemoryError: no program fits a memory budget that was given.
    """

    explanations: tuple[str, ...]
    n_compiled: int

    @abc.abstractmethod
    def __init__(self, problem: Problem): ...

    @abc.abstractmethod
    def __call__(self, *request: Any) -> AbstractEvaluation:
        """Evaluate what `ask` of the method returned."""


def fit_of(
    problem: Problem,
    x: UnconstrainedVector,
    scores: np.ndarray,
    mean_squares: Sequence[Mapping[str, Any]],
    weights: np.ndarray | None = None,
) -> Fit:
    """The fit of a vector of parameters.

    Args:
        problem: that was evaluated.
        x: the unconstrained vector.
        scores: `(n_cases,)`.
        mean_squares: by variable, one mapping per case.
        weights: of the cases, those of the problem by default; a case of weight 0 counts as left out.
    """
    errors = np.full((len(scores), len(problem.variables)), np.nan)
    for row, by_variable in zip(errors, mean_squares, strict=True):
        for column, variable in enumerate(problem.variables):
            if variable in by_variable:
                row[column] = math.sqrt(by_variable[variable])
    loss = float(problem.weighted_sum(scores, weights))
    if problem.prior_weight > 0.0:
        loss += 0.5 * problem.prior_weight * float(np.sum(np.square(np.asarray(x, float))))
    return Fit(loss, scores, errors, of_all_cases=weights is None)
