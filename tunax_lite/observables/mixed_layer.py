"""Depths of the mixed layer.

The first two are linear between the two cells around the crossing. Their derivative is that of the height of
the crossing there, -dT / (dT/dz) of both cells: it says nothing of a jump of the crossing to another pair of
cells, and is large where the water below the layer is hardly stratified. The depth of the largest N² takes
the heights of faces only: its derivative is 0, and a calibration that has nothing else does not move.
"""

import jax.numpy as jnp

from .._types import Scalar
from ..physics.mixed_layer import mixed_layer_depth
from ..physics.stratification import buoyancy_frequency_squared
from .base import ColumnState
from .buoyancy import potential_density


def by_temperature(
    water: ColumnState, difference: float = 0.2, reference_depth: float | None = None
) -> Scalar:
    """Depth where the temperature is `difference` [K] below that at a depth, or of the uppermost cell [m]."""
    return mixed_layer_depth(
        water.state.temperature, water.grid, difference=difference, reference_depth=reference_depth
    )


def by_density(water: ColumnState, difference: float = 0.03, reference_depth: float | None = None) -> Scalar:
    """Depth where the potential density is `difference` [kg m-3] above that at a depth, or of the surface."""
    return mixed_layer_depth(
        -potential_density(water), water.grid, difference=difference, reference_depth=reference_depth
    )


def by_stratification(water: ColumnState) -> Scalar:
    """Depth of the face with the largest N² [m], of the bottom where there is none."""
    n_squared = buoyancy_frequency_squared(water.state, water.grid, water.equation_of_state)
    # With the bottom in front, which counts 0: a column without stratification is mixed to the bottom.
    squared = jnp.concatenate([jnp.zeros_like(n_squared[:1]), n_squared])
    strongest = jnp.argmax(squared, axis=0)
    faces = jnp.broadcast_to(water.grid.z_face[:-1], squared.shape)
    return -jnp.take_along_axis(faces, strongest[None], axis=0)[0]
