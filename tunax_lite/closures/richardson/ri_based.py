"""Mixing that fades with the Richardson number, convective adjustment and entrainment, averaged over steps.

    nu+ = nu_0 f(Ri),   kappa+ = kappa_0 f(Ri) + kappa_ca [N² < 0] + C_en J / N² [at the base of convection]
    nu_new = (C_av nu_old + nu+) / (1 + C_av),   the same for kappa

with J the destabilising surface buoyancy flux. The base of convection is where N² is at least a minimum and
the face above is unstable. The average is one over steps, whatever their length: it damps the flicker of
the switches.
"""

import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import check_settings, named, setting
from ...numerics.limiters import at_least, at_most, reciprocal
from ...numerics.stencils import with_end_faces
from ..base import AbstractClosure, ClosureInputs
from .base import RichardsonState

TAPERS = ("tanh", "linear", "exponential")


@named("ri_based")
class RiBased(AbstractClosure[RichardsonState]):
    """Wagner's `RiBasedVerticalDiffusivity`, with its default constants, which are not calibrated.

    Args:
        shear_viscosity, shear_diffusivity: nu_0 and kappa_0 [m2 s-1].
        convective_diffusivity: kappa_ca [m2 s-1].
        entrainment_coefficient, averaging_coefficient: C_en and C_av [1].
        ri_0, ri_delta: Ri_0 and Ri_d, onset and width of the decrease with x = (Ri - Ri_0) / Ri_d [1].
        minimum_entrainment_n_squared: below which nothing is entrained [s-2].
        shear_squared_floor: smallest S² to divide by [s-2]; far below it, the coefficients of water without
            stratification would depend on the rounding of N².
        taper: f of x: "tanh", (1 - tanh x) / 2; "linear", 1 - x from 0 to 1; "exponential", exp(-x) for
            x > 0. Where N² <= 0, f is that of Ri = 0.

    Raises:
        ValueError: another taper.

    Source: Oceananigans.jl, `RiBasedVerticalDiffusivity`.
    """

    shear_viscosity: Scalar = parameter(0.7, unit="m2 s-1", valid_range=(0.0, 1e2))
    shear_diffusivity: Scalar = parameter(0.5, unit="m2 s-1", valid_range=(0.0, 1e2))
    convective_diffusivity: Scalar = parameter(1.7, unit="m2 s-1", valid_range=(0.0, 1e3))
    entrainment_coefficient: Scalar = parameter(0.1, valid_range=(0.0, 2.0))
    averaging_coefficient: Scalar = parameter(0.6, valid_range=(0.0, 1e2))
    ri_0: Scalar = parameter(0.1, valid_range=(0.0, 2.0))
    ri_delta: Scalar = parameter(0.4, valid_range=(0.01, 5.0))
    minimum_entrainment_n_squared: Scalar = parameter(1e-10, unit="s-2", valid_range=(1e-14, 1e-4))
    shear_squared_floor: Scalar = parameter(1e-10, unit="s-2", valid_range=(1e-20, 1.0))
    taper: str = setting("tanh", choices=TAPERS)

    def __check_init__(self):
        check_settings(self)

    def prepare(self) -> "RiBased":
        return self

    def init(self, inputs: ClosureInputs) -> RichardsonState:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared, 0.0, 0.0))
        return RichardsonState(faces, faces)

    def step(self, clo_state: RichardsonState, inputs: ClosureInputs, dt: ScalarLike) -> RichardsonState:
        del dt
        n_squared = inputs.buoyancy_frequency_squared
        unstable = n_squared < 0.0
        s_squared = at_least(inputs.shear_squared, self.shear_squared_floor)
        fading = self._fading(at_least(n_squared, 0.0) * reciprocal(s_squared))
        # Nothing is unstable above the uppermost inner face.
        unstable_above = jnp.concatenate([unstable[1:], jnp.zeros_like(unstable[:1])])
        smallest = self.minimum_entrainment_n_squared
        is_base = (n_squared > smallest) & unstable_above
        flux = self.entrainment_coefficient * at_least(-inputs.surface_buoyancy_flux, 0.0)
        entrainment = flux * reciprocal(at_least(n_squared, smallest))
        convection = jnp.where(unstable, self.convective_diffusivity, jnp.where(is_base, entrainment, 0.0))

        kept = self.averaging_coefficient
        share = 1.0 / (1.0 + kept)
        viscosity = kept * clo_state.eddy_viscosity[1:-1] + self.shear_viscosity * fading
        diffusivity = kept * clo_state.eddy_diffusivity[1:-1] + self.shear_diffusivity * fading + convection
        return RichardsonState(
            with_end_faces(share * viscosity, 0.0, 0.0), with_end_faces(share * diffusivity, 0.0, 0.0)
        )

    def _fading(self, ri: InnerFaceArray) -> InnerFaceArray:
        """f [1]."""
        x = (ri - self.ri_0) * reciprocal(self.ri_delta)
        if self.taper == "tanh":
            return 0.5 * (1.0 - jnp.tanh(x))
        if self.taper == "linear":
            return 1.0 - at_most(at_least(x, 0.0), 1.0)
        # Beyond this f is nothing in either precision.
        return jnp.exp(-at_most(at_least(x, 0.0), 80.0))
