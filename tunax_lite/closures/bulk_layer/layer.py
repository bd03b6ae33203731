"""What bulk layers share: the buoyancy that decides on their depth, and the coefficients that mix them.

A closure acts through the coefficients of the next step, in which the surface forcing enters first. The
layer is therefore that of the buoyancy which the column will have after the forcing of one more step.
"""

import jax.numpy as jnp

from ..._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ...grid import Grid
from ...numerics.stencils import difference, with_end_faces
from ..base import CloState, ClosureInputs

MIXING_NUMBER = 10.0
"""Diffusivity times step over the squared depth of a layer: differences within it vanish in a step."""


class BulkLayerState(CloState):
    """Eddy coefficients of a bulk layer."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None

    @classmethod
    def of(cls, coefficient: InnerFaceArray) -> "BulkLayerState":
        faces = with_end_faces(coefficient, 0.0, 0.0)
        return cls(eddy_viscosity=faces, eddy_diffusivity=faces)


def total_above(content: CenterArray) -> InnerFaceArray:
    """Sum over the cells above each inner face."""
    return jnp.cumsum(content[:0:-1], axis=0)[::-1]


def face_depth(grid: Grid) -> InnerFaceArray:
    """Of the inner faces below the surface [m]."""
    return grid.z_face[-1] - grid.z_face[1:-1]


def buoyancy_after(inputs: ClosureInputs, dt: ScalarLike) -> CenterArray:
    """Buoyancy over that of the uppermost cell, after the forcing of one more step [m s-2]."""
    steps = inputs.buoyancy_frequency_squared * inputs.grid.center_spacing
    below_surface = -jnp.cumsum(steps[::-1], axis=0)[::-1]
    top = jnp.zeros_like(below_surface[-1:])
    gained = jnp.concatenate([jnp.zeros_like(below_surface), top + inputs.surface_buoyancy_flux])
    if inputs.radiative_buoyancy_flux is not None:
        gained = gained + difference(inputs.radiative_buoyancy_flux)
    return jnp.concatenate([below_surface, top]) + dt * gained / inputs.grid.cell_thickness


def coefficient_within(depth: Scalar, dt: ScalarLike) -> Scalar:
    """What makes a layer of some depth [m] uniform within a step [m2 s-1]."""
    return MIXING_NUMBER * depth**2 / dt
