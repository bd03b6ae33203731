"""The layer whose depth follows from the energy of wind and convection: Kraus, Turner, Niiler.

    h w_e db / 2 = m u*³ + n h max(-B, 0) / 2

On a grid: mixing the cell of thickness h_c below a uniform layer of depth D into it takes the energy
D h_c (b_layer - b_cell) / 2 per area. The layer takes in cells, the last one in part, until what wind and
convection give in a step is spent. Where cells give energy, the water is unstable; a share n of this counts.
"""

import jax.numpy as jnp

from ..._types import Scalar, ScalarLike, parameter
from ...declarations import named
from ...numerics.limiters import at_least, at_most, reciprocal
from ..base import AbstractClosure, ClosureInputs
from .layer import BulkLayerState, buoyancy_after, coefficient_within, face_depth, total_above

_SMALLEST_ENERGY, _SMALLEST_REST = 1e-14, 1e-7


@named("kraus_turner")
class KrausTurner(AbstractClosure[BulkLayerState]):
    """A mixed layer with the energy budget of its entrainment.

    Args:
        wind_efficiency: m, the share of u*³ that lifts water [1].
        convective_efficiency: n, the share of the energy of convection [1]; 0 for encroachment.
        background_coefficient: of both viscosity and diffusivity below the layer [m2 s-1].

    Source: Kraus and Turner (1967), Tellus 19, 98-106; Niiler and Kraus (1977), in Modelling and Prediction
    of the Upper Layers of the Ocean; m after Kato and Phillips (1969), J. Fluid Mech. 37, 643-655; n after
    Stull (1976), J. Atmos. Sci. 33, 1260-1267.
    """

    wind_efficiency: Scalar = parameter(1.25, valid_range=(0.0, 10.0))
    convective_efficiency: Scalar = parameter(0.2, valid_range=(0.0, 1.0))
    background_coefficient: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))

    def prepare(self) -> "KrausTurner":
        return self

    def init(self, inputs: ClosureInputs) -> BulkLayerState:
        return BulkLayerState.of(jnp.zeros_like(inputs.shear_squared) + self.background_coefficient)

    def step(self, clo_state: BulkLayerState, inputs: ClosureInputs, dt: ScalarLike) -> BulkLayerState:
        del clo_state
        grid = inputs.grid
        depth, cell = face_depth(grid), grid.cell_thickness[:-1]
        buoyancy = buoyancy_after(inputs, dt)
        lighter = total_above(buoyancy * grid.cell_thickness) - depth * buoyancy[:-1]
        needed = 0.5 * cell * lighter
        taken = at_least(needed, 0.0)
        spent_above = jnp.cumsum(taken[::-1], axis=0)[::-1] - taken
        given = jnp.sum(jnp.where(spent_above > 0.0, 0.0, taken - needed), axis=0)
        energy = dt * self.wind_efficiency * inputs.surface_friction_velocity**3
        energy = energy + self.convective_efficiency * given

        share = (energy - spent_above + taken - needed) * reciprocal(at_least(needed, _SMALLEST_ENERGY))
        share = at_most(at_least(share, 0.0), 1.0)
        whole = grid.cell_thickness[-1] + jnp.sum(share * cell, axis=0)
        # Two bodies that exchange g lose the share g (1 / D + 1 / h_c) / (1 + the same) of their difference.
        exchange = share * reciprocal(at_least(1.0 - share, _SMALLEST_REST))
        exchange = exchange * (depth * cell / (depth + cell) * grid.center_spacing / dt)
        coefficient = at_most(exchange, coefficient_within(whole, dt))
        return BulkLayerState.of(coefficient + self.background_coefficient)
