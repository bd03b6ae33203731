"""Constants and relations of the air that COARE 3 and NCAR share, as in AeroBulk."""

from .._types import Scalar
from ..numerics.limiters import at_least, at_most, reciprocal
from .base import Exchange, MoistAir, WaterSkin

GRAVITY = 9.8
"""[m s-2]"""
KARMAN = 0.4
GAS_CONSTANT = 287.05
"""Of dry air [J kg-1 K-1]."""
VIRTUAL = 461.495 / GAS_CONSTANT - 1.0
"""Excess of the virtual temperature per specific humidity [1]."""
DRY_HEAT_CAPACITY = 1005.0
VAPOUR_HEAT_CAPACITY = 1860.0
"""[J kg-1 K-1]"""
LAPSE_RATE = GRAVITY / DRY_HEAT_CAPACITY
"""Dry-adiabatic [K m-1]."""


def virtual(kelvin: Scalar, humidity: Scalar) -> Scalar:
    """Virtual temperature [K]."""
    return kelvin * (1.0 + VIRTUAL * humidity)


def bounded(value: Scalar, largest: float) -> Scalar:
    """The value within +- `largest`."""
    return at_most(at_least(value, -largest), largest)


def inverse_obukhov_length(
    kelvin: Scalar, humidity: Scalar, friction: Scalar, temperature_scale: Scalar, humidity_scale: Scalar
) -> Scalar:
    """1 / L [m-1] from the state of the air and the turbulent scales; within +- 200 m-1."""
    humid = 1.0 + VIRTUAL * humidity
    buoyant = temperature_scale * humid + VIRTUAL * kelvin * humidity_scale
    inertia = at_least(friction * friction * kelvin * humid, 1e-9)
    return bounded(GRAVITY * KARMAN * buoyant * reciprocal(inertia), 200.0)


def air_density(kelvin: Scalar, humidity: Scalar, pressure: Scalar) -> Scalar:
    """Density of moist air [kg m-3]."""
    return pressure * reciprocal(GAS_CONSTANT * virtual(kelvin, humidity))


def fluxes_of_scales(
    friction: Scalar,
    temperature_scale: Scalar,
    humidity_scale: Scalar,
    speed: Scalar,
    kelvin: Scalar,
    humidity: Scalar,
    height: float,
    air: MoistAir,
    skin: WaterSkin,
) -> Exchange:
    """Fluxes from the turbulent scales.

    Args:
        friction, temperature_scale, humidity_scale: u* [m s-1], theta* [K], q* [kg kg-1].
        speed: bulk wind, gusts included [m s-1].
        kelvin, humidity: of the air at the height of the wind [K, kg kg-1].
        height: of the wind [m].
        air, skin: as the bulk formula got them.
    """
    density = air_density(kelvin, humidity, air.pressure)
    density = air_density(kelvin, humidity, air.pressure - density * GRAVITY * height)
    heat_capacity = DRY_HEAT_CAPACITY + VAPOUR_HEAT_CAPACITY * humidity
    vaporisation_heat = 2.501e6 - 2370.0 * skin.temperature
    water = density * friction * humidity_scale
    return Exchange(
        momentum_transfer=density * friction * friction * reciprocal(speed),
        sensible_heat=density * heat_capacity * friction * temperature_scale,
        latent_heat=vaporisation_heat * water,
        water=water,
        vaporisation_heat=vaporisation_heat,
    )
