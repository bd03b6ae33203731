"""Absorption of sunlight with depth in two bands,

    I(z) / I(0) = R exp(z / zeta_1) + (1 - R) exp(z / zeta_2).

Cells are heated by the difference of I over their faces (not by its value at the center), so that the
column takes exactly what enters.
"""

import equinox as eqx
import jax.numpy as jnp

from .._types import FaceArray, Scalar, parameter
from ..grid import Grid


class TwoBandAbsorption(eqx.Module):
    """Fraction of sunlight that reaches a height; the default is Jerlov's clearest water, type I.

    Source: Paulson and Simpson (1977), J. Phys. Oceanogr. 7, 952-956.
    """

    infrared_fraction: Scalar = parameter(0.58, valid_range=(0.0, 1.0))
    infrared_depth: Scalar = parameter(0.35, unit="m", valid_range=(1e-3, 1e3))
    visible_depth: Scalar = parameter(23.0, unit="m", valid_range=(1e-3, 1e3))

    def transmission(self, grid: Grid) -> FaceArray:
        """I(z) / I(0) on faces, 1 at the surface; what reaches the bottom face is absorbed there (0)."""
        z = grid.z_face[1:]
        infrared = self.infrared_fraction * jnp.exp(z / self.infrared_depth)
        visible = (1.0 - self.infrared_fraction) * jnp.exp(z / self.visible_depth)
        above_bottom = infrared + visible
        return jnp.concatenate([jnp.zeros_like(above_bottom[:1]), above_bottom])


JERLOV_WATER_TYPES: dict[str, tuple[float, float, float]] = {
    "I": (0.58, 0.35, 23.0),
    "IA": (0.62, 0.60, 20.0),
    "IB": (0.67, 1.0, 17.0),
    "II": (0.77, 1.5, 14.0),
    "III": (0.78, 1.4, 7.9),
}
"""Infrared fraction, infrared depth [m], visible depth [m]; Paulson and Simpson (1977), table 2."""
