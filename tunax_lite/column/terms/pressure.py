"""Pressure gradients that drive the flow, and logarithmic drag at the bottom or a lid.

    sloping surface:     dU/dt = -g grad(zeta), with a prescribed slope, or one that maintains a current
    within the water:    dU/dt = integral from z to 0 of grad(b) dz, for horizontal gradients or a plume
    bottom:              stress / rho = (kappa / ln((z_0 + h/2) / z_0))² |U| U

The roughness length z_0 follows from the height of roughness elements and, in slow flow, from the viscosity.
"""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._types import CenterArray, Scalar, ScalarLike, SeriesOrScalar, array_field, as_float_array, parameter
from ...declarations import setting
from ...numerics.elementary import at_least, column_integral, interpolated, reciprocal, sum_above, vector_norm
from ..grid import Grid
from ..state import State
from ..time_series import StepsOfRun, TimeSeries
from .base import AbstractTerm, BottomFlow, Column, Stress, Tendency, Velocity, acceleration, in_top_cell


class Vector(eqx.Module):
    """Eastward and northward component."""

    x: SeriesOrScalar = array_field(0, converter=as_float_array)
    y: SeriesOrScalar = array_field(0, converter=as_float_array)


class AbstractPressureGradient(AbstractTerm):
    """A pressure gradient uniform with depth, with no effect on the shear."""


class SurfaceSlope(AbstractPressureGradient):
    """Slope of the sea surface: dU/dt = -g grad(zeta).

    Args:
        series: slope towards east and north [1].
    """

    series: TimeSeries[Vector]

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        slope, gravity = self.series.at(column.time), column.equation_of_state.gravity
        return acceleration(-gravity * slope.x, -gravity * slope.y, column.grid)


class MeanVelocity(AbstractPressureGradient):
    """The slope that maintains a prescribed depth-mean velocity.

    Args:
        series: mean velocity [m s-1].
    """

    series: TimeSeries[Vector]

    def over_steps(self, steps: StepsOfRun) -> "MeanVelocity":
        return self  # a step uses the velocity at its end

    def after_velocity(self, u: CenterArray, v: CenterArray, column: Column) -> Velocity:
        target, grid = self.series.at(column.time), column.grid
        mean_u, mean_v = (column_integral(values, grid) / grid.mean_depth for values in (u, v))
        return u + (target.x - mean_u), v + (target.y - mean_v)


class VelocityAndHeight(Vector):
    """Velocity [m s-1] and the height above the bottom [m] at which it holds."""

    height: SeriesOrScalar = array_field(0, converter=as_float_array)


class VelocityAtHeight(AbstractPressureGradient):
    """The slope that maintains a prescribed velocity at a height above the bottom.

    Args:
        series: velocity [m s-1] and height above the bottom [m].
    """

    series: TimeSeries[VelocityAndHeight]

    def over_steps(self, steps: StepsOfRun) -> "VelocityAtHeight":
        return self  # a step uses the velocity at its end

    def after_velocity(self, u: CenterArray, v: CenterArray, column: Column) -> Velocity:
        target, grid = self.series.at(column.time), column.grid
        z = grid.z_center - grid.z_face[0]
        u_at_height, v_at_height = (interpolated(target.height, z, values) for values in (u, v))
        return u + (target.x - u_at_height), v + (target.y - v_at_height)


class HorizontalGradient(eqx.Module):
    """Gradients towards east (x) and north (y) on cells: temperature [K m-1], salinity [g kg-1 m-1]."""

    temperature_x: Float[Array, "..."] = array_field(1)
    temperature_y: Float[Array, "..."] = array_field(1)
    salinity_x: Float[Array, "..."] = array_field(1)
    salinity_y: Float[Array, "..."] = array_field(1)


def _from_second_step(values: CenterArray | Scalar, column: Column) -> CenterArray | Scalar:
    """Return the values, but zero in the first step of a case, as in GOTM."""
    return jnp.where(column.time < 1.5 * column.dt, 0.0, values)


class BuoyancyGradient(AbstractTerm):
    """Prescribed horizontal gradients, which accelerate the water and are advected by it.

    Args:
        series: gradients over time, `(n_times, n_cells, *batch)`.
        advect_temperature, advect_salinity: whether dT/dt = ... - u dT/dx - v dT/dy.
        accelerates: whether the gradients also accelerate the water.
        from_rest: whether they do not accelerate the water in the first step of a case, as in GOTM.
    """

    series: TimeSeries[HorizontalGradient]
    advect_temperature: bool = setting(False)
    advect_salinity: bool = setting(False)
    accelerates: bool = setting(True)
    from_rest: bool = setting(False)

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        if not self.accelerates:
            return {}
        gradient, state, grid = self.series.at(column.time), column.state, column.grid
        eos = column.equation_of_state
        alpha, beta = eos.expansion(state.temperature, state.salinity, grid.z_center)
        b_x = eos.gravity * (alpha * gradient.temperature_x - beta * gradient.salinity_x)
        b_y = eos.gravity * (alpha * gradient.temperature_y - beta * gradient.salinity_y)
        b_x, b_y = (_from_second_step(each, column) if self.from_rest else each for each in (b_x, b_y))
        half = 0.5 * grid.cell_thickness
        return acceleration(sum_above(half * b_x), sum_above(half * b_y), grid)

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        """Horizontal advection, where enabled."""
        gradient, (u, v), thickness = self.series.at(column.time), column.velocity, column.grid.cell_thickness
        rates = {}
        if self.advect_temperature:
            rates["temperature"] = -(u * gradient.temperature_x + v * gradient.temperature_y)
        if self.advect_salinity:
            rates["salinity"] = -(u * gradient.salinity_x + v * gradient.salinity_y)
        return {name: Tendency(cells=rate * thickness) for name, rate in rates.items()}


class PlumeOnSlope(AbstractTerm):
    """Dense water on a sloping bottom, or light water below a sloping lid.

    Args:
        slope_x, slope_y: slope of the bottom or the lid [1].
        at_surface: light water below a lid instead of dense water on the bottom.
        from_rest: whether it has no effect in the first step of a case, as in GOTM.
    """

    slope_x: Scalar = parameter(0.0, valid_range=(-1.0, 1.0))
    slope_y: Scalar = parameter(0.0, valid_range=(-1.0, 1.0))
    at_surface: bool = setting(False)
    from_rest: bool = setting(False)

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """The slope times the buoyancy relative to water far from the plume."""
        state, eos = column.state, column.equation_of_state
        density = eos.density(state.temperature, state.salinity, jnp.zeros_like(column.grid.z_center))
        buoyancy = -eos.gravity * density / eos.reference_density
        relative = buoyancy - (buoyancy[0] if self.at_surface else buoyancy[-1])
        relative = _from_second_step(relative, column) if self.from_rest else relative
        return acceleration(self.slope_x * relative, self.slope_y * relative, column.grid)


_N_ITERATIONS = 4  # for roughness length and friction velocity, which depend weakly on each other


class BottomFriction(AbstractTerm):
    """Logarithmic drag; in a lake, every cell has drag on its ring of bottom.

    Args:
        physical_roughness: height of roughness elements [m]; z_0 is 0.03 times this height in rough flow.
        von_karman: kappa [1]; `None` for that of the closure, as a consistent wall layer requires.
        viscosity: molecular viscosity of the smooth limit [m2 s-1].
        additional_roughness: roughness length of waves or ripples [m].
        from_rest: whether the drag starts as in GOTM, except in a lake: none in the first step of a case,
            and in the second with the roughness length at zero friction velocity.

    Source: Burchard et al. (1999), GOTM report; the law of the wall.
    """

    physical_roughness: Scalar = parameter(0.05, unit="m", valid_range=(0.0, 10.0))
    von_karman: Scalar | None = parameter(0.4, valid_range=(0.1, 1.0))
    viscosity: Scalar = parameter(1.3e-6, unit="m2 s-1", valid_range=(1e-12, 1.0))
    additional_roughness: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 10.0))
    from_rest: bool = setting(False)

    def at(
        self, u: Scalar, v: Scalar, thickness: ScalarLike, before: Scalar | None = None
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Friction velocity [m s-1], roughness length [m] and drag coefficient [1] of cells at the bottom.

        Arguments are velocity [m s-1] and thickness [m] of the cells. The roughness length uses the friction
        velocity of the step `before` [m s-1], as in GOTM; by default both are iterated from 0.05 |U|.

        Raises:
            ValueError: kappa is unknown.
        """
        if self.von_karman is None:
            raise ValueError(
                "BottomFriction.at: expected a von_karman, got none; `Model.with_von_karman(case)` puts "
                "in that of the closure."
            )
        von_karman, speed = self.von_karman, vector_norm(u, v)
        rough_length = 0.03 * self.physical_roughness + self.additional_roughness

        def ratio_to_speed(friction_velocity: Scalar) -> tuple[Scalar, Scalar]:
            smooth_length = 0.1 * self.viscosity * reciprocal(at_least(friction_velocity, self.viscosity))
            roughness_length = smooth_length + rough_length
            logarithm = jnp.log1p(0.5 * thickness * reciprocal(roughness_length))
            return von_karman * reciprocal(logarithm), roughness_length

        ratio, roughness_length = ratio_to_speed(0.05 * speed if before is None else before)
        for _ in range(_N_ITERATIONS - 1 if before is None else 0):
            ratio, roughness_length = ratio_to_speed(ratio * speed)
        return ratio * speed, roughness_length, ratio * ratio

    def bottom_flow(self, state: State, grid: Grid, start: Column | None = None) -> BottomFlow:
        thickness, before = grid.cell_thickness[0], None
        if start is not None:
            before = self.at(start.state.u[0], start.state.v[0], thickness)[0]
            before = _from_second_step(before, start) if self.from_rest else before
        return BottomFlow(*self.at(state.u[0], state.v[0], thickness, before)[:2])

    def with_von_karman(self, von_karman: Callable[[], Scalar]) -> "BottomFriction":
        return self if self.von_karman is not None else dataclasses.replace(self, von_karman=von_karman())

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """Implicit drag, with the coefficient from the start of the step and the known velocity."""
        (u, v), old, thickness = column.velocity, column.advected, column.grid.cell_thickness
        areas = column.grid.relative_area
        if areas is not None:
            # Every cell of a lake touches a ring of bottom; the lowest also has a floor.
            ring = jnp.concatenate([areas[1:2], areas[2:] - areas[1:-1]])
            coefficient = self.at(old.u, old.v, thickness)[2]
            rate = coefficient * vector_norm(u, v) * ring / column.grid.cell_volume
            return {"u": Tendency(loss_rate=rate), "v": Tendency(loss_rate=rate)}
        _, _, coefficient = self.at(old.u[0], old.v[0], thickness[0])
        if self.from_rest:
            at_rest = self.at(old.u[0], old.v[0], thickness[0], jnp.zeros_like(coefficient))[2]
            coefficient = jnp.where(column.time < 2.5 * column.dt, at_rest, coefficient)
            coefficient = jnp.where(column.time < 1.5 * column.dt, 0.0, coefficient)
        rate = coefficient * vector_norm(u[0], v[0]) / thickness[0]
        rate = jnp.concatenate([jnp.zeros_like(old.u[:1]) + rate, jnp.zeros_like(old.u[1:])])
        return {"u": Tendency(loss_rate=rate), "v": Tendency(loss_rate=rate)}


class LidFriction(AbstractTerm):
    """Logarithmic drag of a fixed lid, such as ice, on the uppermost cell; sets u* of the turbulence.

    Args:
        roughness_length: z_0 of the lid [m].
        von_karman: kappa [1]; `None` for that of the closure, as a consistent wall layer requires.

    Source: the law of the wall; Burchard et al. (2022), J. Adv. Model. Earth Syst. 14, e2021MS002925.
    """

    roughness_length: Scalar = parameter(0.01, unit="m", valid_range=(1e-6, 1.0))
    von_karman: Scalar | None = parameter(0.4, valid_range=(0.1, 1.0))

    def ratio(self, thickness: ScalarLike) -> Scalar:
        """u* divided by the speed of the uppermost cell [1], from the thickness of this cell [m]."""
        if self.von_karman is None:
            raise ValueError(
                "LidFriction.ratio: expected a von_karman, got none; `Model.with_von_karman(case)` puts "
                "in that of the closure."
            )
        return self.von_karman * reciprocal(jnp.log1p(0.5 * thickness / self.roughness_length))

    def surface_stress(self, state: State, grid: Grid, density: Scalar) -> Stress:
        u, v = state.u[-1], state.v[-1]
        drag = -density * self.ratio(grid.cell_thickness[-1]) ** 2 * vector_norm(u, v)
        return drag * u, drag * v

    def with_von_karman(self, von_karman: Callable[[], Scalar]) -> "LidFriction":
        return self if self.von_karman is not None else dataclasses.replace(self, von_karman=von_karman())

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """Implicit drag, with the known speed."""
        (u, v), thickness = column.velocity, column.grid.cell_thickness[-1]
        rate = self.ratio(thickness) ** 2 * vector_norm(u[-1], v[-1]) / column.grid.cell_volume[-1]
        rate = in_top_cell(rate, u)
        return {"u": Tendency(loss_rate=rate), "v": Tendency(loss_rate=rate)}
