"""Slab mixed layers, whose depth follows from an energy budget or from Richardson numbers.

The coefficients of a closure act in the next step, in which the surface forcing is applied first. The layer
is therefore diagnosed from the buoyancy that the column will have after one more step of forcing.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._types import CenterArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..declarations import named
from ..numerics.elementary import at_least, at_most, difference, reciprocal, smallest_upward
from .base import AbstractPlainClosure, ClosureInputs, EddyCoefficients

MIXING_NUMBER = 10.0  # diffusivity times step over squared depth: differences vanish within a step
_SMALLEST_ENERGY, _SMALLEST_REMAINDER = 1e-14, 1e-7  # divisors: energy [m3 s-2], unmixed fraction [1]
_LOWEST_RICHARDSON_NUMBER = 0.01  # for the exchange [1]; at this value two cells become uniform
_SMALLEST_DIFFERENCE = 1e-10  # squared velocity difference; cells with less do not exchange [m2 s-2]


def total_above(content: CenterArray) -> InnerFaceArray:
    """Sum over the cells above each inner face."""
    return jnp.cumsum(content[:0:-1], axis=0)[::-1]


def face_depth(grid: Grid) -> InnerFaceArray:
    """Depth of the inner faces below the surface [m]."""
    return grid.z_face[-1] - grid.z_face[1:-1]


def buoyancy_after(inputs: ClosureInputs, dt: ScalarLike) -> CenterArray:
    """Buoyancy relative to the uppermost cell, after one more step of forcing [m s-2]."""
    jumps = inputs.buoyancy_frequency_squared * inputs.grid.center_spacing
    below_surface = -jnp.cumsum(jumps[::-1], axis=0)[::-1]
    top = jnp.zeros_like(below_surface[-1:])
    fluxes = jnp.concatenate([jnp.zeros_like(below_surface), top + inputs.surface_buoyancy_flux])
    if inputs.radiative_buoyancy_flux is not None:
        fluxes = fluxes + difference(inputs.radiative_buoyancy_flux)
    return jnp.concatenate([below_surface, top]) + dt * fluxes / inputs.grid.cell_thickness


def homogenising_coefficient(depth: Scalar, dt: ScalarLike) -> Scalar:
    """Coefficient [m2 s-1] that makes a layer of a depth [m] uniform in one step."""
    return MIXING_NUMBER * depth**2 / dt


def _equal_coefficients(coefficient: InnerFaceArray) -> EddyCoefficients:
    return EddyCoefficients.from_inner_faces(coefficient, coefficient)


@named("kraus_turner")
class KrausTurner(AbstractPlainClosure[EddyCoefficients]):
    """A mixed layer whose depth follows from the energy of wind and convection: Kraus, Turner, Niiler.

        h w_e db / 2 = m u*³ + n h max(-B, 0) / 2

    with the depth h of the layer, the entrainment velocity w_e, the buoyancy jump db below the layer, the
    friction velocity u* and the buoyancy flux B into the water.

    Discretisation: mixing the cell of thickness h_c below a uniform layer of depth D into it requires the
    energy D h_c (b_layer - b_cell) / 2 per unit area. The layer entrains cells, the last one partially, until
    the energy from wind and convection in a step is used up. Where the stratification is unstable, cells
    release energy, of which the fraction n is available.

    Args:
        wind_efficiency: m, energy that is available for mixing, in units of u*³ [1].
        convective_efficiency: n, fraction of the energy of convection that is available for mixing [1]; 0 for
            encroachment.
        background_coefficient: coefficient of both viscosity and diffusivity below the layer [m2 s-1].

    Source: Kraus and Turner (1967), Tellus 19, 98-106; Niiler and Kraus (1977), in Modelling and Prediction
    of the Upper Layers of the Ocean; m after Kato and Phillips (1969), J. Fluid Mech. 37, 643-655; n after
    Stull (1976), J. Atmos. Sci. 33, 1260-1267.
    """

    wind_efficiency: Scalar = parameter(1.25, valid_range=(0.0, 10.0))
    convective_efficiency: Scalar = parameter(0.2, valid_range=(0.0, 1.0))
    background_coefficient: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))

    def init(self, inputs: ClosureInputs) -> EddyCoefficients:
        return _equal_coefficients(jnp.zeros_like(inputs.shear_squared) + self.background_coefficient)

    def step(self, clo_state: EddyCoefficients, inputs: ClosureInputs, dt: ScalarLike) -> EddyCoefficients:
        grid = inputs.grid
        depth, cell = face_depth(grid), grid.cell_thickness[:-1]
        buoyancy = buoyancy_after(inputs, dt)
        excess = total_above(buoyancy * grid.cell_thickness) - depth * buoyancy[:-1]
        needed = 0.5 * cell * excess
        spent = at_least(needed, 0.0)
        spent_above = jnp.cumsum(spent[::-1], axis=0)[::-1] - spent
        released = jnp.sum(jnp.where(spent_above > 0.0, 0.0, spent - needed), axis=0)
        energy = dt * self.wind_efficiency * inputs.surface_friction_velocity**3
        energy = energy + self.convective_efficiency * released

        # The remaining energy mixes this fraction of each cell; unstable cells add what they release.
        fraction = (energy - spent_above + spent - needed) * reciprocal(at_least(needed, _SMALLEST_ENERGY))
        fraction = at_most(at_least(fraction, 0.0), 1.0)
        thickness = grid.cell_thickness[-1] + jnp.sum(fraction * cell, axis=0)
        # Exchange g that mixes the fraction f of a cell: f = r / (1 + r) with r = g (1 / D + 1 / h_c).
        exchange = fraction * reciprocal(at_least(1.0 - fraction, _SMALLEST_REMAINDER))
        exchange = exchange * (depth * cell / (depth + cell) * grid.center_spacing / dt)
        coefficient = at_most(exchange, homogenising_coefficient(thickness, dt))
        return _equal_coefficients(coefficient + self.background_coefficient)


@named("price_weller_pinkel")
class PriceWellerPinkel(AbstractPlainClosure[EddyCoefficients]):
    """A mixed layer that deepens by Richardson numbers: Price, Weller and Pinkel.

    The layer extends from the surface over the cells for which one of three conditions holds between the
    water above and the cell: it is denser; it is lighter by less than a threshold; the bulk Richardson number
    D (b_layer - b_cell) / |V_layer - V_cell|² is at most R_b. Below, unstable neighbouring cells become
    uniform, and those with a gradient Richardson number below R_g exchange enough to raise it above R_g.

    Layer membership has no derivative: of the parameters only R_g has one, through the exchange below the
    layer.

    Args:
        bulk_richardson_number: R_b [1].
        gradient_richardson_number: R_g [1].
        density_threshold: smallest density excess over the water above that ends the layer [kg m-3].

    Source: Price, Weller and Pinkel (1986), J. Geophys. Res. 91, 8411-8427; Price's 1993 code for the
    exchange.
    """

    bulk_richardson_number: Scalar = parameter(0.65, valid_range=(0.0, 10.0))
    gradient_richardson_number: Scalar = parameter(0.25, valid_range=(0.0, 10.0))
    density_threshold: Scalar = parameter(1e-4, unit="kg m-3", valid_range=(0.0, 1.0))

    def init(self, inputs: ClosureInputs) -> EddyCoefficients:
        return _equal_coefficients(jnp.zeros_like(inputs.shear_squared))

    def step(self, clo_state: EddyCoefficients, inputs: ClosureInputs, dt: ScalarLike) -> EddyCoefficients:
        grid = inputs.grid
        # Buoyancy and velocity after one more step of forcing.
        u, v = inputs.state.u, inputs.state.v
        changes = [dt * flux / grid.cell_thickness[-1:] for flux in inputs.surface_momentum_flux]
        u, v = (jnp.concatenate([x[:-1], x[-1:] + change]) for x, change in zip((u, v), changes, strict=True))
        column = buoyancy_after(inputs, dt), u, v
        in_layer = self._in_layer(column, inputs)
        in_cells = jnp.concatenate([in_layer, jnp.ones_like(in_layer[:1])])
        thickness = jnp.where(in_cells, grid.cell_thickness, 0.0)
        depth = jnp.sum(thickness, axis=0)
        mixed = [jnp.where(in_cells, jnp.sum(x * thickness, axis=0) / depth, x) for x in column]
        uniform = in_layer | (difference(mixed[0]) < 0.0)
        exchange = self._exchange(mixed, grid, dt)
        return _equal_coefficients(jnp.where(uniform, homogenising_coefficient(depth, dt), exchange))

    def _in_layer(self, column: Sequence[CenterArray], inputs: ClosureInputs) -> Bool[Array, "inner *#batch"]:
        """Mask of the inner faces within the layer."""
        grid, eos = inputs.grid, inputs.equation_of_state
        depth, thickness = face_depth(grid), grid.cell_thickness
        # Depth times (mean above minus value below).
        lighter, du, dv = (total_above(x * thickness) - depth * x[:-1] for x in column)
        is_sheared = lighter * depth**2 <= self.bulk_richardson_number * (du**2 + dv**2)
        threshold = eos.gravity / eos.reference_density * self.density_threshold
        # Relative to the mean, not to the uppermost cell, which is dense under cooling until it is mixed.
        is_neutral = lighter <= threshold * depth
        return smallest_upward((is_sheared | is_neutral).astype(lighter.dtype)) > 0.5

    def _exchange(self, column: Sequence[CenterArray], grid: Grid, dt: ScalarLike) -> InnerFaceArray:
        """Coefficient [m2 s-1] that raises a gradient Richardson number within a step."""
        spacing, thickness = grid.center_spacing, grid.cell_thickness
        critical = self.gradient_richardson_number
        db, du, dv = map(difference, column)
        du_squared, jump = du**2 + dv**2, db * spacing
        inverse_ri = du_squared * reciprocal(at_least(jump, _LOWEST_RICHARDSON_NUMBER * du_squared + 1e-15))
        # Price's code: Ri' = Ri_c + (0.02 + (Ri_c - Ri) / 2) / 5, with g (1 / h_1 + 1 / h_2) = Ri' / Ri - 1.
        ratio = (1.1 * critical + 0.004) * inverse_ri - 1.1
        mixes = (jump < critical * du_squared) & (du_squared >= _SMALLEST_DIFFERENCE)
        volume = thickness[1:] * thickness[:-1] / (thickness[1:] + thickness[:-1])
        return jnp.where(mixes, ratio, 0.0) * volume * spacing / dt
