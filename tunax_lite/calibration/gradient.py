"""Gradient methods: Adam with learning rate schedules, and limited-memory BFGS."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._types import ScalarLike
from ..declarations import check_settings, named, setting
from .methods import AbstractMethod, MethodState, Transformation, compiled, optax_update
from .parameters import UnconstrainedVector
from .problem import Evaluation, GradientEvaluator, MiniBatch


class AbstractSchedule(abc.ABC):
    """Learning rate over the accepted steps, as a fraction of its peak."""

    @abc.abstractmethod
    def fraction(self, step: ScalarLike) -> ScalarLike:
        """Fraction of the peak at a step, counted from 0."""


@named("constant")
@dataclasses.dataclass(frozen=True)
class ConstantRate(AbstractSchedule):
    """The same rate at all steps."""

    def fraction(self, step: ScalarLike) -> ScalarLike:
        return 1.0


@dataclasses.dataclass(frozen=True)
class _Decay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then down to `final_fraction` at `n_steps`.

    Args:
        n_steps: over which the rate falls.
        n_warmup: steps over which the rate rises.
        final_fraction: last rate over the largest [1].
    """

    n_steps: int
    n_warmup: int = setting(0, at_least=0)
    final_fraction: float = setting(0.05, at_least=0.0, at_most=1.0)

    def __post_init__(self):
        check_settings(self)
        if not self.n_warmup < self.n_steps:
            raise ValueError(
                f"schedule: expected n_warmup < n_steps, got n_warmup = {self.n_warmup}, n_steps = "
                f"{self.n_steps}."
            )
        if isinstance(self, ExponentialDecay) and self.final_fraction == 0.0:
            raise ValueError("ExponentialDecay: expected a positive final_fraction, got 0.")

    def fraction(self, step: ScalarLike) -> ScalarLike:
        # Not 0 at the first step, which would waste an evaluation.
        begin = 1.0 / (self.n_warmup + 1)
        return jnp.asarray(self._schedule(begin)(jnp.asarray(step, float)))

    @abc.abstractmethod
    def _schedule(self, begin: float) -> Callable[[Any], Any]:  # types of optax
        """The optax schedule, imported on demand: commands that do not calibrate start faster."""


@named("cosine")
class CosineDecay(_Decay):
    """Linear rise over `n_warmup` steps, then half a cosine down to `final_fraction` at `n_steps`."""

    def _schedule(self, begin: float):
        from optax.schedules import warmup_cosine_decay_schedule

        return warmup_cosine_decay_schedule(begin, 1.0, self.n_warmup, self.n_steps, self.final_fraction)


@named("exponential")
class ExponentialDecay(_Decay):
    """Linear rise over `n_warmup` steps, then exponential decay to `final_fraction` at `n_steps`."""

    def _schedule(self, begin: float):
        from optax.schedules import warmup_exponential_decay_schedule

        rate, n_decay = self.final_fraction, self.n_steps - self.n_warmup
        return warmup_exponential_decay_schedule(begin, 1.0, self.n_warmup, n_decay, rate, end_value=rate)


class AdamState(MethodState):
    """Starting point of the steps, the current step and its length factor, and the moments."""

    base: UnconstrainedVector
    update: UnconstrainedVector
    shortening: Float[Array, ""]
    step: Int[Array, ""]
    transformation: PyTree


@named("adam")
@dataclasses.dataclass(frozen=True)
class Adam(AbstractMethod):
    """Adam (Kingma and Ba 2015) with a schedule and gradient clipping.

    Args:
        learning_rate: peak of the schedule: approximate change per step of each unconstrained number.
        schedule: of the learning rate.
        beta_1, beta_2: decay rates of the means of the gradient and its square.
        largest_gradient: norm to which longer gradients are scaled down; `None` for no limit.
        cases_per_step: number of cases drawn at each step instead of all, each once per round: cheaper steps
            if there are many cases.
        all_cases_every: with `cases_per_step`, interval of steps (including the first) at which all cases are
            evaluated; only these give the loss, and the best iterate is one of them.
        seed: for the order of the cases.
    """

    learning_rate: float = setting(0.05, above=0.0, at_most=10.0)
    schedule: AbstractSchedule = ConstantRate()
    beta_1: float = setting(0.9, at_least=0.0, below=1.0)
    beta_2: float = setting(0.999, at_least=0.0, below=1.0)
    largest_gradient: float | None = setting(None, above=0.0)
    cases_per_step: int | None = setting(None, at_least=1)
    all_cases_every: int = setting(10, at_least=1)
    seed: int = setting(0, at_least=0)

    evaluator: ClassVar = GradientEvaluator
    end: ClassVar = "nothing is left to do"  # it never ends by itself

    @property
    def _transformation(self) -> Transformation:
        import optax

        adam = optax.scale_by_adam(self.beta_1, self.beta_2)
        if self.largest_gradient is None:
            return adam
        return optax.chain(optax.clip_by_global_norm(self.largest_gradient), adam)

    @compiled
    def init(self, x: UnconstrainedVector) -> AdamState:
        no, zeros, transformation = jnp.asarray(False), jnp.zeros_like(x), self._transformation.init(x)
        full, step = jnp.ones((), x.dtype), jnp.zeros((), jnp.int32)
        return AdamState(x, no, no, x, zeros, full, step, transformation)

    def ask(self, state: AdamState) -> tuple[UnconstrainedVector] | tuple[UnconstrainedVector, MiniBatch]:
        rounds, place = divmod(int(state.step), self.all_cases_every)
        if self.cases_per_step is None or place == 0:
            return (state.trial,)
        number = rounds * (self.all_cases_every - 1) + place - 1
        return state.trial, MiniBatch(self.cases_per_step, self.seed, number)

    def tell(self, state: AdamState, evaluation: Evaluation) -> AdamState:
        if not evaluation.is_finite:
            return self._shorten(state)
        return self._advance(state, jnp.asarray(evaluation.gradient))

    @compiled
    def _shorten(self, state: AdamState) -> AdamState:
        # Keep moments and starting point of the last finite evaluation.
        shortening = 0.5 * state.shortening
        trial = state.base + shortening * state.update
        return dataclasses.replace(state, trial=trial, accepted=jnp.asarray(False), shortening=shortening)

    @compiled
    def _advance(self, state: AdamState, gradient: UnconstrainedVector) -> AdamState:
        adam = self._transformation
        scaled, transformation = optax_update(adam, gradient, state.transformation, state.trial)
        fraction = self.schedule.fraction(state.step.astype(float))
        update = (-self.learning_rate * fraction * jnp.asarray(scaled)).astype(gradient.dtype)
        # After a rejection, double the step until it has its full length.
        shortening = jnp.minimum(1.0, 2.0 * state.shortening).astype(gradient.dtype)
        trial, yes = state.trial + shortening * update, jnp.asarray(True)
        return AdamState(
            trial, yes, state.finished, state.trial, update, shortening, state.step + 1, transformation
        )


class LBFGSState(MethodState):
    """Starting point of the line search, its loss and gradient, the direction and the step length."""

    base: UnconstrainedVector
    base_loss: Float[Array, ""]
    base_gradient: UnconstrainedVector
    direction: UnconstrainedVector
    step_length: Float[Array, ""]
    memory: PyTree
    has_memory: Bool[Array, ""]


@named("lbfgs")
@dataclasses.dataclass(frozen=True)
class LBFGS(AbstractMethod):
    """Limited-memory BFGS with a backtracking line search, which also backtracks from non-finite values.

    Args:
        memory_size: number of stored pairs of steps and gradient changes.
        largest_step: largest change of any unconstrained number in one step.
        sufficient_decrease: required fraction of the decrease predicted by the slope (Armijo).
        backtracking: factor of the step length after a rejection.
        shortest_step: smallest step length; below it the search restarts along the gradient, and ends if that
            fails too.

    Source: Nocedal and Wright (2006), Numerical Optimization, algorithms 3.1 and 7.5.
    """

    memory_size: int = setting(10, at_least=1, at_most=1000)
    largest_step: float = setting(0.5, above=0.0, finite=False)
    sufficient_decrease: float = setting(1e-4, above=0.0, below=1.0)
    backtracking: float = setting(0.5, above=0.0, below=1.0)
    shortest_step: float = setting(1e-4, above=0.0, below=1.0)

    evaluator: ClassVar = GradientEvaluator
    end: ClassVar = "no step was found that lowers the loss"

    @property
    def _transformation(self) -> Transformation:
        import optax

        return optax.scale_by_lbfgs(self.memory_size)

    @compiled
    def init(self, x: UnconstrainedVector) -> LBFGSState:
        no, zeros = jnp.asarray(False), jnp.zeros_like(x)
        infinite, one = jnp.full((), jnp.inf, x.dtype), jnp.ones((), x.dtype)
        memory = self._transformation.init(x)
        return LBFGSState(x, no, no, x, infinite, zeros, zeros, one, memory, no)

    def ask(self, state: LBFGSState) -> tuple[UnconstrainedVector]:
        return (state.trial,)

    def tell(self, state: LBFGSState, evaluation: Evaluation) -> LBFGSState:
        loss, slope = evaluation.fit.loss, float(np.vdot(state.base_gradient, state.direction))
        promised = self.sufficient_decrease * float(state.step_length) * slope
        if evaluation.is_finite and loss <= float(state.base_loss) + promised:
            return self._learn(state, loss, jnp.asarray(evaluation.gradient))
        if self.backtracking * float(state.step_length) >= self.shortest_step:
            return self._backtrack(state)
        if bool(state.has_memory):
            return self._restart(state)
        return dataclasses.replace(state, accepted=jnp.asarray(False), finished=jnp.asarray(True))

    @compiled
    def _learn(self, state: LBFGSState, loss: ScalarLike, gradient: UnconstrainedVector) -> LBFGSState:
        """A search from the current point, after updating the memory."""
        change = jnp.vdot(state.trial - state.base, gradient - state.base_gradient)
        # Without curvature there is nothing to store, as at the first evaluation.
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
        """A search along the gradient from the same point."""
        nothing = self._transformation.init(state.base)
        again = self._search_from(state.base, state.base_loss, state.base_gradient, nothing)
        return dataclasses.replace(again, accepted=jnp.asarray(False))

    def _search_from(self, base, loss, gradient, memory) -> LBFGSState:
        nothing = self._transformation.init(gradient)
        with_memory = optax_update(self._transformation, gradient, memory, base)
        without = optax_update(self._transformation, gradient, nothing, base)
        # Round-off can corrupt the memory.
        has_memory = (memory.count > 0) & (jnp.vdot(jnp.asarray(with_memory[0]), gradient) > 0.0)
        scaled, new_memory = jax.tree.map(lambda a, b: jnp.where(has_memory, a, b), with_memory, without)
        direction = -scaled
        largest = jnp.max(jnp.abs(direction))
        direction = direction * jnp.minimum(1.0, self.largest_step / jnp.maximum(largest, 1e-300))
        trial, finished, one = base + direction, ~jnp.any(gradient != 0.0), jnp.ones((), gradient.dtype)
        yes, found = jnp.asarray(True), (base, loss, gradient, direction, one, new_memory, has_memory)
        return LBFGSState(trial, yes, finished, *found)
