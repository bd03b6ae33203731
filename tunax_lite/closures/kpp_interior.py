"""Mixing below the boundary layer: shear instability, double diffusion, convection.

    LMD94:   nu = kappa = nu_0 {1 for Ri <= 0; (1 - (Ri / Ri_0)²)³ below Ri_0; 0 beyond}
    PP81:    nu = nu_0 / (1 + alpha Ri)^n, kappa = nu / (1 + alpha Ri), Ri at least 0

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, section 2; Pacanowski and Philander
(1981), J. Phys. Oceanogr. 11, 1443-1451; Marmorino and Caldwell (1976), Deep-Sea Res. 23, 59-67; Ruddick
(1983), Deep-Sea Res. 30, 527-537, for the salt flux of diffusive convection; constants of CVMix.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import InnerFaceArray, Scalar, parameter
from ..declarations import named
from ..numerics.elementary import at_least, at_most, gradient, mean_of_neighbours, reciprocal
from .base import ClosureInputs

_SHEAR_FLOOR = 1e-14
_SMALLEST_STRATIFICATION = 1e-20
Pair = tuple[InnerFaceArray, InnerFaceArray]


class Coefficients(NamedTuple):
    """Eddy coefficients on inner faces [m2 s-1]; salinity `None` if equal to that of temperature."""

    viscosity: InnerFaceArray
    diffusivity: InnerFaceArray
    salt_diffusivity: InnerFaceArray | None


class AbstractInteriorShear(eqx.Module):
    """Mixing by shear as a function of the gradient Richardson number."""

    @abc.abstractmethod
    def coefficients(self, richardson: InnerFaceArray) -> Pair:
        """Viscosity and diffusivity [m2 s-1]."""


@named("large")
class LargeShear(AbstractInteriorShear):
    """Large et al. (1994): constant in unstable water, zero beyond a Richardson number.

    Args:
        coefficient: nu_0, largest nu and kappa [m2 s-1].
        limiting_richardson_number: Ri_0, beyond which there is no shear mixing [1].
        exponent: of the bracket, instead of 3 [1].
    """

    coefficient: Scalar = parameter(5e-3, unit="m2 s-1", valid_range=(0.0, 1.0))
    limiting_richardson_number: Scalar = parameter(0.7, valid_range=(0.05, 5.0))
    exponent: Scalar | None = parameter(None, valid_range=(1.0, 20.0))

    def coefficients(self, richardson: InnerFaceArray) -> Pair:
        relative = at_least(richardson, 0.0) * reciprocal(self.limiting_richardson_number)
        left = at_least(1.0 - relative * relative, 0.0)
        shape = left * left * left if self.exponent is None else at_least(left, 1e-12) ** self.exponent
        value = self.coefficient * shape
        return value, value


@named("pacanowski_philander")
class PacanowskiPhilanderShear(AbstractInteriorShear):
    """Pacanowski and Philander (1981), with GOTM's coefficient; the background is separate.

    Args:
        coefficient: nu_0, of nu at Ri = 0 [m2 s-1].
        alpha: factor of Ri [1].
        exponent: n [1].
    """

    coefficient: Scalar = parameter(5e-3, unit="m2 s-1", valid_range=(0.0, 1.0))
    alpha: Scalar = parameter(5.0, valid_range=(0.0, 1e3))
    exponent: Scalar = parameter(2.0, valid_range=(0.0, 20.0))

    def coefficients(self, richardson: InnerFaceArray) -> Pair:
        damping = 1.0 + self.alpha * at_least(richardson, 0.0)
        viscosity = self.coefficient * damping**-self.exponent
        return viscosity, viscosity * reciprocal(damping)


@named("fingers_and_layers")
class DoubleDiffusion(eqx.Module):
    """Salt fingers and diffusive convection, by the density ratio R = alpha dT/dz / (beta dS/dz).

        fingers (R > 1):                kappa_S = kappa_f (1 - (R - 1) / (R_0 - 1))³, kappa_T = r kappa_S
        diffusive convection (R < 1):   kappa_T = nu c_1 exp(c_2 exp(-c_3 (1 / R - 1))), kappa_S by Ruddick

    Args:
        finger_diffusivity: kappa_f [m2 s-1].
        finger_limit: R_0 [1].
        finger_ratio: r [1].
        molecular_viscosity: nu [m2 s-1].
        convection_scale, convection_growth, convection_decay: c_1, c_2, c_3 [1].
    """

    finger_diffusivity: Scalar = parameter(1e-4, unit="m2 s-1", valid_range=(0.0, 1.0))
    finger_limit: Scalar = parameter(2.55, valid_range=(1.1, 20.0))
    finger_ratio: Scalar = parameter(0.7, valid_range=(0.0, 2.0))
    molecular_viscosity: Scalar = parameter(1.5e-6, unit="m2 s-1", valid_range=(0.0, 1e-3))
    convection_scale: Scalar = parameter(0.909, valid_range=(0.0, 10.0))
    convection_growth: Scalar = parameter(4.6, valid_range=(0.0, 10.0))
    convection_decay: Scalar = parameter(0.54, valid_range=(0.0, 10.0))

    def diffusivities(self, thermal: InnerFaceArray, haline: InnerFaceArray) -> Pair:
        """Diffusivities of temperature and salinity [m2 s-1], from g alpha dT/dz and g beta dS/dz [s-2]."""
        fingers = (thermal >= haline) & (haline > _SMALLEST_STRATIFICATION)
        convection = (thermal >= haline) & (thermal < -_SMALLEST_STRATIFICATION)
        ratio = thermal * reciprocal(jnp.where(fingers | convection, haline, 1.0))
        beyond = at_most((ratio - 1.0) * reciprocal(self.finger_limit - 1.0), 1.0)
        left = 1.0 - jnp.where(fingers, beyond, 1.0)
        finger = self.finger_diffusivity * (left * left * left)
        ratio = at_least(jnp.where(convection, ratio, 1.0), 1e-3)
        decay = jnp.exp(-self.convection_decay * (reciprocal(ratio) - 1.0))
        layered = self.molecular_viscosity * self.convection_scale * jnp.exp(self.convection_growth * decay)
        layered = jnp.where(convection, layered, 0.0)
        of_salt = jnp.where(ratio < 0.5, 0.15 * ratio, 1.85 * ratio - 0.85)
        return self.finger_ratio * finger + layered, finger + of_salt * layered


@named("adjustment")
class InteriorConvection(eqx.Module):
    """Large coefficients in unstable water, also within the boundary layer.

    Args:
        viscosity, diffusivity: value where N² is below the threshold [m2 s-1].
        threshold: N² at which both reach their full value [s-2]. Between it and 0 they increase as [1 - (1 -
            N²/N_0²)²]³, which is differentiable; a threshold of 0 is a switch, as in GOTM.
    """

    viscosity: Scalar = parameter(1.0, unit="m2 s-1", valid_range=(0.0, 1e3))
    diffusivity: Scalar = parameter(1.0, unit="m2 s-1", valid_range=(0.0, 1e3))
    threshold: Scalar = parameter(0.0, unit="s-2", valid_range=(-1e-3, 0.0))

    def weight(self, n_squared: InnerFaceArray) -> InnerFaceArray:
        """Fraction of the coefficients [1]."""
        smooth = self.threshold < 0.0
        left = 1.0 - n_squared * reciprocal(jnp.where(smooth, self.threshold, 1.0))
        left = at_most(at_least(left, 0.0), 1.0)
        rising = 1.0 - left * left
        switched = jnp.where(n_squared <= 0.0, 1.0, 0.0)
        return jnp.where(smooth, rising * rising * rising, switched)


def smoothed(richardson: InnerFaceArray, n_times: int) -> InnerFaceArray:
    """Repeated running mean with the weights 1/4, 1/2, 1/4 and zeros at both ends."""
    end = jnp.zeros_like(richardson[:1])
    for _ in range(n_times):
        above = jnp.concatenate([richardson[1:], end])
        below = jnp.concatenate([end, richardson[:-1]])
        richardson = 0.5 * richardson + 0.25 * (above + below)
    return richardson


def gradient_richardson_number(inputs: ClosureInputs) -> InnerFaceArray:
    """Ri = N² / S² [1], finite without shear."""
    shear = at_least(inputs.shear_squared, 0.0) + _SHEAR_FLOOR
    return inputs.buoyancy_frequency_squared * reciprocal(shear)


def thermal_and_haline(inputs: ClosureInputs) -> Pair:
    """g alpha dT/dz and g beta dS/dz [s-2], whose difference is N²."""
    state, grid, eos = inputs.state, inputs.grid, inputs.equation_of_state
    at = (mean_of_neighbours(state.temperature), mean_of_neighbours(state.salinity), grid.z_face[1:-1])
    alpha, beta = eos.expansion(*at)
    thermal = eos.gravity * alpha * gradient(state.temperature, grid)
    return thermal, eos.gravity * beta * gradient(state.salinity, grid)
