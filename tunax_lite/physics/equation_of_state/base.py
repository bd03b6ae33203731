"""What an equation of state gives.

The buoyancy frequency needs the thermal expansion alpha and the haline contraction beta at faces,
N² = g (alpha dT/dz - beta dS/dz); nothing else of an equation of state enters the model.
"""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from ... import constants
from ..._types import Scalar, parameter


class AbstractEquationOfState(eqx.Module):
    """Density of sea water and its derivatives, and the constants that go with them.

    Args:
        gravity: acceleration of gravity [m s-2].
        reference_density: of fluxes and of buoyancy [kg m-3].
        heat_capacity: of sea water [J kg-1 K-1].
    """

    gravity: Scalar = parameter(constants.GRAVITY, unit="m s-2", valid_range=(1e-3, 100.0))
    reference_density: Scalar = parameter(
        constants.REFERENCE_DENSITY, unit="kg m-3", valid_range=(500.0, 2000.0)
    )
    heat_capacity: Scalar = parameter(constants.HEAT_CAPACITY, unit="J kg-1 K-1", valid_range=(1.0, 1e5))

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
        """Thermal expansion [K-1] and haline contraction [kg g-1] at height `z` [m].

        Both count relative to the reference density, as Boussinesq buoyancy does: they are
        -1/rho_0 drho/dT and 1/rho_0 drho/dS, not derivatives divided by the density in place.
        """

    def buoyancy(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        """Buoyancy [m s-2] at height `z` [m], against water of the reference density.

        At the same `z` for all, z = 0 for one, it compares parcels of water.
        """
        lighter = self.reference_density - self.density(temperature, salinity, z)
        return self.gravity / self.reference_density * lighter
