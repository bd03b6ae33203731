"""Evaluations that methods ask for: loss and gradient, loss and normal equations, or ensemble losses.

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
would dominate all others. In the matrix, but never in the gradient, a row with a derivative above the largest
residual of the case at the first guess is therefore scaled down to that value.

Ensemble members are columns of one batch. With the residuals r_i of member i,

    products_ij = sum_c w_c s'(m_c) r_ci · r_cj

where m_c is the mean square of the ensemble mean. For the mean square as score s' = 1, and the diagonal holds
the losses. Ensemble Kalman methods need the residuals only through these products.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..column.checkpointing import AbstractCheckpointing, Auto
from ..column.model import Model
from ..column.planning import CheckpointingChoice, choose_checkpointing
from ..column.sensitivity import CompiledJacobian, sums_of_products
from ..runtime import Program, Shared, compile_program, free_memory
from .misfit.comparison import Comparison, misfit, residuals
from .parameters import UnconstrainedVector
from .problem import AbstractEvaluator, CaseWork, Evaluation, MiniBatch, PlainWork, Problem

Members = Float[Array, "parameter member"]


class GradientEvaluator(AbstractEvaluator):
    """Evaluates loss and gradient, in reverse mode.

    With `Auto` checkpointing it takes the fastest candidate whose compiled program fits; the budget is shared
    among concurrent computations on this machine. The choice is made here, for all workers.
    """

    def _prepare(self) -> None:
        problem, n_cases = self._problem, len(self._problem.weights)
        if not isinstance(problem.checkpointing, Auto):
            self._work = _Gradient(problem, (problem.checkpointing,) * n_cases)
            return
        found: Shared[CheckpointingChoice] = Shared()
        budget = problem.checkpointing.memory_budget // self._engine.n_here
        choices = []
        for index, (comparison, own) in enumerate(zip(problem.comparisons, problem.of_cases, strict=True)):
            choose = functools.partial(_choose, problem, index, problem.checkpointing, budget)
            choices.append(found.get(choose, comparison, own.free))
        self.explanations = tuple(choice.explanation for choice in found.all)
        self._work = _Gradient(problem, tuple(choice.checkpointing for choice in choices))
        self._work.take([choice.program for choice in choices])

    @property
    def n_compiled(self) -> int:
        """Number of programs in this process."""
        return self._work.n_compiled

    def __call__(self, x: UnconstrainedVector, batch: MiniBatch | None = None) -> Evaluation:
        """Fit and gradient at an unconstrained vector, for all cases or a few."""
        problem, n_cases, vector = self._problem, len(self._problem.weights), np.asarray(x)
        weights = None if batch is None else batch.weights(problem.weights)
        cases = (np.arange(n_cases) if weights is None else np.flatnonzero(weights)).tolist()
        scores, gradients = np.full(n_cases, np.nan), np.zeros((n_cases, vector.size))
        mean_squares: list[dict[str, float]] = [{} for _ in problem.weights]
        found = self._of_cases(self._work, vector, cases)
        for case, ((score, of_case), gradient) in zip(cases, found, strict=True):
            scores[case], mean_squares[case] = score, of_case
            gradients[case] = problem.of_cases[case].spread(gradient)
        gradient = np.asarray(problem.weighted_sum(gradients, weights))
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * vector
        return Evaluation(problem.fit(vector, scores, mean_squares, weights), gradient)


def _value_and_gradient(problem: Problem, index: int, checkpointing: AbstractCheckpointing):
    own = problem.of_cases[index]

    def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
        def loss(x):
            return misfit(*own.insert(x, model, comparison), problem.score, checkpointing)

        return jax.value_and_grad(loss, has_aux=True)(x)

    return value_and_gradient


def _choose(problem: Problem, index: int, auto: Auto, budget: int) -> CheckpointingChoice:
    of = functools.partial(_value_and_gradient, problem, index)
    arguments = problem.of_cases[index].free.start(), problem.model, problem.comparisons[index]
    return choose_checkpointing(of, arguments, budget, candidates=auto.candidates)


@dataclasses.dataclass(eq=False)
class _Gradient(PlainWork):
    """Score with mean squares, and gradient by the case's parameters, for a case and a vector."""

    checkpointings: tuple[AbstractCheckpointing, ...]  # by case

    def compile(self, index: int, columns: int) -> Program:
        problem = self.problem
        function = _value_and_gradient(problem, index, self.checkpointings[index])
        arguments = problem.of_cases[index].free.start(), problem.model, problem.comparisons[index]
        return compile_program(function, *arguments)


class NormalEquationsEvaluator(AbstractEvaluator):
    """Evaluates the loss by a plain run, and the normal equations by the Jacobian of the residuals.

    The Jacobian of one case per thread or worker is in memory at a time.
    """

    def _prepare(self) -> None:
        problem = self._problem
        self._runs = _Run(problem)
        start = np.asarray(problem.free_parameters.start())
        largest = [float(largest) for *_, largest in self._of_cases(self._runs, start)]
        # No limit if the first guess fits perfectly or fails to run.
        limits = [each if math.isfinite(each) and each > 0.0 else math.inf for each in largest]
        self._equations = _NormalEquations(problem, tuple(limits), int(_SHARE_OF_MEMORY * free_memory()))

    def __call__(self, x: UnconstrainedVector, loss_to_beat: float = math.inf) -> Evaluation:
        """Fit at an unconstrained vector, and gradient and matrix if the loss is below `loss_to_beat`."""
        problem, vector = self._problem, np.asarray(x)
        results = self._of_cases(self._runs, vector)
        scores = np.array([float(score) for score, *_ in results])
        fit = problem.fit(vector, scores, [mean_squares for _, mean_squares, _ in results])
        if not (fit.is_finite and fit.loss < loss_to_beat):
            return Evaluation(fit)
        cases = np.flatnonzero(problem.weights).tolist()
        gradients, matrices = zip(*self._of_cases(self._equations, vector, cases), strict=True)
        weights = problem.weights[cases]
        gradient = problem.weighted_sum(gradients, weights)
        matrix = problem.weighted_sum(matrices, weights)
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(vector, float)
            matrix = matrix + problem.prior_weight * np.eye(vector.size)
        return Evaluation(fit, gradient, matrix)


_SHARE_OF_MEMORY = 0.5  # fraction of the free memory, for the Jacobian of a case


class _Run(PlainWork):
    """Score, mean squares and largest residual, for a case and a vector."""

    def compile(self, index: int, columns: int) -> Program:
        problem, own = self.problem, self.problem.of_cases[index]

        def run(x: UnconstrainedVector, model: Model, comparison: Comparison):
            by_variable, mean_squares = residuals(*own.insert(x, model, comparison))
            flat = jnp.concatenate([part.ravel() for part in by_variable.values()])
            return problem.score(flat @ flat), mean_squares, jnp.max(jnp.abs(flat))

        return compile_program(run, own.free.start(), problem.model, problem.comparisons[index])


@dataclasses.dataclass(eq=False)
class _NormalEquations(CaseWork):
    """Contribution of a case to gradient and matrix, without its weight, at a vector."""

    limits: tuple[float, ...]  # of derivatives, by case
    memory_budget: int

    def __call__(self, item: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        (index, x), problem = item, self.problem
        own = problem.of_cases[index]
        jacobian = self.program(index)(own.of(x), problem.model, problem.comparisons[index])
        found = jacobian.normal_equations(self.limits[index])
        slope = float(self._slope(found.sum_of_squares))
        gradient, matrix = jax.device_get((found.gradient, found.matrix))
        return 2.0 * slope * own.spread(gradient), 2.0 * slope * own.spread(matrix)

    @functools.cached_property
    def _slope(self):
        return jax.jit(jax.grad(self.problem.score))

    def compile(self, index: int, columns: int) -> CompiledJacobian:
        problem, own = self.problem, self.problem.of_cases[index]

        def of_parameters(x: UnconstrainedVector, model: Model, comparison: Comparison):
            return residuals(*own.insert(x, model, comparison))[0]

        arguments = own.free.start(), problem.model, problem.comparisons[index]
        return CompiledJacobian(of_parameters, *arguments, mode="forward", memory_budget=self.memory_budget)


class EnsembleEvaluator(AbstractEvaluator):
    """Evaluates members and their mean as columns of a batch; compiled once their number is known."""

    def _prepare(self) -> None:
        problem = self._problem
        if problem.prior_weight > 0.0:
            raise ValueError(
                "prior_weight: expected 0 for a method whose ensemble starts from the prior, got "
                f"{problem.prior_weight:g}; leave it out."
            )
        self._work = _Members(problem)
        self._slope = jax.jit(jax.grad(problem.score))

    def __call__(self, members: Members) -> Evaluation:
        """Fit of the mean, which is one more column, and results of the members."""
        problem, members = self._problem, jnp.asarray(members)
        columns = np.asarray(jnp.concatenate([members, jnp.mean(members, axis=1, keepdims=True)], axis=1))
        results = self._of_cases(self._work, columns)
        scores = np.array([scores for scores, _, _ in results], dtype=float)
        of_mean = [{name: found[-1] for name, found in mean_squares.items()} for *_, mean_squares in results]
        products = [self._slope(products[-1, -1]) * products[:-1, :-1] for _, products, _ in results]
        return Evaluation(
            problem.fit(columns[:, -1], scores[:, -1], of_mean),
            losses=np.asarray(problem.weighted_sum(scores[:, :-1])),
            products=np.asarray(problem.weighted_sum(products)),
        )


class _Members(PlainWork):
    """Scores, products of residuals and mean squares, for a case and members."""

    def compile(self, index: int, columns: int) -> Program:
        problem, own = self.problem, self.problem.of_cases[index]

        def evaluate(columns: Members, model: Model, comparison: Comparison):
            by_variable, mean_squares = residuals(*own.insert(columns, model, comparison))
            flat = jnp.concatenate([part.reshape(-1, columns.shape[1]) for part in by_variable.values()])
            products = sums_of_products(flat)
            return problem.score(jnp.diagonal(products)), products, mean_squares

        start = own.free.start()
        members = jax.ShapeDtypeStruct((start.size, columns), start.dtype)
        return compile_program(evaluate, members, problem.model, problem.comparisons[index])
