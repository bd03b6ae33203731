"""The simplest closures: constant coefficients, and strong mixing where the water is unstable."""

import jax.numpy as jnp

from .._types import Scalar, parameter
from ..declarations import named
from .base import AbstractDiagnosticClosure, ClosureInputs, EddyCoefficients


@named("constant")
class Constant(AbstractDiagnosticClosure[EddyCoefficients]):
    """nu and kappa are the same on all inner faces and at all times; zero at both ends.

    Args:
        viscosity: of momentum [m2 s-1].
        diffusivity: of temperature, salinity and tracers [m2 s-1].
    """

    viscosity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))
    diffusivity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        ones = jnp.ones_like(inputs.shear_squared)
        return EddyCoefficients.within(self.viscosity * ones, self.diffusivity * ones)


@named("convective_adjustment")
class ConvectiveAdjustment(AbstractDiagnosticClosure[EddyCoefficients]):
    """kappa = convective where N² < 0, background elsewhere; the same for nu.

    The switch has no gradient to N²; the gradient to the four coefficients is exact.

    Args:
        convective_diffusivity, convective_viscosity: where the water is unstable [m2 s-1].
        background_diffusivity, background_viscosity: elsewhere [m2 s-1].

    Source: Klinger et al. (1996), J. Phys. Oceanogr. 26, 1362-1368; defaults as in Oceananigans'
    examples.
    """

    convective_diffusivity: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    convective_viscosity: Scalar = parameter(0.0, unit="m2 s-1", valid_range=(0.0, 1e3))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1e3))
    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1e3))

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        unstable = inputs.buoyancy_frequency_squared < 0.0
        viscosity = jnp.where(unstable, self.convective_viscosity, self.background_viscosity)
        diffusivity = jnp.where(unstable, self.convective_diffusivity, self.background_diffusivity)
        return EddyCoefficients.within(viscosity, diffusivity)
