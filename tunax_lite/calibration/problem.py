"""The loss of a calibration on all its cases, and its evaluation case by case.

Cases are not batched on a CPU (see docs/architecture.md): one compiled program is run for one case at a
time, on a few threads or on workers. Compiled code releases the interpreter lock, so that threads run
concurrently. Sums over cases have a fixed order: the result does not depend on the speed of threads or
workers.

Methods ask for one of three evaluations: loss and gradient, loss and normal equations, or ensemble losses.

With residuals r_c of a case, whose squares sum to its mean square m_c, their Jacobian J_c, the weight w_c of
the case and the slope s'(m_c) of the score, the normal equations (in forward mode) are

    gradient = sum_c 2 w_c s'(m_c) J_cᵀ r_c
    matrix   = sum_c 2 w_c s'(m_c) J_cᵀ J_c

plus w x and w I for a prior of weight w, as from residuals x sqrt(w / 2). The gradient is that of the loss.
The matrix omits the second derivatives of the residuals (Gauss-Newton) and the curvature of the score: the
root is concave, so that the quadratic model with this matrix lies above the one with curvature, and a step to
its minimum does not overshoot.

A derivative can be huge without meaning: where a front passes a cell, or turbulence sets in slightly earlier,
a residual changes by its own size over a tiny step, but by no more over a large one. A few such rows of J
would dominate all others. In the matrix, but never in the gradient, a row is therefore scaled down to a limit
of its derivatives: three times the range of the observations, or the largest residual of the case if that is
more. A run hardly leaves this range, and unconstrained numbers are of order one: with a larger derivative, a
change by a third would cross it. Residuals alone are a poor scale: those of a good first guess
are small, their derivatives are not.

Ensemble members are columns of one batch. With the residuals r_i of member i,

    products_ij = sum_c w_c s'(m_c) r_ci · r_cj

where m_c is the mean square of the ensemble mean. For the mean square as score s' = 1, and the diagonal holds
the losses. Ensemble Kalman methods need the residuals only through these products.
"""

import abc
import contextlib
import copy
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from .._types import Scalar
from ..column.checkpointing import AbstractCheckpointing, SaveSegments, shared_among
from ..column.model import Model
from ..column.sensitivity import CompiledJacobian, sums_of_products
from ..runtime import compile_program
from ..runtime.compilation import Shared
from ..runtime.engine import AbstractEngine, ThisProcess
from ..runtime.memory import free_memory
from .parameters import FreeParameters, ParameterTable, UnconstrainedVector, VectorOrMembers
from .target import AbstractScore, Comparison, Target, misfit, misfit_of_run, residuals

Members = Float[Array, "parameter member"]

_HUGE = 100.0
"""Ratio to the median loss above which a member counts as diverged."""
_RANGES = 3.0
"""Limit of derivatives by unconstrained numbers in the matrix, in ranges of the observations."""
_SHARE_OF_MEMORY = 0.5
"""Fraction of the free memory that the Jacobian of a case may use."""
_empty = functools.partial(np.zeros, 0)
_HERE = ThisProcess()


class Problem:
    """The loss of a calibration. Do not change it: evaluators and workers share it; see `with_weights`.

    At least one target is required; names must differ, and not all weights may be 0 (`ValueError`). The
    arguments are those of `calibrate`.
    """

    def __init__(
        self,
        model: Model,
        free_parameters: FreeParameters | ParameterTable,
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
        self.model = model
        self.in_cases = tuple(free_parameters.in_case(name) for name in self.case_names)
        self.score = score
        self.checkpointing = SaveSegments() if checkpointing is None else checkpointing
        self.weights = self._normalised([target.weight for target in targets])  # (n_cases,); their sum is 1
        self.prior_weight = _checked_prior_weight(prior_weight)

    def with_weights(
        self, *, weights: Sequence[float] | None = None, prior_weight: float | None = None
    ) -> "Problem":
        """Replace the weights of cases or priors; errors of a case of weight 0 are only reported."""
        other = copy.copy(self)
        if weights is not None:
            other.weights = self._normalised(weights)
        if prior_weight is not None:
            other.prior_weight = _checked_prior_weight(prior_weight)
        return other

    def _normalised(self, weights: Sequence[float]) -> np.ndarray:
        values = np.array(weights, dtype=float)
        if values.shape != (len(self.case_names),) or not (values >= 0.0).all():
            raise ValueError(
                f"targets: expected a weight of at least 0 for each of the {len(self.case_names)} cases, got "
                f"{values.tolist()}."
            )
        if not values.sum() > 0.0:
            raise ValueError("targets: expected a case with a positive weight, got weight 0 for all.")
        return values / values.sum()

    def calibrated(self, x: VectorOrMembers, index: int) -> tuple[Model, Comparison]:
        """Model and comparison of a case, by its index, with the parameters of an unconstrained vector."""
        numbers = self.in_cases[index]
        x = numbers.part_of(x)
        return numbers.to_pytree(self.model, x), numbers.to_pytree(self.comparisons[index], x)

    def weighted_sum(self, by_case: Sequence[PyTree] | np.ndarray) -> PyTree:
        """Sum over the cases in order, with their weights."""
        total = 0.0
        for weight, part in zip(self.weights, by_case, strict=True):
            if weight > 0.0:  # a case that is only reported must not turn the loss into NaN
                total = total + weight * part
        return total

    def derivative(self, by_case: Sequence[ArrayLike]) -> np.ndarray:
        """Gradient or matrix of the loss without priors, from those of the cases by their free numbers."""
        n, expanded = len(self.free_parameters.paths), []
        for numbers, part in zip(self.in_cases, by_case, strict=True):
            derivative = np.zeros((n,) * np.ndim(part))
            derivative[np.ix_(*[numbers.places or range(n)] * np.ndim(part))] = part
            expanded.append(derivative)
        return np.asarray(self.weighted_sum(expanded))

    def evaluation(
        self,
        x: ArrayLike,
        scores: np.ndarray,
        mean_squares: Sequence[Mapping[str, Any]],  # numbers of Python, NumPy or JAX
        **requested: np.ndarray,
    ) -> "Evaluation":
        """Evaluation of a vector from scores `(n_cases,)`, mean squares of each case, and derivatives."""
        errors = [[math.sqrt(case.get(name, math.nan)) for name in self.variables] for case in mean_squares]
        loss = float(self.weighted_sum(scores))
        if (weight := self.prior_weight) > 0.0:
            x = np.asarray(x, float)
            loss += 0.5 * weight * float(np.sum(np.square(x)))
            prior_terms = {"gradient": weight * x, "matrix": weight * np.eye(x.size)}
            requested = {name: part + prior_terms[name] for name, part in requested.items()}
        return Evaluation(loss, scores, np.array(errors), **requested)


def _checked_prior_weight(weight: float) -> float:
    if not (math.isfinite(weight) and weight >= 0.0):
        raise ValueError(f"prior_weight: expected a number of at least 0, got {weight}.")
    return float(weight)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Fit of a vector (or ensemble mean), and the derivatives or members that a method requested.

    The loss is the weighted mean of the scores, plus the prior term. Errors are root mean squares in the
    units of the variables, NaN if a case does not observe one. Methods request the gradient of the loss
    `(n_parameters,)` and its approximate second derivative, or the losses of members `(n_members,)` and the
    products of their residuals, not finite for failed members.
    """

    loss: float
    scores: np.ndarray  # (n_cases,)
    errors: np.ndarray  # (n_cases, n_variables)
    gradient: np.ndarray = dataclasses.field(default_factory=_empty)
    matrix: np.ndarray = dataclasses.field(default_factory=_empty)
    losses: np.ndarray = dataclasses.field(default_factory=_empty)
    products: np.ndarray = dataclasses.field(default_factory=_empty)

    @property
    def is_finite(self) -> bool:
        derivatives = np.isfinite(self.gradient).all() and np.isfinite(self.matrix).all()
        return math.isfinite(self.loss) and bool(derivatives)

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient; NaN if none was requested."""
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


CaseFunction = Callable[[Model, Comparison], PyTree]
"""Function of a model and the comparison of a case, both with the parameters of a vector or of members."""
FunctionOfNumbers = Callable[..., PyTree]
"""Function of the free numbers of a case, the model and the comparison."""


@dataclasses.dataclass(eq=False)
class CaseProgram:
    """The computation for one case: a function of its index, and of a vector or members.

    A program is compiled when a case first needs it, and shared by cases of equal shapes and free parameters.
    Pickles hold only the problem and the functions. Weights of cases and priors are not part of the program.

    Args:
        problem: to which the cases belong.
        function: function of the model and the comparison with their parameters; picklable for workers.
        compile: called with a `FunctionOfNumbers` (a vector, or members on a trailing axis) and the shapes of
            its arguments; returns the compiled program.
    """

    problem: Problem
    function: CaseFunction
    compile: Callable[..., FunctionOfNumbers] = compile_program

    def __post_init__(self):
        self._shared: Shared[FunctionOfNumbers] = Shared()
        self._programs: dict[tuple[int, tuple[int, ...]], FunctionOfNumbers] = {}
        self._compiling = threading.Lock()  # no two threads compile the same program

    def __reduce__(self):
        return type(self), (self.problem, self.function, self.compile)

    def __call__(self, item: tuple[int, np.ndarray]) -> PyTree:
        """Results on the host."""
        (index, x), problem = item, self.problem
        comparison, numbers = problem.comparisons[index], problem.in_cases[index]
        x = numbers.part_of(x)

        def function_of_numbers(x: VectorOrMembers, model: Model, comparison: Comparison) -> PyTree:
            return self.function(numbers.to_pytree(model, x), numbers.to_pytree(comparison, x))

        with self._compiling:
            if (index, x.shape) not in self._programs:
                arguments = jax.ShapeDtypeStruct(x.shape, jnp.result_type(float)), problem.model, comparison
                make = functools.partial(self.compile, function_of_numbers, *arguments)
                self._programs[index, x.shape] = self._shared.get(make, comparison, numbers, x.shape)
        return jax.device_get(self._programs[index, x.shape](x, problem.model, comparison))

    @property
    def n_compiled(self) -> int:
        """Number of programs in this process."""
        return len(set(map(id, self._programs.values())))


class AbstractEvaluator(abc.ABC):
    """Evaluates a problem, with an engine that computes its cases."""

    def __init__(self, problem: Problem, engine: AbstractEngine = _HERE):
        self._problem, self._engine = problem, engine

    @abc.abstractmethod
    def __call__(self, *request: Any, **named: Any) -> Evaluation:  # Any: evaluators differ
        """Evaluate the request of a method's `ask`."""

    def for_problem(self, problem: Problem) -> "AbstractEvaluator":
        """An evaluator, with the same programs, of a problem that differs only in its weights."""
        other = copy.copy(self)
        other._problem = problem
        return other

    def _map_cases(self, program: CaseProgram, x: np.ndarray) -> list[PyTree]:
        return self._engine.map(program, [(case, x) for case in range(len(self._problem.weights))])


class GradientEvaluator(AbstractEvaluator):
    """Evaluates loss and gradient, in reverse mode; concurrent computations share a memory budget."""

    def __init__(self, problem: Problem, engine: AbstractEngine = _HERE):
        super().__init__(problem, engine)
        layout = shared_among(engine.n_here, problem.checkpointing)
        loss = functools.partial(misfit, score=problem.score, checkpointing=layout)
        self.program = CaseProgram(problem, loss, _compiled_gradient)

    def __call__(self, x: UnconstrainedVector) -> Evaluation:
        """Fit and gradient at an unconstrained vector."""
        problem, vector = self._problem, np.asarray(x)
        losses, gradients = zip(*self._map_cases(self.program, vector), strict=True)
        scores, mean_squares = zip(*losses, strict=True)
        gradient = problem.derivative(gradients)
        return problem.evaluation(vector, np.array(scores, float), mean_squares, gradient=gradient)


def _compiled_gradient(loss: FunctionOfNumbers, *arguments: PyTree) -> FunctionOfNumbers:
    def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
        return jax.value_and_grad(loss, has_aux=True)(x, model, comparison)

    return compile_program(value_and_gradient, *arguments)  # named in tables and in the cache


class NormalEquationsEvaluator(AbstractEvaluator):
    """Evaluates the loss by a plain run, and the normal equations by the Jacobian of the residuals.

    The Jacobian of one case per thread or worker is in memory at a time.
    """

    def __init__(self, problem: Problem, engine: AbstractEngine = _HERE):
        super().__init__(problem, engine)
        self._runs = CaseProgram(problem, _calibrated, functools.partial(_run_of, problem.score))
        budget = int(_SHARE_OF_MEMORY * free_memory())
        compiling = functools.partial(_compiled_equations, budget, problem.score)
        self._equations = CaseProgram(problem, _residuals, compiling)

    def __call__(self, x: UnconstrainedVector, loss_to_beat: float = math.inf) -> Evaluation:
        """Fit at an unconstrained vector, and gradient and matrix if the loss is below `loss_to_beat`."""
        problem, vector = self._problem, np.asarray(x)
        scores, mean_squares = zip(*self._map_cases(self._runs, vector), strict=True)
        fit = problem.evaluation(vector, np.array(scores, float), mean_squares)
        if not (fit.is_finite and fit.loss < loss_to_beat):
            return fit
        cases = np.flatnonzero(problem.weights).tolist()
        results = self._engine.map(self._equations, [(case, vector) for case in cases])
        equations = dict(zip(cases, results, strict=True))
        by_case = [equations.get(case, (0.0, 0.0)) for case in range(len(scores))]
        gradient, matrix = map(problem.derivative, zip(*by_case, strict=True))
        return problem.evaluation(vector, fit.scores, mean_squares, gradient=gradient, matrix=matrix)


def _calibrated(model: Model, comparison: Comparison) -> tuple[Model, Comparison]:
    return model, comparison


def _run_of(score: AbstractScore, calibrated: FunctionOfNumbers, *_: PyTree) -> FunctionOfNumbers:
    """Score and mean squares of a case, by a program that figures of the calibrated runs share."""
    calibrated, compiling, compiled = eqx.filter_jit(calibrated), threading.Lock(), threading.Event()

    def run(*arguments: PyTree) -> tuple[Scalar, PyTree]:
        # The first thread compiles; others would compile the same.
        with contextlib.nullcontext() if compiled.is_set() else compiling:
            model, comparison = calibrated(*arguments)
            result = misfit_of_run(model, comparison, score)
        compiled.set()
        return result

    return run


def _residuals(model: Model, comparison: Comparison) -> PyTree:
    return residuals(model, comparison)[0]


def _compiled_equations(
    memory_budget: int, score: AbstractScore, by_parameters, *arguments
) -> FunctionOfNumbers:
    """Contribution of a case to gradient and matrix, without its weight."""
    jacobian = CompiledJacobian(by_parameters, *arguments, mode="forward", memory_budget=memory_budget)
    slope_of = jax.jit(jax.grad(score))

    def equations(x: np.ndarray, model: Model, comparison: Comparison):
        at_x = jacobian(x, model, comparison)
        limit = _RANGES * _largest_range(comparison) or math.inf  # a single value has no range
        largest = float(np.max(np.abs(at_x.residuals)))
        normal = at_x.normal_equations(max(largest, limit))
        twice = 2.0 * float(slope_of(normal.sum_of_squares))
        gradient, matrix = jax.device_get((normal.gradient, normal.matrix))
        return twice * gradient, twice * matrix

    return equations


def _largest_range(comparison: Comparison) -> float:
    """Largest range of the observed values of a variable, in units of the residuals."""
    ranges = []
    for variable in comparison.variables.values():
        shares, values = np.asarray(variable.shares), np.asarray(variable.observed)
        ranges.append(
            math.sqrt(np.asarray(variable.factor) * shares.max()) * float(np.ptp(values[shares > 0.0]))
        )
    return max(ranges)


class EnsembleEvaluator(AbstractEvaluator):
    """Evaluates members and their mean as columns of a batch; compiled once their number is known."""

    def __init__(self, problem: Problem, engine: AbstractEngine = _HERE):
        super().__init__(problem, engine)
        if problem.prior_weight > 0.0:
            raise ValueError(
                "prior_weight: expected 0 for a method whose ensemble starts from the prior, got "
                f"{problem.prior_weight:g}; leave it out."
            )
        self._program = CaseProgram(problem, functools.partial(_members, problem.score))
        self._slope = jax.jit(jax.grad(problem.score))

    def __call__(self, members: Members) -> Evaluation:
        """Fit of the mean, which is one more column, and results of the members."""
        problem, members = self._problem, jnp.asarray(members)
        columns = np.asarray(jnp.concatenate([members, jnp.mean(members, axis=1, keepdims=True)], axis=1))
        results = self._map_cases(self._program, columns)
        scores = np.array([scores for scores, _, _ in results], dtype=float)
        of_mean = [{name: values[-1] for name, values in squares.items()} for *_, squares in results]
        products = [self._slope(products[-1, -1]) * products[:-1, :-1] for _, products, _ in results]
        return problem.evaluation(
            columns[:, -1],
            scores[:, -1],
            of_mean,
            losses=np.asarray(problem.weighted_sum(scores[:, :-1])),
            products=np.asarray(problem.weighted_sum(products)),
        )


def _members(score: AbstractScore, model: Model, comparison: Comparison) -> tuple[Array, Array, PyTree]:
    """Scores, products of residuals and mean squares of members."""
    by_variable, mean_squares = residuals(model, comparison)
    flat = jnp.concatenate([part.reshape(-1, part.shape[-1]) for part in by_variable.values()])
    products = sums_of_products(flat)
    return score(jnp.diagonal(products)), products, mean_squares
