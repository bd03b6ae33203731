"""The interface of a term: it receives the column of a step and returns tendencies.

    h dY/dt = what cells gain + what enters through the ends + what passes from cell to cell - h L Y

`transport` sums what all terms say, quantity by quantity, and solves for the new values. A term that is
absent is in no list, and costs nothing.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..forcing import SurfaceFluxes
from ..grid import Grid
from ..numerics.diffusion import CarryingRates
from ..physics.absorption import AbstractAbsorption
from ..physics.equation_of_state import AbstractEquationOfState
from ..state import State
from ..time_series import check_covers

Velocity = tuple[CenterArray, CenterArray]  # eastward and northward component on cells


class Tendency(NamedTuple):
    """Effect of a term on one quantity; `None` for no effect of a kind.

    Args:
        cells: gained in each cell per area and time [unit m s-1]: a source [unit s-1] times the thickness.
        surface: flux into the uppermost cell [unit m s-1].
        bottom: flux into the lowest cell [unit m s-1].
        downward: flux from each cell to that below it [unit m s-1], on inner faces.
        against_gradient: the same, weakened by one factor where it would lead out of the range that the
            quantity has without it.
        loss_rate: L [s-1], at least zero, implicit: the quantity decays, and stays positive.
        carrying: rates at which cells carry their value to a neighbour [m s-1], at least zero, implicit: the
            quantity sinks or rises, and stays positive.
        sinking: value [unit] of what comes down in exchange for what is carried up, on inner faces; of one
            term at most.
    """

    cells: CenterArray | None = None
    surface: Scalar | None = None
    bottom: Scalar | None = None
    downward: InnerFaceArray | None = None
    against_gradient: InnerFaceArray | None = None
    loss_rate: CenterArray | None = None
    carrying: CarryingRates | None = None
    sinking: InnerFaceArray | None = None


class MovingLevel(NamedTuple):
    """What the level of a lake does in a step.

    Args:
        elevation: of the surface above its level at rest, at the end [m].
        volume_before: of the cells at the start, over the area of the surface at the end [m].
        fresh_water: rain less evaporation, which raise the level [m s-1]; `None` where it is prescribed.
    """

    elevation: Scalar
    volume_before: CenterArray
    fresh_water: Scalar | None


class Column(NamedTuple):
    """The column in one step: the input of terms.

    Args:
        state: that the step starts from, already turned by the Earth.
        carried: that state after what moves the water vertically.
        velocity: of the water, u and v [m s-1]: of the start, or like GOTM the newest that is known.
        grid: the vertical grid, its surface where it is at the end of the step.
        equation_of_state, absorption, coriolis_parameter: of the case.
        fluxes: through the surface, at the end of the step.
        fluxes_before: those that non-local fluxes follow: the same, or like GOTM of the step before.
        stokes_drift: eastward and northward, of the cells [m s-1]; `None` without waves.
        eddy_viscosity, eddy_diffusivity: of the step [m2 s-1].
        time: end of the step [s] since the start of the case.
        dt: length of the step [s].
        surface: what ice carries and where the level of a lake is, at the end of the step.
        level: of a lake, where it moves.
    """

    state: State
    carried: State
    velocity: Velocity
    grid: Grid
    equation_of_state: AbstractEquationOfState
    absorption: AbstractAbsorption
    coriolis_parameter: Scalar
    fluxes: SurfaceFluxes
    fluxes_before: SurfaceFluxes
    stokes_drift: Velocity | None
    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    time: ScalarLike
    dt: ScalarLike
    surface: dict[str, Scalar] = {}
    level: MovingLevel | None = None

    def starting_from(self, state: State) -> "Column":
        """The same with another start of the step."""
        return self._replace(state=state, carried=state, velocity=(state.u, state.v))

    @property
    def shortwave(self) -> FaceArray:
        """Shortwave radiation that passes each face downward [W m-2]; zero in the dark."""
        entering = or_zero(self.fluxes.shortwave_flux, self.state)
        return entering * self.absorption.transmission(self.grid)


class AbstractTerm(eqx.Module):
    """A term that acts on the column. By default every method does nothing.

    Quantities go by the names `u`, `v`, `temperature`, `salinity`, and those of the tracers.
    """

    def before(self, column: Column) -> State:
        """The state that the step starts from, in place of `column.state`."""
        return column.state

    def carry(self, column: Column) -> State:
        """The state after what moves water vertically, in place of `column.carried`."""
        return column.carried

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        """What is done to u and v in the step. Both have one matrix: give one object as their rates."""
        return {}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        """What is done to temperature, salinity and tracers in the step."""
        return {}

    def after_velocity(self, u: CenterArray, v: CenterArray, column: Column) -> Velocity:
        """The new velocity [m s-1], from that which was solved for."""
        return u, v

    def stirring(self, state: State) -> InnerFaceArray | None:
        """Turbulent kinetic energy that it makes in the step that ends in a state [m2 s-3]."""
        return None

    def own_tracers(self) -> tuple[str, ...]:
        """Tracers that are the term's own memory: nothing mixes, carries or changes them but the term."""
        return ()

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if a series that the term needs is not known from `start` to `end` [s]."""
        check_covers(self, start, end)


def or_zero(flux: Scalar | None, state: State) -> Scalar:
    """A flux, or zero in the precision of the state where there is none."""
    return jnp.zeros((), state.temperature.dtype) if flux is None else flux


def accelerating(x: ScalarLike, y: ScalarLike, grid: Grid) -> dict[str, Tendency]:
    """What accelerations of u and v [m s-2] add to them."""
    return {"u": Tendency(cells=grid.cell_thickness * x), "v": Tendency(cells=grid.cell_thickness * y)}
