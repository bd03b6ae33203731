"""Priors of parameters, and the transforms between bounded numbers and numbers without bounds.

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

Whatever the optimiser proposes, p stays between its bounds (except in a correlated vector). There the
gradient tends to zero: as exp(-x²/2) with Phi, and as exp(-|x|) with sigma, which is easier to leave. Normal
distributions have infinite tails. If the parameter has no meaning beyond a value, they are truncated
there, at least four standard deviations from the median, so that the bound holds less than 1 in 15 000 of
the probability.
"""

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Scalar
from ..declarations import check_settings, named, setting

_FARTHEST = 800.0
"""x of a number on its bound: the logistic function and the exponential are exactly zero there."""


def bounded(
    x: Scalar, lower: float, upper: float, distribution: Callable[[Scalar], Scalar] = jax.nn.sigmoid
) -> Scalar:
    """Map x to a number between bounds a, b: a + (b - a) sigma(x), a + exp(x), b - exp(-x), or x.

    For large |x| the result is exactly the bound, with zero gradient. `distribution` replaces sigma between
    finite bounds; it must be symmetric about zero.
    """
    if math.isinf(lower) and math.isinf(upper):
        return x
    if math.isinf(upper):
        return lower + jnp.exp(x)
    if math.isinf(lower):
        return upper - jnp.exp(-x)
    # Measured from the nearer bound, so that value and gradient are equally accurate near both.
    distance = (upper - lower) * distribution(jnp.where(x < 0.0, x, -x))
    return jnp.clip(jnp.where(x < 0.0, lower + distance, upper - distance), lower, upper)


def unbounded(value: Float[Array, "..."], lower: float, upper: float) -> Float[Array, "..."]:
    """x of a number between two bounds, the inverse of `bounded`."""
    if math.isinf(lower) and math.isinf(upper):
        return value
    if math.isinf(upper):
        x = jnp.log(value - lower)
    elif math.isinf(lower):
        x = -jnp.log(upper - value)
    else:
        x = jnp.log(value - lower) - jnp.log(upper - value)
    return jnp.clip(x, -_FARTHEST, _FARTHEST)


class AbstractPrior(abc.ABC):
    """Distribution of a parameter between two values, and its map from the unconstrained number."""

    lower: float
    upper: float
    is_log: ClassVar[bool]  # true if the distribution is that of the logarithm

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
        """Truncate the prior to a valid range.

        Raises `ValueError` if a prior between two bounds exceeds the range, or if it ends less than four
        standard deviations from the median of a normal prior.
        """

    def on_scale(self, value: float) -> float:
        """A value, or its logarithm for a logarithmic prior."""
        if not self.is_log:
            return value
        return math.log(value) if value > 0.0 else -math.inf

    def check_inside(self, value: float) -> None:
        """Raise `ValueError` for a first guess that is not between the bounds."""
        if not self.lower < value < self.upper:
            where = "on a bound" if value in (self.lower, self.upper) else "outside"
            raise ValueError(
                f"expected a start value between the bounds {self.lower:g} and {self.upper:g}, got "
                f"{value:g} ({where}), where the gradient vanishes; choose wider bounds or another start "
                "value."
            )


def _normal_distribution(x: Scalar) -> Scalar:
    """Phi, accurate where it is small."""
    return 0.5 * jax.scipy.special.erfc(-math.sqrt(0.5) * x)


@dataclasses.dataclass(frozen=True)
class _Interval(AbstractPrior):
    """A prior between two finite bounds: logit-normal or uniform, in the value or its logarithm.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises `ValueError` for bounds that are not finite, not ordered or, if logarithmic, not positive.
    """

    lower: float = setting(finite=False)
    upper: float = setting(finite=False)
    _is_uniform: ClassVar[bool]

    def __post_init__(self):
        lower, upper = self.lower, self.upper
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise ValueError(
                f"expected finite bounds, lower < upper, got {lower:g} and {upper:g}; give both, or a normal "
                "or logarithmic normal prior, which needs none."
            )
        if self.is_log and lower <= 0.0:
            raise ValueError(
                f"expected positive bounds for a logarithmic scale, got a lower bound of {lower:g}."
            )

    @property
    def middle(self) -> float:
        if self.is_log:
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
        fraction = _normal_distribution if self._is_uniform else jax.nn.sigmoid
        value = bounded(x, self.on_scale(self.lower), self.on_scale(self.upper), fraction)
        return jnp.clip(jnp.exp(value), self.lower, self.upper) if self.is_log else value

    def to_unconstrained(self, value: float) -> float:
        self.check_inside(value)
        below, above = value - self.lower, self.upper - value
        if self.is_log:
            below, above = math.log(value / self.lower), math.log(self.upper / value)
        if not self._is_uniform:
            return math.log(below / above)
        x = NormalDist().inv_cdf(min(below, above) / (below + above))  # from the nearer bound, as in the map
        return x if below < above else -x


class Bounded(_Interval):
    """Logit-normal between two bounds, for a parameter that varies by less than an order of magnitude."""

    is_log, _is_uniform = False, False


class LogBounded(_Interval):
    """Logit-normal in the logarithm between two positive bounds, for floors and length scales."""

    is_log, _is_uniform = True, False


@named("uniform")
class Uniform(_Interval):
    """All values between two bounds are equally likely."""

    is_log, _is_uniform = False, True


class LogUniform(_Interval):
    """All orders of magnitude between two positive bounds are equally likely."""

    is_log, _is_uniform = True, True


_FAR = 4.0 * (1.0 - 1e-12)
"""Fewest standard deviations from the median to a truncation; four, less round-off."""


@dataclasses.dataclass(frozen=True)
class _Truncated(AbstractPrior):
    """A normal distribution of a number or its logarithm, truncated where the parameter has no meaning."""

    @property
    @abc.abstractmethod
    def deviation(self) -> float:
        """Standard deviation, on the scale of the prior."""

    def __post_init__(self):
        check_settings(self)
        below, above = self._truncation()
        nearest = min(-below, above) / self.deviation
        if nearest < _FAR:
            raise ValueError(
                "expected a prior whose median is at least four standard deviations from the ends of the "
                f"range {self.lower:g} to {self.upper:g}, got the median {self.middle:g} and the standard "
                f"deviation {self.deviation:g}, {nearest:.3g} from one of them; choose a smaller standard "
                "deviation, a logarithmic prior, or one with bounds."
            )

    def _truncation(self) -> tuple[float, float]:
        """Distance of the truncation from the median, on the scale of the prior."""
        middle = self.on_scale(self.middle)
        return self.on_scale(self.lower) - middle, self.on_scale(self.upper) - middle

    def within(self, lower: float, upper: float) -> "_Truncated":
        return dataclasses.replace(self, lower=max(lower, self.lower), upper=min(upper, self.upper))

    def to_physical(self, x: Scalar) -> Scalar:
        # Clip the distance first: an exponential that overflows has no gradient to clip.
        distance = jnp.clip(self.deviation * x, *self._truncation())
        value = self.middle * jnp.exp(distance) if self.is_log else self.middle + distance
        return jnp.clip(value, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        self.check_inside(value)
        return (self.on_scale(value) - self.on_scale(self.middle)) / self.deviation


@named("normal")
@dataclasses.dataclass(frozen=True)
class Normal(_Truncated):
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
    is_log: ClassVar[bool] = False

    @property
    def middle(self) -> float:
        return self.mean

    @property
    def deviation(self) -> float:
        return self.standard_deviation


@named("log_normal")
@dataclasses.dataclass(frozen=True)
class LogNormal(_Truncated):
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
    is_log: ClassVar[bool] = True

    @property
    def middle(self) -> float:
        return self.median

    @property
    def deviation(self) -> float:
        return self.log_standard_deviation


_NUGGET = 1e-8
"""Relative addition to the diagonal: without it, neighbours much closer than the length make C singular."""


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
        lower, upper: values beyond which a number has no meaning, at least four standard deviations from the
            mean; only the first guess must be between them.
    """

    length: float = setting(above=0.0, kw_only=True)

    def factor(self, coordinates: Sequence[float]) -> np.ndarray:
        """Matrix L for numbers at these positions, `(n, n)`."""
        z = np.asarray(coordinates, dtype=float)
        correlation = np.exp(-0.5 * ((z[:, None] - z[None, :]) / self.length) ** 2)
        return np.linalg.cholesky(correlation + _NUGGET * np.eye(z.size))
