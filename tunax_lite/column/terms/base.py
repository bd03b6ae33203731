"""Interface of a term: it receives the column in a step and returns tendencies.

    h dY/dt = gain of the cell + fluxes through surface and bottom + fluxes between cells - h L Y

`transport` sums the tendencies of all terms for each quantity and solves for the new values. Absent terms are
not in the list and cost nothing. Other effects are methods of `AbstractTerm`: the model calls them for all
terms, and knows no term by name.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ...numerics.diffusion import CarryingRates
from ...physics.absorption import AbstractAbsorption
from ...physics.equation_of_state import AbstractEquationOfState
from ...views import AbstractShown
from ..forcing import SurfaceFluxes
from ..grid import Grid
from ..state import State
from ..time_series import StepsOfRun, check_covers, over_steps

T = TypeVar("T")
Velocity = tuple[CenterArray, CenterArray]  # eastward and northward component on cells
Stress = tuple[Scalar, Scalar]  # eastward and northward [N m-2]


class Tendency(NamedTuple):
    """Effect of a term on one quantity; kinds of effects that are `None` are absent.

    Quantities share a matrix, and are solved faster, if their `loss_rate` and `carrying` are identical
    objects (traced values cannot be compared).

    Args:
        cells: gain of each cell per area [unit m s-1]: a source [unit s-1] times the thickness.
        surface: flux into the uppermost cell [unit m s-1].
        bottom: flux into the lowest cell [unit m s-1].
        downward: flux from each cell to the one below [unit m s-1], on inner faces.
        against_gradient: counter-gradient flux from each cell to the one below [unit m s-1], scaled down by
            one factor for the column where it would create a new extremum.
        loss_rate: L [s-1], at least zero, implicit: the quantity decays, and stays positive.
        carrying: rates of transport from cells to a neighbour [m s-1], at least zero, implicit: the quantity
            sinks or rises, and stays positive.
        plume_value: value [unit] of the water in sinking plumes, which replaces rising water, on inner faces;
            only one term may have it.
    """

    cells: CenterArray | None = None
    surface: Scalar | None = None
    bottom: Scalar | None = None
    downward: InnerFaceArray | None = None
    against_gradient: InnerFaceArray | None = None
    loss_rate: CenterArray | None = None
    carrying: CarryingRates | None = None
    plume_value: InnerFaceArray | None = None


class MovingLevel(NamedTuple):
    """Change of the lake level in a step.

    Args:
        elevation: height of the surface above its level at rest, at the end of the step [m].
        volume_before: volume of the cells at the start, divided by the surface area at the end [m].
        fresh_water: precipitation minus evaporation, which raise the level [m s-1]; `None` if it is
            prescribed.
        area_ratio: ratio of the surface areas at the start and at the end of the step [1].
    """

    elevation: Scalar
    volume_before: CenterArray
    fresh_water: Scalar | None
    area_ratio: Scalar


class CellDrift(NamedTuple):
    """Stokes drift of the cells [m s-1], and whether the velocity of the water includes it."""

    u: CenterArray
    v: CenterArray
    in_velocity: bool = False


class SurfaceWaves(eqx.Module):
    """Stokes drift U_s of surface waves, eastward and northward.

    If velocities include the drift, S² and dU/dz include its shear.
    """

    drift: tuple[CenterArray, CenterArray]  # of the cells [m s-1]
    at_surface: tuple[Scalar, Scalar] | None  # drift at the surface [m s-1]; `None` if unknown
    shear: InnerFaceArray  # product with that of the flow, dU/dz . dU_s/dz [s-2]
    shear_squared: InnerFaceArray  # |dU_s/dz|² [s-2]
    height: Scalar | None = None  # significant wave height [m]; `None` if unknown
    in_velocity: bool = eqx.field(default=False, static=True)  # whether velocities include the drift


class BottomFlow(eqx.Module):
    """Flow at the bottom: friction velocity [m s-1], and roughness length z_0 of the bottom [m]."""

    friction_velocity: Scalar
    roughness_length: Scalar


class Column(NamedTuple):
    """The column in one step: the input of terms.

    Args:
        state: state at the start of the step, after rotation by the Coriolis force.
        advected: this state after vertical advection.
        velocity: u and v [m s-1] for tendencies: after vertical advection for those of velocity, from `state`
            for those of scalars; in GOTM's discretisation the newest known.
        grid: vertical grid, with its surface at the end of the step.
        equation_of_state, absorption, coriolis_parameter: properties of the case.
        fluxes: surface fluxes at the end of the step.
        fluxes_before: surface fluxes for non-local transport and the roughness of the sea: in GOTM's
            discretisation those of the previous step, otherwise equal to `fluxes`.
        stokes_drift: Stokes drift of the cells; `None` without waves.
        eddy_viscosity, eddy_diffusivity: eddy coefficients of the step [m2 s-1].
        time: end of the step [s] since the start of the case.
        dt: length of the step [s].
        surface: prognostic variables of ice, lake level and terms for the end of the step.
        level: change of a lake level, if it varies.
        shade: fraction of visible light that plankton and other matter transmit to each face [1].
        bottom: flow at the bottom after the transport; `None` before the transport, or without friction.
        wind_speed: wind speed at 10 m [m s-1]; `None` if unknown.
        covered: whether ice closes the surface; `None` without ice.
        air_pressure: air pressure at the surface [Pa]; `None` if unknown.
        melting: by name of a concentration, flux into the uppermost cell that corrects its dilution by
            melting ice [concentration kg m-2 s-1].
    """

    state: State
    advected: State
    velocity: Velocity
    grid: Grid
    equation_of_state: AbstractEquationOfState
    absorption: AbstractAbsorption
    coriolis_parameter: Scalar
    fluxes: SurfaceFluxes
    fluxes_before: SurfaceFluxes
    stokes_drift: CellDrift | None
    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    time: ScalarLike
    dt: ScalarLike
    surface: dict[str, Scalar] = {}
    level: MovingLevel | None = None
    shade: FaceArray | None = None
    bottom: BottomFlow | None = None
    wind_speed: Scalar | None = None
    covered: Bool[Array, "..."] | None = None
    air_pressure: Scalar | None = None
    melting: dict[str, Scalar] = {}

    def starting_from(self, state: State) -> "Column":
        """Replace the state at the start of the step."""
        return self._replace(state=state, advected=state, velocity=(state.u, state.v))

    def shaded(self, shade: FaceArray | None) -> "Column":
        """Add shade to the column."""
        if shade is None:
            return self
        return self._replace(shade=shade if self.shade is None else self.shade * shade)

    @property
    def shortwave(self) -> FaceArray:
        """Downward shortwave radiation through each face [W m-2]."""
        entering = or_zero(self.fluxes.shortwave_flux, self.state)
        return entering * self.absorption.transmission(self.grid, self.shade)


class AbstractTerm(AbstractShown):
    """A term that acts on the column. By default it has no effect; its series are averaged and checked.

    Quantities are named `u`, `v`, `temperature`, `salinity`, and by the names of the tracers.
    """

    def before(self, column: Column) -> State:
        """Return the state with which the step starts, changed from `column.state`, such as by rotation."""
        return column.state

    def advect(self, column: Column) -> State:
        """Return the state after vertical advection, changed from `column.advected`."""
        return column.advected

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """Tendencies of u and v, by name; they share a matrix if their rates are the same objects."""
        return {}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        """Tendencies of temperature, salinity and tracers, by name."""
        return {}

    def after_velocity(self, u: CenterArray, v: CenterArray, column: Column) -> Velocity:
        """Adjust the velocity [m s-1] that solves the equations of transport."""
        return u, v

    def held(self) -> tuple[str, ...]:
        """Names among `temperature` and `salinity` of variables that keep their values."""
        return ()

    def own_tracers(self) -> tuple[str, ...]:
        """Tracers that belong to the term: nothing else mixes, advects or changes them."""
        return ()

    def undiluted(self) -> tuple[str, ...]:
        """Tracers that rain does not dilute, because they are no concentrations or the term dilutes them."""
        return ()

    def initial_tracers(self) -> dict[str, float]:
        """Tracers that the term needs, with their initial values where a case does not give them."""
        return {}

    def tracer_units(self) -> dict[str, tuple[str, str]]:
        """Unit and long name, for files, of tracers and numbers of the column that belong to the term."""
        return {}

    def shade(self, state: State, grid: Grid) -> FaceArray | None:
        """Fraction of visible light that suspended or dissolved matter transmits to each face [1]."""
        return None

    def react(self, state: State, column: Column) -> State:
        """Apply sources of tracers to the state after the transport; return the state."""
        return state

    def own_surface(self, state: State) -> dict[str, Scalar]:
        """Initial values of the term in `State.surface`; `move` puts later ones into `Column.surface`."""
        return {}

    def stirring(self, state: State) -> InnerFaceArray | None:
        """Production of turbulent kinetic energy [m2 s-3] in the step that ends with a state."""
        return None

    def surface_stress(self, state: State, grid: Grid, density: Scalar) -> Stress | None:
        """Stress on the uppermost cell in addition to the wind stress [N m-2], for the turbulence below."""
        return None

    def bottom_flow(self, state: State, grid: Grid, start: Column | None = None) -> BottomFlow | None:
        """Flow at the bottom; its roughness depends on the flow of the column `start`, if that is given."""
        return None

    def stokes_drift(self, grid: Grid, time: ScalarLike) -> CellDrift | None:
        """Stokes drift of the cells at a time [s]."""
        return None

    def surface_waves(self, state: State, column: Column) -> SurfaceWaves | None:
        """Surface waves, for the turbulence below."""
        return None

    def placed(self, grid: Grid, state: State, time: ScalarLike | None) -> Grid:
        """Move a grid to the lake level of a state, or to an elevation prescribed for `time`, if any."""
        return grid

    def move(self, column: Column, at_rest: Grid, terms: "Sequence[AbstractTerm]") -> Column:
        """Move the column to the grid at the end of the step, if its volume of water changes."""
        return column

    def discharge(self, time: ScalarLike) -> tuple[ScalarLike, ScalarLike] | None:
        """Inflow and outflow at a time [m3 s-1]."""
        return None

    def on(self, source: Grid, target: Grid) -> "AbstractTerm":
        """Remap the term to another grid of the same depth."""
        return self

    def with_von_karman(self, von_karman: Callable[[], Scalar]) -> "AbstractTerm":
        """Use the von Karman constant of the closure in the term, if the term declares none."""
        return self

    def adapted_to(self, state: State, grid: Grid, dt: float) -> "AbstractTerm":
        """Choose the automatic settings of the term for a step of `dt` [s] from this state."""
        return self

    def over_steps(self, steps: StepsOfRun) -> "AbstractTerm":
        """Average series of the term over the steps of a run, where they are finer.

        Series of states at an instant, such as a level, stay as they are.
        """
        return over_steps(self, steps)

    def check_step(self, state: State, grid: Grid, dt: float) -> None:
        """Raise `ValueError` if the term needs a shorter step than `dt` [s] from this state."""

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if a series of the term does not cover `start` to `end` [s]."""
        check_covers(self, start, end)


def first_of(values: Iterable[T | None]) -> T | None:
    """Return the first value that is not `None`, or `None`."""
    return next((value for value in values if value is not None), None)


def in_top_cell(value: Scalar, like: CenterArray) -> CenterArray:
    """Profile with a value in the uppermost cell, and 0 in the others."""
    return jnp.concatenate([jnp.zeros_like(like[1:]), jnp.zeros_like(like[:1]) + value])


def or_zero(flux: Scalar | None, state: State) -> Scalar:
    """Return a flux, or if it is `None` zero in the precision of the state."""
    return jnp.zeros((), state.temperature.dtype) if flux is None else flux


def acceleration(x: ScalarLike, y: ScalarLike, grid: Grid) -> dict[str, Tendency]:
    """Tendencies from accelerations of u and v [m s-2]."""
    return {"u": Tendency(cells=grid.cell_thickness * x), "v": Tendency(cells=grid.cell_thickness * y)}
