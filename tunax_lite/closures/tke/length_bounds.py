"""How far the length sqrt(2 k) / N may reach, and which lengths mix and dissipate.

With l_up the reach from the surface downward and l_down from the bottom upward,

    l_up(z) = min over z' >= z of l(z') + z' - z,    l_down(z) = min over z' <= z of l(z') + z - z',

so that neither changes faster than the distance: |dl/dz| <= 1. The minima begin with given lengths at the
surface and the bottom.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar
from ...declarations import named, setting
from ...grid import Grid
from ...numerics.limiters import at_most
from ...numerics.running import smallest_downward, smallest_upward


class AbstractLengthBounds(eqx.Module):
    """Lengths of mixing and of dissipation on the inner faces."""

    @abc.abstractmethod
    def __call__(
        self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        """l_m and l_d [m], positive.

        Args:
            length: sqrt(2 k) / N with its floor [m].
            surface, bottom: lengths on the two ends [m].
            grid: the vertical grid.
        """


@named("within_column")
class WithinColumn(AbstractLengthBounds):
    """Both at most the distances to the surface and the bottom.

    Args:
        half_spacing: count the distance to the surface from half the face spacing above it, as in Veros.
    """

    half_spacing: bool = setting(False)

    def __call__(
        self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        del surface, bottom
        z = grid.z_face
        from_surface = z[-1] - z[1:-1]
        if self.half_spacing:
            from_surface = from_surface + 0.5 * grid.center_spacing
        length = at_most(length, jnp.minimum(from_surface, z[1:-1] - z[0]))
        return length, length


@named("within_spacing")
class WithinSpacing(AbstractLengthBounds):
    """Both at most the distance between the neighbouring centers."""

    def __call__(
        self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        del surface, bottom
        length = at_most(length, grid.center_spacing)
        return length, length


@named("bounded_slope")
class BoundedSlope(AbstractLengthBounds):
    """Both min(l_up, l_down)."""

    def __call__(
        self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        upward, downward = _reach(length, surface, bottom, grid)
        length = at_most(upward, downward)
        return length, length


@named("up_and_down")
class UpAndDown(AbstractLengthBounds):
    """l_m = min(l_up, l_down), l_d = sqrt(l_up l_down).

    Source: Bougeault and Lacarrere (1989), Mon. Wea. Rev. 117, 1872-1890, for the two lengths; Madec et al.
    (1998) for the bounds.
    """

    def __call__(
        self, length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        upward, downward = _reach(length, surface, bottom, grid)
        return at_most(upward, downward), jnp.sqrt(upward * downward)


def _reach(
    length: InnerFaceArray, surface: Scalar, bottom: Scalar, grid: Grid
) -> tuple[InnerFaceArray, InnerFaceArray]:
    """l_up and l_down [m]."""
    z, ends = grid.z_face[1:-1], grid.z_face
    upward = at_most(smallest_upward(length + z), surface + ends[-1]) - z
    downward = at_most(smallest_downward(length - z), bottom - ends[0]) + z
    return upward, downward
