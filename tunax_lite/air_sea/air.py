"""Moist air near the surface: humidity, input and output of a bulk formula, and functions that they share.

Source: Lowe (1977), J. Appl. Meteorol. 16, 100-103, for the saturation vapour pressure, with further
constants from GOTM; AeroBulk for the constants and relations of COARE 3 and NCAR.
"""

import abc
import math
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Scalar
from ..declarations import setting
from ..numerics.elementary import at_least, at_most, horner, reciprocal
from ..numerics.fixed_point import Values, fixed_point

HumidityMeasure = Literal["relative", "wet_bulb", "dew_point", "specific"]
"""Relative humidity [%], wet-bulb or dew-point temperature [degC], or specific humidity [kg kg-1]."""
KELVIN = 273.15  # 0 degC [K]
SALT_FACTOR = 0.98  # vapour pressure over sea water relative to that over fresh water [1]
VAPOUR_RATIO = 0.62198  # molar mass of water over that of dry air [1]
GAS_CONSTANT = 287.1  # of dry air [J kg-1 K-1]
AIR_HEAT_CAPACITY = 1008.0  # [J kg-1 K-1]
# The constants above are GOTM's; those of AeroBulk follow, for COARE 3 and NCAR.
GRAVITY, KARMAN = 9.8, 0.4  # [m s-2, 1]
_GAS_CONSTANT = 287.05
VIRTUAL = 461.495 / _GAS_CONSTANT - 1.0  # excess of the virtual temperature per specific humidity [1]
DRY_HEAT_CAPACITY, VAPOUR_HEAT_CAPACITY = 1005.0, 1860.0  # [J kg-1 K-1]
LAPSE_RATE = GRAVITY / DRY_HEAT_CAPACITY  # dry-adiabatic [K m-1]
_LOWE = (6.107799961, 0.4436518521, 0.01428945805, 2.650648471e-4)
_LOWE += (3.031240396e-6, 2.034080948e-8, 6.136820929e-11)


def saturation_vapour_pressure(temperature: Scalar) -> Scalar:
    """Vapour pressure over fresh water [Pa] at a temperature [degC]."""
    return 100.0 * horner(_LOWE, temperature)


def specific_humidity(vapour_pressure: Scalar, pressure: Scalar) -> Scalar:
    """Mass of vapour per mass of air [kg kg-1] from pressures [Pa], with the constants of GOTM."""
    return VAPOUR_RATIO * vapour_pressure * reciprocal(pressure - 0.377 * vapour_pressure)


def vapour_pressure(
    humidity: Scalar, measure: HumidityMeasure, temperature: Scalar, pressure: Scalar
) -> Scalar:
    """Vapour pressure [Pa] from a measure of humidity, temperature [degC] and pressure [Pa] of the air."""
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

    The humidity factor is GOTM's 0.622; an ideal gas has 0.608. The density differs by less than 0.05 %.
    """
    return pressure * reciprocal(GAS_CONSTANT * temperature_kelvin * (1.0 + VAPOUR_RATIO * humidity))


class MoistAir(NamedTuple):
    """Air near the surface."""

    wind_u: Scalar  # relative to the water [m s-1]
    wind_v: Scalar
    wind_speed: Scalar  # magnitude of the relative wind, with unresolved wind [m s-1]
    temperature: Scalar  # [degC]
    vapour_pressure: Scalar  # [Pa]
    specific_humidity: Scalar  # [kg kg-1]
    pressure: Scalar  # at the surface [Pa]
    density: Scalar  # [kg m-3]


class WaterSkin(NamedTuple):
    """Water in contact with air: temperature [degC] and saturation specific humidity above it [kg kg-1]."""

    temperature: Scalar
    specific_humidity: Scalar

    @classmethod
    def at(cls, temperature: Scalar, pressure: Scalar) -> "WaterSkin":
        """Skin at a temperature [degC], with saturated air at a pressure [Pa]."""
        vapour_pressure = SALT_FACTOR * saturation_vapour_pressure(temperature)
        return cls(temperature, specific_humidity(vapour_pressure, pressure))


class Exchange(NamedTuple):
    """Turbulent fluxes between air and water, positive into the water."""

    momentum_transfer: Scalar  # stress per relative wind [kg m-2 s-1]
    sensible_heat: Scalar  # [W m-2]
    latent_heat: Scalar  # [W m-2]
    water: Scalar  # condensation minus evaporation [kg m-2 s-1], negative where water evaporates
    vaporisation_heat: Scalar  # [J kg-1]


class AbstractBulkFormula(eqx.Module):
    """Turbulent fluxes from the state of the air and the temperature of the water."""

    @abc.abstractmethod
    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        """Fluxes at one time, for a column or a batch."""


Scales = tuple[Scalar, Scalar, Scalar]


class AbstractSimilarity(AbstractBulkFormula):
    """A bulk formula that iterates between fluxes and stability.

    Args:
        wind_height: measurement height of the wind [m].
        air_height: measurement height of temperature and humidity [m].
        iterations: largest number of iterations; each column stops when it has converged.
    """

    wind_height: float = setting(10.0, above=0.1, at_most=1000.0)
    air_height: float = setting(2.0, above=0.1, at_most=1000.0)
    iterations: int = setting(10, at_least=1, at_most=100)

    def _iterated(self, iterate, first: Values, air: MoistAir) -> Values:
        """Iterate from a first guess until each column has converged."""
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*first, air.pressure)))
        return fixed_point(
            iterate, jax.tree.map(lambda x: jnp.broadcast_to(x, shape), first), self.iterations
        )

    def _exchange(self, scales: Scales, at_wind_height: Scales, air: MoistAir, skin: WaterSkin) -> Exchange:
        """Fluxes from u* [m s-1], theta* [K] and q* [kg kg-1], and from the air at the height of the wind.

        `at_wind_height` has wind speed with gusts [m s-1], potential temperature [K] and specific humidity
        [kg kg-1]. The density follows twice: its first value gives the pressure at that height.
        """
        (friction, temperature_scale, humidity_scale), (speed, kelvin, humidity) = scales, at_wind_height
        kelvin = kelvin - LAPSE_RATE * self.wind_height
        density = _density(kelvin, humidity, air.pressure)
        density = _density(kelvin, humidity, air.pressure - density * GRAVITY * self.wind_height)
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


def _density(kelvin: Scalar, humidity: Scalar, pressure: Scalar) -> Scalar:
    """Density of moist air [kg m-3]."""
    return pressure * reciprocal(_GAS_CONSTANT * virtual(kelvin, humidity))


def virtual(kelvin: Scalar, humidity: Scalar) -> Scalar:
    """Virtual temperature [K]."""
    return kelvin * (1.0 + VIRTUAL * humidity)


def viscosity(t: Scalar) -> Scalar:
    """Kinematic viscosity of air [m2 s-1] at a temperature [degC]."""
    return 1.326e-5 * (1.0 + t * (6.542e-3 + t * (8.301e-6 - 4.84e-9 * t)))


def bounded(value: Scalar, largest: float) -> Scalar:
    """Clip a value to +- `largest`."""
    return at_most(at_least(value, -largest), largest)


def inverse_obukhov_length(
    kelvin: Scalar, humidity: Scalar, friction: Scalar, temperature_scale: Scalar, humidity_scale: Scalar
) -> Scalar:
    """1 / L [m-1] from the state of the air and the turbulent scales; clipped to +- 200 m-1."""
    virtual_factor = 1.0 + VIRTUAL * humidity
    virtual_scale = temperature_scale * virtual_factor + VIRTUAL * kelvin * humidity_scale
    inertia = at_least(friction * friction * kelvin * virtual_factor, 1e-9)
    return bounded(GRAVITY * KARMAN * virtual_scale * reciprocal(inertia), 200.0)


# Stability functions psi of unstable air. Their arguments are functions of zeta <= 0, the height over the
# Obukhov length; psi is 0 at zeta = 0 and increases with -zeta.


def kansas_momentum(root: Scalar) -> Scalar:
    """Businger-Dyer function of momentum, of the root (1 - a zeta)^(1/2)."""
    chi = jnp.sqrt(root)
    product = (0.5 * (1.0 + chi)) ** 2 * (0.5 * (1.0 + root))
    return jnp.log(product) - 2.0 * jnp.arctan(chi) + 0.5 * math.pi


def kansas_heat(root: Scalar) -> Scalar:
    """Businger-Dyer function of heat and vapour, of the root (1 - a zeta)^(1/2)."""
    return 2.0 * jnp.log(0.5 * (1.0 + root))
