"""Stokes drift of surface waves, which the Coriolis force and the production of turbulence feel."""

import equinox as eqx
import jax.numpy as jnp

from .._types import CenterArray, Scalar, ScalarLike, SeriesOrScalar, array_field, as_float_array, parameter
from ..grid import Grid
from ..time_series import TimeSeries


class DriftVector(eqx.Module):
    """Eastward and northward Stokes drift at the surface [m s-1]."""

    u: SeriesOrScalar = array_field(0, converter=as_float_array)
    v: SeriesOrScalar = array_field(0, converter=as_float_array)


class StokesDrift(eqx.Module):
    """Drift at the surface over time that decays exponentially with depth, U_s exp(z / d).

    Args:
        series: drift at the surface [m s-1].
        decay_depth: d [m].
    """

    series: TimeSeries[DriftVector]
    decay_depth: Scalar = parameter(5.0, unit="m", valid_range=(1e-3, 1e4))

    def at(self, grid: Grid, time: ScalarLike) -> tuple[CenterArray, CenterArray]:
        """Mean drift of the cells [m s-1]."""
        surface = self.series.at(time)
        at_faces = self.decay_depth * jnp.exp(grid.z_face / self.decay_depth)
        profile = (at_faces[1:] - at_faces[:-1]) / grid.cell_thickness
        return surface.u * profile, surface.v * profile

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if the series is not known from `start` to `end` [s]."""
        self.series.check_covers(start, end)
