"""Sea water: how temperature and salinity set its buoyancy.

The buoyancy frequency needs the thermal expansion alpha and the haline contraction beta at faces,
N² = g (alpha dT/dz - beta dS/dz); nothing else of an equation of state enters the model.
"""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from .. import constants
from .._types import Scalar, parameter


class AbstractEquationOfState(eqx.Module):
    """Density of sea water and its derivatives, and the constants that go with them."""

    gravity: eqx.AbstractVar[Scalar]
    reference_density: eqx.AbstractVar[Scalar]
    heat_capacity: eqx.AbstractVar[Scalar]

    @abc.abstractmethod
    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        """Density [kg m-3] at height `z` [m]."""

    @abc.abstractmethod
    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Thermal expansion [K-1] and haline contraction [kg g-1] at height `z` [m]."""


class LinearEquationOfState(AbstractEquationOfState):
    """rho = rho_0 (1 - alpha (T - T_0) + beta (S - S_0)).

    Source of the defaults: GOTM's `linear_custom` with its default constants.
    """

    thermal_expansion: Scalar = parameter(2e-4, unit="K-1", valid_range=(0.0, 1e-3))
    haline_contraction: Scalar = parameter(7.8e-4, unit="kg g-1", valid_range=(0.0, 1e-2))
    reference_temperature: Scalar = parameter(20.0, unit="degC")
    reference_salinity: Scalar = parameter(35.0, unit="g kg-1")
    gravity: Scalar = parameter(constants.GRAVITY, unit="m s-2", valid_range=(0.0, 100.0))
    reference_density: Scalar = parameter(
        constants.REFERENCE_DENSITY, unit="kg m-3", valid_range=(500.0, 2000.0)
    )
    heat_capacity: Scalar = parameter(constants.HEAT_CAPACITY, unit="J kg-1 K-1", valid_range=(1.0, 1e5))

    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        del z
        warmer = temperature - self.reference_temperature
        saltier = salinity - self.reference_salinity
        relative = self.haline_contraction * saltier - self.thermal_expansion * warmer
        return self.reference_density * (1.0 + relative)

    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        del temperature, salinity, z
        return self.thermal_expansion, self.haline_contraction
