"""Bulk formulae of Kondo (1975): transfer coefficients in five classes of wind, closed in the stability."""

import jax.numpy as jnp

from .._types import Scalar
from ..declarations import named
from ..numerics.limiters import at_least, at_most
from .base import AbstractBulkFormula, Exchange, MoistAir, WaterSkin

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
