"""Observed values with their errors, and the differentiable operators that predict them.

A stream is one variable at one height, or one scalar of the column. Its operator is the observable of the
same name, interpolated linearly to the height:

    y(t) = h(x(t)) + b(t) + e,    e ~ N(0, s²)

with independent errors e and an autoregressive error b of memory T, such as the correlated errors of a
satellite analysis.
"""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...calibration.observed import Interpolation
from ...column.grid import Grid
from ...column.observables import ColumnState, is_depth_of_a_criterion, is_scalar, observable
from ...column.observations import Observations
from ...declarations import setting

_LEAST_BEFORE_LOGARITHM = 1e-3


class Operator(eqx.Module):
    """Differentiable observation operator of one stream.

    Args:
        variable: name of an observable, or of a pool of biogeochemistry.
        height: height of the value of a profile [m], at most 0; `None` for a scalar of the column.
        factor: observed value per unit of the variable, such as chlorophyll per nitrogen.
        logarithm: true if the logarithm to base 10 is observed; values below 1e-3 are raised to it first.

    Raises:
        ValueError: a profile without a height, or a scalar with one.
    """

    variable: str = setting()
    height: float | None = setting(None, at_most=0.0)
    factor: float = setting(1.0, above=0.0)
    logarithm: bool = setting(False)

    def __check_init__(self):
        if (self.height is None) != is_scalar(self.variable):
            expected = "no height" if is_scalar(self.variable) else "a height"
            raise ValueError(f"{self.variable}: expected {expected} for this variable, got {self.height}.")

    def check(self, tracers: Sequence[str], depth: float) -> None:
        """Raise `ValueError` for a variable without its tracer, or a height below the column's depth [m]."""
        observable(self.variable, tracers)
        if self.height is not None and self.height < -depth:
            raise ValueError(
                f"depth: expected {self.variable} within the column of {depth:g} m, got {-self.height:g} m; "
                "are these observations of another place?"
            )

    @property
    def is_converted(self) -> bool:
        """True if the observed values do not have the unit of the variable."""
        return self.logarithm or self.factor != 1.0

    @property
    def is_temperature(self) -> bool:
        """True for temperatures of the water, of any kind and height."""
        return self.variable.endswith("temperature")

    @property
    def label(self) -> str:
        """The variable, with its height [m] if it has one."""
        return self.variable if self.height is None else f"{self.variable} {self.height + 0.0:g}"  # not -0

    def __call__(self, water: ColumnState) -> Float[Array, "*batch"]:
        # A mixed layer down to the bottom ends at the lowest cell: a NaN would spoil the analysis.
        is_depth = is_depth_of_a_criterion(self.variable)
        values = observable(self.variable, tuple(water.state.tracers), bounded=is_depth)(water)
        return self._converted(values if self.height is None else _at_height(values, water.grid, self.height))

    def _converted(self, values: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        values = self.factor * values
        return jnp.log10(jnp.maximum(values, _LEAST_BEFORE_LOGARITHM)) if self.logarithm else values


def _at_height(values: Array, grid: Grid, height: float) -> Array:
    z = grid.z_center.reshape(values.shape[0], -1)[:, 0]  # equal in all members
    position = jnp.interp(height, z, jnp.arange(z.size, dtype=z.dtype))
    lower = jnp.clip(position.astype(int), 0, z.size - 2)
    return Interpolation(lower[None], (position - lower.astype(z.dtype))[None])(values)[0]


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Observed values of one variable, at one height or of the column.

    Args:
        operator: observation operator.
        time: times of the values [s] since the start of the case, increasing.
        values: observed values, in the unit that the operator returns.
        error: standard deviation of their independent errors, in the same unit.
        name: label in messages.
        withheld: true if the values only judge forecasts and are not assimilated.

    Raises:
        ValueError: no values, times that do not increase, or an error that is not positive.
    """

    operator: Operator
    time: np.ndarray
    values: np.ndarray
    error: np.ndarray
    name: str = "observations"
    withheld: bool = False

    def __post_init__(self):
        where = f"{self.name}: {self.operator.variable}"
        if self.time.size == 0:
            raise ValueError(f"{where}: expected observations, got none; choose other times or another file.")
        descending = np.flatnonzero(~(np.diff(self.time) > 0.0))
        if descending.size:
            raise ValueError(
                f"{where}: expected times that increase, got {self.time[descending[0] + 1]:g} s after "
                f"{self.time[descending[0]]:g} s; sort the values and remove repeated times."
            )
        invalid = np.flatnonzero(~((self.error > 0.0) & np.isfinite(self.error)))
        if invalid.size:
            raise ValueError(
                f"{where}: expected an error above 0 of every observation, got {self.error[invalid[0]]:g} at "
                f"{self.time[invalid[0]]:g} s; correct it, or set observations.error."
            )

    def _selected(self, which: np.ndarray) -> "Stream":
        return dataclasses.replace(
            self, time=self.time[which], values=self.values[which], error=self.error[which]
        )

    def at_multiples(self, interval: float) -> "Stream":
        """Move the value nearest to each positive multiple of an interval [s] to that time; drop others."""
        multiple = np.rint(self.time / interval)
        order = np.lexsort((np.abs(self.time - multiple * interval), multiple))
        nearest = order[np.unique(multiple[order], return_index=True)[1]]
        selected = self._selected(nearest[multiple[nearest] > 0])
        return dataclasses.replace(selected, time=np.rint(selected.time / interval) * interval)


def build_streams(
    observations: Observations,
    variables: Sequence[str],
    errors: dict[str, float],
    depths: Sequence[float] | None = None,
    withheld: Sequence[float] = (),
) -> tuple[Stream, ...]:
    """Streams of observations at fixed heights: one for each height with values, and for each scalar.

    Args:
        observations: profiles and series of the case.
        variables: names of the variables to use.
        errors: standard deviation by variable [unit of the variable]; by default that of the observations.
        depths: depths of profiles to use [m]; by default all.
        withheld: depths of profiles that only judge forecasts [m].

    Raises:
        ValueError: a variable that is not observed or has no error, heights that move, depths that are not
            measured, or withheld depths that are not used.
    """
    _check_depths(observations, depths, withheld)
    streams, time = [], np.asarray(observations.time)
    for name in variables:
        if name not in observations.names:
            raise ValueError(
                f"{observations.name}: expected one of the observed variables "
                f"{', '.join(observations.names)}, got {name}."
            )
        error = errors.get(name, observations.uncertainty.get(name))
        if error is None:
            raise ValueError(f"{observations.name}: expected an error of {name}, got none; give one.")
        for height, values in _columns_of(observations, name, depths):
            known = np.isfinite(values)
            is_withheld = height is not None and _is_among(-height, withheld)
            if known.any():
                sizes = np.full(int(known.sum()), float(error))
                operator = Operator(name, height)
                streams.append(
                    Stream(operator, time[known], values[known], sizes, observations.name, is_withheld)
                )
    return tuple(streams)


def _is_among(depth: float, depths: Sequence[float]) -> bool:
    return bool(np.isclose(depth, np.asarray(depths, float), atol=0.01).any())


def _check_depths(
    observations: Observations, depths: Sequence[float] | None, withheld: Sequence[float]
) -> None:
    measured = [] if observations.moves else (-np.asarray(observations.z)).tolist()
    used = measured if depths is None else depths
    pairs = [(depth, measured) for depth in depths or ()] + [(depth, used) for depth in withheld]
    for depth, available in pairs:
        if not _is_among(depth, available):
            listed = ", ".join(f"{each:g}" for each in sorted(available))
            expected = f"one of the depths {listed} m" if listed else "no depths for instruments that move"
            raise ValueError(f"{observations.name}: expected {expected}, got {depth:g} m.")


def _columns_of(
    observations: Observations, name: str, used: Sequence[float] | None
) -> list[tuple[float | None, np.ndarray]]:
    """Heights of a variable, `None` for a scalar, each with its values over time."""
    if name in observations.series:
        return [(None, np.asarray(observations.series[name]))]
    if observations.moves:
        raise ValueError(
            f"{observations.name}: expected heights of {name} that are fixed, got heights that move in time; "
            "interpolate the observations to fixed heights."
        )
    pairs = zip(np.asarray(observations.z).tolist(), np.asarray(observations.profiles[name]).T, strict=True)
    return [(z, values) for z, values in pairs if used is None or _is_among(-z, used)]


class Frames(eqx.Module):
    """Observations of all streams on the frames of a window.

    Args:
        values: [unit of the stream], `(n_frames, n_streams)`; zero without an observation.
        precision: inverse of the variance of the error; zero without an observation.
    """

    values: Float[Array, "frame stream"]
    precision: Float[Array, "frame stream"]

    @property
    def known(self) -> Array:
        """Mask of the observations."""
        return self.precision > 0.0


def observations_on_frames(streams: Sequence[Stream], start: float, interval: float, n_frames: int) -> Frames:
    """Assign observations to the nearest ends of frames that last `interval` [s], the first from `start` [s].

    If several observations of a stream have the same frame, the last is used.
    """
    shape = n_frames, len(streams)
    values, precision = np.zeros(shape), np.zeros(shape)
    for column, stream in enumerate(streams):
        frame = np.rint((stream.time - start) / interval).astype(int) - 1
        inside = (frame >= 0) & (frame < n_frames)
        values[frame[inside], column] = stream.values[inside]
        precision[frame[inside], column] = stream.error[inside] ** -2.0
    return Frames(jnp.asarray(values), jnp.asarray(precision))
