"""Observations or large-eddy simulation results: profiles and scalars of the column."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import is_traced, without_index
from ..quantities import check_values
from ..views import AbstractShown
from .time_series import seconds


def _times(time: Any) -> Any:  # array-likes to an array
    """Times [s] as in `seconds`; NumPy arrays stay as they are, because JAX may cast them to float32."""
    time = without_index(time)
    return time if isinstance(time, np.ndarray) and time.dtype.kind in "fiu" else seconds(time)


class Observations(AbstractShown):
    """Observed profiles and scalars on common times; heights are constant or vary in time.

    Args:
        time: [s] since the start of the case, or durations, increasing, `(n_times,)`.
        z: heights [m], increasing, at most 0, `(n_levels,)`; or one set per time, `(n_times, n_levels)`,
            padded with NaN. Empty if there are no profiles.
        profiles: by name (`temperature`, `salinity`, `u`, `v`, a tracer, or a profile of `OBSERVABLES`),
            `(n_times, n_levels)`, in the units of `State`; NaN where there is no value.
        series: scalars by name (`sea_surface_temperature`, `mixed_layer_depth`, ...), `(n_times,)`; NaN where
            there is no value.
        uncertainty: standard deviation of a variable, one number each [unit of the variable]; optional.
        name: label in messages and files.
        source: kind of data, for figures: `observations`, or `LES`.
        rejected: number of values per variable that the reader rejected because of quality flags.

    Raises:
        TypeError: dates as times.
        ValueError: times or heights that do not increase, depths instead of heights, a profile or series of
            unexpected shape, or a value that its quantity cannot have.
    """

    time: Float[Array, " time"] = eqx.field(converter=_times)
    z: Float[Array, " level"] | Float[Array, "time level"] = eqx.field(
        default_factory=lambda: jnp.zeros(0), converter=without_index
    )
    profiles: dict[str, Float[Array, "time level"]] = eqx.field(default_factory=dict, converter=without_index)
    uncertainty: dict[str, Float[Array, ""]] = eqx.field(default_factory=dict)
    series: dict[str, Float[Array, " time"]] = eqx.field(default_factory=dict, converter=without_index)
    name: str = eqx.field(default="observations", static=True)
    source: str = eqx.field(default="observations", static=True)
    rejected: Mapping[str, int] = eqx.field(default_factory=dict, static=True)

    def __check_init__(self):
        if is_traced((self.time, self.z, self.profiles)) or not hasattr(self.time, "shape"):
            return
        _check_increase(self.name, "times [s] since the start", self.time)
        if self.moves:
            for time, row in zip(np.asarray(self.time), np.asarray(self.z), strict=True):
                n_known = int(np.isfinite(row).sum())
                if n_known < row.size and not np.isnan(row[n_known:]).all():
                    n_known = row.size  # NaN between heights: let the check reject the row
                if n_known:
                    _check_increase(self.name, f"heights [m] at {time:g} s", row[:n_known])
        elif self.z.size or self.profiles or not self.series:
            _check_increase(self.name, "heights [m]", self.z)
        heights = np.asarray(self.z)[np.isfinite(self.z)]
        if heights.size and heights.min() >= 0.0 and heights.max() > 0.0:
            expected, got = (
                "heights below the surface [m], which are negative",
                f"{heights.min():g} to {heights.max():g}",
            )
            raise ValueError(f"{self.name}: expected {expected}, got {got}; give depths as z = -depth.")
        shape = (self.time.shape[0], self.z.shape[-1])
        for variable, values in self.profiles.items():
            if values.shape != shape:
                expected = f"{variable} of shape (time, level) = {shape}"
                raise ValueError(f"{self.name}: expected {expected}, got {values.shape}.")
        for variable, values in self.series.items():
            if values.shape != shape[:1] or variable in self.profiles:
                expected = f"{variable} of shape (time,) = {shape[:1]}, and not as a profile too"
                raise ValueError(f"{self.name}: expected {expected}, got {values.shape}.")
        for variable, values in (self.profiles | self.series).items():
            check_values(f"{self.name}: observed {variable}", variable, np.asarray(values))

    @property
    def moves(self) -> bool:
        """Return whether heights vary in time."""
        return self.z.ndim == 2

    def has_values(self, name: str) -> np.ndarray:
        """Mask `(n_times,)` of the times at which a variable has a value; its other times are all NaN."""
        values = np.asarray(self.profiles.get(name, self.series.get(name)))
        return np.any(np.isfinite(values).reshape(values.shape[0], -1), axis=1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all observed variables."""
        return (*self.profiles, *self.series)


def _check_increase(name: str, label: str, values) -> None:
    values = np.asarray(values)
    are_numbers = values.size > 0 and values.dtype.kind in "fiu"
    if not are_numbers or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0.0):
        got = np.array2string(values, threshold=6, edgeitems=2)
        raise ValueError(f"{name}: expected {label}, numbers that increase, got {got}.")
