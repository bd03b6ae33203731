"""Bulk formulae with transfer coefficients: those of Kondo, in classes of wind, and of Large and Yeager."""

import math

import jax
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, reciprocal
from .air import (
    KARMAN,
    KELVIN,
    LAPSE_RATE,
    AbstractBulkFormula,
    Exchange,
    MoistAir,
    WaterSkin,
    bounded,
    fluxes_of_scales,
    inverse_obukhov_length,
    kansas_heat,
    kansas_momentum,
    virtual,
)

AIR_HEAT_CAPACITY = 1008.0
"""[J kg-1 K-1]"""
CALM = 0.01
"""Wind below which the coefficients are those of this wind [m s-1]; they diverge as the wind goes to 0."""

_CLASSES = (2.2, 5.0, 8.0, 25.0)
# 1000 C = a + b w^p + c (w - 8 m/s)², p = 1 but in the lowest class.
_DRAG = ((0.0, 0.771, 0.867, 1.2, 0.0), (1.08, 0.0858, 0.0667, 0.025, 0.073), None, -0.15)
_HEAT = (
    (0.0, 0.927, 1.15, 1.17, 1.652),
    (1.185, 0.0546, 0.01, 0.0075, -0.017),
    (0.0, 0.0, 0.0, -0.00045, 0.0),
    -0.157,
)
_MOISTURE = (
    (0.0, 0.969, 1.18, 1.196, 1.68),
    (1.23, 0.0521, 0.01, 0.008, -0.016),
    (0.0, 0.0, 0.0, -0.0004, 0.0),
    -0.16,
)


def _of_class(wind: Scalar, values: tuple[float, ...]) -> Scalar | float:
    chosen = values[0]
    for bound, value in zip(_CLASSES, values[1:], strict=True):
        chosen = jnp.where(wind < bound, chosen, value)
    return chosen


def _neutral(wind: Scalar, table) -> Scalar:
    """Transfer coefficient in neutral air [1]."""
    a, b, c, exponent = table
    base = jnp.where(wind < _CLASSES[0], jnp.exp(exponent * jnp.log(wind)), wind)
    total = _of_class(wind, a) + _of_class(wind, b) * base
    if c is not None:
        total = total + _of_class(wind, c) * (wind - 8.0) ** 2
    return 1e-3 * total


@named("kondo")
class Kondo(AbstractBulkFormula):
    """Wind at 10 m, temperature and humidity at 2 m.

    Source: Kondo (1975), Boundary-Layer Meteorol. 9, 91-112; GOTM's form of it.
    """

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        wind = at_least(air.wind_speed, CALM)
        warmer = skin.temperature - air.temperature
        bulk = 0.25 * warmer / (wind * wind)
        size = jnp.abs(bulk)
        # The root of the stability parameter s = bulk |bulk| / (|bulk| + 0.01), without a root of 0.
        root = size / jnp.sqrt(size + 0.01)
        stable = at_most(bulk * size / (size + 0.01), 0.0)
        damped = jnp.where(stable > -3.3, 0.1 + 0.03 * stable + 0.9 * jnp.exp(4.8 * stable), 0.0)
        unstable = bulk >= 0.0
        drag = _neutral(wind, _DRAG) * jnp.where(unstable, 1.0 + 0.47 * root, damped)
        enhanced = jnp.where(unstable, 1.0 + 0.63 * root, damped)
        transport = air.density * air.wind_speed
        heat = _neutral(wind, _HEAT) * enhanced * transport
        moisture = _neutral(wind, _MOISTURE) * enhanced * transport
        vaporisation_heat = 2.5e6 - 2340.0 * skin.temperature
        water = moisture * (air.specific_humidity - skin.specific_humidity)
        return Exchange(
            momentum_transfer=drag * transport,
            sensible_heat=-AIR_HEAT_CAPACITY * heat * warmer,
            latent_heat=vaporisation_heat * water,
            water=water,
            vaporisation_heat=vaporisation_heat,
        )


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
