"""Munk and Anderson's mixing as a function of the gradient Richardson number."""

from ..._types import InnerFaceArray, Scalar, parameter
from ...declarations import named
from ...numerics.limiters import reciprocal, safe_sqrt
from .base import AbstractRichardson


@named("munk_anderson")
class MunkAndersonMixing(AbstractRichardson):
    """nu = nu_0 (1 + a Ri)^(-1/2) + nu_b,  kappa = kappa_0 (1 + b Ri)^(-3/2) + kappa_b where N² >= 0.

    Args:
        viscosity_scale, diffusivity_scale: nu_0 and kappa_0, of water without stratification [m2 s-1]; the
            source takes them equal and gives no number: that of Pacanowski and Philander stands here.
        viscosity_slope, diffusivity_slope: a and b [1].

    Source: Munk and Anderson (1948), J. Mar. Res. 7, 276-295. As stability functions of closures that know
    the turbulent energy: `MunkAnderson`.
    """

    viscosity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    diffusivity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    viscosity_slope: Scalar = parameter(10.0, valid_range=(0.0, 1e3))
    diffusivity_slope: Scalar = parameter(10.0 / 3.0, valid_range=(0.0, 1e3))

    def _stable(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        for_momentum = reciprocal(1.0 + self.viscosity_slope * ri)
        for_contents = reciprocal(1.0 + self.diffusivity_slope * ri)
        viscosity = self.viscosity_scale * safe_sqrt(for_momentum) + self.background_viscosity
        diffusivity = self.diffusivity_scale * for_contents * safe_sqrt(for_contents)
        return viscosity, diffusivity + self.background_diffusivity
