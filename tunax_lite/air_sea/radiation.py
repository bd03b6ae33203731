"""Radiation at the surface: position of the sun, clear-sky radiation, albedo and longwave emission.

Longwave formulae give net radiation into the water [W m-2]: minus black-body emission plus the back radiation
of vapour and clouds.
"""

import abc
import datetime
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Scalar, ScalarLike, parameter
from ..column.time_series import universal
from ..declarations import named
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt
from .air import KELVIN, MoistAir


class SunTime(eqx.Module):
    """Day of the year (1 January is 1) and hour of the day [h], universal time."""

    day: Scalar
    hour: Scalar


class SolarPosition(eqx.Module):
    """Position of the sun above one location.

    Args:
        start_time: ISO 8601 time, universal time, at which the time of the case is 0.
        latitude: [degrees north].
        longitude: [degrees east].

    Raises:
        ValueError: an invalid start time.

    Source: Spencer (1971) for the declination; GOTM, which omits the equation of time.
    """

    start_time: str = eqx.field(static=True)
    latitude: Scalar = parameter(unit="degrees_north", valid_range=(-90.0, 90.0))
    longitude: Scalar = parameter(unit="degrees_east", valid_range=(-360.0, 360.0))

    def __check_init__(self):
        self._start()

    def _start(self) -> tuple[int, float]:
        """Days since 1970 and seconds of the day at the start."""
        try:
            start = universal(self.start_time)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"SolarPosition: expected start_time as ISO 8601 time, got {self.start_time!r}; write it "
                "like 2011-03-21T00:00:00."
            ) from error
        elapsed = start - datetime.datetime(1970, 1, 1)
        return elapsed.days, elapsed.seconds + 1e-6 * elapsed.microseconds

    def at(self, time: ScalarLike) -> SunTime:
        """Day and hour at a time [s] since the start, in the Gregorian calendar."""
        start_day, start_second = self._start()
        seconds = start_second + (time if isinstance(time, jax.Array) else jnp.asarray(float(time)))
        days = jnp.floor(seconds / 86400.0)
        hour = (seconds - 86400.0 * days) / 3600.0
        return SunTime(_day_of_year(days.astype(jnp.int32) + start_day).astype(hour.dtype), hour)

    def cosine_of_zenith(self, now: SunTime) -> Scalar:
        """Cosine of the solar zenith angle; 0 at night."""
        declination = declination_of(now.day)
        latitude = jnp.deg2rad(self.latitude)
        hour_angle = jnp.deg2rad((now.hour - 12.0) * 15.0 + self.longitude)
        constant = jnp.sin(latitude) * jnp.sin(declination)
        diurnal = jnp.cos(latitude) * jnp.cos(declination) * jnp.cos(hour_angle)
        return at_least(constant + diurnal, 0.0)

    def noon_altitude(self, now: SunTime) -> Scalar:
        """Altitude of the sun at noon [degrees], for the cloud formula."""
        season = 2.0 * jnp.pi * (now.day - 81.0) / 365.0
        return 90.0 - jnp.abs(self.latitude - 23.439 * jnp.sin(season))


def declination_of(day: Scalar) -> Scalar:
    """Declination of the sun [rad] on a day of the year."""
    theta = 2.0 * jnp.pi * day / 365.25
    return (
        0.006918
        - 0.399912 * jnp.cos(theta)
        + 0.070257 * jnp.sin(theta)
        - 0.006758 * jnp.cos(2.0 * theta)
        + 0.000907 * jnp.sin(2.0 * theta)
        - 0.002697 * jnp.cos(3.0 * theta)
        + 0.001480 * jnp.sin(3.0 * theta)
    )


def _day_of_year(days_since_epoch):
    """Day of the year from the days since 1970 (integers)."""
    # Count from 1 March of the year 0: with years that begin in March, the leap day comes last.
    days = days_since_epoch + 719468
    day_of_era = days % 146097  # 400 years
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    since_march = day_of_era - (365 * year + year // 4 - year // 100)
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return jnp.where(since_march >= 306, since_march - 305, since_march + jnp.where(is_leap, 61, 60))


@named("clear_sky")
class ClearSky(eqx.Module):
    """Shortwave radiation under a clear sky, reduced by clouds.

    Args:
        solar_constant: [W m-2].
        transmissivity: clear-sky transmissivity for the direct beam from the zenith [1].
        ozone_absorption: absorption by ozone and water vapour [1].

    Source: Rosati and Miyakoda (1988), J. Phys. Oceanogr. 18, 1601-1626; clouds after Reed (1977),
    J. Phys. Oceanogr. 7, 482-485.
    """

    solar_constant: Scalar = parameter(1350.0, unit="W m-2", valid_range=(0.0, 2000.0))
    transmissivity: Scalar = parameter(0.7, valid_range=(1e-3, 1.0))
    ozone_absorption: Scalar = parameter(0.09, valid_range=(0.0, 1.0))

    def downward(self, cosine_of_zenith: Scalar, noon_altitude: Scalar, cloud: Scalar | float) -> Scalar:
        """Downward shortwave radiation [W m-2], 0 at night; altitude [degrees], cloud cover 0 to 1."""
        incoming = self.solar_constant * cosine_of_zenith
        # Below this altitude the direct beam is less than 1e-15 of the incoming radiation.
        path = reciprocal(at_least(cosine_of_zenith, 0.01))
        direct = incoming * jnp.exp(jnp.log(self.transmissivity) * path)
        diffuse = 0.5 * ((1.0 - self.ozone_absorption) * incoming - direct)
        through_clouds = at_most(1.0 - 0.62 * cloud + 0.0019 * noon_altitude, 1.0)
        return (direct + diffuse) * through_clouds


class AbstractAlbedo(eqx.Module):
    """Albedo as a function of the position of the sun."""

    needs_sun: ClassVar[bool] = True

    @abc.abstractmethod
    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        """Reflected fraction for a zenith angle [degrees] (90 at night) and day of the year."""


@named("constant")
class ConstantAlbedo(AbstractAlbedo):
    """Albedo constant in time.

    Args:
        albedo: reflected fraction of shortwave radiation [1].
    """

    needs_sun = False
    albedo: Scalar = parameter(valid_range=(0.0, 1.0))

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        return self.albedo


_PAYNE_ZENITH = (0, 10, 20, 30, 40, 50, 54, 58, 62, 66, 70, 74, 76, 78, 80, 82, 84, 86, 88, 90)
_PAYNE_ALBEDO = (
    (0.034, 0.034, 0.036, 0.039, 0.043, 0.054, 0.061, 0.071, 0.084, 0.103)
    + (0.131, 0.164, 0.193, 0.250, 0.300, 0.385, 0.480, 0.603, 0.656, 0.719)
)  # fmt: skip


@named("payne")
class Payne(AbstractAlbedo):
    """Albedo by solar elevation, interpolated linearly in a table.

    GOTM uses the neighbouring entries between 50 and 74 degrees, which changes its albedo by up to 0.0015.

    Source: Payne (1972), J. Atmos. Sci. 29, 959-970.
    """

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        zenith = jnp.asarray(zenith)
        return jnp.interp(zenith, *(jnp.asarray(row, zenith.dtype) for row in (_PAYNE_ZENITH, _PAYNE_ALBEDO)))


EMISSIVITY = 0.97  # of sea water [1]
STEFAN_BOLTZMANN = 5.670374419e-8  # [W m-2 K-4]


def emitted(water_temperature: Scalar) -> Scalar:
    """Longwave emission of the water [W m-2] at a temperature [degC]."""
    return EMISSIVITY * STEFAN_BOLTZMANN * (water_temperature + KELVIN) ** 4


def cloud_coefficient(latitude: Scalar) -> Scalar:
    """Weight of the squared cloud cover, tabulated by degrees of latitude [1].

    Source: Clark et al. (1974), as in GOTM: from 0.497 at the equator to 0.919 at the poles, in even steps.
    """
    return 0.497202 + 0.00468296 * jnp.floor(jnp.abs(latitude) + 0.5)


class AbstractLongwave(eqx.Module):
    """Net longwave radiation."""

    needs_cloud: ClassVar[bool] = True

    @abc.abstractmethod
    def net(
        self,
        water_temperature: Scalar,
        air: MoistAir,
        cloud: ScalarLike,
        latitude: ScalarLike,
        series: ScalarLike,
    ) -> Scalar:
        """Net longwave radiation into the water [W m-2].

        Arguments are the water temperature [degC], the air, cloud cover from 0 to 1, latitude [degrees
        north], and the measured series [W m-2]; cloud, latitude and series are 0 if unknown.
        """


@named("clark")
class Clark(AbstractLongwave):
    """Formula of Clark et al. (1974). Source: Clark et al. (1974), NOAA Technical Report NMFS SSRF-682."""

    def net(self, water_temperature, air, cloud, latitude, series):
        vapour = 0.39 - 0.05 * safe_sqrt(0.01 * air.vapour_pressure)
        return _net_flux(vapour, water_temperature, air, cloud, latitude)


@named("hastenrath_lamb")
class HastenrathLamb(AbstractLongwave):
    """Formula of Hastenrath and Lamb (1978). Source: Heat Budget Atlas of the Tropical Oceans."""

    def net(self, water_temperature, air, cloud, latitude, series):
        vapour = 0.39 - 0.056 * safe_sqrt(1000.0 * air.specific_humidity)
        return _net_flux(vapour, water_temperature, air, cloud, latitude)


def _net_flux(vapour_factor, water_temperature, air, cloud, latitude):
    """Net radiation [W m-2] from the factor [1] by which vapour reduces the loss."""
    kelvin, weight = water_temperature + KELVIN, cloud_coefficient(latitude)
    emission = (1.0 - weight * cloud * cloud) * kelvin**4 * vapour_factor
    excess = water_temperature - air.temperature
    return -EMISSIVITY * STEFAN_BOLTZMANN * (emission + 4.0 * kelvin**3 * excess)


@named("bignami")
class Bignami(AbstractLongwave):
    """Formula for the Mediterranean. Source: Bignami et al. (1995), J. Geophys. Res. 100, 2501-2514."""

    def net(self, water_temperature, air, cloud, latitude, series):
        received = (air.temperature + KELVIN) ** 4 * (0.653 + 0.00535 * 0.01 * air.vapour_pressure)
        return STEFAN_BOLTZMANN * (1.0 + 0.1762 * cloud * cloud) * received - emitted(water_temperature)


@named("downward")
class DownwardLongwave(AbstractLongwave):
    """Measured downward radiation minus the emission of the water."""

    needs_cloud = False

    def net(self, water_temperature, air, cloud, latitude, series):
        return series - emitted(water_temperature)
