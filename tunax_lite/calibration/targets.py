"""What a calibration aims at: a case, its observations, and which of them count how much.

Observed values that are NaN, or outside of the depth and the time window, do not count. The model is
interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the
surface (bottom) it is constant.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from ..case import Case
from ..observations import Observations
from ..precision import in_precision, precision_of
from ..simulation import count_steps
from .misfit import Comparison, Interpolation, variable_of


class AbstractScale(abc.ABC):
    """What a difference of a variable is divided by."""

    @abc.abstractmethod
    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        """Scale of a variable in its unit, from the values that count."""


@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del variable, observed, observations
        return 1.0


@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of what was observed, as in Wagner et al. (2025)."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        deviation = float(np.std(observed))
        # Round-off of a constant profile is no variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation that comes with the observations."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del observed
        if variable not in observations.uncertainty:
            known = ", ".join(observations.uncertainty) or "none"
            raise ValueError(
                f"{observations.name}: expected an uncertainty of {variable}, the observations have "
                f"{known}; add it or choose another scale."
            )
        deviation = float(observations.uncertainty[variable])
        if not (math.isfinite(deviation) and deviation > 0.0):
            raise ValueError(
                f"{observations.name}: expected a positive uncertainty of {variable}, got {deviation}."
            )
        return deviation


@dataclasses.dataclass(frozen=True)
class Target:
    """A case and what the model should give there.

    Args:
        case: a single column.
        observations: of that case.
        weights: by variable; 0 only reports a variable.
        weight: of the case among others.
        dt: time step [s].
        time_window: first and last time that counts [s] since the start of the case.
        depth_window: lowest and highest height that counts [m], at most 0.
        scale: what differences are divided by.
        frame_interval: time between the frames of the model that are interpolated to the observed times
            [s]; by default the longest that meets every observed time, else `dt`.
    """

    case: Case
    observations: Observations
    weights: Mapping[str, float] = dataclasses.field(default_factory=lambda: {"temperature": 1.0})
    weight: float = 1.0
    dt: float = 60.0
    time_window: tuple[float, float] = (0.0, math.inf)
    depth_window: tuple[float, float] = (-math.inf, 0.0)
    scale: AbstractScale = Physical()
    frame_interval: float | None = None


def prepare(target: Target) -> Comparison:
    """A target as arrays on frames and levels in the precision of its case, checked.

    Raises:
        ValueError: a batch of columns; weights, windows, heights, times or scales that do not fit the
            observations; a forcing that does not cover the run.
    """
    name = target.case.name
    if target.case.batch_shape:
        raise ValueError(
            f"{name}: expected a single column, got a batch of shape {target.case.batch_shape}; make one "
            "target of each column."
        )
    _check_weights(target)
    times, levels = _window(target)
    in_time, n_frames, steps_per_frame, frames = _place_in_time(target, times)
    in_depth, centers = _place_in_depth(target, levels)
    shape = (
        len(frames) if in_time is not None else n_frames + 1,
        len(centers) if in_depth is not None else target.case.grid.n_cells,
    )
    observed, counts, factors = {}, {}, {}
    total = sum(target.weights.values())
    for variable, weight in sorted(target.weights.items()):
        profiles = np.asarray(target.observations.profiles[variable], dtype=float)
        values = profiles[np.ix_(times, levels)]
        valid = np.isfinite(values)
        if not valid.any():
            raise ValueError(f"{name}: expected {variable} to be observed inside the windows, got NaN only.")
        placed = np.zeros((2, *shape))
        placed[(slice(None), *np.ix_(frames, centers))] = np.where(valid, values, 0.0), valid / valid.sum()
        observed[variable], counts[variable] = jnp.asarray(placed[0]), jnp.asarray(placed[1])
        scale = target.scale.of(variable, values[valid], target.observations) if weight else 1.0
        factors[variable] = jnp.asarray(weight / (total * scale**2))
    length = n_frames * steps_per_frame * target.dt
    target.case.forcing.check_covers(0.0, length)
    target.case.interior.check_covers(0.0, length)
    comparison = Comparison(
        # A common name, date and duration: they are part of what is compiled.
        case=dataclasses.replace(target.case, name="case", start_time=None, duration=length),
        dt=jnp.asarray(target.dt, dtype=float),
        observed=observed,
        counts=counts,
        factors=factors,
        in_depth=in_depth,
        in_time=in_time,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
    )
    return in_precision(comparison, precision_of(case=target.case))


def _check_weights(target: Target) -> None:
    name, weights = target.case.name, target.weights
    if not (math.isfinite(target.weight) and target.weight >= 0.0):
        raise ValueError(f"{name}: expected a case weight of at least 0, got {target.weight}.")
    for variable, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0.0):
            raise ValueError(f"{name}: expected a weight of {variable} of at least 0, got {weight}.")
        if variable not in target.observations.profiles:
            raise ValueError(
                f"{name}: expected an observed variable, got a weight for {variable}; the observations have "
                f"{', '.join(target.observations.profiles)}."
            )
        try:
            variable_of(target.case.initial_state, variable)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not sum(weights.values()) > 0.0:
        raise ValueError(
            f"{name}: expected a positive weight for at least one variable, got {dict(weights)}."
        )


def _window(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the observed times and heights that count."""
    name = target.case.name
    indices = []
    for label, values, (first, last) in (
        ("time_window [s]", target.observations.time, target.time_window),
        ("depth_window [m]", target.observations.z, target.depth_window),
    ):
        values = np.asarray(values)
        inside = np.flatnonzero((values >= first) & (values <= last))
        if not inside.size:
            raise ValueError(
                f"{name}: expected a {label} with observations in it, got {first:g} to {last:g}; they reach "
                f"from {values[0]:g} to {values[-1]:g}."
            )
        indices.append(inside)
    return indices[0], indices[1]


def _place_in_time(target: Target, chosen: np.ndarray) -> tuple[Interpolation | None, int, int, np.ndarray]:
    """Interpolation, number of frames, steps per frame, and where the observed times are placed."""
    name, dt = target.case.name, target.dt
    times = np.asarray(target.observations.time, dtype=float)[chosen]
    if times[0] < 0.0 or times[-1] > target.case.duration * (1.0 + 1e-9) or times[-1] <= 0.0:
        raise ValueError(
            f"{name}: expected observed times between the start and the end of the case, 0 to "
            f"{target.case.duration:g} s, got {times[0]:g} to {times[-1]:g} s; set `time_window` or the "
            "duration of the case."
        )
    steps_per_frame = (
        _longest_interval(times, dt)
        if target.frame_interval is None
        else count_steps(target.frame_interval, dt, f"the frame_interval of {name}")
    )
    position = times / (steps_per_frame * dt)
    nearest = np.rint(position).astype(int)
    if np.all(np.abs(position - nearest) * steps_per_frame <= 1e-6):
        return None, int(nearest[-1]), steps_per_frame, nearest
    interpolation = _interpolation(np.arange(math.ceil(position[-1]) + 1.0), position)
    return interpolation, math.ceil(position[-1]), steps_per_frame, np.arange(times.size)


def _longest_interval(times: np.ndarray, dt: float) -> int:
    """Steps between frames that meet all times; one step if there are times between the steps."""
    count_steps(dt, dt, "dt")  # raises for a step that is not positive
    steps = np.rint(times / dt).astype(int)
    if np.any(np.abs(times / dt - steps) > 1e-6):
        return 1
    return int(np.gcd.reduce(steps))


def _place_in_depth(target: Target, chosen: np.ndarray) -> tuple[Interpolation | None, np.ndarray]:
    """Interpolation, and where the observed heights are placed."""
    grid = target.case.grid
    z = np.asarray(target.observations.z, dtype=float)[chosen]
    centers = np.asarray(grid.z_center, dtype=float)
    depth = float(grid.depth)
    if z[0] < -depth * (1.0 + 1e-9) or z[-1] > 0.0:
        raise ValueError(
            f"{target.case.name}: expected observed heights between the bottom at {-depth:g} m and the "
            f"surface at 0 m, got {z[0]:g} to {z[-1]:g} m; set `depth_window` or a deeper grid."
        )
    nearest = np.argmin(np.abs(z[:, None] - centers), axis=1)
    if np.all(np.abs(z - centers[nearest]) <= 1e-6 * depth) and np.all(np.diff(nearest) > 0):
        return None, nearest
    return _interpolation(centers, np.clip(z, centers[0], centers[-1])), np.arange(z.size)


def _interpolation(source: np.ndarray, points: np.ndarray) -> Interpolation:
    lower = np.clip(np.searchsorted(source, points, side="right") - 1, 0, source.size - 2)
    share = (points - source[lower]) / (source[lower + 1] - source[lower])
    return Interpolation(jnp.asarray(lower), jnp.asarray(share))
