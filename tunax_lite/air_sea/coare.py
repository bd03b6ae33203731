"""Bulk formulae COARE 3.0 and 3.6: similarity with gustiness and a Charnock number that grows with the wind.

Temperature and humidity are moved from their height to that of the wind, and the fluxes taken there. The cool
skin and the warm layer are not part of it: the temperature of the water is that of the uppermost cell.
"""

import abc
import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named, setting
from ..numerics.limiters import at_least, at_most, reciprocal
from .base import KELVIN, AbstractBulkFormula, Exchange, MoistAir, WaterSkin
from .boundary_layer import (
    GRAVITY,
    KARMAN,
    LAPSE_RATE,
    bounded,
    fluxes_of_scales,
    inverse_obukhov_length,
    virtual,
)
from .similarity import blend, convective, gust_squared, kansas_heat, kansas_momentum

BOUNDARY_LAYER = 600.0
"""Height of the atmospheric boundary layer [m]."""
SLOWEST = 0.2
"""Least bulk wind, gusts included [m s-1]."""
LARGEST_ZETA = 50.0


class _Scales(NamedTuple):
    friction: Scalar
    temperature: Scalar
    humidity: Scalar
    log_roughness: Scalar
    air_kelvin: Scalar
    air_humidity: Scalar
    speed: Scalar


def _stable(zeta: Scalar, profile: Scalar) -> Scalar:
    decay = jnp.exp(-at_most(0.35 * zeta, 50.0))
    return -(profile + 0.6667 * (zeta - 14.28) * decay + 8.525)


def psi_momentum(zeta: Scalar) -> Scalar:
    """Stability function of momentum."""
    negative, positive = at_most(zeta, 0.0), at_least(zeta, 0.0)
    kansas = kansas_momentum(jnp.sqrt(1.0 - 15.0 * negative))
    unstable = blend(negative, kansas, convective(1.0 - 10.15 * negative))
    return jnp.where(zeta < 0.0, unstable, _stable(positive, 1.0 + positive))


def psi_heat(zeta: Scalar) -> Scalar:
    """Stability function of heat and vapour."""
    negative, positive = at_most(zeta, 0.0), at_least(zeta, 0.0)
    kansas = kansas_heat(jnp.sqrt(1.0 - 15.0 * negative))
    unstable = blend(negative, kansas, convective(1.0 - 34.15 * negative))
    base = 1.0 + positive * (2.0 / 3.0)
    return jnp.where(zeta < 0.0, unstable, _stable(positive, base * jnp.sqrt(base)))


class _Coare(AbstractBulkFormula):
    wind_height: eqx.AbstractVar[float]
    air_height: eqx.AbstractVar[float]
    iterations: eqx.AbstractVar[int]
    gustiness: ClassVar[float]

    @abc.abstractmethod
    def charnock(self, neutral_wind: Scalar) -> Scalar:
        """Charnock number for the neutral wind at 10 m [m s-1]."""

    @abc.abstractmethod
    def log_scalar_roughness(self, log_reynolds: Scalar) -> Scalar:
        """Logarithm of the roughness length for heat and vapour [m]."""

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        potential = air.temperature + KELVIN + LAPSE_RATE * self.air_height
        t = air.temperature + LAPSE_RATE * self.air_height
        viscosity = 1.326e-5 * (1.0 + t * (6.542e-3 + t * (8.301e-6 - 4.84e-9 * t)))
        first = self._first_guess(air, skin, potential, viscosity)

        def iterate(_, scales):
            return self._iterate(scales, air, skin, potential, viscosity)

        scales = jax.lax.fori_loop(0, self.iterations, iterate, first)
        return fluxes_of_scales(
            scales.friction,
            scales.temperature,
            scales.humidity,
            scales.speed,
            scales.air_kelvin - LAPSE_RATE * self.wind_height,
            scales.air_humidity,
            self.wind_height,
            air,
            skin,
        )

    def _first_guess(self, air: MoistAir, skin: WaterSkin, potential: Scalar, viscosity: Scalar) -> _Scales:
        height, skin_kelvin = self.wind_height, skin.temperature + KELVIN
        speed = jnp.sqrt(air.wind_speed**2 + 0.25)
        friction = 0.035 * math.log(10.0 / 1e-4) / math.log(height / 1e-4) * speed
        charnock = self.charnock(air.wind_speed)
        log_roughness = self._log_roughness(charnock, friction, viscosity)
        profile = math.log(height) - log_roughness
        # Roughness of heat from a neutral transfer coefficient of 1.15e-3.
        neutral = (math.log(10.0) - log_roughness) / KARMAN
        log_scalar = math.log(10.0) - KARMAN / 0.00115 * reciprocal(neutral)
        log_scalar = at_least(log_scalar, math.log(1e-8))
        virtual_skin = virtual(skin_kelvin, skin.specific_humidity)
        virtual_air = virtual(potential, air.specific_humidity)
        layer = 0.5 * (virtual_skin + virtual(potential - LAPSE_RATE * height, air.specific_humidity))
        richardson = GRAVITY * height * (virtual_air - virtual_skin) / (layer * speed**2)
        slope = profile**2 / (math.log(self.air_height) - log_scalar) * richardson
        # Fairall et al. (2003), eq. 21: the bulk number at which convection takes over from shear.
        saturation = -height / (BOUNDARY_LAYER * 0.004 * 1.2**3)
        unstable = slope / (1.0 + at_most(richardson, 0.0) / saturation)
        zeta = jnp.where(richardson < 0.0, unstable, slope + 3.0 * richardson**2)
        friction = at_least(KARMAN * speed / (profile - psi_momentum(zeta)), 1e-9)
        transfer = KARMAN / (math.log(height) - log_scalar - psi_heat(zeta))
        lower = self.air_height / height
        shift = math.log(lower) + psi_heat(zeta) - psi_heat(lower * zeta)
        warmer = potential - skin_kelvin
        moister = air.specific_humidity - skin.specific_humidity
        # Moving air from its height to that of the wind changes the difference to the water.
        raised = 1.0 - transfer / KARMAN * shift
        return _Scales(
            friction=friction,
            temperature=transfer * warmer * raised,
            humidity=transfer * moister * raised,
            log_roughness=self._log_roughness(charnock, friction, viscosity),
            air_kelvin=skin_kelvin + warmer * raised,
            air_humidity=skin.specific_humidity + moister * raised,
            speed=speed + 0.0 * raised,
        )

    def _log_roughness(self, charnock: Scalar, friction: Scalar, viscosity: Scalar) -> Scalar:
        roughness = charnock * friction * friction / GRAVITY + 0.11 * viscosity / friction
        return jnp.log(at_most(at_least(roughness, 1e-9), 1.0))

    def _iterate(
        self, scales: _Scales, air: MoistAir, skin: WaterSkin, potential: Scalar, viscosity: Scalar
    ) -> _Scales:
        friction = scales.friction
        inverse_length = inverse_obukhov_length(
            scales.air_kelvin, scales.air_humidity, friction, scales.temperature, scales.humidity
        )
        buoyant = -BOUNDARY_LAYER / KARMAN * inverse_length
        gust = gust_squared(buoyant, self.gustiness**2 * friction * friction)
        speed = jnp.sqrt(at_least(air.wind_speed**2 + gust, SLOWEST**2))
        zeta = bounded(self.wind_height * inverse_length, LARGEST_ZETA)
        zeta_air = bounded(self.air_height * inverse_length, LARGEST_ZETA)
        neutral_wind = friction / KARMAN * (math.log(10.0) - scales.log_roughness)
        log_roughness = self._log_roughness(self.charnock(neutral_wind), friction, viscosity)
        log_reynolds = log_roughness + jnp.log(friction) - jnp.log(viscosity)
        log_scalar = at_least(self.log_scalar_roughness(log_reynolds), math.log(1e-9))
        psi_h = psi_heat(zeta)
        transfer = KARMAN / (math.log(self.wind_height) - log_scalar - psi_h)
        temperature_scale = transfer * (scales.air_kelvin - skin.temperature - KELVIN)
        humidity_scale = transfer * (scales.air_humidity - skin.specific_humidity)
        profile = math.log(self.wind_height) - log_roughness - psi_momentum(zeta)
        shift = math.log(self.air_height / self.wind_height) + psi_h - psi_heat(zeta_air)
        return _Scales(
            friction=at_least(KARMAN * speed / profile, 1e-9),
            temperature=temperature_scale,
            humidity=humidity_scale,
            log_roughness=log_roughness,
            air_kelvin=potential - temperature_scale / KARMAN * shift,
            air_humidity=air.specific_humidity - humidity_scale / KARMAN * shift,
            speed=speed,
        )


@named("coare30")
class Coare30(_Coare):
    """COARE 3.0.

    Args:
        wind_height: of the wind [m].
        air_height: of temperature and humidity [m].
        iterations: a fixed number.

    Source: Fairall et al. (2003), J. Climate 16, 571-591, in the form of AeroBulk.
    """

    gustiness = 1.25
    wind_height: float = setting(10.0, above=0.1, at_most=1000.0)
    air_height: float = setting(2.0, above=0.1, at_most=1000.0)
    iterations: int = setting(10, at_least=1, at_most=100, null_is_default=True)

    def charnock(self, neutral_wind: Scalar) -> Scalar:
        return 0.011 + (0.018 - 0.011) / 8.0 * at_most(at_least(neutral_wind - 10.0, 0.0), 8.0)

    def log_scalar_roughness(self, log_reynolds: Scalar) -> Scalar:
        return at_most(math.log(5.5e-5) - 0.6 * log_reynolds, math.log(1.1e-4))


@named("coare36")
class Coare36(_Coare):
    """COARE 3.6.

    Args:
        wind_height: of the wind [m].
        air_height: of temperature and humidity [m].
        iterations: a fixed number.

    Source: Edson et al. (2013), J. Phys. Oceanogr. 43, 1589-1610, in the form of AeroBulk.
    """

    gustiness = 1.2
    wind_height: float = setting(10.0, above=0.1, at_most=1000.0)
    air_height: float = setting(2.0, above=0.1, at_most=1000.0)
    iterations: int = setting(10, at_least=1, at_most=100, null_is_default=True)

    def charnock(self, neutral_wind: Scalar) -> Scalar:
        return at_least(at_most(0.0017 * neutral_wind - 0.005, 0.028), 0.0)

    def log_scalar_roughness(self, log_reynolds: Scalar) -> Scalar:
        return at_most(math.log(5.8e-5) - 0.72 * log_reynolds, math.log(1.6e-4))
