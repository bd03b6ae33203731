"""Levenberg and Marquardt's method: the step that the linearised residuals call for, damped.

With the gradient g and the Gauss-Newton matrix H of the loss, the step d solves

    (H + damping D) d = -g,    D = diag(H)

and is shortened to the largest step. It is accepted where the loss falls. The damping follows the gain, the
decrease of the loss over the one that the quadratic model promises.
"""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
import jax.scipy.linalg
from jaxtyping import Array, Bool, Float

from ..._types import ScalarLike
from ..evaluation import NormalEquationsEvaluation, NormalEquationsEvaluator
from ..parameters import UnconstrainedVector
from .base import AbstractMethod, MethodState, compiled

_SMALLEST_DIAGONAL = 1e-6
"""Of D over its largest entry: a parameter that the residuals hardly feel stays where it is."""


class LevenbergMarquardtState(MethodState):
    """Base of the step with its loss, gradient and matrix; what the step promises; the damping.

    Args:
        growth: factor to the damping at the next rejection.
    """

    trial: UnconstrainedVector
    accepted: Bool[Array, ""]
    finished: Bool[Array, ""]
    base: UnconstrainedVector
    base_loss: Float[Array, ""]
    gradient: UnconstrainedVector
    matrix: Float[Array, "parameter parameter"]
    promised: Float[Array, ""]
    damping: Float[Array, ""]
    growth: Float[Array, ""]


@dataclasses.dataclass(frozen=True)
class LevenbergMarquardt(AbstractMethod[LevenbergMarquardtState, NormalEquationsEvaluation]):
    """Levenberg-Marquardt with Marquardt's scaling and Nielsen's damping.

    An iteration is a run at the trial, and its Jacobian where that lowers the loss; a trial that does not, or
    that is not finite, costs a run only and raises the damping.

    Args:
        damping: at the start, over the diagonal of the matrix.
        largest_step: no unconstrained number changes by more in one step.
        largest_decrease: of the damping, as a factor, after a step that did what the model promised.
        tolerance: ends where the model promises less than this share of the loss.

    Raises:
        ValueError: numbers out of range.

    Source: Marquardt (1963), J. SIAM 11, 431-441; the damping of Nielsen (1999), IMM-REP-1999-05, Technical
        University of Denmark, as in Madsen, Nielsen and Tingleff (2004), algorithm 3.16.
    """

    damping: float = 1e-2
    largest_step: float = 1.0
    largest_decrease: float = 3.0
    tolerance: float = 1e-6

    evaluator: ClassVar = NormalEquationsEvaluator
    end: ClassVar = "no step promises to lower the loss by more than the tolerance"

    def __post_init__(self):
        for name in ("damping", "largest_step", "tolerance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"LevenbergMarquardt: expected a positive {name}, got {value}.")
        if not (math.isfinite(self.largest_decrease) and self.largest_decrease > 1.0):
            raise ValueError(
                f"LevenbergMarquardt: expected a largest_decrease above 1, got {self.largest_decrease}."
            )

    def init(self, x: UnconstrainedVector) -> LevenbergMarquardtState:
        return self._start(x)

    def ask(self, state: LevenbergMarquardtState) -> tuple[UnconstrainedVector, float]:
        return state.trial, float(state.base_loss)

    def tell(
        self, state: LevenbergMarquardtState, evaluation: NormalEquationsEvaluation
    ) -> LevenbergMarquardtState:
        if evaluation.has_jacobian and evaluation.is_finite:
            gradient, matrix = jnp.asarray(evaluation.gradient), jnp.asarray(evaluation.matrix)
            return self._advance(state, evaluation.fit.loss, gradient, matrix)
        return self._damp(state)

    @compiled
    def _start(self, x: UnconstrainedVector) -> LevenbergMarquardtState:
        return LevenbergMarquardtState(
            trial=x,
            accepted=jnp.asarray(False),
            finished=jnp.asarray(False),
            base=x,
            base_loss=jnp.full((), jnp.inf, x.dtype),
            gradient=jnp.zeros_like(x),
            matrix=jnp.zeros((x.size, x.size), x.dtype),
            promised=jnp.zeros((), x.dtype),
            damping=jnp.full((), self.damping, x.dtype),
            growth=jnp.full((), 2.0, x.dtype),
        )

    @compiled
    def _advance(
        self,
        state: LevenbergMarquardtState,
        loss: ScalarLike,
        gradient: UnconstrainedVector,
        matrix: Float[Array, "parameter parameter"],
    ) -> LevenbergMarquardtState:
        """A step from the trial, which becomes the base."""
        # The first evaluation follows no step, and changes no damping.
        is_first = ~jnp.isfinite(state.base_loss)
        gain = (state.base_loss - loss) / jnp.where(is_first, 1.0, state.promised)
        factor = jnp.maximum(1.0 / self.largest_decrease, 1.0 - (2.0 * gain - 1.0) ** 3)
        damping = jnp.where(is_first, state.damping, factor * state.damping)
        loss = jnp.asarray(loss, state.base_loss.dtype)
        return self._step(state.trial, loss, gradient, matrix, damping, jnp.full_like(damping, 2.0), True)

    @compiled
    def _damp(self, state: LevenbergMarquardtState) -> LevenbergMarquardtState:
        """A shorter step from the same base."""
        base = state.base, state.base_loss, state.gradient, state.matrix
        return self._step(*base, state.growth * state.damping, 2.0 * state.growth, False)

    def _step(self, base, loss, gradient, matrix, damping, growth, accepted: bool) -> LevenbergMarquardtState:
        diagonal = jnp.diagonal(matrix)
        largest = jnp.max(diagonal)
        scale = jnp.maximum(diagonal, _SMALLEST_DIAGONAL * largest)
        scale = jnp.where(largest > 0.0, scale, 1.0)  # a loss that feels no parameter
        factors = jax.scipy.linalg.cho_factor(matrix + damping * jnp.diag(scale))
        step = -jax.scipy.linalg.cho_solve(factors, gradient)
        step = step * jnp.minimum(1.0, self.largest_step / jnp.maximum(jnp.max(jnp.abs(step)), 1e-300))
        promised = -jnp.vdot(gradient, step) - 0.5 * jnp.vdot(step, matrix @ step)
        return LevenbergMarquardtState(
            trial=base + step,
            accepted=jnp.asarray(accepted),
            finished=~(promised > self.tolerance * jnp.abs(loss)),
            base=base,
            base_loss=loss,
            gradient=gradient,
            matrix=matrix,
            promised=promised,
            damping=damping,
            growth=growth,
        )
