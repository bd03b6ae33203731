"""What a calibration aims at: a case, its observations, and which of them count how much.

Observed values that are NaN, or outside of the depth and the time window, do not count. At points the model
is interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the
surface (bottom) it is constant. As means over cells the finer of model and observations is averaged over the
cells of the other.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import in_precision, precision_of
from ...case import Case
from ...observables import observable
from ...observations import Observations
from .comparison import Comparison
from .correlation import Correlation, Whitening, whitening
from .operators import Interpolation
from .placing import place_in_time
from .sampled import Sampled, can_be_observed, sample
from .scales import AbstractScale, Physical


@dataclasses.dataclass(frozen=True)
class Target:
    """A case and what the model should give there.

    Args:
        case: a single column.
        observations: of that case.
        weights: by variable: what was observed, or an observable that follows from observed profiles; 0 only
            reports a variable.
        weight: of the case among others.
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
        reduction: `mean` of the squares by variable, or `sum`, which with a correlation, or with the scale of
            an uncertainty, is twice the negative logarithm of a normal likelihood.
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
    averaging: str = "points"
    correlation: Correlation | None = None
    reduction: str = "mean"

    @functools.cached_property
    def comparison(self) -> Comparison:
        """The target as arrays on frames and levels in the precision of its case, checked.

        Raises:
            ValueError: a batch of columns; weights, windows, heights, times or scales that do not fit the
                observations; a forcing that does not cover the run.
        """
        return _compared(self)

    @functools.cached_property
    def times(self) -> np.ndarray:
        """Indices of the observed times that count.

        Raises:
            ValueError: none of them.
        """
        times, (first, last) = np.asarray(self.observations.time), self.time_window
        inside = np.flatnonzero((times >= first) & (times <= last))
        if not inside.size:
            raise ValueError(
                f"{self.case.name}: expected a time_window [s] with observations in it, got {first:g} to "
                f"{last:g}; they reach from {times[0]:g} to {times[-1]:g}."
            )
        return inside

    @functools.cached_property
    def sampled(self) -> Mapping[str, Sampled]:
        """Observed values by variable, and how the model gives them."""
        given = self.averaging, self.depth_window
        return {name: sample(self.case, self.observations, name, *given) for name in sorted(self.weights)}


def _compared(target: Target) -> Comparison:
    name, observations = target.case.name, target.observations
    if target.case.batch_shape:
        raise ValueError(
            f"{name}: expected a single column, got a batch of shape {target.case.batch_shape}; make one "
            "target of each column."
        )
    _check_choices(target)
    _check_weights(target)
    chosen = target.times
    times = np.asarray(observations.time, dtype=float)[chosen]
    in_time, n_frames, steps_per_frame, rows = place_in_time(
        times, name=name, dt=target.dt, duration=target.case.duration, frame_interval=target.frame_interval
    )
    n_rows = times.size if in_time is not None else n_frames + 1
    parts = {variable: _prepared(target, variable, rows, n_rows) for variable in target.sampled}
    length = n_frames * steps_per_frame * target.dt
    target.case.check_covers(0.0, length)
    comparison = Comparison(
        # A common name, date and duration: they are part of what is compiled.
        case=dataclasses.replace(target.case.unlabelled(), duration=length),
        dt=jnp.asarray(target.dt, dtype=float),
        observed={variable: part.observed for variable, part in parts.items()},
        counts={variable: part.counts for variable, part in parts.items()},
        factors={variable: part.factor for variable, part in parts.items()},
        operators={variable: part.sampled.operator for variable, part in parts.items()},
        moving={variable: part.moving for variable, part in parts.items() if part.moving is not None},
        whitenings={
            variable: part.whitening for variable, part in parts.items() if part.whitening is not None
        },
        seen={
            variable: jnp.asarray(part.sampled.seen)
            for variable, part in parts.items()
            if part.sampled.seen is not None
        },
        in_time=in_time,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
    )
    return in_precision(comparison, precision_of(case=target.case))


@dataclasses.dataclass(frozen=True)
class _Prepared:
    """Arrays of one variable, on rows in time and on levels."""

    sampled: Sampled
    observed: Float[Array, "row level"]
    counts: Float[Array, "row level"]
    factor: Float[Array, ""]
    moving: Interpolation | None
    whitening: Whitening | None


def _prepared(target: Target, variable: str, rows: np.ndarray, n_rows: int) -> _Prepared:
    """One variable, with the values of the chosen times on the rows where they are placed."""
    name, weight = target.case.name, target.weights[variable]
    sampled, chosen = target.sampled[variable], target.times
    values = sampled.values[chosen]
    valid = np.isfinite(values)
    if not valid.any():
        reach = (
            "" if sampled.seen is None else "; at least one profile has to begin at the reference depth, or "
        )
        reach += "" if sampled.seen is None else "above 10 m, and to reach below what is asked for"
        raise ValueError(
            f"{name}: expected {variable} to be observed inside the windows, got NaN only{reach}."
        )

    def on_rows(given: np.ndarray, nothing: float = 0.0) -> np.ndarray:
        placed = np.full((n_rows, *given.shape[1:]), nothing, dtype=given.dtype)
        placed[rows] = given
        return placed

    placed = on_rows(valid)
    scale = target.scale.of(variable, values[valid], target.observations) if weight else 1.0
    fraction = float(valid.sum()) if target.reduction == "sum" else 1.0 / sum(target.weights.values())
    white = None
    if target.correlation is not None and weight:
        times = on_rows(np.asarray(target.observations.time, dtype=float)[chosen])
        z = on_rows(sampled.z[chosen]) if sampled.z.ndim == 2 else sampled.z
        white = whitening(target.correlation, z, placed, times, f"{name}: {variable}")
    moving = sampled.moving
    if moving is not None:
        moving = Interpolation(
            jnp.asarray(on_rows(np.asarray(moving.lower)[chosen])),
            jnp.asarray(on_rows(np.asarray(moving.fraction)[chosen])),
        )
    return _Prepared(
        sampled,
        jnp.asarray(on_rows(np.where(valid, values, 0.0))),
        jnp.asarray(placed / valid.sum()),
        jnp.asarray(weight * fraction / scale**2),
        moving,
        white,
    )


def _check_choices(target: Target) -> None:
    for key, known in (("averaging", ("points", "cell_means")), ("reduction", ("mean", "sum"))):
        if getattr(target, key) not in known:
            raise ValueError(
                f"{target.case.name}: expected {key} to be {' or '.join(known)}, got "
                f"{getattr(target, key)!r}."
            )


def _check_weights(target: Target) -> None:
    name, weights = target.case.name, target.weights
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
