"""Shortwave radiation known as means over many hours: the albedo of the day, or the sun of each step.

With the albedo of the solar elevation at each step, the water would reflect 72 % of the radiation that a
series of daily means shows at night.
"""

import dataclasses
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Scalar, ScalarLike, array_field, as_float_array, parameter
from ..numerics.elementary import at_least, at_most, reciprocal
from .radiation import AbstractAlbedo, ClearSky, SolarPosition, declination_of

DAY = 86400.0
LONGEST_RESOLVING_INTERVAL = 3.0 * 3600.0
"""Longest interval between records [s] that resolves the day."""
_NODES, _WEIGHTS = (tuple(map(float, row)) for row in np.polynomial.legendre.leggauss(8))
_FAINT = 1e-6
"""Added to the clear-sky radiation [W m-2], so that a day without sun has a uniform mean."""


def time_between_records(time: np.ndarray, values: np.ndarray) -> float:
    """Time between records of shortwave radiation [s] in daylight; infinite for a constant.

    Records are the times at which a series changes its slope. Interpolation to common times therefore does
    not hide them, nor do daily means written at every hour.
    """
    time, values = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
    is_daylight = np.maximum(values[1:], values[:-1]) > 1e-3 * np.max(values, initial=0.0)
    intervals = np.diff(time[_is_record(time, values)])
    # A jump between two means has two records almost at one time, which count as one.
    n_between = int((intervals > 1e-3 * np.mean(intervals)).sum())
    is_constant = n_between < 2 and np.ptp(values) == 0.0
    return np.inf if is_constant else float(np.diff(time)[is_daylight].sum() / n_between)


def _is_record(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mask of the records of a series: points where the slope changes, and both ends."""
    largest, dt_before, dt_after = np.max(values, initial=0.0), np.diff(time)[:-1], np.diff(time)[1:]
    interpolated = (values[:-2] * dt_after + values[2:] * dt_before) / (dt_before + dt_after)
    has_kink = np.abs(values[1:-1] - interpolated) > 1e-6 * largest
    return np.concatenate([[True], has_kink, [True]])


def is_mean(interval: float) -> bool:
    """Return whether records at this interval [s] are means over part of a day."""
    return interval > 1.2 * LONGEST_RESOLVING_INTERVAL


class AlbedoOfTheDay(AbstractAlbedo):
    """Albedo by solar elevation, averaged over the day.

        albedo = int a(h) I(h) dh / int I(h) dh

    over the hour angles h of the day, with the radiation I under a clear sky. It does not depend on the time
    of the day. Without sun it is the albedo of the horizon.

    Args:
        of_elevation: albedo by solar elevation.
        latitude: [degrees north].
    """

    of_elevation: AbstractAlbedo
    latitude: Scalar = parameter(unit="degrees_north", valid_range=(-90.0, 90.0))

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        latitude, declination = jnp.deg2rad(self.latitude), declination_of(jnp.asarray(day))
        constant = jnp.sin(latitude) * jnp.sin(declination)
        amplitude = at_least(jnp.cos(latitude) * jnp.cos(declination), 1e-6)
        # The arc cosine has infinite slope where the sun does not rise or set.
        sunset = jnp.arccos(at_least(at_most(-constant * reciprocal(amplitude), 1.0 - 1e-6), 1e-6 - 1.0))
        reflected, received = 0.0, 0.0
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            cosine = at_least(constant + amplitude * jnp.cos(0.5 * (1.0 + node) * sunset), 0.0)
            light = weight * (_clear(cosine) + _FAINT)
            zenith_angle = jnp.rad2deg(jnp.arccos(at_most(cosine, 1.0 - 1e-7)))
            reflected += light * self.of_elevation.value(zenith_angle, day)
            received += light
        return reflected * reciprocal(received)


class DiurnalCycle(eqx.Module):
    """Daily means of shortwave radiation, distributed over each day like the radiation under a clear sky.

    The mean over the steps of a day is that of the record. A step belongs to the day in which it ends.

    Args:
        first: start of the first day [s].
        mean: mean of the days [W m-2], shape `(n_days, *batch)`.
        clear: mean radiation under a clear sky over the steps of each day [W m-2], of the same shape.
    """

    first: Scalar = array_field(0, converter=as_float_array)
    mean: Float[Array, "..."] = array_field(1, converter=as_float_array)
    clear: Float[Array, "..."] = array_field(1, converter=as_float_array)

    def downward(self, time: ScalarLike, cosine_of_zenith: Scalar, added: Scalar) -> Scalar:
        """Downward radiation [W m-2] at a time [s], if `added` [W m-2] is added to the mean of the day."""
        number = jnp.ceil((time - self.first) * (1.0 / DAY) - 1e-6).astype(jnp.int32) - 1
        number = jnp.clip(number, 0, self.mean.shape[0] - 1)
        share = (_clear(cosine_of_zenith) + _FAINT) * reciprocal(self.clear[number])
        return (self.mean[number] + added) * share


AlbedoOf = Literal["instant", "day"]
"""Solar elevation for the albedo: at each step, or averaged over the day."""


@dataclasses.dataclass(frozen=True)
class MeanLight:
    """Treatment of shortwave radiation given as means over part of a day.

    Args:
        albedo_of: solar elevation for the albedo; `None` for the day where records are means.
        diurnal_cycle: whether daily means are spread over the day.
    """

    albedo_of: AlbedoOf | None = None
    diurnal_cycle: bool = False

    def spreads_means(self, interval: float) -> bool:
        """Return whether records at this interval [s] are spread over the day."""
        return self.diurnal_cycle and is_mean(interval)

    def albedo(self, albedo: AbstractAlbedo, latitude: ScalarLike, interval: float) -> AbstractAlbedo:
        """Albedo for records at this interval [s] at a latitude [degrees north]."""
        of_day = is_mean(interval) and not self.diurnal_cycle and self.albedo_of != "instant"
        if albedo.needs_sun and (of_day or self.albedo_of == "day"):
            return AlbedoOfTheDay(albedo, latitude)
        return albedo

    def notes(self, albedo: AbstractAlbedo, interval: float) -> list[str]:
        """Notes on the treatment of records at this interval [s]."""
        reason = f"records of shortwave radiation are {interval / 3600.0:.3g} h apart"
        if np.isinf(interval):
            reason = "the shortwave radiation is constant"
        if not is_mean(interval):
            return [f"{reason}: diurnal_cycle has no effect"] if self.diurnal_cycle else []
        if self.diurnal_cycle:
            return [f"{reason}: daily means (universal time) are spread over the hours of daylight"]
        if not albedo.needs_sun:
            return []
        if self.albedo_of == "instant":
            return [
                f"{reason}, but the albedo is that of the sun at each step: at night, that of a sun on the "
                "horizon reflects part of the daily mean; use `albedo_of: day` of `air_sea`, or prescribe "
                "net radiation"
            ]
        return [f"{reason}: the albedo is a daily mean; `diurnal_cycle: true` restores day and night"]


def days_of(sun: SolarPosition, start: float, stop: float) -> np.ndarray:
    """Starts of the days (universal time) from `start` to `stop` [s]; equal durations give equally many."""
    at_midnight = float(sun.at(start).hour) * 3600.0
    n_days = int(np.ceil((stop - start) / DAY - 1e-9)) + 1
    return start - at_midnight + DAY * np.arange(n_days)


def diurnal_cycle(
    days: np.ndarray, time: np.ndarray, values: np.ndarray, sun: SolarPosition, dt: float
) -> DiurnalCycle:
    """The cycle of days that start at these times [s], for time steps of `dt` [s] since time 0.

    The mean of a day is that of its records [W m-2]; a day without records has the value of its middle,
    interpolated between records. `values` has time as its first axis.
    """
    if values.ndim == 1:
        is_record = _is_record(time, values)
        time, values = time[is_record], values[is_record]
    day_numbers = np.floor((time - days[0]) / DAY + 1e-9).astype(int)
    middle = days + 0.5 * DAY
    columns = values.reshape(time.size, -1)
    means = np.stack([np.interp(middle, time, column) for column in columns.T], axis=1)
    for day in np.intersect1d(day_numbers, np.arange(days.size)):
        means[day] = columns[day_numbers == day].mean(axis=0)
    means = means.reshape(days.size, *values.shape[1:])
    clear = jnp.broadcast_to(_clear_means(sun, jnp.asarray(days), dt).T, means.shape[::-1]).T
    return DiurnalCycle(jnp.asarray(days[0]), jnp.asarray(means), clear)


@eqx.filter_jit
def _clear_means(sun: SolarPosition, days: Array, dt: float) -> Array:
    """Mean clear-sky radiation over the steps that end in each day [W m-2], `(n_days, *batch)`."""
    n_most = max(1, int(np.ceil(DAY / dt)))

    def of_day(start: Array) -> Array:
        first = jnp.floor(start / dt + 1e-6) + 1.0
        ends = dt * (first + jnp.arange(n_most, dtype=float))
        inside = ends <= start + DAY * (1.0 + 1e-9)
        lights = jax.vmap(lambda time: _clear(sun.cosine_of_zenith(sun.at(time))) + _FAINT)(ends)
        weights = inside.reshape(-1, *[1] * (lights.ndim - 1))
        return jnp.sum(jnp.where(weights, lights, 0.0), axis=0) / jnp.sum(inside.astype(lights.dtype))

    return jax.lax.map(of_day, days)


def _clear(cosine_of_zenith: Scalar) -> Scalar:
    """Radiation under a clear sky [W m-2]."""
    return ClearSky().downward(cosine_of_zenith, jnp.asarray(90.0), 0.0)
