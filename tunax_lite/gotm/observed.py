"""What the files of a case hold of the water itself, to compare with."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from ..io.series import Series
from ..observations import Observations
from .hydrography import converted
from .inputs import Inputs


@dataclasses.dataclass(frozen=True)
class ObservedInputs:
    """Which of the inputs of a case are observations.

    Args:
        surface_temperature: the series `surface.sst`, as temperature of the uppermost center.
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
    parts = []
    if observed.surface_temperature:
        parts.append(_surface(inputs, observed.surface_interval))
    if observed.profiles:
        parts.append(_profiles(inputs, observed.z))
    time = np.unique(np.concatenate([time for time, _, _ in parts]))
    z = np.unique(np.concatenate([z for _, z, _ in parts]))
    values = np.full((time.size, z.size), np.nan)
    for its_time, its_z, its_values in reversed(parts):  # the surface last: it was measured
        values[np.ix_(np.searchsorted(time, its_time), np.searchsorted(z, its_z))] = its_values
    return Observations(jnp.asarray(time), jnp.asarray(z), {"temperature": jnp.asarray(values)}, name=name)


def _surface(inputs: Inputs, interval: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    return time, z, converted(inputs.settings, values, z)["temperature"]


def _profiles(inputs: Inputs, z: tuple[float, ...] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    series = inputs.profile(_required(inputs, "temperature"))
    chosen = _within(inputs, series.time)
    time = series.time[chosen]
    values = {"temperature": series.values[chosen], "salinity": inputs.profile("salinity").on(time)}
    found = converted(inputs.settings, values, inputs.z_center)["temperature"]
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
