"""Constant eddy coefficients."""

import jax.numpy as jnp

from .._types import FaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.stencils import with_end_faces
from .base import AbstractClosure, CloState, ClosureInputs


class ConstantState(CloState):
    """Eddy coefficients of `Constant`."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None


@named("constant")
class Constant(AbstractClosure[ConstantState]):
    """nu and kappa are the same on all inner faces and at all times; zero at both ends.

    Args:
        viscosity: of momentum [m2 s-1].
        diffusivity: of temperature, salinity and tracers [m2 s-1].
    """

    viscosity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))
    diffusivity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))

    def prepare(self) -> "Constant":
        return self

    def init(self, inputs: ClosureInputs) -> ConstantState:
        ones = jnp.ones_like(inputs.shear_squared)
        return ConstantState(
            eddy_viscosity=with_end_faces(self.viscosity * ones, 0.0, 0.0),
            eddy_diffusivity=with_end_faces(self.diffusivity * ones, 0.0, 0.0),
        )

    def step(self, clo_state: ConstantState, inputs: ClosureInputs, dt: ScalarLike) -> ConstantState:
        del clo_state, dt
        return self.init(inputs)
