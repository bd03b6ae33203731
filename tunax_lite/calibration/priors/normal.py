"""Priors that know a value and how sure it is.

    Normal        p = m + s x
    LogNormal     ln p = ln m + s x
    Unbounded     p = x

Their tails have no end. Where the parameter has no meaning beyond a value, they are cut there, four standard
deviations or more from the median: less than 1 in 15 000 of the probability is on the bound then.
"""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp

from ..._types import Scalar
from ...declarations import named, setting
from .base import AbstractPrior, check_inside, check_positive

_FAR = 4.0 * (1.0 - 1e-12)
"""Standard deviations between the median and where a prior may be cut, but for round-off."""


def _check_far(distances: tuple[float, float], lower: float, upper: float, given: str) -> None:
    """Raise where a prior would be cut; distances from the median in standard deviations."""
    if min(distances) < _FAR:
        raise ValueError(
            f"expected a prior whose median is at least four standard deviations from the ends of the range "
            f"{lower:g} to {upper:g}, got {given}, {min(distances):.3g} from one of them; choose a smaller "
            "standard deviation, a logarithmic prior, or one with bounds."
        )


@named("normal")
@dataclasses.dataclass(frozen=True)
class Normal(AbstractPrior):
    """A value with a symmetric uncertainty.

    Args:
        mean, standard_deviation: in the unit of the parameter.
        lower, upper: where it is cut.

    Raises:
        ValueError: numbers that are not finite, a standard deviation that is not positive, or a cut less than
            four of them from the mean.
    """

    mean: float = setting()
    standard_deviation: float = setting(above=0.0)
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self):
        check_positive(self, "standard_deviation")
        if not math.isfinite(self.mean):
            raise ValueError(f"Normal: expected a finite mean, got {self.mean:g}.")
        distances = self.mean - self.lower, self.upper - self.mean
        below, above = (distance / self.standard_deviation for distance in distances)
        given = f"the mean {self.mean:g} and the standard deviation {self.standard_deviation:g}"
        _check_far((below, above), self.lower, self.upper, given)

    @property
    def middle(self) -> float:
        return self.mean

    def to_physical(self, x: Scalar) -> Scalar:
        return jnp.clip(self.mean + self.standard_deviation * x, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return (value - self.mean) / self.standard_deviation

    def within(self, lower: float, upper: float) -> "Normal":
        return dataclasses.replace(self, lower=max(lower, self.lower), upper=min(upper, self.upper))


@named("log_normal")
@dataclasses.dataclass(frozen=True)
class LogNormal(AbstractPrior):
    """A positive value that is known but for a factor.

    Args:
        median: in the unit of the parameter.
        log_standard_deviation: of the natural logarithm [1].
        lower, upper: where it is cut.

    Raises:
        ValueError: numbers that are not positive and finite, or a cut less than four standard deviations
            from the median.
    """

    median: float = setting(above=0.0)
    log_standard_deviation: float = setting(above=0.0)
    lower: float = 0.0
    upper: float = math.inf

    def __post_init__(self):
        check_positive(self, "median")
        check_positive(self, "log_standard_deviation")
        below, above = (end / self.log_standard_deviation for end in self._log_distances())
        given = (
            f"the median {self.median:g} and the standard deviation of the logarithm "
            f"{self.log_standard_deviation:g}"
        )
        _check_far((-below, above), self.lower, self.upper, given)

    def _log_distances(self) -> tuple[float, float]:
        """From the median to where it is cut, in the logarithm."""
        ends = (math.log(end) if end > 0.0 else -math.inf for end in (self.lower, self.upper))
        below, above = (end - math.log(self.median) for end in ends)
        return below, above

    @property
    def middle(self) -> float:
        return self.median

    def to_physical(self, x: Scalar) -> Scalar:
        # The exponent is cut first: an exponential that overflows has no gradient to be cut.
        exponent = jnp.clip(self.log_standard_deviation * x, *self._log_distances())
        return jnp.clip(self.median * jnp.exp(exponent), self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return math.log(value / self.median) / self.log_standard_deviation

    def within(self, lower: float, upper: float) -> "LogNormal":
        return dataclasses.replace(self, lower=max(lower, self.lower), upper=min(upper, self.upper))


@dataclasses.dataclass(frozen=True)
class Unbounded(AbstractPrior):
    """The standard normal distribution, for numbers of order one without bounds: weights of networks."""

    lower: ClassVar[float] = -math.inf
    upper: ClassVar[float] = math.inf

    @property
    def middle(self) -> float:
        return 0.0

    def to_physical(self, x: Scalar) -> Scalar:
        return x

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return value

    def within(self, lower: float, upper: float) -> "Unbounded":
        if math.isfinite(lower) or math.isfinite(upper):
            raise ValueError(f"expected a prior with bounds within {lower:g} to {upper:g}, got one without.")
        return self
