"""Observation operators: from values on model cells to values at the observations, and their errors.

Operators are linear, take the vertical first and the batch last, and are arrays: targets of equal shapes
share compiled code.

If errors of observations are correlated, their covariance is

    C_ij = s² exp(-|z_i - z_j| / L - |t_i - t_j| / T)

with the scale s of the variable. With C = G Gᵀ (Cholesky) the whitened differences G⁻¹ d are independent with
variance 1, and their squares sum to the Mahalanobis distance dᵀ C⁻¹ d. Missing values have no row or column
in C. In time the exponential needs only the previous step: w_k = (w_k - f w_{k-1}) / sqrt(1 - f²), f =
exp(-(t_k - t_{k-1}) / T), for profiles whitened in the vertical; this is exact if the same heights are
missing at all times.
"""

import abc
import dataclasses
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...column.integrate import count_steps
from ...declarations import setting

Values = Float[Array, "center *#member"]
Observed = Float[Array, "level *#member"]


class AbstractOperator(eqx.Module):
    """Maps the values of a variable at one time to the observations."""

    @abc.abstractmethod
    def __call__(self, values: Values) -> Observed:
        """Values at the observed heights."""


class AtCenters(AbstractOperator):
    """The values themselves: observations at the cell centers of the model."""

    def __call__(self, values: Values) -> Observed:
        return values


class Interpolation(AbstractOperator):
    """Linear interpolation along the leading axis: `(1 - fraction) * [lower] + fraction * [lower + 1]`."""

    lower: Int[Array, " *target"]
    fraction: Float[Array, " *target"]

    def __call__(self, values: Values) -> Observed:
        fraction = self.fraction.reshape((-1,) + (1,) * (values.ndim - 1))
        return (1.0 - fraction) * values[self.lower] + fraction * values[self.lower + 1]


class Averaging(AbstractOperator):
    """Means over the observed cells, if these are thicker than those of the model."""

    matrix: Float[Array, "level center"]

    def __call__(self, values: Values) -> Observed:
        return jnp.tensordot(self.matrix, values, axes=1)


class OneNumber(AbstractOperator):
    """A scalar of the column as a profile of one level."""

    def __call__(self, values: Float[Array, "*#member"]) -> Observed:
        return values[None]


def interpolation(source: np.ndarray, points: np.ndarray) -> Interpolation:
    """To points of any shape, from increasing positions; constant beyond the ends; NaN maps to the first."""
    inside = np.clip(np.where(np.isnan(points), source[0], points), source[0], source[-1])
    lower = np.clip(np.searchsorted(source, inside, side="right") - 1, 0, source.size - 2)
    fraction = (inside - source[lower]) / (source[lower + 1] - source[lower])
    return Interpolation(jnp.asarray(lower), jnp.asarray(fraction))


def place_in_time(
    times: np.ndarray, *, name: str, dt: float, duration: float, frame_interval: float | None
) -> tuple[Interpolation | None, int, int, np.ndarray]:
    """Interpolation, number of frames, steps per frame, and positions of the observed times [s].

    There is no interpolation if frames meet all times. Raises `ValueError` for times outside the case, or
    time steps that do not divide the intervals.
    """
    if times[0] < 0.0 or times[-1] > duration * (1.0 + 1e-9) or times[-1] <= 0.0:
        raise ValueError(
            f"{name}: expected observed times between the start and the end of the case, 0 to "
            f"{duration:g} s, got {times[0]:g} to {times[-1]:g} s; set `time_window` or the "
            "duration of the case."
        )
    if frame_interval is None:
        # The longest interval that meets all times; one step if some times lie between steps.
        count_steps(dt, dt, "dt")  # raises if the step is not positive
        steps = np.rint(times / dt).astype(int)
        steps_per_frame = 1 if np.any(np.abs(times / dt - steps) > 1e-6) else int(np.gcd.reduce(steps))
    else:
        steps_per_frame = count_steps(frame_interval, dt, f"the frame_interval of {name}")
    position = times / (steps_per_frame * dt)
    nearest = np.rint(position).astype(int)
    if np.all(np.abs(position - nearest) * steps_per_frame <= 1e-6):
        return None, int(nearest[-1]), steps_per_frame, nearest
    last = math.ceil(position[-1])
    return interpolation(np.arange(last + 1.0), position), last, steps_per_frame, np.arange(times.size)


def check_heights(z: np.ndarray, depth: float, name: str) -> None:
    """Raise for heights [m] above the surface or below the bottom."""
    known = z[np.isfinite(z)]
    if known.size and (known.min() < -depth * (1.0 + 1e-9) or known.max() > 0.0):
        raise ValueError(
            f"{name}: expected observed heights between the bottom at {-depth:g} m and the surface at "
            f"0 m, got {known.min():g} to {known.max():g} m; set `depth_window` or a deeper grid."
        )


def centers_of(z: np.ndarray, centers: np.ndarray, depth: float) -> np.ndarray | None:
    """Indices of the centers at these heights; `None` if one of them lies between centers."""
    nearest = np.argmin(np.abs(z[:, None] - centers), axis=1)
    met = np.all(np.abs(z - centers[nearest]) <= 1e-6 * depth) and np.all(np.diff(nearest) > 0)
    return nearest if met else None


def faces_from_centers(z: np.ndarray, name: str) -> np.ndarray:
    """Faces of cells with centers at these heights [m], increasing, with the uppermost face at the surface.

    Raises `ValueError` for heights that are not the centers of contiguous cells from the surface down.
    """
    faces = np.zeros(z.size + 1)
    for cell in range(z.size - 1, -1, -1):
        faces[cell] = 2.0 * z[cell] - faces[cell + 1]
    thickness = np.diff(faces)
    # A misplaced center moves the faces below it alternately: neighbours then differ.
    ratio = thickness[1:] / thickness[:-1] if np.all(thickness > 0.0) else np.zeros(1)
    if not np.all((ratio > 0.5) & (ratio < 2.0)):
        raise ValueError(
            f"{name}: expected heights that are centers of cells from the surface down, for means over "
            f"cells, got {np.array2string(z, threshold=6, edgeitems=2)}; choose averaging at points "
            "(`averaging: points`)."
        )
    return faces


@dataclasses.dataclass(frozen=True)
class Correlation:
    """Correlation of the errors of observations; `ValueError` if neither number is positive.

    Args:
        length: L [m]; 0 for independent errors.
        time: T [s]; 0 for independent errors.
    """

    length: float = setting(0.0, at_least=0.0)
    time: float = setting(0.0, at_least=0.0)

    def __post_init__(self):
        given = (self.length, self.time)
        if not all(math.isfinite(value) and value >= 0.0 for value in given) or not any(given):
            raise ValueError(
                "Correlation: expected a length [m] and a time [s] of at least 0, one of them positive, got "
                f"{self.length} m and {self.time} s; leave the correlation out where errors are independent."
            )


class InTime(eqx.Module):
    """Removes the correlation with the previous time, `(w - fraction * w[previous]) * factor` on axis 0."""

    previous: Int[Array, " time"]
    fraction: Float[Array, " time"]
    factor: Float[Array, " time"]

    def __call__(self, whitened: Float[Array, "time level *#member"]) -> Float[Array, "time level *#member"]:
        fraction, factor = (
            x.reshape((-1,) + (1,) * (whitened.ndim - 1)) for x in (self.fraction, self.factor)
        )
        return (whitened - fraction * whitened[self.previous]) * factor


class Whitening(eqx.Module):
    """Whitening of the scaled differences of a variable: lower triangles G⁻¹, for all times or for each."""

    vertical: Float[Array, "level level"] | Float[Array, "time level level"]  # 0 for missing values
    in_time: InTime | None  # `None` if errors are independent in time

    @property
    def moves(self) -> bool:
        """Whether the vertical part varies in time."""
        return self.vertical.ndim == 3


def whitening(
    correlation: Correlation, z: np.ndarray, valid: np.ndarray, time: np.ndarray, label: str
) -> Whitening:
    """The whitening operator for times `(n_times,)` [s] and levels [m], where values are valid.

    Levels are `(n_levels,)` or `(n_times, n_levels)`; the label names case and variable in messages.
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
        previous, fraction, factor = np.arange(time.size), np.zeros(time.size), np.ones(time.size)
        apart = np.diff(time[rows])
        previous[rows[1:]] = rows[:-1]
        fraction[rows[1:]] = np.exp(-apart / correlation.time)
        factor[rows[1:]] = 1.0 / np.sqrt(-np.expm1(-2.0 * apart / correlation.time))
        in_time = InTime(jnp.asarray(previous), jnp.asarray(fraction), jnp.asarray(factor))
    heights = np.broadcast_to(z, valid.shape)
    if not moves:
        heights, valid = heights[rows[:1]], valid[rows[:1]]
    each = [_inverse_root(correlation.length, *both) for both in zip(heights, valid, strict=True)]
    return Whitening(jnp.asarray(np.stack(each) if moves else each[0]), in_time)


def _inverse_root(length: float, z: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Inverse of the Cholesky factor of the correlations of the selected values."""
    matrix = np.zeros((z.size, z.size))
    kept = np.flatnonzero(valid)
    distance = np.abs(z[kept, None] - z[None, kept])
    correlations = np.exp(-distance / length) if length > 0.0 else np.eye(kept.size)
    if kept.size:
        matrix[np.ix_(kept, kept)] = np.linalg.inv(np.linalg.cholesky(correlations))
    return matrix
