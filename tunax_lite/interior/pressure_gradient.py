"""Pressure gradient of a sloping sea surface, given as the slope or by the current that it drives."""

import abc

import equinox as eqx
import jax.numpy as jnp

from .._types import CenterArray, Scalar, ScalarLike, SeriesOrScalar, array_field, as_float_array
from ..grid import Grid
from ..numerics.limiters import reciprocal
from ..numerics.stencils import column_integral
from ..time_series import TimeSeries


class Vector(eqx.Module):
    """Eastward and northward component."""

    x: SeriesOrScalar = array_field(0, converter=as_float_array)
    y: SeriesOrScalar = array_field(0, converter=as_float_array)


class AbstractPressureGradient(eqx.Module):
    """What drives the whole column; uniform with depth, so that shear does not feel it."""

    series: eqx.AbstractVar[TimeSeries]

    def acceleration(self, time: ScalarLike, gravity: ScalarLike) -> tuple[Scalar, Scalar] | None:
        """Of u and v during a step that ends at `time` [m s-2]; `None` if the current is prescribed."""
        del time, gravity
        return None

    @abc.abstractmethod
    def correct(
        self, u: CenterArray, v: CenterArray, grid: Grid, time: ScalarLike
    ) -> tuple[CenterArray, CenterArray]:
        """Velocity after the pressure gradient did what is prescribed [m s-1]."""

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if the series is not known from `start` to `end` [s]."""
        self.series.check_covers(start, end)


class SurfaceSlope(AbstractPressureGradient):
    """Slope of the sea surface: dU/dt = -g grad(zeta).

    Args:
        series: slope to the east and to the north [1].
    """

    series: TimeSeries[Vector]

    def acceleration(self, time: ScalarLike, gravity: ScalarLike) -> tuple[Scalar, Scalar]:
        slope = self.series.at(time)
        return -gravity * slope.x, -gravity * slope.y

    def correct(
        self, u: CenterArray, v: CenterArray, grid: Grid, time: ScalarLike
    ) -> tuple[CenterArray, CenterArray]:
        del grid, time
        return u, v


class MeanVelocity(AbstractPressureGradient):
    """The slope that keeps the mean velocity of the column at what is prescribed.

    Args:
        series: mean velocity [m s-1].
    """

    series: TimeSeries[Vector]

    def correct(
        self, u: CenterArray, v: CenterArray, grid: Grid, time: ScalarLike
    ) -> tuple[CenterArray, CenterArray]:
        wanted, depth = self.series.at(time), grid.depth
        return (
            u + (wanted.x - column_integral(u, grid) / depth),
            v + (wanted.y - column_integral(v, grid) / depth),
        )


class VelocityAndHeight(eqx.Module):
    """Velocity [m s-1] and the height above the bottom [m] at which it holds."""

    x: SeriesOrScalar = array_field(0, converter=as_float_array)
    y: SeriesOrScalar = array_field(0, converter=as_float_array)
    height: SeriesOrScalar = array_field(0, converter=as_float_array)


class VelocityAtHeight(AbstractPressureGradient):
    """The slope that keeps the velocity at a height above the bottom at what is prescribed.

    Args:
        series: velocity [m s-1] and height above the bottom [m].
    """

    series: TimeSeries[VelocityAndHeight]

    def correct(
        self, u: CenterArray, v: CenterArray, grid: Grid, time: ScalarLike
    ) -> tuple[CenterArray, CenterArray]:
        wanted = self.series.at(time)
        z = grid.z_center - grid.z_face[0]
        # Share of each center in the linear interpolation, without a search: hat functions, of which the two
        # next to the height are not zero; beyond the outermost centers the nearest one counts alone.
        at = jnp.clip(wanted.height, z[0], z[-1])
        rising = jnp.clip((at - z[:-1]) * reciprocal(z[1:] - z[:-1]), 0.0, 1.0)
        full, none = jnp.ones_like(rising[:1]), jnp.zeros_like(rising[:1])
        share = jnp.concatenate([full, rising]) - jnp.concatenate([rising, none])
        return (
            u + (wanted.x - jnp.sum(share * u, axis=0)),
            v + (wanted.y - jnp.sum(share * v, axis=0)),
        )
