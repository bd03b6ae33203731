"""Pacanowski and Philander's mixing as a function of the gradient Richardson number."""

import jax.numpy as jnp

from .._types import FaceArray, Scalar, ScalarLike, parameter
from ..numerics.limiters import at_least, reciprocal
from ..numerics.stencils import with_end_faces
from ..physics.stratification import richardson_number
from .base import AbstractClosure, CloState, ClosureInputs


class PacanowskiPhilanderState(CloState):
    """Eddy coefficients of `PacanowskiPhilander`."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None


class PacanowskiPhilander(AbstractClosure[PacanowskiPhilanderState]):
    """nu = nu_0 / (1 + alpha Ri)^n + nu_b,  kappa = nu / (1 + alpha Ri) + kappa_b;  convective if Ri < 0.

    The switch at Ri = 0 is a kink; Ri is taken as N² / max(S², floor).

    Source: Pacanowski and Philander (1981), J. Phys. Oceanogr. 11, 1443-1451, eqs. 1 and 2; the
    convective coefficient replaces their instantaneous mixing.
    """

    viscosity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    alpha: Scalar = parameter(5.0, valid_range=(0.0, 1e3))
    exponent: Scalar = parameter(2.0, valid_range=(0.0, 20.0))
    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1e2))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1e2))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    shear_squared_floor: Scalar = parameter(1e-14, unit="s-2", valid_range=(1e-30, 1.0))

    def prepare(self) -> "PacanowskiPhilander":
        return self

    def init(self, inputs: ClosureInputs) -> PacanowskiPhilanderState:
        n_squared = inputs.buoyancy_frequency_squared
        s_squared = at_least(inputs.shear_squared, self.shear_squared_floor)
        stable = n_squared >= 0.0
        # The masked branch gets Ri = 0, so that no power of a negative number is differentiated.
        damping = 1.0 + self.alpha * richardson_number(jnp.where(stable, n_squared, 0.0), s_squared)
        viscosity = self.viscosity_scale * damping**-self.exponent + self.background_viscosity
        diffusivity = viscosity * reciprocal(damping) + self.background_diffusivity
        return PacanowskiPhilanderState(
            eddy_viscosity=with_end_faces(
                jnp.where(stable, viscosity, self.convective_coefficient), 0.0, 0.0
            ),
            eddy_diffusivity=with_end_faces(
                jnp.where(stable, diffusivity, self.convective_coefficient), 0.0, 0.0
            ),
        )

    def step(
        self, clo_state: PacanowskiPhilanderState, inputs: ClosureInputs, dt: ScalarLike
    ) -> PacanowskiPhilanderState:
        del clo_state, dt
        return self.init(inputs)
