"""Interface of ice models: ice receives the fluxes from the air and passes fluxes to the water.

The prognostic variables of the ice are in `State.surface`, one number per column, under names from the table
of quantities. If ice covers the water at the start of a step, the water receives no wind stress; it receives
the shortwave radiation that passes the ice, and the heat that keeps its uppermost cell at the freezing point.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._types import Scalar, ScalarLike, parameter
from ..column.forcing import FLUXES, IceSurface, SurfaceFluxes
from ..column.state import State

Carried = dict[str, Float[Array, "..."]]
"""What ice remembers, by name, one number per column."""

Sky = Callable[[IceSurface | None], SurfaceFluxes]
"""Fluxes of the air over ice where its surface covers, and over the water elsewhere."""


class UppermostCell(NamedTuple):
    """The water below the ice."""

    temperature: Scalar  # [degC]
    salinity: Scalar  # [g kg-1]
    thickness: Scalar  # [m]
    volume: Scalar  # volume over surface area [m]: the thickness, except in a lake
    heat_capacity: Scalar  # [J kg-1 K-1]
    density: Scalar  # reference density [kg m-3]
    friction_velocity: Scalar  # of the ice base, or of the wind, at the start of the step [m s-1]

    @property
    def heat_per_kelvin(self) -> Scalar:
        """[J m-2 K-1]."""
        return self.density * self.heat_capacity * self.volume


class IceStep(NamedTuple):
    """Result of a step for ice and water.

    Args:
        ice: prognostic variables.
        temperature: of the uppermost cell, before other processes act on it [degC].
        fluxes: into the water.
        heat_from_air: heat gained by the ice through its upper surface, minus that passed to the water [W
            m-2].
        covered: whether ice closes the surface for all but the fluxes; `None` if it never does.
    """

    ice: Carried
    temperature: Scalar
    fluxes: SurfaceFluxes
    heat_from_air: Scalar
    covered: Bool[Array, "..."] | None = None


class AbstractIce(eqx.Module):
    """An ice model; its fields are its parameters.

    Args:
        freezing_slope: slope of the freezing point against salinity [K per g kg-1].
    """

    freezing_slope: Scalar = parameter(-0.0575, unit="K (g kg-1)-1", valid_range=(-0.1, 0.0))
    thicknesses: ClassVar[tuple[str, ...]]
    """Prognostic variables whose volume stays where the area of the surface changes."""

    @abc.abstractmethod
    def start(self, state: State) -> Carried:
        """Initial prognostic variables, with the shape of the columns."""

    @abc.abstractmethod
    def step(
        self, ice: Carried, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        """Ice, uppermost cell and fluxes over `dt` [s]; the air temperature [degC] is that at its end."""

    def check(self, state: State, knows_air: bool) -> None:
        """Raise `ValueError` for water outside the range of the formulae, or without weather."""

    def spread(self, ice: Carried, factor: Scalar) -> Carried:
        """The same volume of ice on another area: the old area over the new one [1]."""
        return ice | {name: ice[name] * factor for name in self.thicknesses}

    def freezing_point(self, salinity: Scalar) -> Scalar:
        """Freezing point at the surface [degC]."""
        return self.freezing_slope * salinity


def check_air(ice: AbstractIce, is_known: bool) -> None:
    """Raise `ValueError` for ice without an air temperature."""
    if not is_known:
        raise ValueError(
            f"{type(ice).__name__}: expected weather, which has the temperature of the air, got fluxes "
            "alone; give the weather, or another model of ice."
        )


def flux_like(flux: Scalar | None, like: Scalar) -> Scalar:
    """A flux with the shape of a column; zero if there is none."""
    return jnp.zeros_like(like) if flux is None else flux + 0.0 * like


def below_cover(
    covered: Bool[Array, "..."],
    sky: SurfaceFluxes,
    transmitted: Scalar,
    gained: Scalar | None,
    heat: ScalarLike = 0.0,
) -> SurfaceFluxes:
    """Fluxes into the water: those from the air, or below ice `heat` and the transmitted radiation.

    Precipitation and evaporation on the cover, unless stored as snow, and meltwater run into the water;
    freezing takes water without its salt.

    Args:
        covered: where there is ice.
        sky: fluxes from the air, whose shortwave radiation has entered the ice.
        transmitted: fraction of it that reaches the water [1].
        gained: mass gained by ice and snow [kg m-2 s-1]; `None` if they exchange no water, and the cover
            keeps rain off.
        heat: from the ice [W m-2].
    """
    closed = {"heat_flux": heat}
    passing = ("shortwave_flux",) if gained is None else ("shortwave_flux", "freshwater_flux", "rain")
    changed = {
        name: jnp.where(covered, closed.get(name, 0.0), flux)
        for name in (*FLUXES, "surface_drag", "rain")
        if name not in passing and (flux := getattr(sky, name)) is not None
    }
    if sky.shortwave_flux is not None:
        changed["shortwave_flux"] = jnp.where(covered, transmitted, 1.0) * sky.shortwave_flux
    if gained is not None:
        changed["freshwater_flux"] = flux_like(sky.freshwater_flux, gained) - gained
    gases = {name: jnp.where(covered, 0.0, flux) for name, flux in sky.tracer_fluxes.items()}
    return dataclasses.replace(sky, tracer_fluxes=gases, **changed)
