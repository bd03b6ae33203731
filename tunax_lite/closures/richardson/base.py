"""What the formulae of Ri share: where they hold, what is added, what stands in for convection."""

import abc

import jax.numpy as jnp

from ..._types import FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...numerics.limiters import at_least, reciprocal
from ...numerics.stencils import with_end_faces
from ..base import AbstractClosure, CloState, ClosureInputs


class RichardsonState(CloState):
    """Eddy coefficients [m2 s-1] of a closure of the Richardson number."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None


class AbstractRichardson(AbstractClosure[RichardsonState]):
    """nu(Ri) and kappa(Ri) where N² >= 0, a constant coefficient for both elsewhere.

    The switch at N² = 0 is a jump; Ri is N² / max(S², floor).

    Args:
        background_viscosity, background_diffusivity: of quiet water [m2 s-1].
        convective_coefficient: nu and kappa where N² < 0 [m2 s-1].
        shear_squared_floor: smallest S² to divide by [s-2].
    """

    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1e2))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1e2))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    shear_squared_floor: Scalar = parameter(1e-14, unit="s-2", valid_range=(1e-30, 1.0))

    @abc.abstractmethod
    def _stable(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        """nu and kappa [m2 s-1] for Ri >= 0, backgrounds included."""

    def prepare(self) -> "AbstractRichardson":
        return self

    def init(self, inputs: ClosureInputs) -> RichardsonState:
        n_squared = inputs.buoyancy_frequency_squared
        stable = n_squared >= 0.0
        # The masked branch gets Ri = 0, so that no power of a negative number is differentiated.
        s_squared = at_least(inputs.shear_squared, self.shear_squared_floor)
        ri = jnp.where(stable, n_squared, 0.0) * reciprocal(s_squared)
        viscosity, diffusivity = (
            with_end_faces(jnp.where(stable, k, self.convective_coefficient), 0.0, 0.0)
            for k in self._stable(ri)
        )
        return RichardsonState(viscosity, diffusivity)

    def step(self, clo_state: RichardsonState, inputs: ClosureInputs, dt: ScalarLike) -> RichardsonState:
        del clo_state, dt
        return self.init(inputs)
