"""One equation, for k; the length follows from the place in the column.

    eps = c_mu0³ k^(3/2) / l

In local equilibrium there is none: k = k τ² (c_mu S² - c_mu' N²) with τ = k/eps, so that P + B = eps.
"""

import equinox as eqx
import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import named, setting
from ...numerics.limiters import at_least, reciprocal, safe_sqrt
from ..base import ClosureInputs
from ..energy import AbstractEnergyClosure, Derived, Turbulence, Walls
from ..walls import ShearFreeLayer
from .lengths import AbstractLength, Blackadar, Place


@named("one_equation")
class OneEquation(AbstractEnergyClosure):
    """k with an algebraic length; the common settings are those of `AbstractEnergyClosure`.

    Args:
        von_karman: kappa of the logarithmic layer [1].
        length: the length.
        local_equilibrium: k from P + B = eps with the length of the step before, in place of the equation.
    """

    von_karman: Scalar = parameter(0.4, valid_range=(0.2, 0.6))
    length: AbstractLength = eqx.field(default_factory=Blackadar)
    local_equilibrium: bool = setting(False)

    def _derive(self) -> Derived:
        functions = self.stability.stability_functions()
        waves = self.surface.breaking_waves
        if waves is not None:
            c_mu_0, shear_free = functions.c_mu_0, functions.c_mu_shear_free
            squared = 2.0 / 3.0 * c_mu_0**3 / shear_free * self.sigma_k
            decay = -safe_sqrt(jnp.asarray(squared)) / self.von_karman
            waves = ShearFreeLayer.of(waves, decay, self.von_karman, shear_free / self.sigma_k)
        return Derived(functions, self.von_karman, waves)

    def _advance_tke(
        self,
        old: Turbulence,
        derived: Derived,
        walls: Walls,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        if not self.local_equilibrium:
            return super()._advance_tke(old, derived, walls, inputs, dt)
        growth = old.c_mu * inputs.shear_squared - old.c_mu_prime * inputs.buoyancy_frequency_squared
        return at_least(old.tke * old.time_scale**2 * growth, self.turbulent_kinetic_energy_floor)

    def _dissipation(
        self,
        old: Turbulence,
        new_tke: InnerFaceArray,
        derived: Derived,
        walls: Walls,
        inputs: ClosureInputs,
        dt: ScalarLike,
    ) -> InnerFaceArray:
        del old, dt
        z = inputs.grid.z_face
        place = Place(
            inputs.grid,
            from_surface=-z[1:-1] + walls.surface.roughness_length,
            from_bottom=z[1:-1] - z[0] + walls.bottom.roughness_length,
            walls=walls,
            von_karman=derived.von_karman,
            tke=new_tke,
            n_squared=inputs.buoyancy_frequency_squared,
        )
        return derived.functions.c_mu_0**3 * new_tke * safe_sqrt(new_tke) * reciprocal(self.length(place))
