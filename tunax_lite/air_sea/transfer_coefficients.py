"""Bulk formulae with transfer coefficients: Kondo's, by wind class, and those of Large and Yeager."""

import math

import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named
from ..numerics.elementary import at_least, at_most, reciprocal
from .air import (
    AIR_HEAT_CAPACITY,
    KARMAN,
    KELVIN,
    LAPSE_RATE,
    AbstractBulkFormula,
    AbstractSimilarity,
    Exchange,
    MoistAir,
    WaterSkin,
    bounded,
    inverse_obukhov_length,
    kansas_heat,
    kansas_momentum,
    virtual,
)

_CALM = 0.01
"""Lowest wind for the coefficients of `Kondo` [m s-1]; they diverge in calm weather."""
_CLASSES = (2.2, 5.0, 8.0, 25.0)  # upper bounds of the first four of five wind classes [m s-1]
# (a, b, c, p) of 1000 C = a + b w^p + c (w - 8 m/s)²: a, b, c by class; p in the lowest class, 1 elsewhere.
_DRAG = ((0.0, 0.771, 0.867, 1.2, 0.0), (1.08, 0.0858, 0.0667, 0.025, 0.073), None, -0.15)
_HEAT_C, _MOISTURE_C = (0.0, 0.0, 0.0, -0.00045, 0.0), (0.0, 0.0, 0.0, -0.0004, 0.0)
_HEAT = ((0.0, 0.927, 1.15, 1.17, 1.652), (1.185, 0.0546, 0.01, 0.0075, -0.017), _HEAT_C, -0.157)
_MOISTURE = ((0.0, 0.969, 1.18, 1.196, 1.68), (1.23, 0.0521, 0.01, 0.008, -0.016), _MOISTURE_C, -0.16)


def _of_class(wind: Scalar, values: tuple[float, ...]) -> Scalar | float:
    value_of_class = values[0]
    for bound, value in zip(_CLASSES, values[1:], strict=True):
        value_of_class = jnp.where(wind < bound, value_of_class, value)
    return value_of_class


def _neutral(wind: Scalar, table) -> Scalar:
    """Transfer coefficient for neutral air [1]."""
    a, b, c, exponent = table
    base = jnp.where(wind < _CLASSES[0], jnp.exp(exponent * jnp.log(wind)), wind)
    total = _of_class(wind, a) + _of_class(wind, b) * base
    if c is not None:
        total = total + _of_class(wind, c) * (wind - 8.0) ** 2
    return 1e-3 * total


@named("kondo")
class Kondo(AbstractBulkFormula):
    """Kondo's formulae for wind at 10 m, temperature and humidity at 2 m, with a correction for stability.

    Source: Kondo (1975), Boundary-Layer Meteorol. 9, 91-112, in GOTM's form.
    """

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        wind = at_least(air.wind_speed, _CALM)
        warmer = skin.temperature - air.temperature
        bulk = 0.25 * warmer / (wind * wind)
        magnitude = jnp.abs(bulk)
        # Root of the stability parameter s = bulk |bulk| / (|bulk| + 0.01), without the infinite slope at 0.
        root = magnitude / jnp.sqrt(magnitude + 0.01)
        stable = at_most(bulk * magnitude / (magnitude + 0.01), 0.0)
        stable_factor = jnp.where(stable > -3.3, 0.1 + 0.03 * stable + 0.9 * jnp.exp(4.8 * stable), 0.0)
        unstable = bulk >= 0.0
        drag = _neutral(wind, _DRAG) * jnp.where(unstable, 1.0 + 0.47 * root, stable_factor)
        scalar_factor = jnp.where(unstable, 1.0 + 0.63 * root, stable_factor)
        transport = air.density * air.wind_speed
        heat = _neutral(wind, _HEAT) * scalar_factor * transport
        moisture = _neutral(wind, _MOISTURE) * scalar_factor * transport
        vaporisation_heat = 2.5e6 - 2340.0 * skin.temperature
        water = moisture * (air.specific_humidity - skin.specific_humidity)
        return Exchange(
            momentum_transfer=drag * transport,
            sensible_heat=-AIR_HEAT_CAPACITY * heat * warmer,
            latent_heat=vaporisation_heat * water,
            water=water,
            vaporisation_heat=vaporisation_heat,
        )


_SLOWEST, _SLOWEST_NEUTRAL = 0.5, 0.25  # minimum wind, and minimum equivalent neutral wind at 10 m [m s-1]
_LARGEST_ZETA = 10.0
_LEAST_TRANSFER = 1e-4  # minimum transfer coefficient [1]
_CYCLONE = 33.0  # wind above which the drag coefficient is constant [m s-1]


def neutral_drag(wind: Scalar) -> Scalar:
    """Neutral drag coefficient at 10 m for a neutral wind [m s-1] above 0.

    Source: Large and Yeager (2009), Climate Dynamics 33, 341-364, eq. 11.
    """
    below = at_most(wind, _CYCLONE)
    cubed = below * below * below
    drag = 2.7 * reciprocal(below) + 0.142 + below / 13.09 - 3.14807e-10 * cubed * cubed
    return 1e-3 * jnp.where(wind < _CYCLONE, drag, 2.34)


def _psi(zeta: Scalar, kansas) -> Scalar:
    unstable = kansas(jnp.sqrt(1.0 - 16.0 * at_most(zeta, 0.0)))
    return jnp.where(zeta > 0.0, -5.0 * zeta, unstable)


def _neutral_transfer(root: Scalar, stability: Scalar) -> tuple[Scalar, Scalar]:
    """Neutral coefficients of heat and vapour from the square root of the neutral drag."""
    return 1e-3 * root * jnp.where(stability >= 0.0, 18.0, 32.7), 34.6e-3 * root


@named("large_yeager")
class LargeYeager(AbstractSimilarity):
    """Bulk formulae of CORE and JRA55-do: neutral coefficients at 10 m, corrected for stability.

    Source: Large and Yeager (2004), NCAR Technical Note 460, and (2009), in the form of AeroBulk.
    """

    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        skin_kelvin = skin.temperature + KELVIN
        potential = air.temperature + KELVIN + LAPSE_RATE * self.air_height
        speed = at_least(air.wind_speed, _SLOWEST)
        air_excess = virtual(potential, air.specific_humidity) - virtual(skin_kelvin, skin.specific_humidity)
        drag = neutral_drag(speed)
        heat, moisture = _neutral_transfer(jnp.sqrt(drag), air_excess)
        ratio = self.air_height / self.wind_height
        log_ratio = math.log(self.wind_height / 10.0)

        def iterate(coefficients):
            drag, heat, moisture, kelvin, humidity = coefficients
            root = jnp.sqrt(drag)
            inverse_root = reciprocal(root)
            temperature_scale = heat * inverse_root * (kelvin - skin.temperature - KELVIN)
            humidity_scale = moisture * inverse_root * (humidity - skin.specific_humidity)
            scales = root * speed, temperature_scale, humidity_scale
            inverse_length = inverse_obukhov_length(kelvin, humidity, *scales)
            zeta = bounded(self.wind_height * inverse_length, _LARGEST_ZETA)
            zeta_air = bounded(self.air_height * inverse_length, _LARGEST_ZETA)
            psi_m, psi_h = _psi(zeta, kansas_momentum), _psi(zeta, kansas_heat)
            if self.wind_height != self.air_height:
                shift = math.log(ratio) + psi_h - _psi(zeta_air, kansas_heat)
                kelvin = potential - temperature_scale / KARMAN * shift
                humidity = at_least(air.specific_humidity - humidity_scale / KARMAN * shift, 0.0)
            neutral_wind = speed * (1.0 - root / KARMAN * (log_ratio - psi_m))
            neutral = neutral_drag(at_least(neutral_wind, _SLOWEST_NEUTRAL))
            neutral_root = jnp.sqrt(neutral)
            profile = 1.0 + neutral_root / KARMAN * (log_ratio - psi_m)
            drag = at_least(neutral / (profile * profile), _LEAST_TRANSFER)
            drag_ratio = jnp.sqrt(drag) / neutral_root
            stability = (log_ratio - psi_h) / (KARMAN * neutral_root)
            heat, moisture = (
                at_least(transfer * drag_ratio / (1.0 + transfer * stability), _LEAST_TRANSFER)
                for transfer in _neutral_transfer(neutral_root, zeta)
            )
            return drag, heat, moisture, kelvin, humidity

        first = (drag, heat, moisture, potential, air.specific_humidity)
        drag, heat, moisture, kelvin, humidity = self._iterated(iterate, first, air)
        root = jnp.sqrt(drag)
        inverse = reciprocal(root)
        temperature_scale = heat * inverse * (kelvin - skin_kelvin)
        humidity_scale = moisture * inverse * (humidity - skin.specific_humidity)
        scales = root * speed, temperature_scale, humidity_scale
        return self._exchange(scales, (speed, kelvin, humidity), air, skin)
