"""Vapour in the air: saturation, and what instruments measure of it.

Source of the saturation: Lowe (1977), J. Appl. Meteorol. 16, 100-103, with the further constants of GOTM.
"""

from typing import Literal

from .._types import Scalar
from ..numerics.limiters import reciprocal

HumidityMeasure = Literal["relative", "wet_bulb", "dew_point", "specific"]
"""Relative humidity [%], temperature of the wet bulb or of the dew point [degC], or mass [kg kg-1]."""

VAPOUR_RATIO = 0.62198
"""Molar mass of water over that of dry air [1]."""
GAS_CONSTANT = 287.1
"""Of dry air [J kg-1 K-1]."""

_LOWE = (
    6.107799961,
    4.436518521e-1,
    1.428945805e-2,
    2.650648471e-4,
    3.031240396e-6,
    2.034080948e-8,
    6.136820929e-11,
)


def saturation_vapour_pressure(temperature: Scalar) -> Scalar:
    """Vapour pressure over fresh water [Pa] at a temperature [degC]."""
    total = _LOWE[-1]
    for coefficient in reversed(_LOWE[:-1]):
        total = total * temperature + coefficient
    return 100.0 * total


def specific_humidity(vapour_pressure: Scalar, pressure: Scalar) -> Scalar:
    """Mass of vapour per mass of air [kg kg-1] from pressures [Pa]."""
    return VAPOUR_RATIO * vapour_pressure * reciprocal(pressure - 0.377 * vapour_pressure)


def vapour_pressure(
    humidity: Scalar, measure: HumidityMeasure, temperature: Scalar, pressure: Scalar
) -> Scalar:
    """Vapour pressure [Pa].

    Args:
        humidity: in the unit of the measure.
        measure: what is given.
        temperature: of the air [degC].
        pressure: of the air [Pa].
    """
    if measure == "relative":
        return 0.01 * humidity * saturation_vapour_pressure(temperature)
    if measure == "wet_bulb":
        depression = temperature - humidity
        psychrometer = 6.6e-4 * (1.0 + 1.15e-3 * humidity)
        return saturation_vapour_pressure(humidity) - psychrometer * pressure * depression
    if measure == "dew_point":
        return saturation_vapour_pressure(humidity)
    return humidity * pressure * reciprocal(VAPOUR_RATIO + 0.378 * humidity)


def air_density(temperature_kelvin: Scalar, humidity: Scalar, pressure: Scalar) -> Scalar:
    """Density of moist air [kg m-3] from temperature [K], specific humidity [kg kg-1] and pressure [Pa].

    The factor of the humidity is GOTM's, 0.622 where an ideal gas has 0.608: 0.02 % at most.
    """
    return pressure * reciprocal(GAS_CONSTANT * temperature_kelvin * (1.0 + VAPOUR_RATIO * humidity))
