"""The cases of a calibration as arrays, with their weights, on threads; and what every evaluation of them is.

Cases are not batched on a CPU (docs/architecture.md says why): one compiled program is run for one case at a
time, on a few threads. Compiled code releases the interpreter lock, so threads run them side by side. Sums
over cases have a fixed order: a result does not depend on which thread was faster.
"""

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from ..checkpointing import AbstractCheckpointing, SaveSegments
from ..model import Model
from ..runtime import shapes_of
from .misfit import AbstractScore, Comparison, Target
from .parameters import FreeParameters, ResolvedParameters, UnconstrainedVector

P = TypeVar("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class CaseParameters:
    """What is free in the run of one case.

    Args:
        free: with paths from `ResolvedParameters.in_case`; the same for cases that differ by name only.
        places: of these among the free parameters of all cases.
        n_all: how many those are.
    """

    free: ResolvedParameters
    places: tuple[int, ...]
    n_all: int

    @property
    def is_all(self) -> bool:
        return len(self.places) == self.n_all

    def of(self, x: Any) -> Any:
        """The rows of the unconstrained vector, or of members along a trailing axis, that the case sees."""
        return x if self.is_all else x[np.array(self.places)]

    def spread_vector(self, gradient: Any) -> np.ndarray:
        """A gradient to what the case sees as one to the whole vector."""
        whole = np.zeros(self.n_all)
        whole[list(self.places)] = gradient
        return whole

    def spread_matrix(self, matrix: Any) -> np.ndarray:
        """A matrix of second derivatives to what the case sees as one to the whole vector."""
        whole = np.zeros((self.n_all, self.n_all))
        whole[np.ix_(self.places, self.places)] = matrix
        return whole

    def insert(
        self, x: UnconstrainedVector, model: Model, comparison: Comparison
    ) -> tuple[Model, Comparison]:
        """Model and case with the physical values of x, which is what `of` gives; differentiable to x."""
        model = eqx.tree_at(lambda m: m.closure, model, self.free.insert(model.closure, x))
        if self.free.changes_cases:
            comparison = eqx.tree_at(lambda c: c.case, comparison, self.free.insert_case(comparison.case, x))
        return model, comparison


class Problem:
    """What a calibration lowers, ready to be evaluated inside of a `with` block, at whose end its threads go.

    Args:
        model: whose closure is calibrated.
        free_parameters: what may change in that closure and in the cases of the targets.
        targets: at least one, with different names, and not all of weight 0.
        score: of a case.
        checkpointing: what reverse mode keeps of the time loop.
        n_threads: cases evaluated at the same time.
        prior_weight: of the priors of the parameters in the loss.

    Raises:
        ValueError: targets that cannot be evaluated, or a negative weight.
    """

    def __init__(
        self,
        model: Model,
        free_parameters: FreeParameters | ResolvedParameters,
        targets: Sequence[Target],
        score: AbstractScore,
        checkpointing: AbstractCheckpointing | None = None,
        n_threads: int = 2,
        prior_weight: float = 0.0,
    ):
        self.cases = {target.case.name: target.case for target in targets}
        if isinstance(free_parameters, FreeParameters):
            free_parameters = free_parameters.resolve(model.closure, self.cases)
        self.free_parameters = free_parameters
        if not (math.isfinite(prior_weight) and prior_weight >= 0.0):
            raise ValueError(f"prior_weight: expected a number of at least 0, got {prior_weight}.")
        self.case_names = _distinct_names(targets)
        self.variables = tuple(sorted({name for target in targets for name in target.weights}))
        self.comparisons = tuple(target.comparison for target in targets)
        self.weigh([target.weight for target in targets])
        self.model = model
        self.of_cases = tuple(_in_case(self.free_parameters, name) for name in self.case_names)
        self.score = score
        self.checkpointing = SaveSegments() if checkpointing is None else checkpointing
        self.n_threads = max(1, n_threads)
        self.prior_weight = float(prior_weight)
        self._pool = ThreadPoolExecutor(max_workers=self.n_threads)

    def __enter__(self) -> "Problem":
        return self

    def __exit__(self, *exception) -> None:
        self._pool.shutdown(cancel_futures=True)

    def weigh(self, weights: Sequence[float]) -> None:
        """Give the cases other weights; a case of weight 0 is only reported.

        Raises:
            ValueError: no positive weight, or a negative one.
        """
        given = np.array(weights, dtype=float)
        if given.shape != (len(self.case_names),) or not (given >= 0.0).all():
            raise ValueError(
                f"targets: expected a weight of at least 0 for each of the {len(self.case_names)} cases, got "
                f"{given.tolist()}."
            )
        if not given.sum() > 0.0:
            raise ValueError("targets: expected a case with a positive weight, got weight 0 for all.")
        self.weights = given / given.sum()

    def calibrated(self, x: UnconstrainedVector, index: int) -> tuple[Model, Comparison]:
        """Model and case of one number with the parameters of an unconstrained vector."""
        own = self.of_cases[index]
        return own.insert(own.of(x), self.model, self.comparisons[index])

    def programs(self, compile_for: Callable[[Comparison, CaseParameters], P]) -> tuple[list[P], int]:
        """A program for each case, and how many there are.

        Cases of equal shapes and run lengths share one, if the same of them is free. Programs are made here
        and not in the threads, so that no two threads compile the same.
        """
        compiled: dict[Any, P] = {}
        keys = [
            (shapes_of(comparison), own.free)
            for comparison, own in zip(self.comparisons, self.of_cases, strict=True)
        ]
        for key, comparison, own in zip(keys, self.comparisons, self.of_cases, strict=True):
            if key not in compiled:
                compiled[key] = compile_for(comparison, own)
        return [compiled[key] for key in keys], len(compiled)

    def map_cases(self, function: Callable[[int], R], cases: Sequence[int] | None = None) -> list[R]:
        """Results of a function of the number of the case, of all cases or of some, on the threads."""
        # JAX keeps the precision that a context chose for each thread by itself.
        double = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]

        def in_same_precision(index: int) -> R:
            with jax.enable_x64(double):
                return function(index)

        chosen = range(len(self.comparisons)) if cases is None else cases
        return list(self._pool.map(in_same_precision, chosen))

    def run(
        self, programs: Sequence[Callable[..., Any]], x: Any, cases: Sequence[int] | None = None
    ) -> list[Any]:
        """Results of the program of each case at parameters, on the host."""
        return self.map_cases(
            lambda index: jax.device_get(
                programs[index](self.of_cases[index].of(x), self.model, self.comparisons[index])
            ),
            cases,
        )

    def weighted_sum(self, by_case: Sequence[Any] | np.ndarray, weights: np.ndarray | None = None) -> Any:
        """Sum over the cases in their order, with their weights or with others."""
        total = 0.0
        for weight, part in zip(self.weights if weights is None else weights, by_case, strict=True):
            if weight > 0.0:  # a case that is only reported must not turn the loss into NaN
                total = total + weight * part
        return total


def _in_case(free_parameters: ResolvedParameters, name: str) -> CaseParameters:
    found = free_parameters.in_case(name)
    if found is None:
        raise ValueError(
            f"{name}: expected a case in which a parameter is free, got none among "
            f"{', '.join(free_parameters.paths)}; leave the case out."
        )
    return CaseParameters(*found, len(free_parameters.paths))


def _distinct_names(targets: Sequence[Target]) -> tuple[str, ...]:
    names = tuple(target.case.name for target in targets)
    if not names:
        raise ValueError("targets: expected at least one target, got none.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"targets: expected cases of different names, got {', '.join(repeated)} twice.")
    return names


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


@dataclasses.dataclass(frozen=True)
class MiniBatch:
    """A few cases, drawn so that every case comes once in a round of batches.

    The order of the cases is drawn anew for each round.

    Args:
        size: cases at a time; more than there are takes all of them.
        seed: of the random numbers.
        number: of the batch since the start.
    """

    size: int
    seed: int
    number: int

    def weights(self, of_all: np.ndarray) -> np.ndarray:
        """Weights of the cases, `(n_cases,)`: 0 for those left out, larger for the others.

        The mean over the batches of a round is `of_all`, so that the mean of the losses is the loss.
        """
        cases = np.flatnonzero(of_all > 0.0)
        n_batches = -(-cases.size // self.size)
        round_, place = divmod(self.number, n_batches)
        order = np.random.default_rng([self.seed, round_]).permutation(cases)
        weights = np.zeros_like(of_all)
        drawn = np.array_split(order, n_batches)[place]
        weights[drawn] = n_batches * of_all[drawn]
        return weights
