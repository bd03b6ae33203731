"""Shape functions G(sigma) of the boundary layer, sigma = depth / h.

    simple:                G = sigma (1 - sigma)², also of the non-local flux
    parabolic_nonlocal:    the same, with (1 - sigma)² of the non-local flux
    match_gradient:        the cubic that continues the coefficients below, with the simple non-local flux
    match_both:            that cubic for both

Source: Large, McWilliams and Doney (1994), Rev. Geophys. 32, 363-403, eqs. 11, 17, 18 and D5; the names are
those of CVMix.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._types import InnerFaceArray, Scalar
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal
from ...numerics.stencils import with_end_faces
from .boundary_layer import pick

SHAPES = ("simple", "parabolic_nonlocal", "match_gradient", "match_both")
_WEAKEST_MIXING = 1e-10


class Cubic(NamedTuple):
    """G with G(0) = 0 and G'(0) = 1 from its value and slope at sigma = 1."""

    value: Scalar
    slope: Scalar

    def __call__(self, sigma: Float[Array, "..."]) -> Float[Array, "..."]:
        second = 3.0 * self.value - self.slope - 2.0
        third = 1.0 - 2.0 * self.value + self.slope
        return sigma * (1.0 + sigma * (second + sigma * third))


def simple(sigma: Float[Array, "..."]) -> Float[Array, "..."]:
    """sigma (1 - sigma)²."""
    left = 1.0 - sigma
    return sigma * (left * left)


def nonlocal_shape(shape: str, sigma: Float[Array, "..."], of_scalars: Cubic | None) -> Float[Array, "..."]:
    """Shape of the non-local flux [1].

    Args:
        shape: name of the option.
        sigma: depth in the layer [1].
        of_scalars: the matched shape; `None` without matching.
    """
    if shape == "match_both" and of_scalars is not None:
        return of_scalars(sigma)
    left = 1.0 - sigma
    return left * left if shape == "parabolic_nonlocal" else sigma * (left * left)


class Below(NamedTuple):
    """A coefficient at the depth of the boundary layer, and its slope, positive upward."""

    value: Scalar
    slope: Scalar


def at_layer_depth(coefficient: InnerFaceArray, depth: Scalar, grid: Grid) -> Below:
    """Interior coefficient [m2 s-1] and slope [m s-1] at the depth of the layer [m].

    From the face below, with the mean of the slopes in this cell and in the next, weighted by the distance;
    neither slope is negative. Source: Large et al. (1994), eq. D5.
    """
    faces = with_end_faces(coefficient, 0.0, 0.0)
    upper, lower = -grid.z_face[1:], -grid.z_face[:-1]
    within = (upper <= depth) & (depth < lower)
    slope = at_least((faces[1:] - faces[:-1]) * reciprocal(grid.cell_thickness), 0.0)
    next_slope = jnp.concatenate([jnp.zeros_like(slope[:1]), slope[:-1]])
    above_face = pick(within, lower - depth)
    weight = pick(within, (lower - depth) * reciprocal(grid.cell_thickness))
    mean = weight * pick(within, slope) + (1.0 - weight) * pick(within, next_slope)
    return Below(pick(within, faces[:-1]) + mean * above_face, mean)


def matched(below: Below, depth: Scalar, velocity: Scalar, stable_slope: Scalar | None) -> Cubic:
    """The shape whose coefficient continues that below.

    Args:
        below: the interior.
        depth: h [m].
        velocity: w at sigma = 1 [m s-1].
        stable_slope: c B / u*⁴ of the stable side [s m-2], for which the slope is matched as well;
            `None` for G'(1) = 0.
    """
    inverse = reciprocal(at_least(velocity, _WEAKEST_MIXING))
    value = below.value * inverse * reciprocal(depth)
    if stable_slope is None:
        return Cubic(value, jnp.zeros_like(value))
    return Cubic(value, at_most(stable_slope * below.value - below.slope * inverse, 0.0))
