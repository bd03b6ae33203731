"""Turbulent transport other than down-gradient mixing: terms from `AbstractCloState.terms`.

Plumes of total mass flux M (area times velocity, positive downward) entrain water on their way down,

    phi_p(below) = (1 - chi) phi_p(above) + chi phi(cell),     flux of phi upward: -M (phi_p - phi)

where phi is the value of the surrounding water. This water rises in exchange: phi is that of the cell below.
"""

from typing import NamedTuple

import equinox as eqx
import jax
from jax import lax
from jaxtyping import PyTree

from ..._types import CenterArray, FaceArray, InnerFaceArray
from ...numerics.diffusion import CarryingRates
from ...numerics.elementary import at_least, difference, gradient, mean_of_neighbours, reciprocal
from ...physics.equation_of_state import AbstractEquationOfState
from ..grid import Grid
from ..state import State
from .base import AbstractTerm, Column, Tendency
from .surface import kinematic_fluxes, shortwave_heating


class NonlocalTransport(AbstractTerm):
    """Distributes a fraction of the surface flux over the faces, independent of gradients.

    Args:
        fraction: fraction of the surface flux on faces [1], 0 at both ends; for heat, this flux includes
            the shortwave radiation absorbed above the face. Fresh water counts as a flux of salinity and of
            all tracers, also where `SurfaceExchange` leaves tracers undiluted or the level follows the water.
    """

    fraction: FaceArray

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        # Only heat and salt use `fluxes_before`, those of the previous step in GOTM's discretisation.
        now = kinematic_fluxes(column.state, column.equation_of_state, column.fluxes)
        before = kinematic_fluxes(column.state, column.equation_of_state, column.fluxes_before)
        heat, radiation = before["temperature"], shortwave_heating(column.fluxes_before, column)
        if radiation is not None:
            heat = heat + (radiation[-1] - radiation[1:-1])
        fluxes = {**now, "salinity": before["salinity"], "temperature": heat}
        return {name: Tendency(downward=flux * self.fraction[1:-1]) for name, flux in fluxes.items()}


class CounterGradientHeat(AbstractTerm):
    """A counter-gradient heat flux, limited so that it creates no new extrema."""

    upward: FaceArray  # flux [K m s-1], 0 at both ends

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        return {"temperature": Tendency(against_gradient=-self.upward[1:-1])}


class StokesMixing(AbstractTerm):
    """Turbulent momentum flux down the shear of the Stokes drift."""

    viscosity: FaceArray  # nu_S [m2 s-1]

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        if column.stokes_drift is None:
            return {}
        drift, inner = column.stokes_drift, self.viscosity[1:-1]
        u, v = (inner * gradient(values, column.grid) for values in (drift.u, drift.v))
        return {"u": Tendency(downward=u), "v": Tendency(downward=v)}


class PlumeWater(NamedTuple):
    """Water properties in the plumes on inner faces, by quantity; units as in `State`."""

    velocity: dict[str, InnerFaceArray]
    scalars: dict[str, InnerFaceArray]


class Plumes(AbstractTerm):
    """Transport by plumes, on faces; zero at both ends."""

    mass_flux: FaceArray  # for temperature, salinity and tracers [m s-1], positive downward
    momentum_flux: FaceArray  # for velocity [m s-1]: reduced by the effect of pressure
    water: PlumeWater  # properties in the plumes, from the state at the start of the step

    @classmethod
    def of(
        cls, state: State, mass_flux: FaceArray, momentum_flux: FaceArray, entrained_fraction: FaceArray
    ) -> "Plumes":
        """Plumes in a column; the fraction chi [1] of their water at a face comes from the cell above."""
        quantities = PlumeWater({"u": state.u, "v": state.v}, _scalars(state))
        return cls(mass_flux, momentum_flux, plume_values(quantities, entrained_fraction[1:-1]))

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        return _exchanged(self.momentum_flux, self.water.velocity)

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        return _exchanged(self.mass_flux, self.water.scalars)

    def production(
        self, new: State, old: State, grid: Grid, eos: AbstractEquationOfState
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
        """Production of turbulence by shear and buoyancy [m2 s-3], and squared slip [m2 s-2], on inner faces.

        The production is the energy lost by the mean flow in the step from `old` (already rotated) to `new`,
        exact to round-off where expansion is constant. The slip is the velocity of the plumes relative to the
        mean flow, without pressure effects.
        """
        water, velocity = self.water.scalars, self.water.velocity
        alpha, beta = eos.expansion(
            mean_of_neighbours(new.temperature), mean_of_neighbours(new.salinity), grid.z_face[1:-1]
        )
        warmth = alpha * (water["temperature"] - new.temperature[:-1])
        buoyancy = eos.gravity * (warmth - beta * (water["salinity"] - new.salinity[:-1]))
        slip = velocity["u"] - new.u[:-1], velocity["v"] - new.v[:-1]
        changes = [difference(a) + difference(b) for a, b in ((new.u, old.u), (new.v, old.v))]
        work = 0.5 * (slip[0] * changes[0] + slip[1] * changes[1])
        by_shear = self.momentum_flux[1:-1] * work * reciprocal(grid.center_spacing)
        return by_shear, -self.mass_flux[1:-1] * buoyancy, slip[0] ** 2 + slip[1] ** 2


def _scalars(state: State) -> dict[str, CenterArray]:
    return {"temperature": state.temperature, "salinity": state.salinity, **state.tracers}


def _exchanged(flux: FaceArray, water: dict[str, InnerFaceArray]) -> dict[str, Tendency]:
    """Tendencies by sinking plume water, and by surroundings that rise in exchange, implicitly."""
    rising = CarryingRates(upward=flux[1:-1])
    return {name: Tendency(carrying=rising, plume_value=values) for name, values in water.items()}


def plume_values(quantities: PyTree, entrained_fraction: InnerFaceArray) -> PyTree:
    """Values in the plumes on inner faces, from values of the cells; chi is 1 where a plume begins."""

    def sink(above: PyTree, level: PyTree) -> tuple[PyTree, PyTree]:
        fraction, cell = level
        below = jax.tree.map(lambda plume, value: plume + fraction * (value - plume), above, cell)
        return below, below

    start = jax.tree.map(lambda values: values[-1] + 0.0 * entrained_fraction[-1], quantities)
    cells = jax.tree.map(lambda values: values[1:], quantities)
    return lax.scan(sink, start, (entrained_fraction, cells), reverse=True)[1]


class PlumeEnergy(eqx.Module):
    """Energy converted by plumes in a step, on inner faces."""

    shear_production: InnerFaceArray  # kinetic energy from the mean flow to turbulence [m2 s-3]
    buoyancy_production: InnerFaceArray  # potential energy of the mean state to turbulence [m2 s-3]
    rising: InnerFaceArray  # mass flux that carries k upward [m s-1]
    sinking_energy: InnerFaceArray  # k in plumes times their area [m2 s-2]
    sinking_velocity: InnerFaceArray  # velocity of the plumes [m s-1], positive downward

    def turbulent_flow(self, tke: InnerFaceArray) -> CarryingRates:
        """Rates at which the volumes around inner faces carry k to each other, in the cells between.

        Upwind values are those of the face above a cell, as in the paper of the closure. Sinking k is at
        most the k at its face, so that a step cannot remove more than there is.
        """
        fraction = self.sinking_energy * reciprocal(at_least(tke, self.sinking_energy))
        return CarryingRates(upward=self.rising[1:], downward=(self.sinking_velocity * fraction)[1:])
