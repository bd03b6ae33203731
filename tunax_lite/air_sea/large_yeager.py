"""Bulk formulae of Large and Yeager, used by NCAR: neutral coefficients at 10 m, shifted in stability."""

import math

import jax
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named, setting
from ..numerics.limiters import at_least, at_most, reciprocal
from .base import KELVIN, AbstractBulkFormula, Exchange, MoistAir, WaterSkin
from .boundary_layer import (
    KARMAN,
    LAPSE_RATE,
    bounded,
    fluxes_of_scales,
    inverse_obukhov_length,
    virtual,
)
from .similarity import kansas_heat, kansas_momentum

SLOWEST, SLOWEST_NEUTRAL = 0.5, 0.25
"""Least wind, and least equivalent neutral wind at 10 m [m s-1]."""
LARGEST_ZETA = 10.0
LEAST_TRANSFER = 1e-4
"""Least transfer coefficient [1]."""
CYCLONE = 33.0
"""Wind from which on the drag does not change [m s-1]."""


def neutral_drag(wind: Scalar) -> Scalar:
    """Neutral drag coefficient at 10 m for the neutral wind there [m s-1]; the wind is not 0.

    Source: Large and Yeager (2009), Climate Dynamics 33, 341-364, eq. 11.
    """
    below = at_most(wind, CYCLONE)
    cubed = below * below * below
    drag = 2.7 * reciprocal(below) + 0.142 + below / 13.09 - 3.14807e-10 * cubed * cubed
    return 1e-3 * jnp.where(wind < CYCLONE, drag, 2.34)


def _psi(zeta: Scalar, kansas) -> Scalar:
    unstable = kansas(jnp.sqrt(1.0 - 16.0 * at_most(zeta, 0.0)))
    return jnp.where(zeta > 0.0, -5.0 * zeta, unstable)


@named("large_yeager")
class LargeYeager(AbstractBulkFormula):
    """Bulk formulae of CORE and of JRA55-do.

    Args:
        wind_height: of the wind [m].
        air_height: of temperature and humidity [m].
        iterations: a fixed number.

    Source: Large and Yeager (2004), NCAR Technical Note 460, and (2009), in the form of AeroBulk.
    """

    wind_height: float = setting(10.0, above=0.1, at_most=1000.0)
    air_height: float = setting(2.0, above=0.1, at_most=1000.0)
    iterations: int = setting(10, at_least=1, at_most=100, null_is_default=True)

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        skin_kelvin = skin.temperature + KELVIN
        potential = air.temperature + KELVIN + LAPSE_RATE * self.air_height
        speed = at_least(air.wind_speed, SLOWEST)
        lighter = virtual(potential, air.specific_humidity) - virtual(skin_kelvin, skin.specific_humidity)
        drag = neutral_drag(speed)
        root = jnp.sqrt(drag)
        heat, moisture = self._neutral_transfer(root, lighter)
        first = (drag, heat, moisture, potential, air.specific_humidity)
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*first, air.pressure)))

        def iterate(_, coefficients):
            return self._iterate(coefficients, speed, air, skin, potential)

        first = tuple(jnp.broadcast_to(x, shape) for x in first)
        drag, heat, moisture, kelvin, humidity = jax.lax.fori_loop(0, self.iterations, iterate, first)
        root = jnp.sqrt(drag)
        inverse = reciprocal(root)
        return fluxes_of_scales(
            root * speed,
            heat * inverse * (kelvin - skin_kelvin),
            moisture * inverse * (humidity - skin.specific_humidity),
            speed,
            kelvin - LAPSE_RATE * self.wind_height,
            humidity,
            self.wind_height,
            air,
            skin,
        )

    def _neutral_transfer(self, root: Scalar, stability: Scalar) -> tuple[Scalar, Scalar]:
        """Neutral coefficients of heat and vapour from the root of the neutral drag."""
        return 1e-3 * root * jnp.where(stability >= 0.0, 18.0, 32.7), 34.6e-3 * root

    def _iterate(
        self,
        coefficients: tuple[Scalar, ...],
        speed: Scalar,
        air: MoistAir,
        skin: WaterSkin,
        potential: Scalar,
    ) -> tuple[Scalar, ...]:
        drag, heat, moisture, kelvin, humidity = coefficients
        root = jnp.sqrt(drag)
        inverse_root = reciprocal(root)
        temperature_scale = heat * inverse_root * (kelvin - skin.temperature - KELVIN)
        humidity_scale = moisture * inverse_root * (humidity - skin.specific_humidity)
        inverse_length = inverse_obukhov_length(
            kelvin, humidity, root * speed, temperature_scale, humidity_scale
        )
        zeta = bounded(self.wind_height * inverse_length, LARGEST_ZETA)
        zeta_air = bounded(self.air_height * inverse_length, LARGEST_ZETA)
        psi_m, psi_h = _psi(zeta, kansas_momentum), _psi(zeta, kansas_heat)
        if self.wind_height != self.air_height:
            shift = math.log(self.air_height / self.wind_height) + psi_h - _psi(zeta_air, kansas_heat)
            kelvin = potential - temperature_scale / KARMAN * shift
            humidity = at_least(air.specific_humidity - humidity_scale / KARMAN * shift, 0.0)
        above = math.log(self.wind_height / 10.0)
        neutral_wind = speed * (1.0 - root / KARMAN * (above - psi_m))
        neutral = neutral_drag(at_least(neutral_wind, SLOWEST_NEUTRAL))
        neutral_root = jnp.sqrt(neutral)
        shifted = 1.0 + neutral_root / KARMAN * (above - psi_m)
        drag = at_least(neutral / (shifted * shifted), LEAST_TRANSFER)
        neutral_heat, neutral_moisture = self._neutral_transfer(neutral_root, zeta)
        ratio = jnp.sqrt(drag) / neutral_root
        stability = (above - psi_h) / (KARMAN * neutral_root)

        def shift_transfer(transfer):
            return at_least(transfer * ratio / (1.0 + transfer * stability), LEAST_TRANSFER)

        return drag, shift_transfer(neutral_heat), shift_transfer(neutral_moisture), kelvin, humidity
