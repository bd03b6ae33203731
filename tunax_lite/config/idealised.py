"""Cases without a file: profiles, fluxes and constants of the configuration as arrays."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..case import Case
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..grid import Grid
from ..physics import JERLOV_WATER_TYPES, TwoBandAbsorption, coriolis_parameter
from ..state import State
from .cases import ForcingSection, IdealisedCase, Profile
from .sea_water import equation_of_state


def idealised_case(section: IdealisedCase, grid: Grid) -> Case:
    """The case on a grid.

    Raises:
        ValueError: N² for the temperature of water that does not expand.
    """
    water = equation_of_state(section.equation_of_state)
    profiles = {name: _values(getattr(section, name)) for name in ("salinity", "u", "v")}
    slope = section.temperature.buoyancy_frequency_squared
    warming = None
    if slope is not None:
        # At the surface: the gradient is that of one straight profile.
        top = jnp.zeros(())
        expansion, _ = water.expansion(_values(section.temperature)(top), profiles["salinity"](top), top)
        if expansion == 0.0:
            raise ValueError(
                "temperature.buoyancy_frequency_squared: expected water that expands with temperature, got "
                "a thermal expansion of 0; give a gradient instead."
            )
        warming = slope / float(water.gravity * expansion)
    state = State.from_profiles(
        grid,
        temperature=_values(section.temperature, warming),
        tracers={name: _values(profile) for name, profile in section.tracers.items()},
        **profiles,
    )
    rotation = coriolis_parameter(section.latitude) if section.latitude is not None else 0.0
    if section.coriolis_parameter is not None:
        rotation = section.coriolis_parameter
    return Case(
        grid=grid,
        initial_state=state,
        forcing=_forcing(section.forcing),
        coriolis_parameter=rotation,
        equation_of_state=water,
        absorption=TwoBandAbsorption(*JERLOV_WATER_TYPES[section.water_type]),
        duration=section.duration,
        name=section.name,
    )


def _values(
    profile: Profile, gradient: float | None = None
) -> Callable[[Float[Array, " center"]], Float[Array, " center"]]:
    """A profile as a function of the height; `gradient` [m-1] where it does not stand in the profile."""
    if profile.z is not None and profile.values is not None:
        heights, values = np.asarray(profile.z), np.asarray(profile.values)
        return lambda z: jnp.interp(z, heights, values)
    slope = gradient if gradient is not None else (profile.gradient or 0.0)
    surface = profile.surface or 0.0
    return lambda z: surface + slope * z


def _forcing(section: ForcingSection) -> AbstractForcing:
    if section.time is None:
        return ConstantForcing(SurfaceFluxes(**section.fluxes, tracer_fluxes=section.tracer_fluxes))
    as_arrays = {name: jnp.asarray(flux, dtype=float) for name, flux in section.fluxes.items()}
    tracers = {name: jnp.asarray(flux, dtype=float) for name, flux in section.tracer_fluxes.items()}
    return TimeSeriesForcing.from_values(np.asarray(section.time), **as_arrays, tracer_fluxes=tracers)
