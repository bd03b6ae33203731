"""Pressure gradient within the water: horizontal gradients of temperature and salinity, or a plume.

dU/dt = integral from z to 0 of grad(b) dz
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import CenterArray, Scalar, ScalarLike, array_field, parameter
from ..declarations import named, setting
from ..grid import Grid
from ..physics.equation_of_state import AbstractEquationOfState
from ..state import State
from ..terms import AbstractTerm, Column, Tendency, accelerating
from ..time_series import TimeSeries


class HorizontalGradient(eqx.Module):
    """Gradients to the east (x) and north (y) on cells: temperature [K m-1], salinity [g kg-1 m-1]."""

    temperature_x: Float[Array, "..."] = array_field(1)
    temperature_y: Float[Array, "..."] = array_field(1)
    salinity_x: Float[Array, "..."] = array_field(1)
    salinity_y: Float[Array, "..."] = array_field(1)


def _from_surface(values: CenterArray, grid: Grid) -> CenterArray:
    """Integral from the centers of cells to the surface, by the trapezoidal rule."""
    half = 0.5 * grid.cell_thickness * values
    return jnp.cumsum((2.0 * half)[::-1], axis=0)[::-1] - half


class BuoyancyGradient(AbstractTerm):
    """Prescribed horizontal gradients, which accelerate the water and are carried by it.

    Args:
        series: gradients over time, `(n_times, n_cells, *batch)`.
        advect_temperature, advect_salinity: dT/dt = ... - u dT/dx - v dT/dy.
    """

    series: TimeSeries[HorizontalGradient]
    advect_temperature: bool = setting(False)
    advect_salinity: bool = setting(False)

    def acceleration(
        self, state: State, grid: Grid, equation_of_state: AbstractEquationOfState, time: ScalarLike
    ) -> tuple[CenterArray, CenterArray]:
        """Of u and v [m s-2]."""
        given = self.series.at(time)
        eos = equation_of_state
        alpha, beta = eos.expansion(state.temperature, state.salinity, grid.z_center)
        b_x = eos.gravity * (alpha * given.temperature_x - beta * given.salinity_x)
        b_y = eos.gravity * (alpha * given.temperature_y - beta * given.salinity_y)
        return _from_surface(b_x, grid), _from_surface(b_y, grid)

    def advection(
        self, u: CenterArray, v: CenterArray, time: ScalarLike
    ) -> tuple[CenterArray | None, CenterArray | None]:
        """Rates of change of temperature [K s-1] and salinity [g kg-1 s-1] by the current; `None` if off."""
        given = self.series.at(time)
        temperature = -(u * given.temperature_x + v * given.temperature_y)
        salinity = -(u * given.salinity_x + v * given.salinity_y)
        return (
            temperature if self.advect_temperature else None,
            salinity if self.advect_salinity else None,
        )

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        acceleration = self.acceleration(column.state, column.grid, column.equation_of_state, column.time)
        return accelerating(*acceleration, column.grid)

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        rates = dict(
            zip(("temperature", "salinity"), self.advection(*column.velocity, column.time), strict=True)
        )
        thickness = column.grid.cell_thickness
        return {name: Tendency(cells=rate * thickness) for name, rate in rates.items() if rate is not None}

    def check_covers(self, start: float, end: float) -> None:
        self.series.check_covers(start, end)


@named("plume")
class PlumeOnSlope(AbstractTerm):
    """Dense water on a sloping bottom, or light water below a sloping lid.

    Args:
        slope_x, slope_y: of the bottom, or of the lid [1].
        at_surface: light water below a lid instead of dense water on the bottom.
    """

    slope_x: Scalar = parameter(0.0, valid_range=(-1.0, 1.0))
    slope_y: Scalar = parameter(0.0, valid_range=(-1.0, 1.0))
    at_surface: bool = setting(False)

    def acceleration(
        self, state: State, grid: Grid, equation_of_state: AbstractEquationOfState
    ) -> tuple[CenterArray, CenterArray]:
        """Of u and v [m s-2]: the slope times the buoyancy relative to the water far from the plume."""
        eos = equation_of_state
        density = eos.density(state.temperature, state.salinity, jnp.zeros_like(grid.z_center))
        buoyancy = -eos.gravity * density / eos.reference_density
        relative = buoyancy - (buoyancy[0] if self.at_surface else buoyancy[-1])
        return self.slope_x * relative, self.slope_y * relative

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        acceleration = self.acceleration(column.state, column.grid, column.equation_of_state)
        return accelerating(*acceleration, column.grid)
