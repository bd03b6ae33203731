"""Priors of parameters, and the map from an unconstrained number to a parameter.

A parameter is p = T(x) with x from the normal distribution N(0, 1) and a smooth increasing map T, so that
T(0) is its median. Calibration acts on x. Whatever the priors, the density of the vector of all x is that of
N(0, I), whose negative logarithm is half its squared length.

With sigma(x) = 1 / (1 + exp(-x)), the normal distribution function Phi and bounds a < b,

    Bounded       p = a + (b - a) sigma(x)                  (a logit-normal distribution)
    Uniform       p = a + (b - a) Phi(x)
    LogBounded    ln p = ln a + (ln b - ln a) sigma(x)
    LogUniform    ln p = ln a + (ln b - ln a) Phi(x)
    Normal        p = m + s x
    LogNormal     ln p = ln m + s x
    Unbounded     p = x

Whatever the optimiser proposes, p stays between its bounds, where the gradient tends to zero: as exp(-x²/2)
with Phi, and as exp(-|x|) with sigma, from which an optimiser recovers more easily. Normal distributions have
infinite tails. If the parameter has no meaning beyond a value, they are truncated there, at least four
standard deviations from the median, so that the bound holds less than 1 in 15 000 of the probability.
"""

import abc
import dataclasses
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Scalar
from ..declarations import check_settings, named, setting
from ..numerics.ranges import bounded


class AbstractPrior(abc.ABC):
    """Distribution of a parameter between two values, and its map from the unconstrained number."""

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
        """Unconstrained number of a value; `ValueError` at or outside its bounds, which no x reaches."""

    @abc.abstractmethod
    def within(self, lower: float, upper: float) -> "AbstractPrior":
        """The same for a number with a meaning only between two values; `ValueError` if much is cut off."""


def check_inside(value: float, lower: float, upper: float) -> None:
    """Raise for a first guess that is not between the bounds."""
    if not lower < value < upper:
        where = "on a bound" if value in (lower, upper) else "outside"
        raise ValueError(
            f"expected a start value between the bounds {lower:g} and {upper:g}, got {value:g} ({where}), "
            "where the gradient vanishes; choose wider bounds or another start value."
        )


def _normal_distribution(x: Scalar) -> Scalar:
    """Phi, accurate where it is small."""
    return 0.5 * jax.scipy.special.erfc(-math.sqrt(0.5) * x)


@dataclasses.dataclass(frozen=True)
class _Interval(AbstractPrior):
    """Between two finite bounds, linear or logarithmic, by a logistic function or the normal distribution.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises `ValueError` for bounds that are not finite, not ordered or, if logarithmic, not positive.
    """

    lower: float = setting(finite=False)
    upper: float = setting(finite=False)
    _is_log: ClassVar[bool]
    _is_even: ClassVar[bool]

    def __post_init__(self):
        lower, upper = self.lower, self.upper
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise ValueError(
                f"expected finite bounds, lower < upper, got {lower:g} and {upper:g}; give both, or a normal "
                "or logarithmic normal prior, which needs none."
            )
        if self._is_log and lower <= 0.0:
            raise ValueError(
                f"expected positive bounds for a logarithmic scale, got a lower bound of {lower:g}."
            )

    @property
    def middle(self) -> float:
        if self._is_log:
            return math.sqrt(self.lower) * math.sqrt(self.upper)
        return 0.5 * (self.lower + self.upper)

    def within(self, lower: float, upper: float) -> "_Interval":
        if not (lower <= self.lower and self.upper <= upper):
            raise ValueError(
                f"expected a prior within {lower:g} to {upper:g}, got one from {self.lower:g} to "
                f"{self.upper:g}; choose narrower bounds."
            )
        return self

    def to_physical(self, x: Scalar) -> Scalar:
        lower, upper = self.lower, self.upper
        if self._is_log:
            lower, upper = math.log(lower), math.log(upper)
        fraction = _normal_distribution if self._is_even else jax.nn.sigmoid
        value = bounded(x, lower, upper, fraction)
        return jnp.clip(jnp.exp(value), self.lower, self.upper) if self._is_log else value

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        below, above = value - self.lower, self.upper - value
        if self._is_log:
            below, above = math.log(value / self.lower), math.log(self.upper / value)
        if not self._is_even:
            return math.log(below / above)
        x = NormalDist().inv_cdf(min(below, above) / (below + above))  # from the nearer bound, as in the map
        return x if below < above else -x


class Bounded(_Interval):
    """Logit-normal between two bounds, for a parameter that varies by less than an order of magnitude."""

    _is_log, _is_even = False, False


class LogBounded(_Interval):
    """Logit-normal in the logarithm between two positive bounds, for floors and length scales."""

    _is_log, _is_even = True, False


@named("uniform")
class Uniform(_Interval):
    """All values between two bounds are equally likely."""

    _is_log, _is_even = False, True


class LogUniform(_Interval):
    """All orders of magnitude between two positive bounds are equally likely."""

    _is_log, _is_even = True, True


_FAR = 4.0 * (1.0 - 1e-12)
"""Standard deviations between the median and where a prior may be cut, but for round-off."""


@dataclasses.dataclass(frozen=True)
class _Cut(AbstractPrior):
    """With tails truncated where the parameter has no meaning."""

    def within(self, lower: float, upper: float) -> "_Cut":
        return dataclasses.replace(self, lower=max(lower, self.lower), upper=min(upper, self.upper))


def _check_far(prior: AbstractPrior, distances: tuple[float, float], deviation: float, given: str) -> None:
    """Raise if a prior would be truncated too close to its median."""
    nearest = min(distance / deviation for distance in distances)
    if nearest < _FAR:
        raise ValueError(
            "expected a prior whose median is at least four standard deviations from the ends of the range "
            f"{prior.lower:g} to {prior.upper:g}, got {given}, {nearest:.3g} from one of them; choose a "
            "smaller standard deviation, a logarithmic prior, or one with bounds."
        )


@named("normal")
@dataclasses.dataclass(frozen=True)
class Normal(_Cut):
    """A value with a symmetric uncertainty.

    Args:
        mean, standard_deviation: in the unit of the parameter.
        lower, upper: truncation.

    Raises `ValueError` for numbers out of range, or truncation less than four standard deviations from the
    mean.
    """

    mean: float = setting()
    standard_deviation: float = setting(above=0.0)
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self):
        check_settings(self)
        distances = self.mean - self.lower, self.upper - self.mean
        given = f"the mean {self.mean:g} and the standard deviation {self.standard_deviation:g}"
        _check_far(self, distances, self.standard_deviation, given)

    @property
    def middle(self) -> float:
        return self.mean

    def to_physical(self, x: Scalar) -> Scalar:
        return jnp.clip(self.mean + self.standard_deviation * x, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return (value - self.mean) / self.standard_deviation


@named("log_normal")
@dataclasses.dataclass(frozen=True)
class LogNormal(_Cut):
    """A positive value known up to a factor.

    Args:
        median: in the unit of the parameter.
        log_standard_deviation: of the natural logarithm [1].
        lower, upper: truncation.

    Raises `ValueError` for numbers out of range, or truncation less than four standard deviations from the
    median.
    """

    median: float = setting(above=0.0)
    log_standard_deviation: float = setting(above=0.0)
    lower: float = 0.0
    upper: float = math.inf

    def __post_init__(self):
        check_settings(self)
        (below, above), deviation = self._log_distances(), self.log_standard_deviation
        given = f"the median {self.median:g} and the standard deviation of the logarithm {deviation:g}"
        _check_far(self, (-below, above), deviation, given)

    def _log_distances(self) -> tuple[float, float]:
        """Distance of the truncation from the median, in the logarithm."""
        lower, upper = (math.log(end) if end > 0.0 else -math.inf for end in (self.lower, self.upper))
        return lower - math.log(self.median), upper - math.log(self.median)

    @property
    def middle(self) -> float:
        return self.median

    def to_physical(self, x: Scalar) -> Scalar:
        # Clip the exponent first: an exponential that overflows has no gradient to clip.
        exponent = jnp.clip(self.log_standard_deviation * x, *self._log_distances())
        return jnp.clip(self.median * jnp.exp(exponent), self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return math.log(value / self.median) / self.log_standard_deviation


@dataclasses.dataclass(frozen=True)
class Unbounded(AbstractPrior):
    """The standard normal distribution, for unbounded numbers of order one, such as weights of networks."""

    lower: ClassVar[float] = -math.inf  # pyright: ignore[reportIncompatibleVariableOverride]
    upper: ClassVar[float] = math.inf  # pyright: ignore[reportIncompatibleVariableOverride]

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


_NUGGET = 1e-8
"""Of the variance, on the diagonal: without it, neighbours much closer than the length make C singular."""


@named("correlated_normal")
@dataclasses.dataclass(frozen=True)
class CorrelatedNormal(Normal):
    """Normal numbers of a vector, correlated over a length; `Normal` is for a single number.

        p = mean + s L x,        L Lᵀ = C,        C_ij = exp(-(z_i - z_j)² / (2 length²))

    with the positions z_i of the numbers in height or time and the Cholesky factor L: p has the covariance s²
    C, the background-error covariance matrix of variational assimilation.

    Args:
        mean, standard_deviation: of each number, in its unit.
        length: correlation length, in the unit of the coordinate: [m] for a profile, [s] for a series.
        lower, upper: values beyond which a number has no meaning; not enforced, but must be far away.
    """

    length: float = setting(above=0.0, kw_only=True)

    def factor(self, coordinates: Sequence[float]) -> np.ndarray:
        """L for numbers at given positions, `(n, n)`."""
        z = np.asarray(coordinates, dtype=float)
        correlation = np.exp(-0.5 * ((z[:, None] - z[None, :]) / self.length) ** 2)
        return np.linalg.cholesky(correlation + _NUGGET * np.eye(z.size))
