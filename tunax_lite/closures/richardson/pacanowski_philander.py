"""Pacanowski and Philander's mixing as a function of the gradient Richardson number."""

from ..._types import InnerFaceArray, Scalar, parameter
from ...declarations import named
from ...numerics.limiters import reciprocal
from .base import AbstractRichardson


@named("pacanowski_philander")
class PacanowskiPhilander(AbstractRichardson):
    """nu = nu_0 / (1 + alpha Ri)^n + nu_b,  kappa = nu / (1 + alpha Ri) + kappa_b;  convective if N² < 0.

    Args:
        viscosity_scale: nu_0 [m2 s-1].
        alpha, exponent: [1].

    Source: Pacanowski and Philander (1981), J. Phys. Oceanogr. 11, 1443-1451, eqs. 1 and 2; the
    convective coefficient replaces their instantaneous mixing.
    """

    viscosity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    alpha: Scalar = parameter(5.0, valid_range=(0.0, 1e3))
    exponent: Scalar = parameter(2.0, valid_range=(0.0, 20.0))

    def _stable(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        damping = 1.0 + self.alpha * ri
        viscosity = self.viscosity_scale * damping**-self.exponent + self.background_viscosity
        return viscosity, viscosity * reciprocal(damping) + self.background_diffusivity
