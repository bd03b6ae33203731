"""Pressure gradient of a sloping sea surface, given as the slope or by the current that it drives."""

import equinox as eqx
import jax.numpy as jnp

from .._types import CenterArray, SeriesOrScalar, array_field, as_float_array
from ..numerics.limiters import reciprocal
from ..numerics.stencils import column_integral
from ..terms import AbstractTerm, Column, Tendency, accelerating
from ..time_series import TimeSeries


class Vector(eqx.Module):
    """Eastward and northward component."""

    x: SeriesOrScalar = array_field(0, converter=as_float_array)
    y: SeriesOrScalar = array_field(0, converter=as_float_array)


class AbstractPressureGradient(AbstractTerm):
    """What drives the whole column; uniform with depth, so that shear does not feel it."""

    series: eqx.AbstractVar[TimeSeries]

    def check_covers(self, start: float, end: float) -> None:
        self.series.check_covers(start, end)


class SurfaceSlope(AbstractPressureGradient):
    """Slope of the sea surface: dU/dt = -g grad(zeta).

    Args:
        series: slope to the east and to the north [1].
    """

    series: TimeSeries[Vector]

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        slope, gravity = self.series.at(column.time), column.equation_of_state.gravity
        return accelerating(-gravity * slope.x, -gravity * slope.y, column.grid)


class MeanVelocity(AbstractPressureGradient):
    """The slope that keeps the mean velocity of the column at what is prescribed.

    Args:
        series: mean velocity [m s-1].
    """

    series: TimeSeries[Vector]

    def after_velocity(
        self, u: CenterArray, v: CenterArray, column: Column
    ) -> tuple[CenterArray, CenterArray]:
        grid = column.grid
        wanted, depth = self.series.at(column.time), grid.depth
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

    def after_velocity(
        self, u: CenterArray, v: CenterArray, column: Column
    ) -> tuple[CenterArray, CenterArray]:
        wanted, grid = self.series.at(column.time), column.grid
        z = grid.z_center - grid.z_face[0]
        # Fraction of each center in linear interpolation, without a search: hat functions, of which the two
        # next to the height are not zero; beyond the outermost centers the nearest one counts alone.
        at = jnp.clip(wanted.height, z[0], z[-1])
        rising = jnp.clip((at - z[:-1]) * reciprocal(z[1:] - z[:-1]), 0.0, 1.0)
        full, none = jnp.ones_like(rising[:1]), jnp.zeros_like(rising[:1])
        fraction = jnp.concatenate([full, rising]) - jnp.concatenate([rising, none])
        return (
            u + (wanted.x - jnp.sum(fraction * u, axis=0)),
            v + (wanted.y - jnp.sum(fraction * v, axis=0)),
        )
