"""The interface of ice models: ice receives the fluxes of the air and passes others to the water.

A case with ice carries what that needs in `State.surface`, one number per column, by names of the table of
quantities. In a step that starts with a cover the water feels no wind; it gets the light that passes the ice,
and gains or loses what keeps its uppermost cell at the freezing point.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._types import Scalar, ScalarLike, parameter
from ..forcing import IceSurface, SurfaceFluxes
from ..state import State

Carried = dict[str, Float[Array, "..."]]
"""What ice remembers, by name, one number per column."""

Sky = Callable[[IceSurface | None], SurfaceFluxes]
"""Fluxes of the air over ice where its surface covers, and over the water elsewhere."""


class UppermostCell(NamedTuple):
    """The water that ice meets."""

    temperature: Scalar  # [degC]
    salinity: Scalar  # [g kg-1]
    thickness: Scalar  # [m]
    volume: Scalar  # over the area of the surface [m]: the thickness but in a lake
    heat_capacity: Scalar  # [J kg-1 K-1]
    density: Scalar  # reference density [kg m-3]
    friction_velocity: Scalar  # of the lid, or of the wind, at the start of the step [m s-1]

    @property
    def heat_per_kelvin(self) -> Scalar:
        """[J m-2 K-1]."""
        return self.density * self.heat_capacity * self.volume


class IceStep(NamedTuple):
    """What became of ice and water in a step.

    Args:
        ice: what is carried on.
        temperature: of the uppermost cell, before anything else acts on it [degC].
        fluxes: into the water.
        heat_from_air: what the ice gained through its upper side, less what passed to the water [W m-2].
    """

    ice: Carried
    temperature: Scalar
    fluxes: SurfaceFluxes
    heat_from_air: Scalar


class AbstractIce(eqx.Module):
    """A model of ice on the water; its fields are its parameters.

    Args:
        freezing_slope: slope of the freezing point against salinity [K per g kg-1].
    """

    freezing_slope: Scalar = parameter(-0.0575, unit="K (g kg-1)-1", valid_range=(-0.1, 0.0))

    @abc.abstractmethod
    def start(self, state: State) -> Carried:
        """What a run starts with, of the shape of the columns of the water."""

    @abc.abstractmethod
    def step(
        self, ice: Carried, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        """Ice, uppermost cell and fluxes of a step of `dt` [s]; the air [degC] is that at its end."""

    def check(self, state: State, knows_air: bool) -> None:
        """Raise `ValueError` for water that the formulae do not know, or without the air that they need."""

    def freezing_point(self, salinity: Scalar) -> Scalar:
        """Of water at the surface [degC]."""
        return self.freezing_slope * salinity


def check_air(ice: AbstractIce, is_known: bool) -> None:
    """Raise `ValueError` for ice over which the temperature of the air is not known."""
    if not is_known:
        raise ValueError(
            f"{type(ice).__name__}: expected weather, which has the temperature of the air, got fluxes "
            "alone; give the weather, or another model of ice."
        )


def flux_like(flux: Scalar | None, like: Scalar) -> Scalar:
    """A flux, zero where there is none, of the shape of a column."""
    return jnp.zeros_like(like) if flux is None else flux + 0.0 * like


def below_cover(
    covered: Bool[Array, "..."],
    sky: SurfaceFluxes,
    transmitted: Scalar,
    gained: Scalar | None,
    heat: ScalarLike = 0.0,
) -> SurfaceFluxes:
    """Fluxes into the water: those of the air, or where ice covers it `heat` and a part of the light.

    What falls on a cover or evaporates from it and does not lie as snow runs to the water, and so does what
    melts; what freezes comes from there, without its salt.

    Args:
        covered: where ice lies.
        sky: fluxes of the air, whose shortwave radiation has entered the ice.
        transmitted: the part of that which reaches the water [1].
        gained: by ice and snow [kg m-2 s-1]; `None` where they take no water, and a cover keeps rain off.
        heat: from the ice [W m-2].
    """
    closed = {"heat_flux": heat}
    names = ("stress_u", "stress_v", "surface_drag", "salt_flux", "heat_flux")
    if gained is None:
        names = (*names, "freshwater_flux")
    changed = {
        name: jnp.where(covered, closed.get(name, 0.0), flux)
        for name in names
        if (flux := getattr(sky, name)) is not None
    }
    if sky.shortwave_flux is not None:
        changed["shortwave_flux"] = jnp.where(covered, transmitted, 1.0) * sky.shortwave_flux
    if gained is not None:
        changed["freshwater_flux"] = flux_like(sky.freshwater_flux, gained) - gained
    gases = {name: jnp.where(covered, 0.0, flux) for name, flux in sky.tracer_fluxes.items()}
    return dataclasses.replace(sky, tracer_fluxes=gases, **changed)
