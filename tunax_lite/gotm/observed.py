"""What the files of a case hold of the water itself, to compare with."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..io.series import Series
from ..observations import Observations
from .hydrography import converted
from .profiles import Inputs


@dataclasses.dataclass(frozen=True)
class ObservedInputs:
    """Which of the inputs of a case are observations.

    Args:
        surface_temperature: the series `surface.sst`, as `sea_surface_temperature`.
        surface_interval: only records at multiples of this time since the start [s]; `None` for all.
        profiles: those of `temperature`.
        z: heights to interpolate profiles to [m]; `None` for the centers.
    """

    surface_temperature: bool = True
    surface_interval: float | None = None
    profiles: bool = False
    z: tuple[float, ...] | None = None


def read_observed(inputs: Inputs, observed: ObservedInputs, name: str) -> Observations:
    """Conservative temperature, with the salinity of the profiles of the case.

    Args:
        inputs: of the case.
        observed: which of them.
        name: of the observations, for messages.

    Raises:
        ConfigError: an input that is not a file.
        FileNotFoundError, FileFormatError: a file that cannot be used.
    """
    surface = _surface(inputs, observed.surface_interval) if observed.surface_temperature else None
    profiles = _profiles(inputs, observed.z) if observed.profiles else None
    time = np.unique(np.concatenate([part[0] for part in (surface, profiles) if part is not None]))
    found: dict[str, Any] = {}
    if surface is not None:
        values = _at(time, surface[0], surface[1])
        found["series"] = {"sea_surface_temperature": jnp.asarray(values)}
    if profiles is not None:
        found["z"] = jnp.asarray(profiles[1])
        found["profiles"] = {"temperature": jnp.asarray(_at(time, profiles[0], profiles[2]))}
    return Observations(jnp.asarray(time), name=name, **found)


def _at(time: np.ndarray, own: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at their times among others, and NaN at those."""
    found = np.full((time.size, *values.shape[1:]), np.nan)
    found[np.searchsorted(time, own)] = values
    return found


def _surface(inputs: Inputs, interval: float | None) -> tuple[np.ndarray, np.ndarray]:
    series = inputs.scalar(_required(inputs, "surface.sst"))
    assert isinstance(series, Series)
    chosen = _within(inputs, series.time)
    if interval is not None:
        chosen &= np.abs(series.time / interval - np.round(series.time / interval)) < 1e-9
    time = series.time[chosen]
    if not time.size:
        raise inputs.settings.error(
            "surface.sst", f"expected a record at a multiple of {interval} s, got none; choose another one"
        )
    z = inputs.z_center[-1:]
    salinity = inputs.profile("salinity").on(time)[:, -1:]
    values = {"temperature": series.values[chosen][:, None], "salinity": salinity}
    return time, converted(inputs, values, z)["temperature"][:, 0]


def _profiles(inputs: Inputs, z: tuple[float, ...] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    series = inputs.profile(_required(inputs, "temperature"))
    chosen = _within(inputs, series.time)
    time = series.time[chosen]
    values = {"temperature": series.values[chosen], "salinity": inputs.profile("salinity").on(time)}
    found = converted(inputs, values)["temperature"]
    if z is None:
        return time, inputs.z_center, found
    heights = np.sort(np.asarray(z, dtype=float))
    return time, heights, np.stack([np.interp(heights, inputs.z_center, row) for row in found])


def _within(inputs: Inputs, time: np.ndarray) -> np.ndarray:
    return (time >= 0.0) & (time <= inputs.period.length)


def _required(inputs: Inputs, path: str) -> str:
    method = inputs.settings.input(path).method
    if method != "file":
        raise inputs.settings.error(
            f"{path}.method", f"expected a file of observations to compare with, got {method}"
        )
    return path
