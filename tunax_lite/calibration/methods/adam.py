"""Adam: steps of about equal length in all parameters, from the signs and the steadiness of the gradients."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from ...declarations import check_settings, named, setting
from ..evaluation import GradientEvaluation, GradientEvaluator, MiniBatch
from ..parameters import UnconstrainedVector
from .base import AbstractMethod, MethodState, compiled, optax_update
from .schedules import AbstractSchedule, ConstantRate

if TYPE_CHECKING:
    import optax


class AdamState(MethodState):
    """Base of the steps, the step at hand and its shortening, and the moments."""

    trial: UnconstrainedVector
    accepted: Bool[Array, ""]
    finished: Bool[Array, ""]
    base: UnconstrainedVector
    update: UnconstrainedVector
    shortening: Float[Array, ""]
    step: Int[Array, ""]
    transformation: PyTree


@named("adam")
@dataclasses.dataclass(frozen=True)
class Adam(AbstractMethod[AdamState, GradientEvaluation]):
    """Adam (Kingma and Ba 2015) with a schedule and gradient clipping.

    Args:
        learning_rate: at the peak of the schedule: about the change per step of each unconstrained
            number.
        schedule: of the learning rate.
        beta_1, beta_2: decay of the means of the gradient and of its square.
        largest_gradient: longer gradients are scaled down to this norm; `None` for any.
        cases_per_step: take a few cases at each step, drawn so that each comes once in a round, instead of
            all of them: cheaper steps where there are many cases.
        all_cases_every: with `cases_per_step`, one step in so many takes all cases, the first one included;
            only these know the loss, and one of them becomes the best.
        seed: of the order of the cases.

    Raises:
        ValueError: numbers out of range.
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

    def __post_init__(self):
        check_settings(self)

    @property
    def _transformation(self) -> "optax.GradientTransformation":
        import optax  # not before it is needed: commands that do not calibrate start sooner

        adam = optax.scale_by_adam(self.beta_1, self.beta_2)
        if self.largest_gradient is None:
            return adam
        return optax.chain(optax.clip_by_global_norm(self.largest_gradient), adam)

    def init(self, x: UnconstrainedVector) -> AdamState:
        return self._start(x)

    def ask(self, state: AdamState) -> tuple[UnconstrainedVector] | tuple[UnconstrainedVector, MiniBatch]:
        rounds, place = divmod(int(state.step), self.all_cases_every)
        if self.cases_per_step is None or place == 0:
            return (state.trial,)
        number = rounds * (self.all_cases_every - 1) + place - 1
        return state.trial, MiniBatch(self.cases_per_step, self.seed, number)

    def tell(self, state: AdamState, evaluation: GradientEvaluation) -> AdamState:
        if not evaluation.is_finite:
            return self._shorten(state)
        return self._advance(state, jnp.asarray(evaluation.gradient))

    @compiled
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

    @compiled
    def _shorten(self, state: AdamState) -> AdamState:
        # Moments and base stay those of the last good point.
        shortening = 0.5 * state.shortening
        return dataclasses.replace(
            state,
            trial=state.base + shortening * state.update,
            accepted=jnp.asarray(False),
            shortening=shortening,
        )

    @compiled
    def _advance(self, state: AdamState, gradient: UnconstrainedVector) -> AdamState:
        adam = self._transformation
        scaled, transformation = optax_update(adam, gradient, state.transformation, state.trial)
        fraction = self.schedule.fraction(state.step.astype(float))
        update = (-self.learning_rate * fraction * jnp.asarray(scaled)).astype(gradient.dtype)
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
