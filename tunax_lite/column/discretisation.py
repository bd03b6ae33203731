"""Time levels and stencils of a step: the standard discretisation, and that of GOTM."""

import abc
from collections.abc import Callable
from typing import ClassVar, TypeVar

import equinox as eqx
import jax.numpy as jnp

from .._types import FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..declarations import named
from ..numerics.elementary import mean_of_neighbours, with_end_faces
from ..physics.stratification import shear_squared, shear_squared_between_cells
from .grid import Grid
from .state import State
from .terms import AbstractTerm, Column
from .terms.base import BottomFlow, first_of
from .terms.surface import kinematic_fluxes, shortwave_heating
from .transport import Equations, Transported

T = TypeVar("T")
BuoyancyFluxes = tuple[Scalar, FaceArray | None]
"""Surface buoyancy flux without shortwave radiation, and downward buoyancy flux by radiation [m2 s-3]."""


class AbstractDiscretisation(eqx.Module):
    """Time levels and stencils of a step, and its order of solution."""

    explicit_waves: ClassVar[bool]
    """Whether negative Stokes production is explicit, although it can make k negative."""
    samples_forcing: ClassVar[bool]
    """Whether a step uses the value of forcing at its end, even if the records are finer, not their mean."""

    @abc.abstractmethod
    def at_ends(self, at: Callable[[ScalarLike], T], start: ScalarLike, end: ScalarLike) -> tuple[T, T]:
        """Evaluate `at`, a function of time, for the fluxes of a step, and for `Column.fluxes_before`."""

    @abc.abstractmethod
    def solve(self, equations: Equations) -> Transported:
        """Solve the equations of a step; return the state at its end and the solved equations."""

    @abc.abstractmethod
    def shear_squared(self, end: State, column: Column, theta: float) -> InnerFaceArray:
        """S² [s-2] in the step, on inner faces."""

    @abc.abstractmethod
    def buoyancy_fluxes(self, end: State, column: Column) -> BuoyancyFluxes:
        """Buoyancy fluxes by the surface fluxes and the radiation of the step."""

    @abc.abstractmethod
    def bottom_flow(self, end: State, column: Column, terms: tuple[AbstractTerm, ...]) -> BottomFlow | None:
        """Flow at the bottom; `None` without bottom friction."""

    def speed_over_sea(self, friction_velocity: Scalar, column: Column) -> Scalar:
        """The u* that sets the roughness of the sea [m s-1], from the u* of `Column.fluxes_before`."""
        return friction_velocity

    def grid_of_turbulence(self, grid: Grid) -> Grid:
        """Grid on which the closure solves its equations."""
        return grid


@named("standard")
class StandardDiscretisation(AbstractDiscretisation):
    """All quantities solved together, conserving energy.

    Solving together is faster: each elimination is a chain of divisions, and all chains run side by side.
    With theta = 1, nu S² is the kinetic energy lost to viscosity, on any grid. Non-local fluxes and roughness
    are those of this step, so that a restart needs nothing else.
    """

    explicit_waves: ClassVar[bool] = False
    samples_forcing: ClassVar[bool] = False

    def at_ends(self, at: Callable[[ScalarLike], T], start: ScalarLike, end: ScalarLike) -> tuple[T, T]:
        now = at(end)
        return now, now

    def solve(self, equations: Equations) -> Transported:
        start = equations.column.state
        scalars = equations.with_velocity(start.u, start.v).of_scalars()
        solved = equations.solve(equations.of_velocity("u", "v") + scalars)
        new = solved.new
        return Transported(equations.end(*equations.adjusted(new["u"], new["v"]), new), (solved,))

    def shear_squared(self, end: State, column: Column, theta: float) -> InnerFaceArray:
        return shear_squared(end, column.state, column.grid)

    def buoyancy_fluxes(self, end: State, column: Column) -> BuoyancyFluxes:
        eos, fluxes = column.equation_of_state, column.fluxes
        kinematic, radiation = kinematic_fluxes(end, eos, fluxes), shortwave_heating(fluxes, column)
        alpha, beta = eos.expansion(end.temperature[-1], end.salinity[-1], column.grid.z_center[-1])
        surface = eos.gravity * (alpha * kinematic["temperature"] - beta * kinematic["salinity"])
        return surface, None if radiation is None else eos.gravity * alpha * radiation

    def bottom_flow(self, end: State, column: Column, terms: tuple[AbstractTerm, ...]) -> BottomFlow | None:
        return first_of(term.bottom_flow(end, column.grid) for term in terms)


@named("gotm")
class GotmDiscretisation(AbstractDiscretisation):
    """GOTM's sequence: u, v, then scalars.

    v uses the new u, and scalars use the new velocity. S² uses the thickness of each cell. Non-local fluxes
    and the roughness of surface and bottom use values of the previous step. The buoyancy flux by radiation
    uses the local thermal expansion. Turbulence ignores the areas of a lake.
    """

    explicit_waves: ClassVar[bool] = True
    samples_forcing: ClassVar[bool] = True

    def at_ends(self, at: Callable[[ScalarLike], T], start: ScalarLike, end: ScalarLike) -> tuple[T, T]:
        at = eqx.filter_jit(at)  # traced once for both ends, including the weather
        return at(end), at(start)  # the start of a step is the end of the previous one

    def solve(self, equations: Equations) -> Transported:
        of_u = equations.solve(equations.of_velocity("u"))
        equations = equations.with_velocity(of_u.new["u"], equations.column.advected.v)
        of_v = equations.solve(equations.of_velocity("v"))
        u, v = equations.adjusted(of_u.new["u"], of_v.new["v"])
        equations = equations.with_velocity(u, v)
        scalars = equations.solve(equations.of_scalars())
        return Transported(equations.end(u, v, scalars.new), (of_u, of_v, scalars))

    def shear_squared(self, end: State, column: Column, theta: float) -> InnerFaceArray:
        return shear_squared_between_cells(end, column.state, column.grid, theta)

    def buoyancy_fluxes(self, end: State, column: Column) -> BuoyancyFluxes:
        eos, fluxes, z = column.equation_of_state, column.fluxes, column.grid.z_face
        kinematic, radiation = kinematic_fluxes(column.state, eos, fluxes), shortwave_heating(fluxes, column)
        alpha, beta = eos.expansion(end.temperature[-1], end.salinity[-1], z[-1])
        surface = eos.gravity * (alpha * kinematic["temperature"] - beta * kinematic["salinity"])
        # On faces: means of the neighbouring cells; at bottom and surface, the values of the end cells.
        temperature, salinity = (
            with_end_faces(mean_of_neighbours(values), values[0], values[-1])
            for values in (end.temperature, end.salinity)
        )
        local = eos.expansion(temperature, salinity, z)[0]
        return surface, None if radiation is None else eos.gravity * local * radiation

    def bottom_flow(self, end: State, column: Column, terms: tuple[AbstractTerm, ...]) -> BottomFlow | None:
        return first_of(term.bottom_flow(end, column.grid, column) for term in terms)

    def speed_over_sea(self, friction_velocity: Scalar, column: Column) -> Scalar:
        # No step precedes the first: GOTM starts with zero.
        return jnp.where(column.time < 1.5 * column.dt, 0.0, friction_velocity)

    def grid_of_turbulence(self, grid: Grid) -> Grid:
        return Grid(grid.z_face) if grid.area is not None else grid
