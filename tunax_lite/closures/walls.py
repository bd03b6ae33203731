"""Surface and bottom boundary conditions for turbulence: a logarithmic layer, or breaking waves.

With z the distance from the wall and z_0 its roughness length,

    logarithmic layer:   k = u*² / c_mu0²,              l = kappa (z + z_0),   flux of k by convection only;
    breaking waves:      k = k_0 (1 + z / z_0)^alpha,   l = L (z + z_0),       flux of k: c_w u*³ at z = 0.

alpha < 0 and L are the closure's own solution for shear-free turbulence stirred at a wall.

Source: Craig and Banner (1994), J. Phys. Oceanogr. 24, 2546-2559; Umlauf and Burchard (2003), J. Mar. Res.
61, 235-265; Charnock (1955), Q. J. R. Meteorol. Soc. 81, 639-640.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .. import constants
from .._types import Scalar, parameter
from ..declarations import setting

CONDITIONS = ("flux", "value")


class BreakingWaves(eqx.Module):
    """Injection of turbulent kinetic energy by breaking surface waves.

    Args:
        energy_flux_factor: c_w in the flux c_w u*³ of k [1].
    """

    energy_flux_factor: Scalar = parameter(100.0, valid_range=(1.0, 1000.0))


class Boundary(eqx.Module):
    """Boundary conditions at the surface or the bottom.

    Args:
        tke, length_scale: "flux" (at the center of the end cell) or "value" (at the first inner face), from
            the law of the layer.
        breaking_waves: injection of k by waves; `None` for a logarithmic layer, as at the bottom.
    """

    tke: str = setting("flux", choices=CONDITIONS)
    length_scale: str = setting("flux", choices=CONDITIONS)
    breaking_waves: BreakingWaves | None = None


class ShearFreeLayer(eqx.Module):
    """Power law below breaking waves, for the constants of a closure."""

    decay: Scalar  # alpha, the exponent of k [1], negative
    length_slope: Scalar  # L [1]
    tke_factor: Scalar  # k_0 / u*² [1]
    energy_flux_factor: Scalar  # c_w [1]

    @classmethod
    def of(cls, waves: BreakingWaves, decay: Scalar, length_slope: Scalar, diffusivity: Scalar):
        """Derive k_0 from the flux of k by waves; `diffusivity` is that of k divided by sqrt(k) l [1]."""
        flux_factor = waves.energy_flux_factor
        tke_factor = jnp.cbrt(flux_factor / (-diffusivity * decay * length_slope)) ** 2
        return cls(decay, length_slope, tke_factor, flux_factor)


class EndCondition(NamedTuple):
    """A flux into the column at the center of an end cell, or a value on its inner face."""

    flux: Scalar | None = None
    value: Scalar | None = None


class Wall(NamedTuple):
    """Properties of one end of the column in a step."""

    boundary: Boundary  # boundary conditions
    friction_velocity: Scalar  # u* [m s-1]
    roughness_length: Scalar  # z_0 [m]
    thickness: Scalar  # of the end cell [m]
    length_slope: Scalar  # l / (z + z_0) [1]
    waves: ShearFreeLayer | None  # layer below breaking waves; `None` for a logarithmic layer
    convection: Scalar | None = None  # flux of k by surface buoyancy loss [m3 s-3]

    def distance(self, condition: str) -> Scalar:
        """z + z_0 [m] where a condition applies: center of the end cell (flux) or inner face (value)."""
        return (0.5 if condition == "flux" else 1.0) * self.thickness + self.roughness_length

    def tke_at(self, distance: Scalar, c_mu_0: Scalar) -> Scalar:
        """k [m2 s-2] of the layer at z + z_0 [m]."""
        if self.waves is None:
            return (self.friction_velocity / c_mu_0) ** 2
        at_wall = self.waves.tke_factor * self.friction_velocity**2
        return at_wall * jnp.exp(self.waves.decay * jnp.log(distance / self.roughness_length))

    def tke_condition(self, c_mu_0: Scalar) -> EndCondition:
        """Condition for k: a value [m2 s-2], or a flux [m3 s-3], which decays below waves like k^(3/2)."""
        condition = self.boundary.tke
        distance = self.distance(condition)
        if condition == "value":
            return EndCondition(value=self.tke_at(distance, c_mu_0))
        if self.waves is None:
            return EndCondition(flux=self.convection)
        energy_flux = self.waves.energy_flux_factor * self.friction_velocity**3
        fraction = jnp.exp(1.5 * self.waves.decay * jnp.log(distance / self.roughness_length))
        flux = energy_flux * fraction
        return EndCondition(flux=flux if self.convection is None else flux + self.convection)


def charnock_length(friction_velocity: Scalar, constant: Scalar) -> Scalar:
    """Roughness length of the sea surface [m], constant u*² / g."""
    return constant * friction_velocity**2 / constants.GRAVITY
