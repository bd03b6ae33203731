"""Mixing by internal waves, where the turbulence of a closure is too weak to mix."""

import abc

import equinox as eqx
import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, parameter
from ..declarations import named
from ..numerics.limiters import at_least, at_most, reciprocal
from .base import ClosureInputs

Coefficients = tuple[InnerFaceArray, InnerFaceArray]
"""nu and kappa [m2 s-1]."""


class AbstractInternalWaves(eqx.Module):
    """A correction of the shear that produces turbulence, of its eddy coefficients, or of both."""

    @abc.abstractmethod
    def producing_shear_squared(self, inputs: ClosureInputs) -> InnerFaceArray:
        """S² that produces turbulence [s-2]."""

    @abc.abstractmethod
    def mix(self, coefficients: Coefficients, tke: InnerFaceArray, inputs: ClosureInputs) -> Coefficients:
        """nu and kappa with the waves [m2 s-1]."""


@named("wave_shear")
class WaveShear(AbstractInternalWaves):
    """Internal waves add alpha N² to the S² that produces turbulence.

    Args:
        alpha: S² of the waves over N² [1].

    Source: Mellor (1989), in Small-Scale Turbulence and Mixing in the Ocean, Elsevier.
    """

    alpha: Scalar = parameter(0.7, valid_range=(0.0, 10.0))

    def producing_shear_squared(self, inputs: ClosureInputs) -> InnerFaceArray:
        return inputs.shear_squared + self.alpha * inputs.buoyancy_frequency_squared

    def mix(self, coefficients: Coefficients, tke: InnerFaceArray, inputs: ClosureInputs) -> Coefficients:
        del tke, inputs
        return coefficients


@named("background_mixing")
class BackgroundMixing(AbstractInternalWaves):
    """Where k is at most `weakest_tke`, nu and kappa are those of breaking waves and of their shear.

    The fraction of shear is [1 - (Ri / Ri_c)²]³ between 0 and Ri_c, 1 below, 0 above. GOTM uses this with
    stability functions of first order only.

    Args:
        weakest_tke: k at and below which the waves mix [m2 s-2].
        critical_richardson_number: Ri_c, beyond which their shear does not mix [1].
        shear_coefficient: largest nu and kappa of their shear [m2 s-1].
        viscosity, diffusivity: nu and kappa of breaking waves [m2 s-1].

    Source: Kantha and Clayson (1994), J. Geophys. Res. 99, 25235-25266, after Large et al. (1994).
    """

    weakest_tke: Scalar = parameter(1e-6, unit="m2 s-2", valid_range=(1e-16, 1e-2))
    critical_richardson_number: Scalar = parameter(0.7, valid_range=(0.1, 5.0))
    shear_coefficient: Scalar = parameter(5e-3, unit="m2 s-1", valid_range=(0.0, 1.0))
    viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))

    def producing_shear_squared(self, inputs: ClosureInputs) -> InnerFaceArray:
        return inputs.shear_squared

    def mix(self, coefficients: Coefficients, tke: InnerFaceArray, inputs: ClosureInputs) -> Coefficients:
        ri = inputs.buoyancy_frequency_squared * reciprocal(at_least(inputs.shear_squared, 0.0) + 1e-10)
        scaled = at_most(at_least(ri / self.critical_richardson_number, 0.0), 1.0)
        shear = self.shear_coefficient * (1.0 - scaled**2) ** 3
        weak, (viscosity, diffusivity) = tke <= self.weakest_tke, coefficients
        return (
            jnp.where(weak, self.viscosity + shear, viscosity),
            jnp.where(weak, self.diffusivity + shear, diffusivity),
        )
