"""The target of a calibration: a case, its observations and their weights.

Observed values that are NaN, or outside the depth and time windows, are ignored. At points, the model is
interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the surface
(bottom) it is constant. For cell means, the finer of model and observations is averaged over the cells of the
other.
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
from ...column.case import Case
from ...column.observables import observable
from ...column.observations import Observations
from ...declarations import check_settings, named, setting
from .comparison import Comparison
from .operators import Correlation, Interpolation, place_in_time, whitening
from .sampled import Sampled, can_be_observed, sample, with_levels


class AbstractScale(abc.ABC):
    """Divisor of the difference of a variable."""

    @abc.abstractmethod
    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        """Scale of a variable in its unit, from the selected values, and the first values of their levels."""


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
        # Round-off of a constant profile is not variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@named("uncertainty")
@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation given with the observations."""

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

    A storm then counts no more than a night of convection. The noise covers random or unimportant changes of
    a large-eddy simulation: it prevents a case without significant changes from dominating.

    Args:
        temperature: noise [K].
        salinity: noise [g kg-1].
        velocity: noise of u and v [m s-1].
        mixed_layer_depth: noise of mixed layer depths [m].
    """

    temperature: float = setting(0.005, at_least=0.0)
    salinity: float = setting(0.002, at_least=0.0)
    velocity: float = setting(0.01, at_least=0.0)
    mixed_layer_depth: float = setting(2.0, at_least=0.0)

    def __post_init__(self):
        check_settings(self)

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
        weights: by variable: an observed one, or an observable that follows from observed profiles; 0 reports
            a variable without fitting it.
        weight: of the case relative to others.
        group: of cases that a cross-validation leaves out together; `None` for the case alone.
        dt: time step [s].
        time_window: first and last time to use [s] since the start of the case.
        depth_window: lowest and highest height to use [m], at most 0; cells must lie entirely within it. It
            does not apply to scalars.
        scale: divisor of the differences.
        frame_interval: time between model frames, which are interpolated to the observed times [s]; by
            default the longest that meets every observed time, otherwise `dt`.
        averaging: `points`: the model is interpolated to the observed heights; `cell_means`: observed heights
            are cell centers, and the finer of the two is averaged over the cells of the other.
        correlation: of the errors of observations, whose squares then sum to a Mahalanobis distance; `None`
            for independent errors.
        most_times: largest number of observed times to use, evenly spread.
        padded: numbers of frames and levels, at least those of the target, to pad to with values of weight 0,
            so that different targets share programs in forward mode; observed times are then multiples of the
            time step.
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
        """The target as arrays in the precision of its case; `ValueError` if it is inconsistent."""
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
        # Common name, date and duration, because they are part of the compiled program.
        unlabelled, dt = case.unlabelled(), jnp.asarray(self.dt, float)
        if steps is None:
            unlabelled = dataclasses.replace(unlabelled, duration=length)
        by_variable |= {"in_time": in_time, "n_frames": n_frames, "steps_per_frame": steps_per_frame}
        by_variable["steps"] = None if steps is None else jnp.asarray(steps, jnp.int32)
        comparison = Comparison(case=unlabelled, dt=dt, **by_variable)
        return in_precision(comparison, precision_of(case=case))

    @functools.cached_property
    def times(self) -> np.ndarray:
        """Indices of the observed times to use; `ValueError` if there are none."""
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

    def times_of_run(self, most_frames: int = 1) -> dict[str, Any]:  # Any: types differ by argument
        """Arguments of `simulate` [s] for a run to the last observation used."""
        end = self.time_window[1] * (1.0 + 1e-9)
        last = [float(time) for time in self.observations.time if time <= end][-1]
        n_steps = max(1, round(last / self.dt))
        interval = math.ceil(n_steps / most_frames) * self.dt
        return {"dt": self.dt, "duration": n_steps * self.dt, "output_interval": interval}

    @functools.cached_property
    def sampled(self) -> Mapping[str, Sampled]:
        """Observed values by variable, with the operators for the model."""
        given = self.averaging, self.depth_window
        found = {name: sample(self.case, self.observations, name, *given) for name in sorted(self.weights)}
        if self.padded is None:
            return found
        return {name: with_levels(one, self.case, self.padded[1]) for name, one in found.items()}


def _padded_in_time(target: Target, times: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Frames, the steps between them (0 after the last observed time [s]), and the positions of the times."""
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
    """Fields of `Comparison` for one variable, with its values in the rows of the selected times."""
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
    """Number of values of one variable of one case, by use."""

    case: str
    variable: str
    n_counting: int  # within the windows
    n_missing: int  # heights within the windows without a value, at times with others
    n_rejected: int  # rejected by the reader because of their quality flags, at any time and height
    n_above: int  # above the uppermost center of the model, where it is constant
    n_below: int  # below the lowest center

    @property
    def is_notable(self) -> bool:
        """Whether there are other than plain values."""
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
    """Account of each variable of a target, whose windows and heights must match the observations."""
    chosen = target.times
    centers, slack = np.asarray(target.case.grid.z_center), 1e-6 * float(target.case.grid.depth)
    lines = []
    for variable in target.weights:
        sampled = target.sampled[variable]
        known = np.isfinite(sampled.values)[chosen]
        # At times of other variables there is no profile of this one: these values are not missing.
        n_places = int(sampled.inside[chosen][known.any(axis=1)].sum())
        z = np.broadcast_to(sampled.z, sampled.values.shape)[chosen]
        beyond = known & (sampled.moving is not None or isinstance(sampled.operator, Interpolation))
        n_known, n_rejected = int(known.sum()), int(target.observations.rejected.get(variable, 0))
        outside = beyond & (z > centers[-1] + slack), beyond & (z < centers[0] - slack)
        counts = n_known, n_places - n_known, n_rejected, *(int(where.sum()) for where in outside)
        lines.append(Account(target.case.name, variable, *counts))
    return tuple(lines)
