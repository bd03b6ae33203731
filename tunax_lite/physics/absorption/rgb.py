"""Absorption of shortwave radiation by water and chlorophyll in an infrared and three visible bands,

    I(z) / I(0) = R exp(z / zeta_1) + (1 - R) / 3 sum exp(k z),    k = k_w + chi C^e,

with the attenuation k of blue, green and red light for a concentration C of chlorophyll.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, Scalar, parameter
from ...declarations import SETTING, named
from ...numerics.limiters import at_least
from .base import AbstractAbsorption


class Band(NamedTuple):
    """Attenuation of one band: by water [m-1], by 1 mg m-3 of chlorophyll [m-1], and the exponent [1]."""

    water: float
    chlorophyll: float
    exponent: float


BANDS = (
    Band(0.011664, 0.099467, 0.67103),
    Band(0.072529, 0.043860, 0.65726),
    Band(0.376090, 0.041999, 0.66138),
)
"""Blue, green, red: least squares through the 61 concentrations of NEMO's table, within 3e-5 m-1 of it."""

LEAST_CHLOROPHYLL = 0.01
"""Least concentration of that table [mg m-3]; waters below it do not exist."""


@named("rgb")
class RgbAbsorption(AbstractAbsorption):
    """Light for a chlorophyll concentration [mg m-3] that is the same over the depth.

    Args:
        chlorophyll: concentration [mg m-3].
        infrared_fraction: infrared fraction of the light [1].
        infrared_depth: e-folding depth of the infrared light [m].
        bottom_absorbs: whether light that reaches the bottom heats the lowest cell, or leaves.

    Source: Lengaigne et al. (2007), Climate Dynamics 28, 503-516; NEMO 5, `trc_oce` and `traqsr`.
    """

    chlorophyll: Scalar = parameter(0.05, unit="mg m-3", valid_range=(LEAST_CHLOROPHYLL, 10.0))
    infrared_fraction: Scalar = parameter(0.58, valid_range=(0.0, 1.0))
    infrared_depth: Scalar = parameter(0.35, unit="m", valid_range=(1e-3, 1e3))
    # As `setting` has it; checkers of types know that only `field` may be given by keyword.
    bottom_absorbs: bool = eqx.field(default=True, static=True, kw_only=True, metadata=SETTING)

    def fraction(self, z: ColumnArray) -> ColumnArray:
        logarithm = jnp.log(at_least(self.chlorophyll, LEAST_CHLOROPHYLL))
        visible = jnp.zeros_like(z)
        for band in BANDS:
            attenuation = band.water + band.chlorophyll * jnp.exp(band.exponent * logarithm)
            visible = visible + jnp.exp(attenuation * z)
        infrared = jnp.exp(z / self.infrared_depth)
        return self.infrared_fraction * infrared + (1.0 - self.infrared_fraction) / 3.0 * visible
