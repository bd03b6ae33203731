"""Where the sun stands, and what it sends through a clear or cloudy sky."""

import datetime

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.limiters import at_least, at_most, reciprocal

_SECONDS_PER_DAY = 86400.0
_DAYS_BEFORE_EPOCH = 719468
"""From 1 March of the year 0 to 1 January 1970; years that start in March have their leap day last."""


class SunTime(eqx.Module):
    """Day of the year (1 January is 1) and hour of the day [h], Universal Time."""

    day: Scalar
    hour: Scalar


class SolarPosition(eqx.Module):
    """The sun over one place.

    Args:
        start_time: ISO 8601 time at which the time of the case is 0, Universal Time.
        latitude: [degrees north].
        longitude: [degrees east].

    Raises:
        ValueError: a start time that is none.

    Source: Spencer (1971) for the declination; GOTM, which leaves out the equation of time.
    """

    start_time: str = eqx.field(static=True)
    latitude: Scalar = parameter(unit="degrees_north", valid_range=(-90.0, 90.0))
    longitude: Scalar = parameter(unit="degrees_east", valid_range=(-360.0, 360.0))

    def __check_init__(self):
        self._start()

    def _start(self) -> tuple[int, float]:
        """Days since 1970 and seconds of the day at the start."""
        try:
            start = datetime.datetime.fromisoformat(self.start_time)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"SolarPosition: expected start_time as ISO 8601 time, got {self.start_time!r}; write it "
                "like 2011-03-21T00:00:00."
            ) from error
        if start.tzinfo is not None:
            start = start.astimezone(datetime.UTC).replace(tzinfo=None)
        elapsed = start - datetime.datetime(1970, 1, 1)
        return elapsed.days, elapsed.seconds + 1e-6 * elapsed.microseconds

    def at(self, time: ScalarLike) -> SunTime:
        """Day and hour at a time [s] since the start, in the Gregorian calendar."""
        start_day, start_second = self._start()
        seconds = start_second + (time if isinstance(time, jax.Array) else jnp.asarray(float(time)))
        days = jnp.floor(seconds / _SECONDS_PER_DAY)
        hour = (seconds - _SECONDS_PER_DAY * days) / 3600.0
        return SunTime(_day_of_year(days.astype(jnp.int32) + start_day).astype(hour.dtype), hour)

    def cosine_of_zenith(self, now: SunTime) -> Scalar:
        """Cosine of the angle between sun and zenith; 0 at night."""
        theta = 2.0 * jnp.pi * now.day / 365.25
        declination = (
            0.006918
            - 0.399912 * jnp.cos(theta)
            + 0.070257 * jnp.sin(theta)
            - 0.006758 * jnp.cos(2.0 * theta)
            + 0.000907 * jnp.sin(2.0 * theta)
            - 0.002697 * jnp.cos(3.0 * theta)
            + 0.001480 * jnp.sin(3.0 * theta)
        )
        latitude = jnp.deg2rad(self.latitude)
        hour_angle = jnp.deg2rad((now.hour - 12.0) * 15.0 + self.longitude)
        polar = jnp.sin(latitude) * jnp.sin(declination)
        daily = jnp.cos(latitude) * jnp.cos(declination) * jnp.cos(hour_angle)
        return at_least(polar + daily, 0.0)

    def noon_altitude(self, now: SunTime) -> Scalar:
        """Altitude of the sun at noon [degrees], as the formula for clouds has it."""
        season = 2.0 * jnp.pi * (now.day - 81.0) / 365.0
        return 90.0 - jnp.abs(self.latitude - 23.439 * jnp.sin(season))


def _day_of_year(days_since_epoch):
    """Day of the year from the days since 1970 (integers)."""
    days = days_since_epoch + _DAYS_BEFORE_EPOCH
    of_era = days % 146097  # 400 years
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    since_march = of_era - (365 * year + year // 4 - year // 100)
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return jnp.where(since_march >= 306, since_march - 305, since_march + jnp.where(is_leap, 61, 60))


@named("clear_sky")
class ClearSky(eqx.Module):
    """Shortwave radiation through the atmosphere, reduced by clouds.

    Args:
        solar_constant: [W m-2].
        transmissivity: of the clear sky to the direct beam at the zenith [1].
        ozone_absorption: by ozone and vapour [1].

    Source: Rosati and Miyakoda (1988), J. Phys. Oceanogr. 18, 1601-1626; clouds after Reed (1977),
    J. Phys. Oceanogr. 7, 482-485.
    """

    solar_constant: Scalar = parameter(1350.0, unit="W m-2", valid_range=(0.0, 2000.0))
    transmissivity: Scalar = parameter(0.7, valid_range=(1e-3, 1.0))
    ozone_absorption: Scalar = parameter(0.09, valid_range=(0.0, 1.0))

    def downward(self, cosine_of_zenith: Scalar, noon_altitude: Scalar, cloud: Scalar | float) -> Scalar:
        """Shortwave radiation on the water [W m-2]; 0 at night.

        Args:
            cosine_of_zenith: of the sun [1], at least 0.
            noon_altitude: [degrees].
            cloud: cover from 0 to 1.
        """
        incoming = self.solar_constant * cosine_of_zenith
        # Where the sun is lower than this its direct light is below 1e-15 of the incoming.
        path = reciprocal(at_least(cosine_of_zenith, 0.01))
        direct = incoming * jnp.exp(jnp.log(self.transmissivity) * path)
        diffuse = 0.5 * ((1.0 - self.ozone_absorption) * incoming - direct)
        through_clouds = at_most(1.0 - 0.62 * cloud + 0.0019 * noon_altitude, 1.0)
        return (direct + diffuse) * through_clouds
