"""What the absorption of shortwave radiation gives: the fraction I(z) / I(0) that reaches a height.

Cells are heated by the difference of I over their faces (not by its value at the center), so that the
column takes exactly what enters.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, FaceArray
from ...grid import Grid


class AbstractAbsorption(eqx.Module):
    """Fraction of shortwave radiation that reaches a height."""

    bottom_absorbs: eqx.AbstractVar[bool]
    """Whether the lowest cell takes what reaches the bottom; otherwise it leaves the column."""

    @abc.abstractmethod
    def fraction(self, z: ColumnArray) -> ColumnArray:
        """I(z) / I(0) at heights `z` [m]."""

    def transmission(self, grid: Grid) -> FaceArray:
        """I(z) / I(0) on faces, 1 at the surface, 0 at a bottom that absorbs."""
        if not self.bottom_absorbs:
            return self.fraction(grid.z_face)
        above_bottom = self.fraction(grid.z_face[1:])
        return jnp.concatenate([jnp.zeros_like(above_bottom[:1]), above_bottom])
