"""The cases of a calibration as arrays, with their weights; computations for one case and for all.

Cases are not batched on a CPU (docs/architecture.md tells why): one compiled program is run for one case at a
time, on a few threads or on workers. Compiled code releases the interpreter lock, so that threads run
concurrently. Sums over cases have a fixed order: the result does not depend on the speed of threads or
workers.
"""

import abc
import copy
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, PyTree

from ..column.checkpointing import AbstractCheckpointing, SaveSegments
from ..column.model import Model
from ..runtime import Shared
from ..runtime.engine import AbstractEngine, ThisProcess
from .misfit.comparison import AbstractScore, Comparison
from .misfit.target import Target
from .parameters import FreeParameters, ResolvedParameters, UnconstrainedVector, VectorOrMembers

CaseProgram = Callable[..., PyTree]
"""Of the numbers of a case, the model and its comparison; compiled."""

X = TypeVar("X", np.ndarray, Array)
Calibrated = tuple[Model, Comparison]

_HUGE = 100.0
"""Times the median of the losses: what a member that has left the region of sense gives."""
_nothing = functools.partial(np.zeros, 0)
_HERE = ThisProcess()


@dataclasses.dataclass(frozen=True)
class CaseParameters:
    """Free parameters in the run of one case."""

    free: ResolvedParameters  # from `in_case`; the same for cases that differ only by name
    places: tuple[int, ...]  # indices of these among all free parameters
    n_all: int  # number of free parameters

    def of(self, x: X) -> X:
        """The rows of the unconstrained vector, or of members on a trailing axis, that apply to the case."""
        return x if len(self.places) == self.n_all else x[np.array(self.places)]

    def spread(self, derivative: ArrayLike) -> np.ndarray:
        """Expand a gradient or matrix with respect to these rows to the whole vector."""
        whole = np.zeros((self.n_all,) * np.ndim(derivative))
        whole[np.ix_(*[self.places] * np.ndim(derivative))] = derivative
        return whole

    def insert(self, x: VectorOrMembers, model: Model, comparison: Comparison) -> Calibrated:
        """Model and case with the physical values of x, a result of `of`; differentiable by x."""
        model, case = self.free.insert_both((model, comparison.case), x)
        return model, dataclasses.replace(comparison, case=case)


class Problem:
    """The loss of a calibration; it does not change, because evaluators and workers share it.

    At least one target is required; names must differ, and not all weights may be 0 (`ValueError`). The
    arguments are those of `calibrate`.
    """

    def __init__(
        self,
        model: Model,
        free_parameters: FreeParameters | ResolvedParameters,
        targets: Sequence[Target],
        score: AbstractScore,
        checkpointing: AbstractCheckpointing | None = None,
        prior_weight: float = 0.0,
    ):
        self.cases = {target.case.name: target.case for target in targets}
        if isinstance(free_parameters, FreeParameters):
            free_parameters = free_parameters.resolve(model.closure, self.cases)
        self.free_parameters = free_parameters
        self.case_names = tuple(target.case.name for target in targets)
        if not targets:
            raise ValueError("targets: expected at least one target, got none.")
        repeated = sorted({name for name in self.case_names if self.case_names.count(name) > 1})
        if repeated:
            raise ValueError(f"targets: expected cases of different names, got {', '.join(repeated)} twice.")
        self.variables = tuple(sorted({name for target in targets for name in target.weights}))
        self.comparisons = tuple(target.comparison for target in targets)
        self._weights = self._shares([target.weight for target in targets])
        self.model = model
        n_all = len(free_parameters.paths)
        self.of_cases = tuple(CaseParameters(*free_parameters.for_case(n), n_all) for n in self.case_names)
        self.score = score
        self.checkpointing = SaveSegments() if checkpointing is None else checkpointing
        self._prior_weight = _checked_prior_weight(prior_weight)

    @property
    def weights(self) -> np.ndarray:
        """Of the cases; their sum is 1, `(n_cases,)`."""
        return self._weights

    @property
    def prior_weight(self) -> float:
        """Of half the squared length of the unconstrained vector in the loss."""
        return self._prior_weight

    def with_prior_weight(self, prior_weight: float) -> "Problem":
        """The same with another weight of the priors."""
        other = copy.copy(self)
        other._prior_weight = _checked_prior_weight(prior_weight)
        return other

    def weighed(self, weights: Sequence[float]) -> "Problem":
        """The same with other weights, none negative, not all 0; a case of weight 0 is only reported."""
        other = copy.copy(self)
        other._weights = self._shares(weights)
        return other

    def _shares(self, weights: Sequence[float]) -> np.ndarray:
        given = np.array(weights, dtype=float)
        if given.shape != (len(self.case_names),) or not (given >= 0.0).all():
            raise ValueError(
                f"targets: expected a weight of at least 0 for each of the {len(self.case_names)} cases, got "
                f"{given.tolist()}."
            )
        if not given.sum() > 0.0:
            raise ValueError("targets: expected a case with a positive weight, got weight 0 for all.")
        return given / given.sum()

    def calibrated(self, x: UnconstrainedVector, index: int) -> Calibrated:
        """Model and case of one index with the parameters of an unconstrained vector."""
        own = self.of_cases[index]
        return own.insert(own.of(x), self.model, self.comparisons[index])

    def weighted_sum(
        self, by_case: Sequence[PyTree] | np.ndarray, weights: np.ndarray | None = None
    ) -> PyTree:
        """Sum over the cases in order, with their weights or others."""
        total = 0.0
        for weight, part in zip(self.weights if weights is None else weights, by_case, strict=True):
            if weight > 0.0:  # a case that is only reported must not turn the loss into NaN
                total = total + weight * part
        return total

    def fit(
        self,
        x: ArrayLike,
        scores: np.ndarray,
        mean_squares: Sequence[Mapping[str, Any]],  # numbers of Python, NumPy or JAX
        weights: np.ndarray | None = None,
    ) -> "Fit":
        """The fit of a vector from scores `(n_cases,)` and mean squares of each case; weight 0 omits one."""
        errors = [[math.sqrt(of.get(name, math.nan)) for name in self.variables] for of in mean_squares]
        loss = float(self.weighted_sum(scores, weights))
        if self.prior_weight > 0.0:
            loss += 0.5 * self.prior_weight * float(np.sum(np.square(np.asarray(x, float))))
        return Fit(loss, scores, np.array(errors), of_all_cases=weights is None)


def _checked_prior_weight(weight: float) -> float:
    if not (math.isfinite(weight) and weight >= 0.0):
        raise ValueError(f"prior_weight: expected a number of at least 0, got {weight}.")
    return float(weight)


@dataclasses.dataclass(frozen=True)
class Fit:
    """Fit of one vector of parameters: weighted mean of the scores, plus the prior term.

    Errors are root mean squares in the units of the variables, NaN if a case does not observe one.
    """

    loss: float
    scores: np.ndarray  # (n_cases,)
    errors: np.ndarray  # (n_cases, n_variables)
    of_all_cases: bool = True  # otherwise the loss is an estimate, and the other cases have NaN

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Result for a method: the fit of a vector (or ensemble mean), and what it requested.

    This is the gradient of the loss `(n_parameters,)` and its approximate second derivative, or the losses of
    members `(n_members,)` and the products of their residuals, not finite for failed members.
    """

    fit: Fit
    gradient: np.ndarray = dataclasses.field(default_factory=_nothing)
    matrix: np.ndarray = dataclasses.field(default_factory=_nothing)
    losses: np.ndarray = dataclasses.field(default_factory=_nothing)
    products: np.ndarray = dataclasses.field(default_factory=_nothing)

    @property
    def is_finite(self) -> bool:
        derivatives = np.isfinite(self.gradient).all() and np.isfinite(self.matrix).all()
        return self.fit.is_finite and bool(derivatives)

    @property
    def gradient_norm(self) -> float:
        """NaN without a gradient."""
        return float(np.linalg.norm(self.gradient)) if self.gradient.size else math.nan

    @property
    def failed(self) -> np.ndarray:
        """Members whose loss is not finite, or far above the median, `(n_members,)`."""
        finite = np.isfinite(self.losses)
        if self.losses.size:
            finite &= np.isfinite(np.diag(self.products))
        if not finite.any():
            return ~finite
        with np.errstate(invalid="ignore"):
            return ~(finite & (self.losses <= _HUGE * np.median(self.losses[finite])))


@dataclasses.dataclass(eq=False)
class CaseWork(abc.ABC):
    """The computation for one case: a function of items that begin with the index of the case.

    A program is compiled when a case first needs it, one for cases of equal shapes and free parameters, and
    stays in the process; pickles hold only the problem and the other fields. Weights of cases and priors are
    not part of the program.
    """

    problem: Problem

    def __post_init__(self):
        self._shared: Shared[CaseProgram] = Shared()
        self._programs: dict[tuple[int, int], CaseProgram] = {}
        self._compiling = threading.Lock()  # no two threads compile the same program

    def __reduce__(self):
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    @abc.abstractmethod
    def __call__(self, item: tuple) -> PyTree:
        """Contribution to the sum of an evaluator, on the host."""

    @abc.abstractmethod
    def compile(self, index: int, columns: int) -> CaseProgram:
        """A program for a case and a number of columns in a batch, 0 for none."""

    def program(self, index: int, columns: int = 0) -> CaseProgram:
        with self._compiling:
            if (index, columns) not in self._programs:
                own = self.problem.comparisons[index], self.problem.of_cases[index].free
                make = functools.partial(self.compile, index, columns)
                self._programs[index, columns] = self._shared.get(make, own[0], own[1], columns)
            return self._programs[index, columns]

    def run(self, index: int, x: np.ndarray) -> PyTree:
        """Results of the program of a case at a vector, or members along a trailing axis, on the host."""
        problem = self.problem
        program = self.program(index, 0 if x.ndim == 1 else x.shape[1])
        own = problem.of_cases[index].of(x)
        return jax.device_get(program(own, problem.model, problem.comparisons[index]))

    def take(self, programs: Sequence[CaseProgram]) -> None:
        """Use existing programs, one per case."""
        self._programs = {(index, 0): program for index, program in enumerate(programs)}

    @property
    def n_compiled(self) -> int:
        return len(set(map(id, self._programs.values())))


class PlainWork(CaseWork):
    """Returns the result of the program of a case."""

    def __call__(self, item: tuple[int, np.ndarray]) -> PyTree:
        return self.run(*item)


class AbstractEvaluator(abc.ABC):
    """Evaluates a problem, with an engine that computes its cases."""

    explanations: tuple[str, ...] = ()

    def __init__(self, problem: Problem, engine: AbstractEngine = _HERE):
        self._problem, self._engine = problem, engine
        self._prepare()

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Input of the computation of a case that all vectors share."""

    @abc.abstractmethod
    def __call__(self, *request: Any, **named: Any) -> Evaluation:  # Any: evaluators differ
        """Evaluate the request of a method's `ask`; `MemoryError` if no program fits a budget."""

    def _of_cases(self, work: CaseWork, x: np.ndarray, cases: Sequence[int] | None = None) -> list[PyTree]:
        """Results of some cases, or all, at a vector or members."""
        if cases is None:
            cases = range(len(self._problem.weights))
        return self._engine.map(work, [(case, x) for case in cases])

    @property
    def n_at_once(self) -> int:
        """Number of vectors that keep the engine busy."""
        return self._engine.n_drivers // len(self._problem.weights)

    def of(self, problem: Problem) -> "AbstractEvaluator":
        """The same for a problem that differs only in its weights, with the same programs."""
        other = copy.copy(self)
        other._problem = problem
        return other


@dataclasses.dataclass(frozen=True)
class MiniBatch:
    """A few cases, drawn so that each occurs once per round of batches; the order differs between rounds."""

    size: int  # number of cases, at most all
    seed: int
    number: int  # index of the batch since the start

    def weights(self, of_all: np.ndarray) -> np.ndarray:
        """Weights of the cases, `(n_cases,)`: 0 for those left out, larger for the others.

        Their mean over the batches of a round is `of_all`, so that the mean of the losses is the loss.
        """
        cases, weights = np.flatnonzero(of_all > 0.0), np.zeros_like(of_all)
        n_batches = -(-cases.size // self.size)
        round_, place = divmod(self.number, n_batches)
        order = np.random.default_rng([self.seed, round_]).permutation(cases)
        drawn = np.array_split(order, n_batches)[place]
        weights[drawn] = n_batches * of_all[drawn]
        return weights
