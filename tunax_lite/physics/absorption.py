"""Absorption of shortwave radiation: the fraction I(z) / I(0) that reaches a height.

    two bands:   R exp(z / zeta_1) + (1 - R) exp(z / zeta_2)
    four bands:  R exp(z / zeta_1) + (1 - R) / 3 sum exp(k z),   k = k_w + chi C^e

with the attenuation k of blue, green and red light for a chlorophyll concentration C. Cells are heated by the
difference of I between their faces (not by its value at the center), so that the column absorbs exactly what
enters.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from .._types import (
    ColumnArray,
    FaceArray,
    Scalar,
    ScalarLike,
    SeriesOrScalar,
    array_field,
    as_float_array,
    parameter,
)
from ..column.grid import Grid
from ..column.time_series import TimeSeries
from ..declarations import SETTING, named
from ..numerics.elementary import at_least
from ..views import AbstractShown


class AbstractAbsorption(AbstractShown):
    """Fraction of shortwave radiation that reaches a height.

    Args:
        bottom_absorbs: whether radiation that reaches the bottom heats the lowest cell, or leaves the column.
    """

    # A `setting`, written out: type checkers read `kw_only` from `field` alone.
    bottom_absorbs: bool = eqx.field(default=True, static=True, kw_only=True, metadata=SETTING)

    @abc.abstractmethod
    def visible(self, z: ColumnArray) -> ColumnArray:
        """Visible part of I(z) / I(0) at heights `z` [m]: the light of photosynthesis."""

    @abc.abstractmethod
    def infrared(self, z: ColumnArray) -> ColumnArray:
        """Infrared part of I(z) / I(0) at heights `z` [m]."""

    def fraction(self, z: ColumnArray) -> ColumnArray:
        """I(z) / I(0) at heights `z` [m]."""
        return self.infrared(z) + self.visible(z)

    def at(self, time: ScalarLike) -> "AbstractAbsorption":
        """Absorption at a time [s] since the start of the case; by default constant in time."""
        return self

    def transmission(self, grid: Grid, shade: FaceArray | None = None) -> FaceArray:
        """I(z) / I(0) on faces, 1 at the surface, 0 at an absorbing bottom.

        Args:
            grid: vertical grid.
            shade: fraction of the visible light that passes the matter in the water, on faces [1].
        """
        z = grid.z_face[1:] if self.bottom_absorbs else grid.z_face
        visible = self.visible(z) if shade is None else self.visible(z) * shade[-z.shape[0] :]
        passing = self.infrared(z) + visible
        if not self.bottom_absorbs:
            return passing
        return jnp.concatenate([jnp.zeros_like(passing[:1]), passing])


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
    """Infrared and visible bands; the default is Jerlov's clearest water, type I.

    Args:
        infrared_fraction: infrared fraction of the light [1].
        infrared_depth: e-folding depth of the infrared light [m].
        visible_depth: e-folding depth of the visible light [m].

    Source: Paulson and Simpson (1977), J. Phys. Oceanogr. 7, 952-956.
    """

    infrared_fraction: Scalar = parameter(0.58, valid_range=(0.0, 1.0))
    infrared_depth: Scalar = parameter(0.35, unit="m", valid_range=(1e-3, 1e3))
    visible_depth: Scalar = parameter(23.0, unit="m", valid_range=(1e-3, 1e3))

    def visible(self, z: ColumnArray) -> ColumnArray:
        return (1.0 - self.infrared_fraction) * jnp.exp(z / self.visible_depth)

    def infrared(self, z: ColumnArray) -> ColumnArray:
        return self.infrared_fraction * jnp.exp(z / self.infrared_depth)


class Optics(eqx.Module):
    """Parameters of `TwoBandAbsorption`."""

    infrared_fraction: SeriesOrScalar = array_field(0, converter=as_float_array)
    infrared_depth: SeriesOrScalar = array_field(0, converter=as_float_array)
    visible_depth: SeriesOrScalar = array_field(0, converter=as_float_array)


@named("two_band_series")
class TwoBandSeries(AbstractAbsorption):
    """Infrared and visible bands in water of time-varying turbidity.

    Args:
        series: parameters of `TwoBandAbsorption` over time [1, m, m].
    """

    series: TimeSeries[Optics]

    def at(self, time: ScalarLike) -> TwoBandAbsorption:
        optics = self.series.at(time)
        numbers = optics.infrared_fraction, optics.infrared_depth, optics.visible_depth
        return TwoBandAbsorption(*numbers, bottom_absorbs=self.bottom_absorbs)

    def visible(self, z: ColumnArray) -> ColumnArray:
        """Visible part of I(z) / I(0) at the start."""
        return self.at(0.0).visible(z)

    def infrared(self, z: ColumnArray) -> ColumnArray:
        """Infrared part of I(z) / I(0) at the start."""
        return self.at(0.0).infrared(z)


_BANDS = ((0.011664, 0.099467, 0.67103), (0.072529, 0.043860, 0.65726), (0.376090, 0.041999, 0.66138))
"""Blue, green, red: attenuation by water [m-1], by 1 mg m-3 of chlorophyll [m-1], and the exponent [1].

Least squares through the 61 concentrations of NEMO's table, within 3e-5 m-1 of it.
"""
LEAST_CHLOROPHYLL = 0.01
"""Least concentration of that table [mg m-3], that of the clearest waters."""


@named("rgb")
class RgbAbsorption(AbstractAbsorption):
    """Absorption for a chlorophyll concentration [mg m-3] that is uniform with depth.

    Args:
        chlorophyll: concentration [mg m-3].
        infrared_fraction: infrared fraction of the light [1].
        infrared_depth: e-folding depth of the infrared light [m].

    Source: Lengaigne et al. (2007), Climate Dynamics 28, 503-516; NEMO 5, `trc_oce` and `traqsr`.
    """

    chlorophyll: Scalar = parameter(0.05, unit="mg m-3", valid_range=(LEAST_CHLOROPHYLL, 10.0))
    infrared_fraction: Scalar = parameter(0.58, valid_range=(0.0, 1.0))
    infrared_depth: Scalar = parameter(0.35, unit="m", valid_range=(1e-3, 1e3))

    def visible(self, z: ColumnArray) -> ColumnArray:
        logarithm = jnp.log(at_least(self.chlorophyll, LEAST_CHLOROPHYLL))
        visible = jnp.zeros_like(z)
        for water, chlorophyll, exponent in _BANDS:
            visible = visible + jnp.exp((water + chlorophyll * jnp.exp(exponent * logarithm)) * z)
        return (1.0 - self.infrared_fraction) / 3.0 * visible

    def infrared(self, z: ColumnArray) -> ColumnArray:
        return self.infrared_fraction * jnp.exp(z / self.infrared_depth)
