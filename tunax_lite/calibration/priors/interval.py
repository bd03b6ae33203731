"""Priors between two bounds, which also are the ones of a parameter of which only bounds are known.

With sigma(x) = 1 / (1 + exp(-x)), the normal distribution function Phi and bounds a < b,

    Bounded       p = a + (b - a) sigma(x)                  (a logit-normal distribution)
    Uniform       p = a + (b - a) Phi(x)
    LogBounded    ln p = ln a + (ln b - ln a) sigma(x)
    LogUniform    ln p = ln a + (ln b - ln a) Phi(x)

Whatever the optimiser proposes, p stays between its bounds, where the gradient tends to zero: with Phi as
exp(-x²/2), with sigma as exp(-|x|), from which an optimiser comes back more easily.
"""

import abc
import dataclasses
import math
from statistics import NormalDist

import jax
import jax.numpy as jnp

from ..._types import Scalar
from .base import AbstractPrior, check_inside


@dataclasses.dataclass(frozen=True)
class _Interval(AbstractPrior):
    """Between two finite bounds, by a distribution function and its inverse."""

    lower: float
    upper: float

    def __post_init__(self):
        lower, upper = self.lower, self.upper
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise ValueError(
                f"expected finite bounds, lower < upper, got {lower:g} and {upper:g}; give both, or a normal "
                "or logarithmic normal prior, which needs none."
            )

    @staticmethod
    @abc.abstractmethod
    def _fraction(x: Scalar) -> Scalar:
        """Of the interval that lies below x, for x of at most 0."""

    @staticmethod
    @abc.abstractmethod
    def _number(below: float, above: float) -> float:
        """x for a value so far from the bounds below and above it."""

    def within(self, lower: float, upper: float) -> "_Interval":
        if not (lower <= self.lower and self.upper <= upper):
            raise ValueError(
                f"expected a prior within {lower:g} to {upper:g}, got one from {self.lower:g} to "
                f"{self.upper:g}; choose narrower bounds."
            )
        return self

    def _between(self, x: Scalar, lower: float, upper: float) -> Scalar:
        # Measured from the nearer bound, so that value and gradient are as accurate near one as near the
        # other; at an infinite x the value is the bound and the gradient 0.
        distance = (upper - lower) * self._fraction(jnp.where(x < 0.0, x, -x))
        return jnp.clip(jnp.where(x < 0.0, lower + distance, upper - distance), lower, upper)


class _LinearInterval(_Interval):
    @property
    def middle(self) -> float:
        return 0.5 * (self.lower + self.upper)

    def to_physical(self, x: Scalar) -> Scalar:
        return self._between(x, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return self._number(value - self.lower, self.upper - value)


class _LogInterval(_Interval):
    def __post_init__(self):
        super().__post_init__()
        if self.lower <= 0.0:
            raise ValueError(
                f"expected positive bounds for a logarithmic scale, got a lower bound of {self.lower:g}."
            )

    @property
    def middle(self) -> float:
        return math.sqrt(self.lower) * math.sqrt(self.upper)

    def to_physical(self, x: Scalar) -> Scalar:
        value = jnp.exp(self._between(x, math.log(self.lower), math.log(self.upper)))
        return jnp.clip(value, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return self._number(math.log(value / self.lower), math.log(self.upper / value))


class _Logistic:
    @staticmethod
    def _fraction(x: Scalar) -> Scalar:
        return jax.nn.sigmoid(x)

    @staticmethod
    def _number(below: float, above: float) -> float:
        return math.log(below / above)


class _Even:
    @staticmethod
    def _fraction(x: Scalar) -> Scalar:
        return 0.5 * jax.scipy.special.erfc(-math.sqrt(0.5) * x)

    @staticmethod
    def _number(below: float, above: float) -> float:
        # From the nearer bound, as in the map.
        x = NormalDist().inv_cdf(min(below, above) / (below + above))
        return x if below < above else -x


class Bounded(_Logistic, _LinearInterval):
    """Logit-normal between two bounds, for a parameter that varies by less than an order of magnitude.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises:
        ValueError: bounds that are not finite or not ordered.
    """


class LogBounded(_Logistic, _LogInterval):
    """Logit-normal of the logarithm between two positive bounds, for floors and lengths.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises:
        ValueError: bounds that are not finite, not ordered, or not positive.
    """


class Uniform(_Even, _LinearInterval):
    """All values between two bounds are equally likely.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises:
        ValueError: bounds that are not finite or not ordered.
    """


class LogUniform(_Even, _LogInterval):
    """All orders of magnitude between two positive bounds are equally likely.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises:
        ValueError: bounds that are not finite, not ordered, or not positive.
    """
