"""Loss, gradient and Gauss-Newton matrix, in forward mode.

With the residuals r_c of a case, whose squares sum to its mean square m_c, their Jacobian J_c, the weight w_c
of the case and the slope s'(m_c) of the score,

    gradient = sum_c 2 w_c s'(m_c) J_cᵀ r_c
    matrix   = sum_c 2 w_c s'(m_c) J_cᵀ J_c

and, with a prior of weight w, w x and w I in addition, as from residuals x sqrt(w / 2). The gradient is that
of the loss. The matrix leaves out the second derivatives of the residuals, as Gauss and
Newton do, and the curvature of the score: the root is concave, so that the quadratic function with this
matrix lies above the one with the curvature, and a step to its minimum does not go too far.

A derivative can be huge without meaning: where a front passes a cell, or turbulence ignites a little sooner,
a residual changes by its own size over a tiny step, and by no more over a large one. A few such rows of J
would outweigh all others. Therefore a row with a derivative above the largest residual of the case at the
start values is scaled down to that in the matrix, never in the gradient.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from ...model import Model
from ...runtime import Program, compile_program
from ...sensitivity import CompiledJacobian
from ..misfit import Comparison, residuals
from ..parameters import UnconstrainedVector
from .base import AbstractEvaluator, AbstractGradientEvaluation, Fit, fit_of
from .problem import CaseParameters, Problem


@dataclasses.dataclass(frozen=True)
class NormalEquationsEvaluation(AbstractGradientEvaluation):
    """Fit, and where it is better than what was asked for, gradient and Gauss-Newton matrix; else NaN.

    Args:
        fit: at the unconstrained vector.
        has_jacobian: whether gradient and matrix were computed.
        gradient: of the loss, `(n_parameters,)`.
        matrix: approximate second derivative of the loss, `(n_parameters, n_parameters)`.
    """

    fit: Fit
    has_jacobian: bool
    gradient: np.ndarray
    matrix: np.ndarray

    @property
    def is_finite(self) -> bool:
        if not (self.has_jacobian and self.fit.is_finite):
            return self.fit.is_finite
        return bool(np.isfinite(self.gradient).all() and np.isfinite(self.matrix).all())


class NormalEquationsEvaluator(AbstractEvaluator):
    """Evaluates the loss by a plain run, and the normal equations by the Jacobian of the residuals.

    The Jacobian of one case per thread is in memory at a time.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self.explanations = ()
        self._runs, self.n_compiled = problem.programs(self._compile_run)
        self._jacobians, _ = problem.programs(self._compile_jacobian)
        self._slope = jax.jit(jax.grad(problem.score))
        start = problem.run(self._runs, problem.free_parameters.start())
        self._limits = [_positive_or_infinite(float(largest)) for *_, largest in start]

    def __call__(self, x: UnconstrainedVector, loss_to_beat: float = math.inf) -> NormalEquationsEvaluation:
        """Fit at an unconstrained vector, and the rest if the loss is below `loss_to_beat`."""
        problem, x = self._problem, jnp.asarray(x)
        results = problem.run(self._runs, x)
        scores = np.array([float(score) for score, *_ in results])
        fit = fit_of(problem, x, scores, [mean_squares for _, mean_squares, _ in results])
        if not (fit.is_finite and fit.loss < loss_to_beat):
            nothing = np.full((x.size, x.size), np.nan)
            return NormalEquationsEvaluation(fit, False, nothing[0], nothing)
        parts = problem.map_cases(lambda index: self._normal_equations(x, index))
        gradient = problem.weighted_sum([gradient for gradient, _ in parts])
        matrix = problem.weighted_sum([matrix for _, matrix in parts])
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(x, float)
            matrix = matrix + problem.prior_weight * np.eye(x.size)
        return NormalEquationsEvaluation(fit, True, gradient, matrix)

    def _normal_equations(self, x: UnconstrainedVector, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and matrix of a case."""
        problem, own = self._problem, self._problem.of_cases[index]
        if problem.weights[index] == 0.0:
            return np.zeros(x.shape), np.zeros((x.size, x.size))
        jacobian = self._jacobians[index](own.of(x), problem.model, problem.comparisons[index])
        found = jacobian.normal_equations(self._limits[index])
        slope = float(self._slope(found.sum_of_squares))
        gradient, matrix = jax.device_get((found.gradient, found.matrix))
        return 2.0 * slope * own.spread_vector(gradient), 2.0 * slope * own.spread_matrix(matrix)

    def _compile_run(self, comparison: Comparison, own: CaseParameters) -> Program:
        """A program for score, mean squares and largest residual of a case."""
        problem = self._problem

        def run(x: UnconstrainedVector, model: Model, comparison: Comparison):
            by_variable, mean_squares = residuals(*own.insert(x, model, comparison))
            flat = jnp.concatenate([part.ravel() for part in by_variable.values()])
            return problem.score(flat @ flat), mean_squares, jnp.max(jnp.abs(flat))

        return compile_program(run, own.free.start(), problem.model, comparison)

    def _compile_jacobian(self, comparison: Comparison, own: CaseParameters) -> CompiledJacobian:
        problem = self._problem

        def of_parameters(x: UnconstrainedVector, model: Model, comparison: Comparison):
            return residuals(*own.insert(x, model, comparison))[0]

        return CompiledJacobian(
            of_parameters,
            own.free.start(),
            problem.model,
            comparison,
            mode="forward",
        )


def _positive_or_infinite(number: float) -> float:
    """No limit where the start fits perfectly or breaks down."""
    return number if math.isfinite(number) and number > 0.0 else math.inf
