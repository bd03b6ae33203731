"""Optimisers that say which unconstrained vector to evaluate next, and are told what it gave.

One iteration is one evaluation of loss and gradient. Whatever an optimiser remembers is in its state, a
tree of arrays that can be saved, so a calibration goes on bit by bit from a checkpoint. An evaluation
that is not finite never becomes the point that steps start from: the step is taken back and shortened.
"""

import abc
import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._types import ScalarLike
from .parameters import UnconstrainedVector

if TYPE_CHECKING:
    import optax


def _compiled(method):
    """A method of arrays as one program: by themselves, its operations take seconds to compile one by one."""
    return functools.partial(jax.jit, static_argnums=0)(method)


class OptimiserState(eqx.Module):
    """What every optimiser shares.

    Args:
        trial: the vector to evaluate next.
        accepted: whether the last evaluation became the new base of the steps.
        finished: whether no further step can lower the loss.
    """

    trial: eqx.AbstractVar[UnconstrainedVector]
    accepted: eqx.AbstractVar[Bool[Array, ""]]
    finished: eqx.AbstractVar[Bool[Array, ""]]


S = TypeVar("S", bound=OptimiserState)


class AbstractOptimiser(abc.ABC, Generic[S]):
    """A way to lower a loss from its gradients."""

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> S:
        """State before the first evaluation, which is that of x."""

    @abc.abstractmethod
    def tell(self, state: S, loss: float, gradient: UnconstrainedVector) -> S:
        """State after the evaluation of `state.trial`."""


class AbstractSchedule(abc.ABC):
    """The learning rate over the accepted steps, as a share of its peak."""

    @abc.abstractmethod
    def share(self, step: int) -> float:
        """Share of the peak at a step, counted from 0."""


@dataclasses.dataclass(frozen=True)
class ConstantRate(AbstractSchedule):
    """The same rate at all steps."""

    def share(self, step: int) -> float:
        del step
        return 1.0


@dataclasses.dataclass(frozen=True)
class CosineDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then half a cosine down to `final_share` at `n_steps`.

    Raises:
        ValueError: numbers of steps that do not fit, or a share outside of 0 to 1.
    """

    n_steps: int
    n_warmup: int = 0
    final_share: float = 0.05

    def __post_init__(self):
        _check_schedule(self.n_steps, self.n_warmup, self.final_share)

    def share(self, step: int) -> float:
        if step < self.n_warmup:
            return _rise(step, self.n_warmup)
        fraction = min(1.0, (step - self.n_warmup) / (self.n_steps - self.n_warmup))
        return self.final_share + (1.0 - self.final_share) * 0.5 * (1.0 + math.cos(math.pi * fraction))


@dataclasses.dataclass(frozen=True)
class ExponentialDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then exponential decay to `final_share` at `n_steps`.

    Raises:
        ValueError: numbers of steps that do not fit, or a share that is not between 0 and 1.
    """

    n_steps: int
    n_warmup: int = 0
    final_share: float = 0.05

    def __post_init__(self):
        _check_schedule(self.n_steps, self.n_warmup, self.final_share)
        if self.final_share == 0.0:
            raise ValueError("ExponentialDecay: expected a positive final_share, got 0.")

    def share(self, step: int) -> float:
        if step < self.n_warmup:
            return _rise(step, self.n_warmup)
        return self.final_share ** min(1.0, (step - self.n_warmup) / (self.n_steps - self.n_warmup))


def _check_schedule(n_steps: int, n_warmup: int, final_share: float) -> None:
    if not 0 <= n_warmup < n_steps:
        raise ValueError(
            f"schedule: expected 0 <= n_warmup < n_steps, got n_warmup = {n_warmup}, n_steps = {n_steps}."
        )
    if not 0.0 <= final_share <= 1.0:
        raise ValueError(f"schedule: expected a final_share of 0 to 1, got {final_share}.")


def _rise(step: int, n_warmup: int) -> float:
    # Not 0 at the first step, which would be an evaluation for nothing.
    return (step + 1) / (n_warmup + 1)


class AdamState(OptimiserState):
    """Base of the steps, the step at hand and its shortening, and the moments."""

    trial: UnconstrainedVector
    accepted: Bool[Array, ""]
    finished: Bool[Array, ""]
    base: UnconstrainedVector
    update: UnconstrainedVector
    shortening: Float[Array, ""]
    step: Int[Array, ""]
    transformation: PyTree


@dataclasses.dataclass(frozen=True)
class Adam(AbstractOptimiser[AdamState]):
    """Adam (Kingma and Ba 2015) with a schedule and gradient clipping.

    Args:
        learning_rate: at the peak of the schedule: about the change per step of each unconstrained
            number.
        schedule: of the learning rate.
        beta_1, beta_2: decay of the means of the gradient and of its square.
        largest_gradient: longer gradients are scaled down to this norm.

    Raises:
        ValueError: numbers out of range.
    """

    learning_rate: float = 0.05
    schedule: AbstractSchedule = ConstantRate()
    beta_1: float = 0.9
    beta_2: float = 0.999
    largest_gradient: float = math.inf

    def __post_init__(self):
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0.0):
            raise ValueError(f"Adam: expected a positive learning_rate, got {self.learning_rate}.")
        if not (0.0 <= self.beta_1 < 1.0 and 0.0 <= self.beta_2 < 1.0):
            raise ValueError(
                f"Adam: expected beta_1 and beta_2 from 0 to below 1, got {self.beta_1}, {self.beta_2}."
            )
        if not self.largest_gradient > 0.0:
            raise ValueError(f"Adam: expected a positive largest_gradient, got {self.largest_gradient}.")

    @property
    def _transformation(self) -> "optax.GradientTransformation":
        import optax  # not before it is needed: commands that do not calibrate start sooner

        adam = optax.scale_by_adam(self.beta_1, self.beta_2)
        if math.isinf(self.largest_gradient):
            return adam
        return optax.chain(optax.clip_by_global_norm(self.largest_gradient), adam)

    def init(self, x: UnconstrainedVector) -> AdamState:
        return self._start(x)

    def tell(self, state: AdamState, loss: float, gradient: UnconstrainedVector) -> AdamState:
        if not _is_finite(loss, gradient):
            return self._shorten(state)
        return self._advance(state, gradient, self.schedule.share(int(state.step)))

    @_compiled
    def _start(self, x: UnconstrainedVector) -> AdamState:
        return AdamState(
            trial=x,
            accepted=jnp.asarray(False),
            finished=jnp.asarray(False),
            base=x,
            update=jnp.zeros_like(x),
            shortening=jnp.ones((), x.dtype),
            step=jnp.zeros((), jnp.int32),
            transformation=self._transformation.init(x),
        )

    @_compiled
    def _shorten(self, state: AdamState) -> AdamState:
        # Moments and base stay those of the last good point.
        shortening = 0.5 * state.shortening
        return dataclasses.replace(
            state,
            trial=state.base + shortening * state.update,
            accepted=jnp.asarray(False),
            shortening=shortening,
        )

    @_compiled
    def _advance(self, state: AdamState, gradient: UnconstrainedVector, share: ScalarLike) -> AdamState:
        scaled, transformation = _update(self._transformation, gradient, state.transformation, state.trial)
        update = (-self.learning_rate * share * jnp.asarray(scaled)).astype(gradient.dtype)
        # After a rejection the full length comes back by doubling.
        shortening = jnp.minimum(1.0, 2.0 * state.shortening).astype(gradient.dtype)
        return AdamState(
            trial=state.trial + shortening * update,
            accepted=jnp.asarray(True),
            finished=state.finished,
            base=state.trial,
            update=update,
            shortening=shortening,
            step=state.step + 1,
            transformation=transformation,
        )


class LBFGSState(OptimiserState):
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


@dataclasses.dataclass(frozen=True)
class LBFGS(AbstractOptimiser[LBFGSState]):
    """Limited-memory BFGS with a backtracking line search; a value that is not finite backtracks too.

    Args:
        memory_size: pairs of steps and gradient changes that are kept.
        largest_step: no unconstrained number changes by more in one step.
        sufficient_decrease: share of the decrease that the slope promises (Armijo).
        backtracking: factor to the step length after a rejection.
        shortest_step: of the step length; below it the search starts again down the gradient, and ends
            where that does not help either.

    Raises:
        ValueError: numbers out of range.

    Source: Nocedal and Wright (2006), Numerical Optimization, algorithms 3.1 and 7.5.
    """

    memory_size: int = 10
    largest_step: float = 0.5
    sufficient_decrease: float = 1e-4
    backtracking: float = 0.5
    shortest_step: float = 1e-4

    def __post_init__(self):
        if self.memory_size < 1:
            raise ValueError(f"LBFGS: expected a memory_size of at least 1, got {self.memory_size}.")
        if not self.largest_step > 0.0:
            raise ValueError(f"LBFGS: expected a positive largest_step, got {self.largest_step}.")
        for name in ("sufficient_decrease", "backtracking", "shortest_step"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"LBFGS: expected {name} between 0 and 1, got {getattr(self, name)}.")

    @property
    def _transformation(self) -> "optax.GradientTransformation":
        import optax

        return optax.scale_by_lbfgs(self.memory_size)

    def init(self, x: UnconstrainedVector) -> LBFGSState:
        return self._start(x)

    def tell(self, state: LBFGSState, loss: float, gradient: UnconstrainedVector) -> LBFGSState:
        if _is_finite(loss, gradient) and self._decreases(state, loss):
            return self._learn(state, loss, gradient)
        if self.backtracking * float(state.step_length) >= self.shortest_step:
            return self._backtrack(state)
        if bool(state.has_memory):
            return self._restart(state)
        return dataclasses.replace(state, accepted=jnp.asarray(False), finished=jnp.asarray(True))

    def _decreases(self, state: LBFGSState, loss: float) -> bool:
        slope = float(np.vdot(state.base_gradient, state.direction))
        promised = self.sufficient_decrease * float(state.step_length) * slope
        return loss <= float(state.base_loss) + promised

    @_compiled
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

    @_compiled
    def _learn(self, state: LBFGSState, loss: ScalarLike, gradient: UnconstrainedVector) -> LBFGSState:
        """A search from the point at hand, with what was learnt on the way to it."""
        change = jnp.vdot(state.trial - state.base, gradient - state.base_gradient)
        # Without curvature there is nothing to learn from; the first evaluation comes here too.
        nothing = self._transformation.init(gradient)
        memory = jax.tree.map(lambda kept, none: jnp.where(change > 0.0, kept, none), state.memory, nothing)
        return self._search_from(state.trial, jnp.asarray(loss, gradient.dtype), gradient, memory)

    @_compiled
    def _backtrack(self, state: LBFGSState) -> LBFGSState:
        step_length = self.backtracking * state.step_length
        trial = state.base + step_length * state.direction
        return dataclasses.replace(state, trial=trial, accepted=jnp.asarray(False), step_length=step_length)

    @_compiled
    def _restart(self, state: LBFGSState) -> LBFGSState:
        """A search down the gradient from the same base."""
        nothing = self._transformation.init(state.base)
        again = self._search_from(state.base, state.base_loss, state.base_gradient, nothing)
        return dataclasses.replace(again, accepted=jnp.asarray(False))

    def _search_from(self, base, loss, gradient, memory) -> LBFGSState:
        nothing = self._transformation.init(gradient)
        with_memory = _update(self._transformation, gradient, memory, base)
        without = _update(self._transformation, gradient, nothing, base)
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


def _update(transformation: Any, gradient, state, x):
    # Optax mixes types that a caller's strict promotion would refuse.
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)


def _is_finite(loss: float, gradient: UnconstrainedVector) -> bool:
    return math.isfinite(loss) and bool(np.isfinite(gradient).all())
