"""Levenberg and Marquardt's method: the step that the linearised residuals call for, damped.

With the gradient g and the Gauss-Newton matrix H of the loss, the step d solves

    (H + damping D) d = -g,    D = diag(H) + loss

and is cut to the largest step. With the loss itself in D, parameters that the residuals hardly feel stay
where they are: unconstrained numbers are of order one. A step is accepted where the loss falls. The damping
follows the gain, the decrease of the loss over the one that the quadratic model promises.
"""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...declarations import check_settings, named, setting
from ..evaluation import NormalEquationsEvaluation, NormalEquationsEvaluator
from ..parameters import UnconstrainedVector
from .base import AbstractMethod, MethodState

_GOOD, _POOR = 0.75, 0.25
"""Gains above which the damping falls, and below which it rises."""


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


@named("levenberg_marquardt")
@dataclasses.dataclass(frozen=True)
class LevenbergMarquardt(AbstractMethod[LevenbergMarquardtState, NormalEquationsEvaluation]):
    """Levenberg-Marquardt with Marquardt's scaling and a damping that follows the gain.

    An iteration is a run at the trial, and its Jacobian where that lowers the loss; a trial that does not, or
    that is not finite, costs a run only and raises the damping.

    Args:
        damping: at the start.
        largest_step: no unconstrained number changes by more in one step.
        decrease: of the damping, as a factor, after a step that did what the model promised.
        tolerance: ends where the model promises less than this fraction of the loss.

    Raises:
        ValueError: numbers out of range.

    Source: Marquardt (1963), J. SIAM 11, 431-441; thresholds of the gain as in Fletcher (1971), AERE-R6799;
        the growth after rejections of Nielsen (1999), IMM-REP-1999-05, Technical University of Denmark.
    """

    damping: float = setting(1e-2, above=0.0)
    largest_step: float = setting(2.0, above=0.0)
    decrease: float = setting(10.0, above=1.0)
    tolerance: float = setting(1e-6, above=0.0)

    evaluator: ClassVar = NormalEquationsEvaluator
    end: ClassVar = "no step promises to lower the loss by more than the tolerance"

    def __post_init__(self):
        check_settings(self)

    def init(self, x: UnconstrainedVector) -> LevenbergMarquardtState:
        return LevenbergMarquardtState(
            trial=x,
            accepted=jnp.asarray(False),
            finished=jnp.asarray(False),
            base=x,
            base_loss=jnp.asarray(math.inf),
            gradient=jnp.zeros_like(x),
            matrix=jnp.zeros((x.size, x.size), x.dtype),
            promised=jnp.asarray(0.0),
            damping=jnp.asarray(self.damping),
            growth=jnp.asarray(2.0),
        )

    def ask(self, state: LevenbergMarquardtState) -> tuple[UnconstrainedVector, float]:
        return state.trial, float(state.base_loss)

    def tell(
        self, state: LevenbergMarquardtState, evaluation: NormalEquationsEvaluation
    ) -> LevenbergMarquardtState:
        base = np.asarray(state.base), float(state.base_loss), np.asarray(state.gradient)
        if not (evaluation.has_jacobian and evaluation.is_finite):
            growth = float(state.growth)
            return self._step(
                *base, np.asarray(state.matrix), growth * float(state.damping), 2.0 * growth, False
            )
        loss, damping = evaluation.fit.loss, float(state.damping)
        if math.isfinite(base[1]):  # the first evaluation follows no step
            gain = (base[1] - loss) / float(state.promised)
            damping *= 1.0 / self.decrease if gain > _GOOD else 1.0 if gain > _POOR else 2.0
        at_trial = np.asarray(state.trial), loss, evaluation.gradient, evaluation.matrix
        return self._step(*at_trial, damping, 2.0, True)

    def _step(
        self,
        base: np.ndarray,
        loss: float,
        gradient: np.ndarray,
        matrix: np.ndarray,
        damping: float,
        growth: float,
        accepted: bool,
    ) -> LevenbergMarquardtState:
        """A step from a base; few numbers, for which a program would take long to compile."""

        def promise(step: np.ndarray) -> float:
            return float(-gradient @ step - 0.5 * step @ matrix @ step)

        scale = np.diag(matrix) + loss
        # A loss of zero that feels no parameter: any scale will do.
        damped = matrix + damping * np.diag(np.where(scale > 0.0, scale, 1.0))
        full = -np.linalg.solve(damped, gradient)
        # Each number cut by itself lets the others go on; all of them together keep the direction.
        cut = np.clip(full, -self.largest_step, self.largest_step)
        shortened = full * min(1.0, self.largest_step / max(float(np.abs(full).max()), 1e-300))
        step = max(cut, shortened, key=promise)
        return LevenbergMarquardtState(
            trial=jnp.asarray(base + step),
            accepted=jnp.asarray(accepted),
            finished=jnp.asarray(not promise(step) > self.tolerance * abs(loss)),
            base=jnp.asarray(base),
            base_loss=jnp.asarray(loss, float),
            gradient=jnp.asarray(gradient),
            matrix=jnp.asarray(matrix),
            promised=jnp.asarray(promise(step), float),
            damping=jnp.asarray(damping, float),
            growth=jnp.asarray(growth, float),
        )
