"""Lengths of turbulence that follow from the place in the column.

With d_s and d_b the distances to the surface and the bottom, each with the roughness length added, and H
the depth of the water.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar, parameter
from ...declarations import named
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ..energy import Walls


class Place(NamedTuple):
    """Where the inner faces lie, and what the turbulence there is.

    Args:
        grid: the vertical grid.
        from_surface, from_bottom: d_s and d_b [m].
        walls: surface and bottom.
        von_karman: kappa [1].
        tke: k [m2 s-2].
        n_squared: N² [s-2].
    """

    grid: Grid
    from_surface: InnerFaceArray
    from_bottom: InnerFaceArray
    walls: Walls
    von_karman: Scalar
    tke: InnerFaceArray
    n_squared: InnerFaceArray


class AbstractLength(eqx.Module):
    """A length on the inner faces."""

    @abc.abstractmethod
    def __call__(self, place: Place) -> InnerFaceArray:
        """l [m], positive, before the limit in stable water."""


@named("parabolic")
class Parabolic(AbstractLength):
    """l = kappa d_s d_b / (d_s + d_b)."""

    def __call__(self, place: Place) -> InnerFaceArray:
        return place.von_karman * reciprocal(reciprocal(place.from_surface) + reciprocal(place.from_bottom))


@named("triangular")
class Triangular(AbstractLength):
    """l = kappa min(d_s, d_b)."""

    def __call__(self, place: Place) -> InnerFaceArray:
        return place.von_karman * at_most(place.from_surface, place.from_bottom)


@named("xing_davies")
class XingDavies(AbstractLength):
    """The parabolic length with the distance to the bottom d shortened to d exp(-beta d / H).

    Args:
        beta: how fast the distance to the bottom is shortened [1].

    Source: Xing and Davies (1995), J. Geophys. Res. 100, 16063-16079.
    """

    beta: Scalar = parameter(2.0, valid_range=(0.0, 10.0))

    def __call__(self, place: Place) -> InnerFaceArray:
        roughness = place.walls.bottom.roughness_length
        distance = place.from_bottom - roughness
        shortened = distance * jnp.exp(-self.beta * distance / place.grid.depth) + roughness
        return place.von_karman * reciprocal(reciprocal(place.from_surface) + reciprocal(shortened))


@named("robert_ouellet")
class RobertOuellet(AbstractLength):
    """l = kappa d_b sqrt(d_s / H).

    Source: Robert and Ouellet (1987), in Three-Dimensional Models of Marine and Estuarine Dynamics.
    """

    def __call__(self, place: Place) -> InnerFaceArray:
        return place.von_karman * place.from_bottom * safe_sqrt(place.from_surface / place.grid.depth)


@named("blackadar")
class Blackadar(AbstractLength):
    """1 / l = 1 / (kappa d_s) + 1 / (kappa d_b) + 1 / l_a,  l_a = gamma mean(sqrt(k) d_b) / mean(sqrt(k)).

    Args:
        gamma: l_a over the mean height of the turbulence [1].

    Source: Blackadar (1962), J. Geophys. Res. 67, 3095-3102, for two walls; gamma as in GOTM.
    """

    gamma: Scalar = parameter(0.2, valid_range=(0.01, 2.0))

    def __call__(self, place: Place) -> InnerFaceArray:
        weight = safe_sqrt(place.tke) * place.grid.cell_thickness[:-1]
        mean = jnp.sum(weight * place.from_bottom, axis=0) / jnp.sum(weight, axis=0)
        near_walls = (reciprocal(place.from_surface) + reciprocal(place.from_bottom)) / place.von_karman
        return reciprocal(near_walls + 1.0 / at_least(self.gamma * mean, 1e-10))
