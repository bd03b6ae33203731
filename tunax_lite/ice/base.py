"""Interface of ice models: ice receives the fluxes from the air and passes fluxes to the water.

The prognostic variables of the ice are in `State.surface`, one number per column, under names from the table
of quantities. If ice covers the water at the start of a step, the water receives no wind stress; it receives
the shortwave radiation that passes the ice, and the heat that keeps its uppermost cell at the freezing point.

In a column of constant volume, freezing of salt-free water at the rate F adds salt at the rate S F, with the
current salinity S. Melting at another salinity would not remove the same amount. The column therefore stores
the salt that freezing left (`salinity_left_by_ice` [g m-2], and likewise for tracers), and melting takes it
back in proportion to the ice that melts: a closed cycle changes no content.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._types import Scalar, ScalarLike, parameter
from ..column.forcing import FLUXES, IceSurface, SurfaceFluxes
from ..column.state import State
from ..numerics.elementary import at_least, at_most, reciprocal

IceState = dict[str, Float[Array, "..."]]
"""Prognostic variables of the ice by name, one number per column."""

Sky = Callable[[IceSurface | None], SurfaceFluxes]
"""Function that returns the fluxes from the air, over the ice where it covers the water, else over water."""


class UppermostCell(NamedTuple):
    """The water below the ice."""

    temperature: Scalar  # [degC]
    salinity: Scalar  # [g kg-1]
    thickness: Scalar  # [m]
    volume: Scalar  # volume over surface area [m]: the thickness, except in a lake
    heat_capacity: Scalar  # [J kg-1 K-1]
    density: Scalar  # reference density [kg m-3]
    friction_velocity: Scalar  # at the ice base, or by wind, at the start of the step [m s-1]

    @property
    def heat_per_kelvin(self) -> Scalar:
        """Heat capacity of the cell per area of the surface [J m-2 K-1]."""
        return self.density * self.heat_capacity * self.volume


class IceStep(NamedTuple):
    """Result of a step for ice and water.

    Args:
        ice: prognostic variables.
        temperature: temperature of the uppermost cell, before other processes act on it [degC].
        fluxes: fluxes into the water.
        heat_from_air: heat that changes the ice and `temperature`, besides the `fluxes` into the water [W
            m-2].
        covered: whether ice covers the surface, for processes other than `fluxes`; `None` if it never does.
        taken: fresh water that the ice takes from the water, which is part of the fluxes, negative where it
            melts [kg m-2 s-1]; `None` if ice exchanges no water.
    """

    ice: IceState
    temperature: Scalar
    fluxes: SurfaceFluxes
    heat_from_air: Scalar
    covered: Bool[Array, "..."] | None = None
    taken: Scalar | None = None


class AbstractIce(eqx.Module):
    """An ice model; its fields are its parameters.

    Args:
        freezing_slope: slope of the freezing point against salinity [K per g kg-1].
    """

    freezing_slope: Scalar = parameter(-0.0575, unit="K (g kg-1)-1", valid_range=(-0.1, 0.0))
    thicknesses: ClassVar[tuple[str, ...]]
    """Thickness variables: their volume is conserved where the area of the surface changes."""
    needs_air: ClassVar[bool] = False
    """Whether a step needs the air temperature."""

    @abc.abstractmethod
    def start(self, state: State) -> IceState:
        """Initial prognostic variables, with the shape of the columns."""

    @abc.abstractmethod
    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        """Advance ice and uppermost cell by `dt` [s], with the air temperature [degC] at the end."""

    def check(self, state: State, knows_air: bool) -> None:
        """Raise `ValueError` for water outside the range of the formulae, or an unknown air temperature."""
        if self.needs_air and not knows_air:
            raise ValueError(
                f"{type(self).__name__}: expected the air temperature, got prescribed fluxes without one; "
                "give the weather, or use another ice model."
            )

    def mass(self, ice: IceState) -> Scalar | None:
        """Mass of ice and snow that melts into the water [kg m-2]; `None` if ice exchanges no water."""
        return None

    def spread(self, ice: IceState, area_ratio: Scalar) -> IceState:
        """Spread the volume of ice over another area; `area_ratio` is old over new area [1]."""
        per_area = (*self.thicknesses, *(name for name in ice if name.endswith(LEFT_BY_ICE)))
        return ice | {name: ice[name] * area_ratio for name in per_area}

    def freezing_point(self, salinity: Scalar) -> Scalar:
        """Freezing point at the surface [degC]."""
        return self.freezing_slope * salinity


LEFT_BY_ICE = "_left_by_ice"
"""Suffix of the variables that hold the salt or tracer that freezing left in the water."""


def left_at_start(ice: AbstractIce, variables: IceState, concentrations: Mapping[str, Scalar]) -> IceState:
    """Salt and tracers that the initial ice left, at the concentrations of the uppermost cell."""
    mass = ice.mass(variables)
    return {} if mass is None else {name + LEFT_BY_ICE: mass * c for name, c in concentrations.items()}


def left_by_ice(
    mass: Scalar,
    taken: Scalar,
    variables: IceState,
    concentrations: Mapping[str, Scalar],
    cell_mass: Scalar,
    dt: ScalarLike,
) -> tuple[IceState, dict[str, Scalar]]:
    """Update the salt and tracers left by freezing, and correct the dilution by melting.

    Melting takes back at most half of the content of the uppermost cell in a step, so that no concentration
    becomes negative; the rest follows in later steps.

    Args:
        mass: mass of ice and snow at the start of the step [kg m-2].
        taken: fresh water that the ice takes from the water [kg m-2 s-1].
        variables: prognostic variables of ice and surface at the start.
        concentrations: concentrations of the uppermost cell, by name.
        cell_mass: mass of that cell [kg m-2].
        dt: length of the step [s].

    Returns:
        The new stores, and by name the flux into the water that corrects the dilution of the uppermost cell
        [concentration kg m-2 s-1].
    """
    frozen, melted = at_least(taken, 0.0), at_least(-taken, 0.0)
    has_ice = mass > 0.0
    fraction = jnp.where(has_ice, at_most(melted * dt * reciprocal(jnp.where(has_ice, mass, 1.0)), 1.0), 1.0)
    stored, correction = {}, {}
    for name, concentration in concentrations.items():
        stored_before = variables[name + LEFT_BY_ICE]
        returned = at_most(fraction * stored_before, 0.5 * cell_mass * at_least(concentration, 0.0))
        stored[name + LEFT_BY_ICE] = stored_before + concentration * frozen * dt - returned
        correction[name] = concentration * melted - returned / dt
    return stored, correction


def flux_like(flux: Scalar | None, like: Scalar) -> Scalar:
    """Broadcast a flux to the shape of the columns; `None` becomes zero."""
    return jnp.zeros_like(like) if flux is None else flux + 0.0 * like


def below_cover(
    covered: Bool[Array, "..."],
    sky: SurfaceFluxes,
    transmitted: Scalar,
    gained: Scalar | None,
) -> SurfaceFluxes:
    """Fluxes into the water: those from the air, or below ice the transmitted radiation.

    Precipitation and evaporation on the cover, unless stored as snow, and meltwater run into the water;
    freezing takes water without its salt.

    Args:
        covered: where there is ice.
        sky: fluxes from the air, whose shortwave radiation has entered the ice.
        transmitted: fraction of it that reaches the water [1].
        gained: mass gained by ice and snow [kg m-2 s-1]; `None` if they exchange no water, and the cover
            keeps rain off.
    """
    unchanged = ("shortwave_flux",) if gained is None else ("shortwave_flux", "freshwater_flux")
    changed = {
        name: jnp.where(covered, 0.0, flux)
        for name in (*FLUXES, "surface_drag")
        if name not in unchanged and (flux := getattr(sky, name)) is not None
    }
    if sky.shortwave_flux is not None:
        changed["shortwave_flux"] = jnp.where(covered, transmitted, 1.0) * sky.shortwave_flux
    if gained is not None:
        changed["freshwater_flux"] = flux_like(sky.freshwater_flux, gained) - gained
    gases = {name: jnp.where(covered, 0.0, flux) for name, flux in sky.tracer_fluxes.items()}
    return dataclasses.replace(sky, tracer_fluxes=gases, **changed)
