"""Convective adjustment: strong mixing where the water is unstable, weak mixing elsewhere."""

import jax.numpy as jnp

from .._types import FaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.stencils import with_end_faces
from .base import AbstractClosure, CloState, ClosureInputs


class ConvectiveAdjustmentState(CloState):
    """Eddy coefficients of `ConvectiveAdjustment`."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None


@named("convective_adjustment")
class ConvectiveAdjustment(AbstractClosure[ConvectiveAdjustmentState]):
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

    def prepare(self) -> "ConvectiveAdjustment":
        return self

    def init(self, inputs: ClosureInputs) -> ConvectiveAdjustmentState:
        unstable = inputs.buoyancy_frequency_squared < 0.0
        viscosity = jnp.where(unstable, self.convective_viscosity, self.background_viscosity)
        diffusivity = jnp.where(unstable, self.convective_diffusivity, self.background_diffusivity)
        return ConvectiveAdjustmentState(
            eddy_viscosity=with_end_faces(viscosity, 0.0, 0.0),
            eddy_diffusivity=with_end_faces(diffusivity, 0.0, 0.0),
        )

    def step(
        self, clo_state: ConvectiveAdjustmentState, inputs: ClosureInputs, dt: ScalarLike
    ) -> ConvectiveAdjustmentState:
        del clo_state, dt
        return self.init(inputs)
