"""How the learning rate changes over the steps of a method, by the schedules of optax."""

import abc
import dataclasses

import jax.numpy as jnp

from ..._types import ScalarLike

# optax is imported where it is needed: commands that do not calibrate start sooner.
from ...declarations import named


class AbstractSchedule(abc.ABC):
    """The learning rate over the accepted steps, as a fraction of its peak."""

    @abc.abstractmethod
    def fraction(self, step: ScalarLike) -> ScalarLike:
        """Fraction of the peak at a step, counted from 0."""


@named("constant")
@dataclasses.dataclass(frozen=True)
class ConstantRate(AbstractSchedule):
    """The same rate at all steps."""

    def fraction(self, step: ScalarLike) -> ScalarLike:
        del step
        return 1.0


@named("cosine")
@dataclasses.dataclass(frozen=True)
class CosineDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then half a cosine down to `final_fraction` at `n_steps`.

    Args:
        n_steps: over which the rate falls.
        n_warmup: steps over which the rate rises.
        final_fraction: last rate over the largest [1].

    Raises:
        ValueError: numbers of steps that do not fit, or a fraction outside of 0 to 1.
    """

    n_steps: int
    n_warmup: int = 0
    final_fraction: float = 0.05

    def __post_init__(self):
        _check_schedule(self.n_steps, self.n_warmup, self.final_fraction)

    def fraction(self, step: ScalarLike) -> ScalarLike:
        from optax.schedules import warmup_cosine_decay_schedule

        begin = _begin(self.n_warmup)
        schedule = warmup_cosine_decay_schedule(begin, 1.0, self.n_warmup, self.n_steps, self.final_fraction)
        return jnp.asarray(schedule(jnp.asarray(step, float)))


@named("exponential")
@dataclasses.dataclass(frozen=True)
class ExponentialDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then exponential decay to `final_fraction` at `n_steps`.

    Args:
        n_steps: over which the rate falls.
        n_warmup: steps over which the rate rises.
        final_fraction: last rate over the largest [1].

    Raises:
        ValueError: numbers of steps that do not fit, or a fraction that is not between 0 and 1.
    """

    n_steps: int
    n_warmup: int = 0
    final_fraction: float = 0.05

    def __post_init__(self):
        _check_schedule(self.n_steps, self.n_warmup, self.final_fraction)
        if self.final_fraction == 0.0:
            raise ValueError("ExponentialDecay: expected a positive final_fraction, got 0.")

    def fraction(self, step: ScalarLike) -> ScalarLike:
        from optax.schedules import warmup_exponential_decay_schedule

        begin, rate, n_decay = _begin(self.n_warmup), self.final_fraction, self.n_steps - self.n_warmup
        schedule = warmup_exponential_decay_schedule(begin, 1.0, self.n_warmup, n_decay, rate, end_value=rate)
        return jnp.asarray(schedule(jnp.asarray(step, float)))


def _check_schedule(n_steps: int, n_warmup: int, final_fraction: float) -> None:
    if not 0 <= n_warmup < n_steps:
        raise ValueError(
            f"schedule: expected 0 <= n_warmup < n_steps, got n_warmup = {n_warmup}, n_steps = {n_steps}."
        )
    if not 0.0 <= final_fraction <= 1.0:
        raise ValueError(f"schedule: expected a final_fraction of 0 to 1, got {final_fraction}.")


def _begin(n_warmup: int) -> float:
    # Not 0 at the first step, which would be an evaluation for nothing.
    return 1.0 / (n_warmup + 1)
