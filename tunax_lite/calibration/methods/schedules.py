"""How the learning rate changes over the steps of a method."""

import abc
import dataclasses
import math

from ...declarations import named


class AbstractSchedule(abc.ABC):
    """The learning rate over the accepted steps, as a share of its peak."""

    @abc.abstractmethod
    def share(self, step: int) -> float:
        """Share of the peak at a step, counted from 0."""


@named("constant")
@dataclasses.dataclass(frozen=True)
class ConstantRate(AbstractSchedule):
    """The same rate at all steps."""

    def share(self, step: int) -> float:
        del step
        return 1.0


@named("cosine")
@dataclasses.dataclass(frozen=True)
class CosineDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then half a cosine down to `final_share` at `n_steps`.

    Args:
        n_steps: over which the rate falls.
        n_warmup: steps over which the rate rises.
        final_share: last rate over the largest [1].

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


@named("exponential")
@dataclasses.dataclass(frozen=True)
class ExponentialDecay(AbstractSchedule):
    """Linear rise over `n_warmup` steps, then exponential decay to `final_share` at `n_steps`.

    Args:
        n_steps: over which the rate falls.
        n_warmup: steps over which the rate rises.
        final_share: last rate over the largest [1].

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
