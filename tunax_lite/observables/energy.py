"""Energies of the column, or of its upper part."""

import jax.numpy as jnp

from .._types import Scalar
from .base import ColumnState, integral_above
from .buoyancy import buoyancy


def potential_energy(water: ColumnState, depth: float | None = None) -> Scalar:
    """-rho_0 integral of b z above a depth [J m-2]; mixing of stratified water raises it."""
    moment = integral_above(buoyancy(water) * water.grid.z_center, water.grid, depth)
    return -water.equation_of_state.reference_density * moment


def potential_energy_anomaly(water: ColumnState, depth: float | None = None) -> Scalar:
    """phi = rho_0 / h integral of (b - mean of b) z above a depth h [J m-3]: what it takes to mix that layer.

    The heights are those of the centers of the cells; a cell that the depth cuts counts with its part above.

    Source: Simpson (1981), Phil. Trans. R. Soc. A 302, 531-546, per volume of the layer.
    """
    b, grid = buoyancy(water), water.grid
    thickness = integral_above(jnp.ones_like(b), grid, depth)
    mean = integral_above(b, grid, depth) / thickness
    height = integral_above(grid.z_center + 0.0 * b, grid, depth) / thickness
    moment = integral_above((b - mean) * (grid.z_center - height), grid, depth)
    return water.equation_of_state.reference_density * moment / thickness


def kinetic_energy(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 integral of (u² + v²) / 2 above a depth [J m-2]."""
    squared = water.state.u**2 + water.state.v**2
    return 0.5 * water.equation_of_state.reference_density * integral_above(squared, water.grid, depth)
