"""Maps between a physical parameter and the unconstrained number that an optimiser moves.

With sigma(x) = 1 / (1 + exp(-x)) and bounds a < b,

    Bounded       p = a + (b - a) sigma(x)
    LogBounded    ln p = ln a + (ln b - ln a) sigma(x)
    Unbounded     p = x

Whatever the optimiser proposes, p stays between its bounds, where the gradient tends to zero.
"""

import abc
import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Scalar


class AbstractTransform(abc.ABC):
    """A smooth increasing map from all real numbers to the range of a parameter."""

    @abc.abstractmethod
    def to_physical(self, x: Scalar) -> Scalar:
        """Parameter value at the unconstrained number x."""

    @abc.abstractmethod
    def to_unconstrained(self, value: float) -> float:
        """Unconstrained number of a parameter value.

        Raises:
            ValueError: a value on its bounds or outside of them, which no x reaches.
        """


def _between(x: Float[Array, ""], lower: float, upper: float) -> Scalar:
    # Measured from the nearer bound, so that value and gradient are as accurate near one as near the
    # other; at an infinite x the value is the bound and the gradient 0.
    share = (upper - lower) * jax.nn.sigmoid(jnp.where(x < 0.0, x, -x))
    return jnp.clip(jnp.where(x < 0.0, lower + share, upper - share), lower, upper)


def _check_inside(value: float, lower: float, upper: float) -> None:
    if not lower < value < upper:
        where = "on a bound" if value in (lower, upper) else "outside"
        raise ValueError(
            f"expected a start value between the bounds {lower:g} and {upper:g}, got {value:g} ({where}), "
            "where the gradient vanishes; choose wider bounds or another start value."
        )


def _check_bounds(lower: float, upper: float) -> None:
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ValueError(f"expected finite bounds, lower < upper, got {lower:g} and {upper:g}.")


@dataclasses.dataclass(frozen=True)
class Unbounded(AbstractTransform):
    """p = x."""

    def to_physical(self, x: Scalar) -> Scalar:
        return x

    def to_unconstrained(self, value: float) -> float:
        if not math.isfinite(value):
            raise ValueError(f"expected a finite start value, got {value:g}.")
        return value


@dataclasses.dataclass(frozen=True)
class Bounded(AbstractTransform):
    """Logit between two bounds, for a parameter that varies by less than an order of magnitude.

    Raises:
        ValueError: bounds that are not finite or not ordered.
    """

    lower: float
    upper: float

    def __post_init__(self):
        _check_bounds(self.lower, self.upper)

    def to_physical(self, x: Scalar) -> Scalar:
        return _between(x, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        _check_inside(value, self.lower, self.upper)
        return math.log((value - self.lower) / (self.upper - value))


@dataclasses.dataclass(frozen=True)
class LogBounded(AbstractTransform):
    """Logit of the logarithm between two positive bounds, for floors and lengths.

    Raises:
        ValueError: bounds that are not finite, not ordered, or not positive.
    """

    lower: float
    upper: float

    def __post_init__(self):
        _check_bounds(self.lower, self.upper)
        if self.lower <= 0.0:
            raise ValueError(
                f"expected positive bounds for a logarithmic scale, got a lower bound of {self.lower:g}."
            )

    def to_physical(self, x: Scalar) -> Scalar:
        value = jnp.exp(_between(x, math.log(self.lower), math.log(self.upper)))
        return jnp.clip(value, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        _check_inside(value, self.lower, self.upper)
        return math.log(math.log(value / self.lower) / math.log(self.upper / value))
