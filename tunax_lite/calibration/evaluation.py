"""What a method asks for: loss and gradient, loss and normal equations, or the losses of an ensemble.

With the residuals r_c of a case, whose squares sum to its mean square m_c, their Jacobian J_c, the weight w_c
of the case and the slope s'(m_c) of the score, the normal equations, in forward mode, are

    gradient = sum_c 2 w_c s'(m_c) J_cᵀ r_c
    matrix   = sum_c 2 w_c s'(m_c) J_cᵀ J_c

and, with a prior of weight w, w x and w I in addition, as from residuals x sqrt(w / 2). The gradient is that
of the loss. The matrix leaves out the second derivatives of the residuals, as Gauss and Newton do, and the
curvature of the score: the root is concave, so that the quadratic function with this matrix lies above the
one with the curvature, and a step to its minimum does not go too far.

A derivative can be huge without meaning: where a front passes a cell, or turbulence ignites a little sooner,
a residual changes by its own size over a tiny step, and by no more over a large one. A few such rows of J
would outweigh all others. Therefore a row with a derivative above the largest residual of the case at the
start values is scaled down to that in the matrix, never in the gradient.

Members of an ensemble are columns of one batch. With the residuals r_i of member i,

    products_ij = sum_c w_c s'(m_c) r_ci · r_cj

where m_c is the mean square of the mean of the ensemble. For the mean square as score s' = 1, and the
diagonal holds the losses. What an ensemble Kalman method needs of the residuals is in these products.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checkpointing import AbstractCheckpointing, Auto
from ..model import Model
from ..planning import choose_checkpointing
from ..runtime import Program, compile_program
from ..sensitivity import CompiledJacobian
from .misfit.comparison import Comparison, misfit, residuals
from .parameters import UnconstrainedVector
from .problem import AbstractEvaluator, CaseParameters, Evaluation, MiniBatch, Problem

Members = Float[Array, "parameter member"]


class GradientEvaluator(AbstractEvaluator):
    """Evaluates loss and gradient, in reverse mode.

    `Auto` as checkpointing takes the fastest of its candidates that fits, as the compiler counts it, with its
    budget shared among the threads.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self._programs, self.n_compiled = problem.programs(self._compile)

    def __call__(self, x: UnconstrainedVector, batch: MiniBatch | None = None) -> Evaluation:
        """Fit and gradient at an unconstrained vector, of all cases or of a few."""
        problem, n_cases = self._problem, len(self._problem.weights)
        weights = None if batch is None else batch.weights(problem.weights)
        cases = (np.arange(n_cases) if weights is None else np.flatnonzero(weights)).tolist()
        scores, gradients = np.full(n_cases, np.nan), np.zeros((n_cases, x.size))
        mean_squares: list[dict[str, float]] = [{} for _ in problem.weights]
        for case, found in zip(cases, problem.run(self._programs, x, cases), strict=True):
            (scores[case], mean_squares[case]), gradient = found
            gradients[case] = problem.of_cases[case].spread(gradient)
        gradient = np.asarray(problem.weighted_sum(gradients, weights))
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(x)
        return Evaluation(problem.fit(x, scores, mean_squares, weights), gradient)

    def _compile(self, comparison: Comparison, own: CaseParameters) -> Program:
        problem, chosen = self._problem, self._problem.checkpointing

        def of(checkpointing: AbstractCheckpointing):
            def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
                def loss(x):
                    return misfit(*own.insert(x, model, comparison), problem.score, checkpointing)

                return jax.value_and_grad(loss, has_aux=True)(x)

            return value_and_gradient

        arguments = own.free.start(), problem.model, comparison
        if not isinstance(chosen, Auto):
            return compile_program(of(chosen), *arguments)
        budget = chosen.memory_budget // problem.n_threads
        choice = choose_checkpointing(of, arguments, budget, candidates=chosen.candidates)
        self.explanations += (choice.explanation,)
        return choice.program


class NormalEquationsEvaluator(AbstractEvaluator):
    """Evaluates the loss by a plain run, and the normal equations by the Jacobian of the residuals.

    The Jacobian of one case per thread is in memory at a time.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self._runs, self.n_compiled = problem.programs(self._compile_run)
        self._jacobians, _ = problem.programs(self._compile_jacobian)
        self._slope = jax.jit(jax.grad(problem.score))
        largest = [float(largest) for *_, largest in problem.run(self._runs, problem.free_parameters.start())]
        # No limit where the start fits perfectly or breaks down.
        self._limits = [each if math.isfinite(each) and each > 0.0 else math.inf for each in largest]

    def __call__(self, x: UnconstrainedVector, loss_to_beat: float = math.inf) -> Evaluation:
        """Fit at an unconstrained vector, and gradient and matrix if the loss is below `loss_to_beat`."""
        problem, x = self._problem, jnp.asarray(x)
        results = problem.run(self._runs, x)
        scores = np.array([float(score) for score, *_ in results])
        fit = problem.fit(x, scores, [mean_squares for _, mean_squares, _ in results])
        if not (fit.is_finite and fit.loss < loss_to_beat):
            return Evaluation(fit)
        parts = problem.map_cases(lambda index: self._normal_equations(x, index))
        gradient, matrix = (problem.weighted_sum(part) for part in zip(*parts, strict=True))
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(x, float)
            matrix = matrix + problem.prior_weight * np.eye(x.size)
        return Evaluation(fit, gradient, matrix)

    def _normal_equations(self, x: UnconstrainedVector, index: int) -> tuple[np.ndarray, np.ndarray]:
        problem, own = self._problem, self._problem.of_cases[index]
        if problem.weights[index] == 0.0:
            return np.zeros(x.shape), np.zeros((x.size, x.size))
        jacobian = self._jacobians[index](own.of(x), problem.model, problem.comparisons[index])
        found = jacobian.normal_equations(self._limits[index])
        slope = float(self._slope(found.sum_of_squares))
        gradient, matrix = jax.device_get((found.gradient, found.matrix))
        return 2.0 * slope * own.spread(gradient), 2.0 * slope * own.spread(matrix)

    def _compile_run(self, comparison: Comparison, own: CaseParameters) -> Program:
        """A program for score, mean squares and largest residual of a case."""
        problem = self._problem

        def run(x: UnconstrainedVector, model: Model, comparison: Comparison):
            by_variable, mean_squares = residuals(*own.insert(x, model, comparison))
            flat = jnp.concatenate([part.ravel() for part in by_variable.values()])
            return problem.score(flat @ flat), mean_squares, jnp.max(jnp.abs(flat))

        return compile_program(run, own.free.start(), problem.model, comparison)

    def _compile_jacobian(self, comparison: Comparison, own: CaseParameters) -> CompiledJacobian:
        def of_parameters(x: UnconstrainedVector, model: Model, comparison: Comparison):
            return residuals(*own.insert(x, model, comparison))[0]

        arguments = own.free.start(), self._problem.model, comparison
        return CompiledJacobian(of_parameters, *arguments, mode="forward")


class EnsembleEvaluator(AbstractEvaluator):
    """Evaluates members and their mean as columns of a batch, compiled when their number is known."""

    def __init__(self, problem: Problem):
        if problem.prior_weight > 0.0:
            raise ValueError(
                "prior_weight: expected 0 for a method whose ensemble starts from the prior, got "
                f"{problem.prior_weight:g}; leave it out."
            )
        self._problem = problem
        self._programs: list[Program] = []
        self._slope = jax.jit(jax.grad(problem.score))

    def __call__(self, members: Members) -> Evaluation:
        """Fit of the mean, which is one more column, and what the members gave."""
        problem = self._problem
        columns = jnp.concatenate([members, jnp.mean(members, axis=1, keepdims=True)], axis=1)
        if not self._programs:
            self._programs, self.n_compiled = problem.programs(functools.partial(self._compile, columns))
        results = problem.run(self._programs, columns)
        scores = np.array([scores for scores, _, _ in results], dtype=float)
        of_mean = [{name: found[-1] for name, found in mean_squares.items()} for *_, mean_squares in results]
        products = [self._slope(products[-1, -1]) * products[:-1, :-1] for _, products, _ in results]
        return Evaluation(
            problem.fit(columns[:, -1], scores[:, -1], of_mean),
            losses=np.asarray(problem.weighted_sum(scores[:, :-1])),
            products=np.asarray(problem.weighted_sum(products)),
        )

    def _compile(self, columns: Members, comparison: Comparison, own: CaseParameters) -> Program:
        problem = self._problem

        def evaluate(columns: Members, model: Model, comparison: Comparison):
            by_variable, mean_squares = residuals(*own.insert(columns, model, comparison))
            flat = jnp.concatenate([part.reshape(-1, columns.shape[1]) for part in by_variable.values()])
            products = flat.T @ flat
            return problem.score(jnp.diagonal(products)), products, mean_squares

        return compile_program(evaluate, own.of(columns), problem.model, comparison)
