"""Longwave radiation, net into the water [W m-2], from the state of the air and the cloud cover.

Each formula is the loss of the water as a black body, less what vapour and clouds send back.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named
from ..numerics.limiters import at_least, safe_sqrt
from .base import KELVIN, MoistAir

EMISSIVITY = 0.97
"""Of sea water [1]."""
STEFAN_BOLTZMANN = 5.670374419e-8
"""[W m-2 K-4]"""
LEAST_VAPOUR_PRESSURE = 10.0
"""Below which the dew point is that of this pressure [Pa], about 1 % relative humidity."""


def emitted(water_temperature: Scalar) -> Scalar:
    """Radiation of the water [W m-2] at a temperature [degC]."""
    return EMISSIVITY * STEFAN_BOLTZMANN * (water_temperature + KELVIN) ** 4


def cloud_coefficient(latitude: Scalar) -> Scalar:
    """Weight of the squared cloud cover, tabulated for whole degrees of latitude [1].

    Source: Clark et al. (1974), as in GOTM: 0.497 at the equator to 0.919 at the poles, even steps.
    """
    return 0.497202 + 0.00468296 * jnp.floor(jnp.abs(latitude) + 0.5)


class AbstractLongwave(eqx.Module):
    """Net longwave radiation."""

    needs_cloud: ClassVar[bool]

    @abc.abstractmethod
    def net(
        self,
        water_temperature: Scalar,
        air: MoistAir,
        cloud: Scalar | float,
        latitude: Scalar | float,
        series: Scalar | float,
    ) -> Scalar:
        """Net radiation into the water [W m-2].

        Args:
            water_temperature: [degC].
            air: near the surface.
            cloud: cover from 0 to 1.
            latitude: [degrees north].
            series: the measured radiation [W m-2], where there is one.
        """


@named("clark")
class Clark(AbstractLongwave):
    """Source: Clark et al. (1974), NOAA Technical Report NMFS SSRF-682."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del series
        vapour = 0.39 - 0.05 * safe_sqrt(0.01 * air.vapour_pressure)
        return _cloudy(water_temperature, air, cloud, latitude, vapour)


@named("hastenrath_lamb")
class HastenrathLamb(AbstractLongwave):
    """Source: Hastenrath and Lamb (1978), Heat Budget Atlas of the Tropical Oceans."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del series
        vapour = 0.39 - 0.056 * safe_sqrt(1000.0 * air.specific_humidity)
        return _cloudy(water_temperature, air, cloud, latitude, vapour)


def _cloudy(water_temperature, air, cloud, latitude, vapour):
    kelvin = water_temperature + KELVIN
    clear = 1.0 - cloud_coefficient(latitude) * cloud * cloud
    warmer = 4.0 * kelvin**3 * (water_temperature - air.temperature)
    return -EMISSIVITY * STEFAN_BOLTZMANN * (clear * kelvin**4 * vapour + warmer)


@named("bignami")
class Bignami(AbstractLongwave):
    """For the Mediterranean. Source: Bignami et al. (1995), J. Geophys. Res. 100, 2501-2514."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del latitude, series
        received = (air.temperature + KELVIN) ** 4 * (0.653 + 0.00535 * 0.01 * air.vapour_pressure)
        return STEFAN_BOLTZMANN * (1.0 + 0.1762 * cloud * cloud) * received - emitted(water_temperature)


@named("berliand_berliand")
class BerliandBerliand(AbstractLongwave):
    """Source: Berliand and Berliand (1952), Izv. Akad. Nauk SSSR, Ser. Geofiz. 1, as used by ROMS."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del latitude, series
        kelvin = air.temperature + KELVIN
        vapour = 0.39 - 0.05 * safe_sqrt(0.01 * air.vapour_pressure)
        clear = (1.0 - 0.6823 * cloud * cloud) * kelvin**4 * vapour
        warmer = 4.0 * kelvin**3 * (water_temperature - air.temperature)
        return -EMISSIVITY * STEFAN_BOLTZMANN * (clear + warmer)


@named("josey1")
class Josey1(AbstractLongwave):
    """Without humidity. Source: Josey et al. (2003), J. Geophys. Res. 108, 3108, eq. 9."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del latitude, series
        return _sky(air.temperature + KELVIN + _cloud_warming(cloud)) - emitted(water_temperature)


@named("josey2")
class Josey2(AbstractLongwave):
    """With the dew point of the air. Source: Josey et al. (2003), J. Geophys. Res. 108, 3108, eq. 14."""

    needs_cloud = True

    def net(self, water_temperature, air, cloud, latitude, series):
        del latitude, series
        vapour_pressure = at_least(air.vapour_pressure, LEAST_VAPOUR_PRESSURE)
        dew_point = 34.07 + 4157.0 / jnp.log(2.1718e10 / vapour_pressure)
        kelvin = air.temperature + KELVIN
        vapour = 0.84 * (dew_point - kelvin + 4.01)
        return _sky(kelvin + _cloud_warming(cloud) + vapour) - emitted(water_temperature)


def _cloud_warming(cloud):
    """Effective temperature of the sky above that of the air [K]."""
    return (10.77 * cloud + 2.34) * cloud - 18.44


def _sky(kelvin):
    # A twentieth of what the sky sends is reflected.
    return 0.955 * STEFAN_BOLTZMANN * kelvin**4


@named("downward")
class DownwardLongwave(AbstractLongwave):
    """The measured radiation of the sky, less that of the water."""

    needs_cloud = False

    def net(self, water_temperature, air, cloud, latitude, series):
        del air, cloud, latitude
        return series - emitted(water_temperature)
