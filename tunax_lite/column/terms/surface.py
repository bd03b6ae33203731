"""Terms of every column: Coriolis force, surface fluxes, shortwave radiation."""

import dataclasses
from collections.abc import Collection, Iterable

import jax.numpy as jnp

from ..._types import FaceArray, Scalar
from ...numerics.elementary import safe_sqrt, vector_norm
from ...physics.equation_of_state import AbstractEquationOfState
from ...physics.stratification import rotate
from ..forcing import SurfaceFluxes
from ..grid import Grid
from ..state import State
from .base import AbstractTerm, Column, Stress, Tendency, in_top_cell, or_zero


class CoriolisForce(AbstractTerm):
    """Rotates the velocity together with the Stokes drift, before all other terms."""

    def before(self, column: Column) -> State:
        state, drift = column.state, column.stokes_drift
        if drift is None or drift.in_velocity:
            u, v = rotate(state.u, state.v, column.coriolis_parameter, column.dt)
        else:
            u, v = rotate(state.u + drift.u, state.v + drift.v, column.coriolis_parameter, column.dt)
            u, v = u - drift.u, v - drift.v
        return State(u, v, state.temperature, state.salinity, state.tracers)


class SurfaceExchange(AbstractTerm):
    """Stress, heat, fresh water, salt and tracers through the surface into the uppermost cell.

    Args:
        undiluted_tracers: tracers that fresh water does not dilute.
    """

    undiluted_tracers: tuple[str, ...] = ()

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        fluxes, state, density = column.fluxes, column.state, column.equation_of_state.reference_density
        stress = dict(zip(("u", "v"), wind_stress(fluxes, state), strict=True))
        if column.level is not None and (fresh := column.level.fresh_water) is not None:
            evaporation = density * jnp.minimum(fresh, 0.0)  # it removes momentum, and rain brings none
            stress = {name: x + evaporation * getattr(state, name)[-1] for name, x in stress.items()}
        if fluxes.surface_drag is None:
            return {name: Tendency(surface=x / density) for name, x in stress.items()}
        # Stress on water at rest; its reduction by the current is implicit in the new velocity.
        at_rest = {name: x + fluxes.surface_drag * getattr(state, name)[-1] for name, x in stress.items()}
        rate = fluxes.surface_drag / (density * column.grid.cell_volume[-1])
        rate = in_top_cell(rate, state.u)
        return {name: Tendency(surface=x / density, loss_rate=rate) for name, x in at_rest.items()}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        fluxes, state, level = column.fluxes, column.state, column.level
        if level is not None and level.fresh_water is not None:
            # With a varying level, rain adds volume instead of diluting, and has the temperature of the
            # surface.
            fluxes = dataclasses.replace(fluxes, freshwater_flux=None)
        entering = kinematic_fluxes(state, column.equation_of_state, fluxes, self.undiluted_tracers)
        for name, flux in column.melting.items():  # [unit kg m-2 s-1]
            entering[name] = entering[name] + flux / column.equation_of_state.reference_density
        if level is not None and level.fresh_water is not None:
            entering["temperature"] = entering["temperature"] + level.fresh_water * state.temperature[-1]
        return {name: Tendency(surface=flux) for name, flux in entering.items()}


class ShortwaveHeating(AbstractTerm):
    """Absorption of shortwave radiation in the water, and at an absorbing bottom.

    In a lake, part of the radiation falls on the ring of bottom beside each cell: if it absorbs, a cell gains
    A_up I_up - A_down I_down, otherwise I_up - I_down on its mean area.
    """

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        downward = shortwave_heating(column.fluxes, column)
        if downward is None:
            return {}
        areas, cell_areas = column.grid.relative_area, column.grid.cell_area
        if areas is None or cell_areas is None or not column.absorption.bottom_absorbs:
            return {"temperature": Tendency(cells=downward[1:] - downward[:-1])}
        downward = areas * downward
        return {"temperature": Tendency(cells=(downward[1:] - downward[:-1]) / cell_areas)}


def wind_stress(fluxes: SurfaceFluxes, state: State) -> Stress:
    """Eastward and northward stress of the wind on the water [N m-2]."""
    return or_zero(fluxes.stress_u, state), or_zero(fluxes.stress_v, state)


def total_stress(
    stress: Stress, state: State, grid: Grid, density: Scalar, terms: Iterable[AbstractTerm]
) -> Stress:
    """Add the stresses of the terms on the uppermost cell to that of the wind [N m-2]."""
    for term in terms:
        added = term.surface_stress(state, grid, density)
        stress = stress if added is None else (stress[0] + added[0], stress[1] + added[1])
    return stress


def friction_velocity(stress: Stress, density: Scalar) -> Scalar:
    """u* = sqrt(|stress| / density) [m s-1]."""
    return safe_sqrt(vector_norm(*stress) / density)


def kinematic_fluxes(
    state: State,
    eos: AbstractEquationOfState,
    fluxes: SurfaceFluxes,
    undiluted: Collection[str] = (),
) -> dict[str, Scalar]:
    """Fluxes into the uppermost cell: temperature [K m s-1], salinity [g kg-1 m s-1], tracers.

    Fresh water dilutes salinity and all tracers but those in `undiluted`.
    """
    heat = or_zero(fluxes.heat_flux, state) / (eos.reference_density * eos.heat_capacity)
    # Fresh water dilutes the uppermost cell without changing its volume; salt flux is in kg, salinity in g.
    dilution = -state.salinity[-1] * or_zero(fluxes.freshwater_flux, state)
    salt = (dilution + 1e3 * or_zero(fluxes.salt_flux, state)) / eos.reference_density
    tracers = {name: or_zero(fluxes.tracer_fluxes.get(name), state) for name in state.tracers}
    if fluxes.freshwater_flux is not None:
        fresh_water = fluxes.freshwater_flux / eos.reference_density
        for name in (name for name in state.tracers if name not in undiluted):
            tracers[name] = tracers[name] - fresh_water * state.tracers[name][-1]
    return {"temperature": heat, "salinity": salt, **tracers}


def shortwave_heating(fluxes: SurfaceFluxes, column: Column) -> FaceArray | None:
    """Downward flux of heat by shortwave radiation through each face [K m s-1]; `None` without it."""
    if fluxes.shortwave_flux is None:
        return None
    heat = column.equation_of_state.reference_density * column.equation_of_state.heat_capacity
    return fluxes.shortwave_flux / heat * column.absorption.transmission(column.grid, column.shade)
