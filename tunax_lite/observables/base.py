"""What an observable is computed from."""

import equinox as eqx
import jax.numpy as jnp

from .._types import CenterArray, Scalar
from ..grid import Grid
from ..physics.equation_of_state import AbstractEquationOfState
from ..state import State


class ColumnState(eqx.Module):
    """The water of a column, of the model or observed: all that an observable depends on."""

    state: State
    grid: Grid
    equation_of_state: AbstractEquationOfState


def integral_above(values: CenterArray, grid: Grid, depth: float | None) -> Scalar:
    """Integral [unit m] from a depth [m] to the surface, or over the column; a cell has one value.

    Args:
        values: on the cells.
        grid: of the column.
        depth: lower end of the layer, positive; beyond the bottom the column is the layer.
    """
    if depth is None:
        return jnp.sum(values * grid.cell_thickness, axis=0)
    lower = jnp.maximum(grid.z_face[:-1], -depth)
    return jnp.sum(values * jnp.maximum(grid.z_face[1:] - lower, 0.0), axis=0)
