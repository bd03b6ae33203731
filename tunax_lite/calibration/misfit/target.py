"""The target of a calibration: a case, its observations and their weights.

Observed values that are NaN, or outside of the depth and the time window, do not count. At points the model
is interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the
surface (bottom) it is constant. As means over cells the finer of model and observations is averaged over the
cells of the other.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..._types import in_precision, precision_of
from ...case import Case
from ...declarations import check_settings, named, setting
from ...observables import observable
from ...observations import Observations
from .comparison import Comparison
from .operators import Correlation, Interpolation, place_in_time, whitening
from .sampled import Sampled, can_be_observed, sample, with_levels


class AbstractScale(abc.ABC):
    """Divisor of the difference of a variable."""

    @abc.abstractmethod
    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        """Scale of a variable in its unit, from the values that count, and the first ones of their places."""


@named("physical")
@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        return 1.0


@named("z_score")
@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of the observations, as in Wagner et al. (2025)."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        deviation = float(np.std(observed))
        # Round-off of a constant profile is no variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@named("uncertainty")
@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation that comes with the observations."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
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


@named("change")
@dataclasses.dataclass(frozen=True)
class Change(AbstractScale):
    """The observed change since the first profile, sqrt(mean((y(t) - y(0))²) + noise²).

    A storm then counts no more than a night of convection. What is chance in the means of a large-eddy
    simulation, or of little consequence, keeps a case in which hardly anything changes from counting most.

    Args:
        temperature: its noise [K].
        salinity: its noise [g kg-1].
        velocity: that of u and v [m s-1].
        mixed_layer_depth: that of depths of the mixed layer [m].
    """

    temperature: float = setting(0.005, at_least=0.0)
    salinity: float = setting(0.002, at_least=0.0)
    velocity: float = setting(0.01, at_least=0.0)
    mixed_layer_depth: float = setting(2.0, at_least=0.0)

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        known = np.isfinite(initial)
        squared = float(np.mean((observed - initial)[known] ** 2)) if known.any() else math.nan
        noise = 0.0
        if variable.startswith("mixed_layer_depth"):
            noise = self.mixed_layer_depth
        elif variable in ("temperature", "salinity", "u", "v"):
            noise = getattr(self, "velocity" if variable in ("u", "v") else variable)
        scale = math.sqrt(squared + noise**2)
        if not scale > 0.0:
            raise ValueError(
                f"{observations.name}: expected {variable} to change from its first profile, which has to be "
                f"complete, so that this can scale the misfit, got {scale:g}; choose another scale."
            )
        return scale


@dataclasses.dataclass(frozen=True)
class Target:
    """A case and the observations that the model should reproduce.

    Args:
        case: a single column.
        observations: of that case.
        weights: by variable: what was observed, or an observable that follows from observed profiles; 0 only
            reports a variable.
        weight: of the case among others.
        group: of cases that a cross-validation leaves out together; `None` for the case alone.
        dt: time step [s].
        time_window: first and last time that counts [s] since the start of the case.
        depth_window: lowest and highest height that counts [m], at most 0; of cells those that lie wholly in
            it. It does not concern numbers of the column.
        scale: what differences are divided by.
        frame_interval: time between the frames of the model that are interpolated to the observed times
            [s]; by default the longest that meets every observed time, else `dt`.
        averaging: `points`: the model is interpolated to the observed heights; `cell_means`: observed heights
            are centers of cells, and the finer of the two is averaged over the cells of the other.
        correlation: of the errors of observations, whose squares then sum to a Mahalanobis distance; `None`
            for errors that are independent.
        most_times: of the observed times that count, so many at most, evenly spread.
        padded: numbers of frames and of levels, at least those of the target, that it gets by values that do
            not count, so that targets of different ones share programs in forward mode; observed times are
            then multiples of the step.
        reduction: `mean` of the squares by variable, or `sum`, which with a correlation, or with the scale of
            an uncertainty, is twice the negative logarithm of a normal likelihood.
    """

    case: Case
    observations: Observations
    weights: Mapping[str, float] = dataclasses.field(default_factory=lambda: {"temperature": 1.0})
    weight: float = 1.0
    group: str | None = None
    dt: float = 60.0
    time_window: tuple[float, float] = (0.0, math.inf)
    depth_window: tuple[float, float] = (-math.inf, 0.0)
    scale: AbstractScale = dataclasses.field(default_factory=Physical)
    frame_interval: float | None = setting(None, above=0.0)
    averaging: str = setting("points", choices=("points", "cell_means"))
    correlation: Correlation | None = None
    reduction: str = setting("mean", choices=("mean", "sum"))
    most_times: int | None = setting(None, at_least=1)
    padded: tuple[int, int] | None = None

    @functools.cached_property
    def comparison(self) -> Comparison:
        """The target as arrays in the precision of its case, checked: `ValueError` for what does not fit."""
        name, case = self.case.name, self.case
        _check(self)
        times = np.asarray(self.observations.time, dtype=float)[self.times]
        in_time, n_frames, steps_per_frame, rows = place_in_time(
            times, name=name, dt=self.dt, duration=case.duration, frame_interval=self.frame_interval
        )
        n_rows, steps = times.size if in_time is not None else n_frames + 1, None
        if self.padded is not None:
            n_frames, steps, rows = _padded_in_time(self, times)
            n_rows, in_time, steps_per_frame = n_frames + 1, None, 0
        parts = {variable: _prepared(self, variable, rows, n_rows) for variable in self.sampled}
        length = (n_frames * steps_per_frame if steps is None else int(steps.sum())) * self.dt
        case.check_covers(0.0, length)
        by_variable: dict[str, Any] = {  # fields of `Comparison`
            key: {variable: part[key] for variable, part in parts.items() if part[key] is not None}
            for key in next(iter(parts.values()))
        }
        # A common name, date and duration: they are part of what is compiled.
        unlabelled, dt = case.unlabelled(), jnp.asarray(self.dt, float)
        if steps is None:
            unlabelled = dataclasses.replace(unlabelled, duration=length)
        by_variable |= {"in_time": in_time, "n_frames": n_frames, "steps_per_frame": steps_per_frame}
        by_variable["steps"] = None if steps is None else jnp.asarray(steps, jnp.int32)
        comparison = Comparison(case=unlabelled, dt=dt, **by_variable)
        return in_precision(comparison, precision_of(case=case))

    @functools.cached_property
    def times(self) -> np.ndarray:
        """Indices of the observed times that count; `ValueError` if there are none."""
        times, (first, last) = np.asarray(self.observations.time), self.time_window
        inside = np.flatnonzero((times >= first) & (times <= last))
        if not inside.size:
            raise ValueError(
                f"{self.case.name}: expected a time_window [s] with observations in it, got {first:g} to "
                f"{last:g}; they reach from {times[0]:g} to {times[-1]:g}."
            )
        if self.most_times is None or inside.size <= self.most_times:
            return inside
        return inside[np.rint(np.linspace(0.0, inside.size - 1.0, self.most_times + 1)[1:]).astype(int)]

    def times_of_run(self, most_frames: int = 1) -> dict[str, Any]:  # Any: each its own
        """Arguments of `simulate` [s] for a run to the last observation that counts."""
        end = self.time_window[1] * (1.0 + 1e-9)
        last = [float(time) for time in self.observations.time if time <= end][-1]
        n_steps = max(1, round(last / self.dt))
        n_frames = max(n for n in range(1, most_frames + 1) if n_steps % n == 0)
        duration = n_steps * self.dt
        return {"dt": self.dt, "duration": duration, "output_interval": duration / n_frames}

    @functools.cached_property
    def sampled(self) -> Mapping[str, Sampled]:
        """Observed values by variable, and how the model gives them."""
        given = self.averaging, self.depth_window
        found = {name: sample(self.case, self.observations, name, *given) for name in sorted(self.weights)}
        if self.padded is None:
            return found
        return {name: with_levels(one, self.case, self.padded[1]) for name, one in found.items()}


def _padded_in_time(target: Target, times: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Frames, the steps between them, 0 after the last observed time [s], and where the times are placed."""
    n_frames, name = (target.padded or (0, 0))[0], target.case.name
    ends = np.rint(times / target.dt).astype(int)
    if np.any(np.abs(times / target.dt - ends) > 1e-6) or np.any(np.diff(ends) < 1):
        expected = f"observed times at multiples of the step, {target.dt:g} s, where programs are shared"
        raise ValueError(f"{name}: expected {expected}, got others; choose another step, or leave it out.")
    if target.correlation is not None or target.frame_interval is not None:
        expected = "neither correlations nor a frame_interval where programs are shared"
        raise ValueError(f"{name}: expected {expected}, got one of them; leave one of the two out.")
    starts_at_rest = int(ends[0] == 0)
    steps = np.diff(ends if starts_at_rest else np.append(0, ends))
    if steps.size > n_frames:
        raise ValueError(f"{name}: expected at least {steps.size} frames, got {n_frames}; pad it with more.")
    rows = np.arange(times.size) + 1 - starts_at_rest
    return n_frames, np.pad(steps, (0, n_frames - steps.size)), rows


def _prepared(target: Target, variable: str, rows: np.ndarray, n_rows: int) -> dict[str, PyTree]:
    """Fields of `Comparison` for one variable, its values on the rows where the chosen times are placed."""
    name, weight = target.case.name, target.weights[variable]
    sampled, chosen = target.sampled[variable], target.times
    values = sampled.values[chosen]
    valid = np.isfinite(values)
    if not valid.any():
        reach = "at least one profile has to begin at the reference depth, or above 10 m, and to reach"
        raise ValueError(
            f"{name}: expected {variable} to be observed inside the windows, got NaN only"
            + (f"; {reach} below what is asked for." if sampled.seen is not None else ".")
        )

    def on_rows(given: np.ndarray) -> np.ndarray:
        placed = np.zeros((n_rows, *given.shape[1:]), dtype=given.dtype)
        placed[rows] = given
        return placed

    placed = on_rows(valid)
    scale = 1.0
    if weight:
        first = np.broadcast_to(sampled.values[0], values.shape)[valid]
        scale = target.scale.of(variable, values[valid], first, target.observations)
    fraction = float(valid.sum()) if target.reduction == "sum" else 1.0 / sum(target.weights.values())
    white = None
    if target.correlation is not None and weight:
        times = on_rows(np.asarray(target.observations.time, dtype=float)[chosen])
        z = on_rows(sampled.z[chosen]) if sampled.z.ndim == 2 else sampled.z
        white = whitening(target.correlation, z, placed, times, f"{name}: {variable}")
    moving = jax.tree.map(lambda x: jnp.asarray(on_rows(np.asarray(x)[chosen])), sampled.moving)
    return {
        "observed": jnp.asarray(on_rows(np.where(valid, values, 0.0))),
        "counts": jnp.asarray(placed / valid.sum()),
        "factors": jnp.asarray(weight * fraction / scale**2),
        "operators": sampled.operator,
        "moving": moving,
        "whitenings": white,
        "seen": None if sampled.seen is None else jnp.asarray(sampled.seen),
    }


def _check(target: Target) -> None:
    name, weights = target.case.name, target.weights
    if target.case.batch_shape:
        raise ValueError(
            f"{name}: expected a single column, got a batch of shape {target.case.batch_shape}; make one "
            "target of each column."
        )
    try:
        check_settings(target)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not (math.isfinite(target.weight) and target.weight >= 0.0):
        raise ValueError(f"{name}: expected a case weight of at least 0, got {target.weight}.")
    for variable, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0.0):
            raise ValueError(f"{name}: expected a weight of {variable} of at least 0, got {weight}.")
        if not can_be_observed(target.observations, variable):
            raise ValueError(
                f"{name}: expected an observed variable, got a weight for {variable}; the observations have "
                f"{', '.join(target.observations.names)}."
            )
        try:
            observable(variable, target.case.initial_state.tracers)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not sum(weights.values()) > 0.0:
        raise ValueError(
            f"{name}: expected a positive weight for at least one variable, got {dict(weights)}."
        )


@dataclasses.dataclass(frozen=True)
class Account:
    """Values of one variable of one case."""

    case: str
    variable: str
    n_counting: int  # inside of the windows
    n_missing: int  # heights inside of the windows without a value, at times that have others
    n_rejected: int  # left out by the reader because of their quality flags, at any time and height
    n_above: int  # above the uppermost center of the model, which is constant there
    n_below: int  # below the lowest one

    @property
    def is_notable(self) -> bool:
        """Whether anything but plain values is in it."""
        return any((self.n_missing, self.n_rejected, self.n_above, self.n_below))

    def __str__(self) -> str:
        notes = (
            (self.n_missing, "missing"),
            (self.n_rejected, "rejected by quality flags"),
            (self.n_above, "above the uppermost center of the model, compared with it"),
            (self.n_below, "below the lowest center of the model, compared with it"),
        )
        said = "; ".join(f"{number} {text}" for number, text in notes if number)
        return f"{self.case}: {self.n_counting} values of {self.variable}" + (f"; {said}" if said else "")


def account(target: Target) -> tuple[Account, ...]:
    """An account of each variable of a target, whose windows and heights must fit the observations."""
    chosen = target.times
    centers, slack = np.asarray(target.case.grid.z_center), 1e-6 * float(target.case.grid.depth)
    lines = []
    for variable in target.weights:
        sampled = target.sampled[variable]
        known = np.isfinite(sampled.values)[chosen]
        # Times of other variables have no profile of this one: nothing is missing there.
        n_places = int(sampled.inside[chosen][known.any(axis=1)].sum())
        z = np.broadcast_to(sampled.z, sampled.values.shape)[chosen]
        beyond = known & (sampled.moving is not None or isinstance(sampled.operator, Interpolation))
        n_known, n_rejected = int(known.sum()), int(target.observations.rejected.get(variable, 0))
        outside = beyond & (z > centers[-1] + slack), beyond & (z < centers[0] - slack)
        counts = n_known, n_places - n_known, n_rejected, *(int(where.sum()) for where in outside)
        lines.append(Account(target.case.name, variable, *counts))
    return tuple(lines)
