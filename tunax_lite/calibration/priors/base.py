"""What every prior is: the distribution of the image of a standard normal number.

A parameter is p = T(x) with x of the normal distribution N(0, 1) and a smooth increasing map T, so that
T(0) is its median. What is calibrated is x. Whatever the priors of the parameters, the density of the
vector of all x is that of N(0, I), whose negative logarithm is half the square of its length.
"""

import abc
import math

from ..._types import Scalar


class AbstractPrior(abc.ABC):
    """Distribution of a parameter, and its map from the unconstrained number.

    Attributes:
        lower, upper: between which all values lie.
    """

    lower: float
    upper: float

    @property
    @abc.abstractmethod
    def middle(self) -> float:
        """The median."""

    @abc.abstractmethod
    def to_physical(self, x: Scalar) -> Scalar:
        """Parameter value at the unconstrained number x."""

    @abc.abstractmethod
    def to_unconstrained(self, value: float) -> float:
        """Unconstrained number of a parameter value.

        Raises:
            ValueError: a value on its bounds or outside of them, which no x reaches.
        """

    @abc.abstractmethod
    def within(self, lower: float, upper: float) -> "AbstractPrior":
        """The same prior where a parameter has a meaning only between two values.

        Raises:
            ValueError: a prior that has much of its probability beyond them.
        """


def check_inside(value: float, lower: float, upper: float) -> None:
    """Raise for a start value that is not between the bounds."""
    if not lower < value < upper:
        where = "on a bound" if value in (lower, upper) else "outside"
        raise ValueError(
            f"expected a start value between the bounds {lower:g} and {upper:g}, got {value:g} ({where}), "
            "where the gradient vanishes; choose wider bounds or another start value."
        )


def check_positive(prior: AbstractPrior, name: str) -> None:
    """Raise for a number of a prior that is not positive and finite."""
    value = getattr(prior, name)
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(
            f"{type(prior).__name__}: expected a positive {name.replace('_', ' ')}, got {value:g}."
        )
