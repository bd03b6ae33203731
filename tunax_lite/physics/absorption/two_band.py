"""Absorption of shortwave radiation with depth in two bands,

I(z) / I(0) = R exp(z / zeta_1) + (1 - R) exp(z / zeta_2).
"""

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, Scalar, parameter
from ...declarations import SETTING, named
from .base import AbstractAbsorption

JERLOV_WATER_TYPES: dict[str, tuple[float, float, float]] = {
    "I": (0.58, 0.35, 23.0),
    "I_upper_50m": (0.68, 1.20, 28.0),
    "IA": (0.62, 0.60, 20.0),
    "IB": (0.67, 1.0, 17.0),
    "II": (0.77, 1.5, 14.0),
    "III": (0.78, 1.4, 7.9),
}
"""Infrared fraction, infrared depth [m], visible depth [m]; Paulson and Simpson (1977), table 2."""
_NAMES: tuple[str, ...] = ("infrared_fraction", "infrared_depth", "visible_depth")
_JERLOV: dict[str, dict[str, float]] = {
    name: dict(zip(_NAMES, kind, strict=True)) for name, kind in JERLOV_WATER_TYPES.items()
}


@named("two_band", **_JERLOV)
class TwoBandAbsorption(AbstractAbsorption):
    """Infrared and visible light; the default is Jerlov's clearest water, type I.

    Args:
        infrared_fraction: infrared fraction of the light [1].
        infrared_depth: e-folding depth of the infrared light [m].
        visible_depth: e-folding depth of the visible light [m].
        bottom_absorbs: whether light that reaches the bottom heats the lowest cell, or leaves.

    Source: Paulson and Simpson (1977), J. Phys. Oceanogr. 7, 952-956.
    """

    infrared_fraction: Scalar = parameter(0.58, valid_range=(0.0, 1.0))
    infrared_depth: Scalar = parameter(0.35, unit="m", valid_range=(1e-3, 1e3))
    visible_depth: Scalar = parameter(23.0, unit="m", valid_range=(1e-3, 1e3))
    # As `setting` has it; checkers of types know that only `field` may be given by keyword.
    bottom_absorbs: bool = eqx.field(default=True, static=True, kw_only=True, metadata=SETTING)

    def fraction(self, z: ColumnArray) -> ColumnArray:
        infrared = self.infrared_fraction * jnp.exp(z / self.infrared_depth)
        visible = (1.0 - self.infrared_fraction) * jnp.exp(z / self.visible_depth)
        return infrared + visible
