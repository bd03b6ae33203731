"""Limited-memory BFGS: the curvature of the loss from the gradients of the last steps."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from ..._types import ScalarLike
from ...declarations import check_settings, named, setting
from ..evaluation import GradientEvaluation, GradientEvaluator
from ..parameters import UnconstrainedVector
from .base import AbstractMethod, MethodState, compiled, optax_update

if TYPE_CHECKING:
    import optax


class LBFGSState(MethodState):
    """Base of the line search, the loss and gradient there, the direction and the step along it."""

    trial: UnconstrainedVector
    accepted: Bool[Array, ""]
    finished: Bool[Array, ""]
    base: UnconstrainedVector
    base_loss: Float[Array, ""]
    base_gradient: UnconstrainedVector
    direction: UnconstrainedVector
    step_length: Float[Array, ""]
    memory: PyTree
    has_memory: Bool[Array, ""]


@named("lbfgs")
@dataclasses.dataclass(frozen=True)
class LBFGS(AbstractMethod[LBFGSState, GradientEvaluation]):
    """Limited-memory BFGS with a backtracking line search; a value that is not finite backtracks too.

    Args:
        memory_size: pairs of steps and gradient changes that are kept.
        largest_step: no unconstrained number changes by more in one step.
        sufficient_decrease: fraction of the decrease that the slope promises (Armijo).
        backtracking: factor to the step length after a rejection.
        shortest_step: of the step length; below it the search starts again down the gradient, and ends
            where that does not help either.

    Raises:
        ValueError: numbers out of range.

    Source: Nocedal and Wright (2006), Numerical Optimization, algorithms 3.1 and 7.5.
    """

    memory_size: int = setting(10, at_least=1, at_most=1000)
    largest_step: float = setting(0.5, above=0.0, finite=False)
    sufficient_decrease: float = setting(1e-4, above=0.0, below=1.0)
    backtracking: float = setting(0.5, above=0.0, below=1.0)
    shortest_step: float = setting(1e-4, above=0.0, below=1.0)

    evaluator: ClassVar = GradientEvaluator
    end: ClassVar = "no step was found that lowers the loss"

    def __post_init__(self):
        check_settings(self)

    @property
    def _transformation(self) -> "optax.GradientTransformation":
        import optax

        return optax.scale_by_lbfgs(self.memory_size)

    def init(self, x: UnconstrainedVector) -> LBFGSState:
        return self._start(x)

    def ask(self, state: LBFGSState) -> tuple[UnconstrainedVector]:
        return (state.trial,)

    def tell(self, state: LBFGSState, evaluation: GradientEvaluation) -> LBFGSState:
        loss = evaluation.fit.loss
        if evaluation.is_finite and self._decreases(state, loss):
            return self._learn(state, loss, jnp.asarray(evaluation.gradient))
        if self.backtracking * float(state.step_length) >= self.shortest_step:
            return self._backtrack(state)
        if bool(state.has_memory):
            return self._restart(state)
        return dataclasses.replace(state, accepted=jnp.asarray(False), finished=jnp.asarray(True))

    def _decreases(self, state: LBFGSState, loss: float) -> bool:
        slope = float(np.vdot(state.base_gradient, state.direction))
        promised = self.sufficient_decrease * float(state.step_length) * slope
        return loss <= float(state.base_loss) + promised

    @compiled
    def _start(self, x: UnconstrainedVector) -> LBFGSState:
        return LBFGSState(
            trial=x,
            accepted=jnp.asarray(False),
            finished=jnp.asarray(False),
            base=x,
            base_loss=jnp.full((), jnp.inf, x.dtype),
            base_gradient=jnp.zeros_like(x),
            direction=jnp.zeros_like(x),
            step_length=jnp.ones((), x.dtype),
            memory=self._transformation.init(x),
            has_memory=jnp.asarray(False),
        )

    @compiled
    def _learn(self, state: LBFGSState, loss: ScalarLike, gradient: UnconstrainedVector) -> LBFGSState:
        """A search from the point at hand, with what was learnt on the way to it."""
        change = jnp.vdot(state.trial - state.base, gradient - state.base_gradient)
        # Without curvature there is nothing to learn from; the first evaluation comes here too.
        nothing = self._transformation.init(gradient)
        memory = jax.tree.map(lambda kept, none: jnp.where(change > 0.0, kept, none), state.memory, nothing)
        return self._search_from(state.trial, jnp.asarray(loss, gradient.dtype), gradient, memory)

    @compiled
    def _backtrack(self, state: LBFGSState) -> LBFGSState:
        step_length = self.backtracking * state.step_length
        trial = state.base + step_length * state.direction
        return dataclasses.replace(state, trial=trial, accepted=jnp.asarray(False), step_length=step_length)

    @compiled
    def _restart(self, state: LBFGSState) -> LBFGSState:
        """A search down the gradient from the same base."""
        nothing = self._transformation.init(state.base)
        again = self._search_from(state.base, state.base_loss, state.base_gradient, nothing)
        return dataclasses.replace(again, accepted=jnp.asarray(False))

    def _search_from(self, base, loss, gradient, memory) -> LBFGSState:
        nothing = self._transformation.init(gradient)
        with_memory = optax_update(self._transformation, gradient, memory, base)
        without = optax_update(self._transformation, gradient, nothing, base)
        # Round-off can spoil the memory.
        has_memory = (memory.count > 0) & (jnp.vdot(jnp.asarray(with_memory[0]), gradient) > 0.0)
        scaled, new_memory = jax.tree.map(lambda a, b: jnp.where(has_memory, a, b), with_memory, without)
        direction = -scaled
        largest = jnp.max(jnp.abs(direction))
        direction = direction * jnp.minimum(1.0, self.largest_step / jnp.maximum(largest, 1e-300))
        return LBFGSState(
            trial=base + direction,
            accepted=jnp.asarray(True),
            finished=~jnp.any(gradient != 0.0),
            base=base,
            base_loss=loss,
            base_gradient=gradient,
            direction=direction,
            step_length=jnp.ones((), gradient.dtype),
            memory=new_memory,
            has_memory=has_memory,
        )
