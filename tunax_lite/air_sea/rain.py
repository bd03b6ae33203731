"""Heat and momentum that rain brings.

Source: Gosnell et al. (1995), J. Geophys. Res. 100, 18437-18442, for the heat; Caldwell and Elliott (1971),
J. Phys. Oceanogr. 1, 145-148, for the momentum; GOTM.
"""

import jax.numpy as jnp

from .._types import Scalar
from ..numerics.limiters import reciprocal
from .base import KELVIN, MoistAir, WaterSkin
from .humidity import GAS_CONSTANT, VAPOUR_RATIO

FRESHWATER_DENSITY = 1000.0
"""[kg m-3]"""
RAIN_SPEED_RATIO = 0.85
"""Horizontal speed of rain over that of the wind at 10 m [1]."""
_RAIN_HEAT_CAPACITY = 3985.0
_AIR_HEAT_CAPACITY = 1008.0


def rain_heat(rain: Scalar, air: MoistAir, skin: WaterSkin, vaporisation_heat: Scalar) -> Scalar:
    """Heat into the water [W m-2] by rain [kg m-2 s-1] that falls at the temperature of the wet bulb."""
    kelvin, t = air.temperature + KELVIN, air.temperature
    vapour_diffusivity = 2.11e-5 * jnp.exp(1.94 * jnp.log(kelvin / KELVIN))
    conductivity = 0.02411 * (1.0 + t * (3.309e-3 - 1.44e-6 * t))
    heat_diffusivity = conductivity * reciprocal(air.density * _AIR_HEAT_CAPACITY)
    slope = air.specific_humidity * vaporisation_heat * reciprocal(GAS_CONSTANT * kelvin * kelvin)
    moist = slope * vaporisation_heat * vapour_diffusivity
    factor = 1.0 + VAPOUR_RATIO * moist * reciprocal(_AIR_HEAT_CAPACITY * heat_diffusivity)
    moister = skin.specific_humidity - air.specific_humidity
    colder = skin.temperature - t + moister * vaporisation_heat * (1.0 / _AIR_HEAT_CAPACITY)
    return -rain * _RAIN_HEAT_CAPACITY * colder * reciprocal(factor)
