"""The equation for the turbulent kinetic energy k, and parts shared with equations for other quantities.

    dk/dt = d/dz (nu / sigma_k dk/dz) + P + P_St + B - eps
    P = nu S²,   P_St = nu dU/dz . dU_s/dz,   B = -kappa N²,   nu = c_mu k²/eps,   kappa = c_mu' k²/eps

and if waves drive momentum, u'w' = -nu dU/dz - nu_S dU_s/dz with nu_S = c_mu_S k²/eps,
P = nu S² + nu_S dU/dz . dU_s/dz and P_St = nu dU/dz . dU_s/dz + nu_S |dU_s/dz|².

The diffusion and the sinks are implicit (Patankar). Unknowns live on inner faces.

Source: Umlauf and Burchard (2005), Cont. Shelf Res. 25, 795-827; Burchard et al. (2003), Appl. Numer. Math.
47, 1-30, for the splitting of sources.
"""

import abc
import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import ColumnArray, InnerFaceArray, Scalar, ScalarLike
from ..numerics.diffusion import CarryingRates, EndValues, Sources, diffuse
from ..numerics.elementary import (
    at_least,
    at_most,
    mean_of_neighbours,
    quotient,
    reciprocal,
    safe_sqrt,
    smallest_downward,
    smallest_upward,
)
from .base import ClosureInputs
from .stability import AbstractStabilityFunctions, StabilityValues
from .walls import EndCondition, Wall

_ROOT_2 = math.sqrt(2.0)


class Production(NamedTuple):
    """P, B and P_St on inner faces [m2 s-3]; the last is `None` without waves."""

    shear: InnerFaceArray
    buoyancy: InnerFaceArray
    stokes: InnerFaceArray | None


class Rates(NamedTuple):
    """P, B, P_St and eps divided by k [s-1]."""

    shear: InnerFaceArray
    buoyancy: InnerFaceArray
    stokes: InnerFaceArray | None
    dissipation: InnerFaceArray

    @classmethod
    def of(cls, tke: InnerFaceArray, dissipation: InnerFaceArray, production: Production) -> "Rates":
        shear, buoyancy, stokes = production
        waves = None if stokes is None else quotient(stokes, tke)
        return cls(quotient(shear, tke), quotient(buoyancy, tke), waves, quotient(dissipation, tke))


class Step(NamedTuple):
    """Input of all parts of a step: values at its start, on inner faces."""

    functions: AbstractStabilityFunctions
    bottom: Wall
    surface: Wall
    inputs: ClosureInputs
    dt: ScalarLike
    tke: InnerFaceArray
    dissipation: InnerFaceArray
    rates: Rates
    viscosity: InnerFaceArray
    stability: StabilityValues
    negative_in_sink: bool  # whether negative shear production joins the sink

    @property
    def time_scale(self) -> InnerFaceArray:
        """k / eps [s]."""
        return reciprocal(self.rates.dissipation)

    def sources_of_tke(self) -> tuple[InnerFaceArray, InnerFaceArray]:
        """Source of k [m2 s-3] and rate of its implicit sink [s-1]."""
        production = self.rates.shear
        if self.rates.stokes is not None:
            production = production + self.rates.stokes
        parts = production, self.rates.buoyancy, self.rates.dissipation
        growth, sink_rate = split_sources(*parts, negative_in_sink=self.negative_in_sink)
        return self.tke * growth, sink_rate


def split_sources(
    production: InnerFaceArray, buoyancy: InnerFaceArray, sink: InnerFaceArray, *, negative_in_sink: bool
) -> tuple[InnerFaceArray, InnerFaceArray]:
    """Return the explicit source and the implicit sink, all terms divided by the quantity [s-1].

    The implicit sink keeps the quantity positive (Patankar).

    If the sum of shear and buoyancy production is negative, the buoyancy part joins the sink, and with
    `negative_in_sink` a negative shear production, which waves can cause, does so, too.
    """
    produced = production + buoyancy
    grows = produced > 0.0
    source = jnp.where(grows, produced, production)
    implicit_part = buoyancy + at_most(production, 0.0) if negative_in_sink else buoyancy
    source = at_least(source, 0.0) if negative_in_sink else source
    return source, jnp.where(grows, sink, sink - implicit_part)


def advance(
    quantity: InnerFaceArray,
    conductance: ColumnArray,
    source: InnerFaceArray,
    sink_rate: InnerFaceArray,
    ends: Sequence[EndCondition],
    inputs: ClosureInputs,
    dt: ScalarLike,
    flow: CarryingRates | None = None,
) -> InnerFaceArray:
    """A turbulence quantity after one implicit step, with its boundary conditions and `flow` by plumes."""
    (bottom, surface), volumes = ends, inputs.grid.center_spacing
    is_held, at_ends = bottom.value is not None or surface.value is not None, (bottom.flux, surface.flux)
    areas, cell_area = inputs.grid.relative_area, inputs.grid.cell_area
    if areas is not None and cell_area is not None:
        # A flux through a cell crosses its mean area; a volume between centers has the area of its face.
        volumes, conductance = areas[1:-1] * volumes, cell_area[1:-1] * conductance
        flow = None if flow is None else flow.through(cell_area)
        sides = zip(at_ends, (cell_area[0], cell_area[-1]), strict=True)
        at_ends = tuple(None if flux is None else area * flux for flux, area in sides)
    return diffuse(
        quantity,
        conductance,
        volumes,
        dt,
        source=Sources(source * volumes, *at_ends),
        sink_rate=sink_rate,
        held=EndValues(bottom.value, surface.value) if is_held else None,
        flow=flow,
        method=inputs.tridiagonal_method,
    )


def nonlocal_diffusivity(now: Step, slope: Scalar) -> InnerFaceArray:
    """Additional diffusivity [m2 s-1] by eddies of length l_e > l that come from other levels:

    sqrt(k) (l_e - l),   l_e(z) = max over z' of l(z') - r |z - z'|.

    Source: after Bougeault and Lacarrere (1989), Mon. Weather Rev. 117, 1872-1890, whose r is 1.
    """
    speed, slope_times_z = safe_sqrt(now.tke), slope * now.inputs.grid.z_face[1:-1]
    length = now.functions.c_mu_0**3 * speed * now.time_scale
    from_above = slope_times_z - smallest_upward(slope_times_z - length)
    from_below = -slope_times_z - smallest_downward(-slope_times_z - length)
    return speed * (jnp.maximum(from_above, from_below) - length)


class AbstractDiffusion(eqx.Module):
    """Turbulent diffusion of one of the turbulence quantities."""

    @abc.abstractmethod
    def conductance(self, now: Step) -> ColumnArray:
        """Diffusivity over thickness, at the centers of inner cells [m s-1]."""

    @abc.abstractmethod
    def at_wall(self, functions: AbstractStabilityFunctions, below_waves: bool) -> Scalar:
        """Diffusivity over sqrt(k) l [1] in a logarithmic layer, or in a shear-free layer below waves."""


class SchmidtNumber(AbstractDiffusion):
    """nu / sigma; with eddies from other levels and constant sigma, [nu + c_mu0 sqrt(k) (l_e - l)] / sigma.

    Source: Burchard (2001), J. Phys. Oceanogr. 31, 3133-3145, for a variable Schmidt number.
    """

    sigma: Scalar  # turbulent Schmidt number [1]
    shear_free: Scalar  # value below breaking waves [1]
    varies: bool = eqx.field(default=False, static=True)  # sigma tends to `shear_free` where eps > P + B
    slope: Scalar | None = None  # r [1]; `None` for local eddies

    def conductance(self, now: Step) -> ColumnArray:
        thickness, sigma, shear_free = now.inputs.grid.cell_thickness[1:-1], self.sigma, self.shear_free
        if not self.varies:
            viscosity = now.viscosity
            if self.slope is not None:
                viscosity = viscosity + now.functions.c_mu_0 * nonlocal_diffusivity(now, self.slope)
            return mean_of_neighbours(viscosity) * reciprocal(sigma * thickness)
        fraction = at_most((now.rates.shear + now.rates.buoyancy) * now.time_scale, 1.0)
        varying = shear_free + fraction * (sigma - shear_free)
        # Some constants and rates would make it fall below both numbers, and pass zero.
        varying = at_least(varying, jnp.minimum(sigma, shear_free))
        return mean_of_neighbours(now.viscosity * reciprocal(varying)) * reciprocal(thickness)

    def at_wall(self, functions: AbstractStabilityFunctions, below_waves: bool) -> Scalar:
        return functions.c_mu_shear_free / self.shear_free if below_waves else functions.c_mu_0 / self.sigma


class DiffusionByLength(AbstractDiffusion):
    """f q l with q² = 2 k and f = S, or f = sqrt(S² + (s S_H)²); with a slope, l_e replaces l."""

    factor: Scalar  # S [1]
    s_h: Scalar | None  # s, factor of the stability function S_H [1]; `None` for constant S
    slope: Scalar | None = None  # r [1]; `None` for local eddies

    def conductance(self, now: Step) -> ColumnArray:
        length_factor = _ROOT_2 * now.functions.c_mu_0**3
        factor: Scalar | InnerFaceArray = self.factor
        if self.s_h is not None:
            s_h = now.stability.scalars * reciprocal(length_factor)
            factor = safe_sqrt(self.factor**2 + (self.s_h * s_h) ** 2)
        diffusivity = length_factor * factor * (now.tke * now.time_scale)
        if self.slope is not None:
            diffusivity = diffusivity + _ROOT_2 * factor * nonlocal_diffusivity(now, self.slope)
        return mean_of_neighbours(diffusivity) * reciprocal(now.inputs.grid.cell_thickness[1:-1])

    def at_wall(self, functions: AbstractStabilityFunctions, below_waves: bool) -> Scalar:
        return _ROOT_2 * self.factor


class AbstractLengthScale(eqx.Module):
    """Length scale at the end of a step, expressed by epsilon = c_mu0³ k^(3/2) / l."""

    @abc.abstractmethod
    def dissipation(self, now: Step, tke: InnerFaceArray) -> InnerFaceArray:
        """epsilon [m2 s-3] for the new k, before floors and limits."""
