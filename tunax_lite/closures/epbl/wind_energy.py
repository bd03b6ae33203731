"""m*: how much of the work of the wind, u*³, lifts water that reaches down to a depth.

Source: Reichl and Hallberg (2018), Ocean Model. 132, 112-129; Adcroft et al. (2019), J. Adv. Model. Earth
Syst. 11, 3167-3211, for OM4.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._types import Scalar, parameter
from ...declarations import named
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt

Levels = Float[Array, "..."]
"""One number per column, or one per level."""
_SMALLEST_VELOCITY = 1e-6
_SMALLEST_RATIO = 1e-30


class SurfaceForcing(NamedTuple):
    """What enters through the surface.

    Args:
        friction_velocity: u* [m s-1].
        buoyancy_flux: B with all shortwave radiation [m2 s-3], positive stabilises.
        rotation: |f| [s-1].
    """

    friction_velocity: Scalar
    buoyancy_flux: Scalar
    rotation: Scalar

    def rotation_per_depth(self) -> Scalar:
        """|f| / u*, finite without wind [m-1]."""
        return self.rotation * reciprocal(at_least(self.friction_velocity, _SMALLEST_VELOCITY))


class AbstractWindEnergy(eqx.Module):
    """A formula for m*."""

    @abc.abstractmethod
    def efficiency(self, depth: Levels, forcing: SurfaceForcing) -> Levels:
        """m* of layers of some depths H [m]."""


@named("constant")
class ConstantWindEnergy(AbstractWindEnergy):
    """m* = m exp(-c |f| H / u*).

    Args:
        scale: m [1].
        decay: c [1].

    Source: Oberhuber (1993), J. Phys. Oceanogr. 23, 808-829, for the decay; defaults of MOM6.
    """

    scale: Scalar = parameter(1.2, valid_range=(0.0, 10.0))
    decay: Scalar = parameter(2.5, valid_range=(0.0, 10.0))

    def efficiency(self, depth: Levels, forcing: SurfaceForcing) -> Levels:
        return self.scale * jnp.exp(-self.decay * forcing.rotation_per_depth() * depth)


@named("om4")
class OM4WindEnergy(AbstractWindEnergy):
    """m* = max(c_s sqrt(B / (u*² |f|)), min(m, c_e ln(u* / (|f| H)))), the first where B stabilises.

    Args:
        heating_scale: c_s [1].
        rotation_scale: c_e [1].
        largest: m [1]; 1.25 is a layer as deep as the length of Obukhov.
        largest_heated: the largest m* [1].
        convective_reduction: c; m* decreases by the factor 1 - c H|B| / (H|B| + 2 m* u*³) where B
            destabilises [1].

    Source: Adcroft et al. (2019); numbers of the configuration OM4 of MOM6.
    """

    heating_scale: Scalar = parameter(0.29, valid_range=(0.0, 10.0))
    rotation_scale: Scalar = parameter(0.152, valid_range=(0.0, 10.0))
    largest: Scalar = parameter(1.25, valid_range=(0.0, 10.0))
    largest_heated: Scalar = parameter(10.0, valid_range=(0.0, 100.0))
    convective_reduction: Scalar = parameter(0.667, valid_range=(0.0, 1.0))

    def efficiency(self, depth: Levels, forcing: SurfaceForcing) -> Levels:
        velocity, flux = forcing.friction_velocity, forcing.buoyancy_flux
        turning = at_least(forcing.rotation_per_depth() * depth, _SMALLEST_RATIO)
        rotating = at_most(at_least(-self.rotation_scale * jnp.log(turning), 0.0), self.largest)
        divisor = at_least(velocity * velocity * forcing.rotation, _SMALLEST_RATIO)
        heated = self.heating_scale * safe_sqrt(at_least(flux, 0.0) * reciprocal(divisor))
        heated = at_most(heated, self.largest_heated)
        efficiency = jnp.where(heated > rotating, heated, rotating)
        convection = at_least(-flux, 0.0) * depth
        wind = 2.0 * efficiency * velocity * velocity * velocity + _SMALLEST_RATIO
        return efficiency * (1.0 - self.convective_reduction * convection * reciprocal(convection + wind))


@named("reichl_hallberg")
class ReichlHallbergWindEnergy(AbstractWindEnergy):
    """m* = c_1 X / (1 + X) + c_4 (B² H / (u*⁵ |f|))^c_5, X = c_2 exp(-c_3 |f| H / u*).

    The second term where B stabilises.

    Args:
        rotation_scale, rotation_ratio, rotation_decay: c_1, c_2, c_3 [1].
        heating_scale, heating_exponent: c_4, c_5 [1].
        largest: m* [1]; 1.25 is a layer as deep as the length of Obukhov.

    Source: Reichl and Hallberg (2018); the limit from Adcroft et al. (2019).
    """

    rotation_scale: Scalar = parameter(0.275, valid_range=(0.0, 10.0))
    rotation_ratio: Scalar = parameter(8.0, valid_range=(0.0, 100.0))
    rotation_decay: Scalar = parameter(5.0, valid_range=(0.0, 20.0))
    heating_scale: Scalar = parameter(0.2, valid_range=(0.0, 10.0))
    heating_exponent: Scalar = parameter(0.4, valid_range=(0.1, 2.0))
    largest: Scalar = parameter(1.25, valid_range=(0.0, 10.0))

    def efficiency(self, depth: Levels, forcing: SurfaceForcing) -> Levels:
        velocity, heating = forcing.friction_velocity, at_least(forcing.buoyancy_flux, 0.0)
        turning = forcing.rotation_per_depth() * depth
        rotating = self.rotation_ratio * jnp.exp(-self.rotation_decay * turning)
        rotating = self.rotation_scale * rotating * reciprocal(1.0 + rotating)
        squared = velocity * velocity
        divisor = at_least(squared * squared * velocity * forcing.rotation, _SMALLEST_RATIO)
        ratio = at_least(heating * heating * reciprocal(divisor), _SMALLEST_RATIO)
        # The two logarithms apart: that of the depths of the grid does not change from step to step.
        heated = jnp.exp(self.heating_exponent * (jnp.log(ratio) + jnp.log(depth)))
        return at_most(rotating + self.heating_scale * heated, self.largest)
