"""The water at the surface."""

from .._types import Scalar
from .base import ColumnState


def sea_surface_temperature(water: ColumnState) -> Scalar:
    """Temperature of the uppermost cell [degC], conservative where that of the column is."""
    return water.state.temperature[-1]
