"""What a bulk formula takes and gives: the air and the surface of the water, and the fluxes between them."""

import abc
from typing import NamedTuple

import equinox as eqx

from .._types import Scalar
from .humidity import saturation_vapour_pressure, specific_humidity

KELVIN = 273.15
"""0 degC [K]."""
SALT_FACTOR = 0.98
"""Vapour pressure over sea water relative to that over fresh water [1]."""


class MoistAir(NamedTuple):
    """Air near the surface.

    Args:
        wind_u, wind_v: wind relative to the water [m s-1].
        wind_speed: its magnitude [m s-1].
        temperature: [degC].
        vapour_pressure: [Pa].
        specific_humidity: [kg kg-1].
        pressure: at the surface [Pa].
        density: [kg m-3].
    """

    wind_u: Scalar
    wind_v: Scalar
    wind_speed: Scalar
    temperature: Scalar
    vapour_pressure: Scalar
    specific_humidity: Scalar
    pressure: Scalar
    density: Scalar


class WaterSkin(NamedTuple):
    """Water in contact with the air: temperature [degC], specific humidity of the air upon it [kg kg-1]."""

    temperature: Scalar
    specific_humidity: Scalar

    @classmethod
    def at(cls, temperature: Scalar, pressure: Scalar) -> "WaterSkin":
        """Skin of a temperature [degC] below air saturated at a pressure [Pa]."""
        vapour_pressure = SALT_FACTOR * saturation_vapour_pressure(temperature)
        return cls(temperature, specific_humidity(vapour_pressure, pressure))


class Exchange(NamedTuple):
    """What passes between air and water, positive into the water.

    Args:
        momentum_transfer: stress per relative wind [kg m-2 s-1].
        sensible_heat, latent_heat: [W m-2].
        water: condensation minus evaporation [kg m-2 s-1], negative where water evaporates.
        vaporisation_heat: [J kg-1].
    """

    momentum_transfer: Scalar
    sensible_heat: Scalar
    latent_heat: Scalar
    water: Scalar
    vaporisation_heat: Scalar


class AbstractBulkFormula(eqx.Module):
    """Turbulent fluxes from the state of the air and the temperature of the water."""

    @abc.abstractmethod
    def exchange(self, air: MoistAir, skin: WaterSkin) -> Exchange:
        """Fluxes for one time, or for a batch of columns."""
