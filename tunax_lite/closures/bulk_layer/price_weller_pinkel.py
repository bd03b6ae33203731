"""The layer that Richardson numbers deepen: Price, Weller and Pinkel.

The layer holds the cells below the surface, from the top, in which one of three is true of the water above
and the cell: it is denser; it is lighter by less than a threshold; the bulk
Richardson number D (b_layer - b_cell) / |V_layer - V_cell|² is at most R_b. Below, neighbours whose gradient
Richardson number is less than R_g exchange what lifts it above R_g.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..._types import CenterArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import named
from ...grid import Grid
from ...numerics.limiters import at_least, reciprocal
from ...numerics.running import smallest_upward
from ...numerics.stencils import difference
from ..base import AbstractClosure, ClosureInputs
from .layer import BulkLayerState, buoyancy_after, coefficient_within, face_depth, total_above

_LOWEST_RATIO = 0.01  # of the Richardson number in the exchange: two cells then become one
_SMALLEST_DIFFERENCE = 1e-10  # of velocity squared that mixes by its gradient [m2 s-2]


class _Column(NamedTuple):
    buoyancy: CenterArray
    u: CenterArray
    v: CenterArray


@named("price_weller_pinkel")
class PriceWellerPinkel(AbstractClosure[BulkLayerState]):
    """A mixed layer with a bulk and a gradient Richardson number.

    Which cells belong to the layer has no derivative; that of the three numbers is 0 but for the exchange
    below the layer.

    Args:
        bulk_richardson_number: R_b [1].
        gradient_richardson_number: R_g [1].
        density_threshold: of the layer [kg m-3].

    Source: Price, Weller and Pinkel (1986), J. Geophys. Res. 91, 8411-8427; Price's code of 1993 for the
    exchange.
    """

    bulk_richardson_number: Scalar = parameter(0.65, valid_range=(0.0, 10.0))
    gradient_richardson_number: Scalar = parameter(0.25, valid_range=(0.0, 10.0))
    density_threshold: Scalar = parameter(1e-4, unit="kg m-3", valid_range=(0.0, 1.0))

    def prepare(self) -> "PriceWellerPinkel":
        return self

    def init(self, inputs: ClosureInputs) -> BulkLayerState:
        return BulkLayerState.of(jnp.zeros_like(inputs.shear_squared))

    def step(self, clo_state: BulkLayerState, inputs: ClosureInputs, dt: ScalarLike) -> BulkLayerState:
        del clo_state
        grid = inputs.grid
        column = self._forced(inputs, dt)
        within = self._within(column, inputs)
        cells = jnp.concatenate([within, jnp.ones_like(within[:1])])
        layer = jnp.where(cells, grid.cell_thickness, 0.0)
        whole = jnp.sum(layer, axis=0)
        mixed = [jnp.where(cells, jnp.sum(values * layer, axis=0) / whole, values) for values in column]
        uniform = within | (difference(mixed[0]) < 0.0)
        exchange = self._exchange(_Column(*mixed), grid, dt)
        return BulkLayerState.of(jnp.where(uniform, coefficient_within(whole, dt), exchange))

    def _forced(self, inputs: ClosureInputs, dt: ScalarLike) -> _Column:
        """Buoyancy and velocity after the forcing of one more step."""
        u, v = inputs.state.u, inputs.state.v
        if inputs.surface_momentum_flux is not None:
            gained = [dt * flux / inputs.grid.cell_thickness[-1:] for flux in inputs.surface_momentum_flux]
            u, v = (jnp.concatenate([x[:-1], x[-1:] + more]) for x, more in zip((u, v), gained, strict=True))
        return _Column(buoyancy_after(inputs, dt), u, v)

    def _within(self, column: _Column, inputs: ClosureInputs) -> Bool[Array, "inner *#batch"]:
        """Whether the layer goes on below each inner face."""
        grid, eos = inputs.grid, inputs.equation_of_state
        depth, thickness = face_depth(grid), grid.cell_thickness
        # Depth times the mean above less the value below.
        stable, u, v = (total_above(x * thickness) - depth * x[:-1] for x in column)
        bulk = stable * depth**2 <= self.bulk_richardson_number * (u**2 + v**2)
        threshold = eos.gravity / eos.reference_density * self.density_threshold
        # Of the mean, not of the uppermost cell, which cooling makes dense until it is mixed.
        alike = stable <= threshold * depth
        return smallest_upward((bulk | alike).astype(stable.dtype)) > 0.5

    def _exchange(self, column: _Column, grid: Grid, dt: ScalarLike) -> InnerFaceArray:
        """Coefficient [m2 s-1] that lifts a gradient Richardson number in a step."""
        spacing, thickness = grid.center_spacing, grid.cell_thickness
        critical = self.gradient_richardson_number
        sheared = difference(column.u) ** 2 + difference(column.v) ** 2
        stable = difference(column.buoyancy) * spacing
        inverse = sheared * reciprocal(at_least(stable, _LOWEST_RATIO * sheared + 1e-15))
        # Ri' = Ri_c + (0.02 + (Ri_c - Ri) / 2) / 5, and g (1 / h + 1 / h) = Ri' / Ri - 1
        number = (1.1 * critical + 0.004) * inverse - 1.1
        mixes = (stable < critical * sheared) & (sheared >= _SMALLEST_DIFFERENCE)
        volume = thickness[1:] * thickness[:-1] / (thickness[1:] + thickness[:-1])
        return jnp.where(mixes, number, 0.0) * volume * spacing / dt
