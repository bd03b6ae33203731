"""Errors of observations that are correlated: residuals are whitened before they are squared.

The covariance of the errors of a variable is taken as

    C_ij = s² exp(-|z_i - z_j| / L - |t_i - t_j| / T)

with the scale s of the variable. With C = G Gᵀ (Cholesky) the whitened differences G⁻¹ d are independent, of
variance 1, and their squares sum to the Mahalanobis distance dᵀ C⁻¹ d. Values that are missing have no row
and no column in C. In time the exponential needs the step before only: w_k = (w_k - f w_{k-1}) / sqrt(1 -
f²), f = exp(-(t_k - t_{k-1}) / T), of profiles that are whitened in the vertical; that is exact where all
times miss the same heights.
"""

import dataclasses
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


@dataclasses.dataclass(frozen=True)
class Correlation:
    """How far the errors of observations are alike.

    Args:
        length: L [m]; 0 for errors that are independent in the vertical.
        time: T [s]; 0 for errors that are independent in time.

    Raises:
        ValueError: a negative or infinite length or time, or none that is positive.
    """

    length: float = 0.0
    time: float = 0.0

    def __post_init__(self):
        given = (self.length, self.time)
        if not all(math.isfinite(value) and value >= 0.0 for value in given) or not any(given):
            raise ValueError(
                "Correlation: expected a length [m] and a time [s] of at least 0, one of them positive, got "
                f"{self.length} m and {self.time} s; leave the correlation out where errors are independent."
            )


class InTime(eqx.Module):
    """What is taken off for the time before, `(w - fraction * w[previous]) * factor`, over the first axis."""

    previous: Int[Array, " time"]
    fraction: Float[Array, " time"]
    factor: Float[Array, " time"]

    def __call__(self, whitened: Float[Array, "time level *#member"]) -> Float[Array, "time level *#member"]:
        fraction, factor = (
            x.reshape((-1,) + (1,) * (whitened.ndim - 1)) for x in (self.fraction, self.factor)
        )
        return (whitened - fraction * whitened[self.previous]) * factor


class Whitening(eqx.Module):
    """Of the differences of a variable, divided by their scale.

    Args:
        vertical: lower triangles G⁻¹, 0 in rows and columns of missing values; for all times or for each.
        in_time: `None` for errors that are independent in time.
    """

    vertical: Float[Array, "level level"] | Float[Array, "time level level"]
    in_time: InTime | None

    @property
    def moves(self) -> bool:
        """Whether the vertical part differs from time to time."""
        return self.vertical.ndim == 3


def whitening(
    correlation: Correlation, z: np.ndarray, valid: np.ndarray, time: np.ndarray, label: str
) -> Whitening:
    """The whitening of differences on placed times and levels.

    Args:
        correlation: of the errors.
        z: heights [m], `(n_levels,)` or `(n_times, n_levels)`.
        valid: which values count, `(n_times, n_levels)`.
        time: [s], `(n_times,)`, of any value where nothing counts.
        label: case and variable, for messages.

    Raises:
        ValueError: a correlation in time of profiles that miss different heights at different times.
    """
    rows = np.flatnonzero(valid.any(axis=1))
    moves = z.ndim == 2 or bool(np.any(valid[rows] != valid[rows[0]]))
    in_time = None
    if correlation.time > 0.0:
        if moves:
            raise ValueError(
                f"{label}: expected values at the same heights at all times for errors that are "
                "correlated in time, got heights that are missing at some times; leave the correlation time "
                "out, or choose a narrower depth_window."
            )
        in_time = _in_time(correlation.time, rows, time)
    heights = np.broadcast_to(z, valid.shape)
    if not moves:
        return Whitening(
            jnp.asarray(_inverse_root(correlation.length, heights[rows[0]], valid[rows[0]])), in_time
        )
    each = [_inverse_root(correlation.length, *both) for both in zip(heights, valid, strict=True)]
    return Whitening(jnp.asarray(np.stack(each)), None)


def _inverse_root(length: float, z: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Inverse of the Cholesky factor of the correlations of the values that count."""
    matrix = np.zeros((z.size, z.size))
    kept = np.flatnonzero(valid)
    distance = np.abs(z[kept, None] - z[None, kept])
    correlations = np.exp(-distance / length) if length > 0.0 else np.eye(kept.size)
    if kept.size:
        matrix[np.ix_(kept, kept)] = np.linalg.inv(np.linalg.cholesky(correlations))
    return matrix


def _in_time(scale: float, rows: np.ndarray, time: np.ndarray) -> InTime:
    previous, fraction, factor = np.arange(time.size), np.zeros(time.size), np.ones(time.size)
    previous[rows[1:]] = rows[:-1]
    fraction[rows[1:]] = np.exp(-np.diff(time[rows]) / scale)
    factor[rows[1:]] = 1.0 / np.sqrt(-np.expm1(-2.0 * np.diff(time[rows]) / scale))
    return InTime(jnp.asarray(previous), jnp.asarray(fraction), jnp.asarray(factor))
