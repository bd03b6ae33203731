"""Differences and means between cell centers and faces, and integrals over the column."""

import jax.numpy as jnp

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..grid import Grid
from .limiters import reciprocal


def difference(values: CenterArray) -> InnerFaceArray:
    """Upper minus lower neighbour, on inner faces."""
    return values[1:] - values[:-1]


def gradient(values: CenterArray, grid: Grid) -> InnerFaceArray:
    """Vertical derivative on inner faces [unit m-1], second order on a uniform grid."""
    return difference(values) * reciprocal(grid.center_spacing)


def mean_of_neighbours(values: CenterArray) -> InnerFaceArray:
    """Arithmetic mean of the two neighbours, on inner faces."""
    return 0.5 * (values[1:] + values[:-1])


def column_integral(values: CenterArray, grid: Grid) -> Scalar:
    """Integral over the column [unit m]."""
    return jnp.sum(values * grid.cell_thickness, axis=0)


def with_end_faces(inner: InnerFaceArray, bottom: ScalarLike, surface: ScalarLike) -> FaceArray:
    """Values on all faces, from those on inner faces and the two ends."""
    end = jnp.zeros_like(inner[:1])
    return jnp.concatenate([end + bottom, inner, end + surface])
