"""Closures without an energy equation: constant coefficients, and functions of Ri = N² / S²."""

import abc

import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.elementary import at_least, inner_faces, reciprocal, safe_sqrt, with_end_faces
from .base import AbstractDiagnosticClosure, AbstractPlainClosure, ClosureInputs, EddyCoefficients


@named("constant")
class ConstantDiffusivity(AbstractDiagnosticClosure[EddyCoefficients]):
    """Constant nu and kappa on all inner faces, zero at surface and bottom.

    Args:
        viscosity: viscosity of momentum [m2 s-1].
        diffusivity: diffusivity of temperature, salinity and tracers [m2 s-1].
    """

    viscosity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))
    diffusivity: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e3))

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        ones = jnp.ones_like(inputs.shear_squared)
        return EddyCoefficients.from_inner_faces(self.viscosity * ones, self.diffusivity * ones)


@named("convective_adjustment")
class ConvectiveAdjustment(AbstractDiagnosticClosure[EddyCoefficients]):
    """Large coefficients where N² < 0, background values elsewhere.

    The switch has no gradient with respect to N²; gradients with respect to the four coefficients are exact.

    Args:
        convective_diffusivity, convective_viscosity: value in unstable water [m2 s-1].
        background_diffusivity, background_viscosity: value elsewhere [m2 s-1].

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
        return EddyCoefficients.from_inner_faces(viscosity, diffusivity)


class AbstractRichardson(AbstractDiagnosticClosure[EddyCoefficients]):
    """nu(Ri) and kappa(Ri) where N² >= 0, a constant coefficient for both elsewhere.

    The coefficients jump at N² = 0; Ri is N² / max(S², floor).

    Args:
        background_viscosity, background_diffusivity: value in quiescent water [m2 s-1].
        convective_coefficient: nu and kappa where N² < 0 [m2 s-1].
        shear_squared_floor: smallest S² to divide by [s-2].
    """

    background_viscosity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1e2))
    background_diffusivity: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1e2))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    shear_squared_floor: Scalar = parameter(1e-14, unit="s-2", valid_range=(1e-30, 1.0))

    @abc.abstractmethod
    def _stable(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        """nu and kappa [m2 s-1] for Ri >= 0, including backgrounds."""

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        n_squared = inputs.buoyancy_frequency_squared
        stable = n_squared >= 0.0
        # The masked branch gets Ri = 0, to avoid differentiating a power of a negative number.
        s_squared = at_least(inputs.shear_squared, self.shear_squared_floor)
        ri = jnp.where(stable, n_squared, 0.0) * reciprocal(s_squared)
        coefficients = (jnp.where(stable, k, self.convective_coefficient) for k in self._stable(ri))
        return EddyCoefficients.from_inner_faces(*coefficients)


@named("pacanowski_philander")
class PacanowskiPhilander(AbstractRichardson):
    """Pacanowski and Philander: nu = nu_0 / (1 + alpha Ri)^n + nu_b, kappa = nu / (1 + alpha Ri) + kappa_b.

    Args:
        viscosity_scale: nu_0 [m2 s-1].
        alpha, exponent: alpha and n [1].

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


@named("munk_anderson")
class MunkAndersonMixing(AbstractRichardson):
    """Munk and Anderson: nu = nu_0 (1 + a Ri)^(-1/2) + nu_b, kappa = kappa_0 (1 + b Ri)^(-3/2) + kappa_b.

    Args:
        viscosity_scale, diffusivity_scale: nu_0 and kappa_0 of unstratified water [m2 s-1]; the source
            assumes that they are equal and gives no value: the default is that of Pacanowski and Philander.
        viscosity_slope, diffusivity_slope: a and b [1].

    Source: Munk and Anderson (1948), J. Mar. Res. 7, 276-295. The stability functions for closures with
    turbulent kinetic energy are `MunkAndersonStability`.
    """

    viscosity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    diffusivity_scale: Scalar = parameter(1e-2, unit="m2 s-1", valid_range=(0.0, 1e2))
    viscosity_slope: Scalar = parameter(10.0, valid_range=(0.0, 1e3))
    diffusivity_slope: Scalar = parameter(10.0 / 3.0, valid_range=(0.0, 1e3))

    def _stable(self, ri: InnerFaceArray) -> tuple[InnerFaceArray, InnerFaceArray]:
        for_momentum = reciprocal(1.0 + self.viscosity_slope * ri)
        for_scalars = reciprocal(1.0 + self.diffusivity_slope * ri)
        viscosity = self.viscosity_scale * safe_sqrt(for_momentum) + self.background_viscosity
        diffusivity = self.diffusivity_scale * for_scalars * safe_sqrt(for_scalars)
        return viscosity, diffusivity + self.background_diffusivity


@named("ri_based")
class RiBased(AbstractPlainClosure[EddyCoefficients]):
    """`RiBasedVerticalDiffusivity` of Oceananigans with its default constants, which are not calibrated.

        nu+ = nu_0 f(Ri),   kappa+ = kappa_0 f(Ri) + kappa_ca [N² < 0] + C_en J / N² [base of convection]
        nu_new = (C_av nu_old + nu+) / (1 + C_av),   the same for kappa

    with J the destabilising surface buoyancy flux. The base of convection is where N² is at least a minimum
    and the face above is unstable. The average is over steps, whatever their length: it damps oscillations of
    the switches.

    Args:
        shear_viscosity, shear_diffusivity: nu_0 and kappa_0 [m2 s-1].
        convective_diffusivity: kappa_ca [m2 s-1].
        entrainment_coefficient, averaging_coefficient: C_en and C_av [1].
        ri_0, ri_delta: Ri_0 and Ri_d in f = (1 - tanh x) / 2 with x = (Ri - Ri_0) / Ri_d [1]; Ri is 0 where
            N² <= 0.
        minimum_entrainment_n_squared: least N² for entrainment [s-2].
        shear_squared_floor: smallest S² as a divisor [s-2]; with a much smaller value the coefficients in
            unstratified water would depend on rounding of N².

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

    def init(self, inputs: ClosureInputs) -> EddyCoefficients:
        faces = jnp.zeros_like(with_end_faces(inputs.shear_squared))
        return EddyCoefficients(faces, faces)

    def step(self, clo_state: EddyCoefficients, inputs: ClosureInputs, dt: ScalarLike) -> EddyCoefficients:
        n_squared = inputs.buoyancy_frequency_squared
        unstable = n_squared < 0.0
        s_squared = at_least(inputs.shear_squared, self.shear_squared_floor)
        ri = at_least(n_squared, 0.0) * reciprocal(s_squared)
        f_of_ri = 0.5 * (1.0 - jnp.tanh((ri - self.ri_0) * reciprocal(self.ri_delta)))
        # Nothing is unstable above the uppermost inner face.
        unstable_above = jnp.concatenate([unstable[1:], jnp.zeros_like(unstable[:1])])
        n_squared_floor = self.minimum_entrainment_n_squared
        is_base = (n_squared > n_squared_floor) & unstable_above
        flux = self.entrainment_coefficient * at_least(-inputs.surface_buoyancy_flux, 0.0)
        entrainment = flux * reciprocal(at_least(n_squared, n_squared_floor))
        convection = jnp.where(unstable, self.convective_diffusivity, jnp.where(is_base, entrainment, 0.0))

        old_weight = self.averaging_coefficient
        weight = 1.0 / (1.0 + old_weight)
        viscosity = old_weight * inner_faces(clo_state.eddy_viscosity) + self.shear_viscosity * f_of_ri
        diffusivity = old_weight * inner_faces(clo_state.eddy_diffusivity) + self.shear_diffusivity * f_of_ri
        diffusivity = diffusivity + convection
        return EddyCoefficients.from_inner_faces(weight * viscosity, weight * diffusivity)
