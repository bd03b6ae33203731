"""What the column, or its upper part, holds."""

from .._types import Scalar
from .base import ColumnState, integral_above


def heat_content(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 c_p integral of T above a depth, relative to 0 degC [J m-2]."""
    eos = water.equation_of_state
    return (
        eos.reference_density * eos.heat_capacity * integral_above(water.state.temperature, water.grid, depth)
    )


def salt_content(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 integral of S above a depth [kg m-2]."""
    mass = 1e-3 * water.equation_of_state.reference_density
    return mass * integral_above(water.state.salinity, water.grid, depth)
