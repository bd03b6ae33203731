"""Cases without a file: profiles, fluxes and constants of the configuration as arrays."""

import jax.numpy as jnp
import numpy as np

from ..case import Case
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..grid import Grid
from ..physics import coriolis_parameter
from .build_interior import build_interior
from .cases import ForcingSection, IdealisedCase
from .profiles import initial_state
from .series import Setting


def idealised_case(section: IdealisedCase, grid: Grid, setting: Setting) -> Case:
    """The case on a grid; `setting` says where it stands in the configuration.

    Raises:
        ValueError: N² for the temperature of water that does not expand.
    """
    water = section.equation_of_state.build()
    rotation = coriolis_parameter(section.latitude) if section.latitude is not None else 0.0
    if section.coriolis_parameter is not None:
        rotation = section.coriolis_parameter
    return Case(
        grid=grid,
        initial_state=initial_state(section, grid, water),
        forcing=_forcing(section.forcing),
        coriolis_parameter=rotation,
        equation_of_state=water,
        absorption=section.absorption.build(),
        interior=build_interior(section.interior, grid, setting),
        duration=section.duration,
        name=section.name,
        latitude=section.latitude,
    )


def _forcing(section: ForcingSection) -> AbstractForcing:
    if section.time is None:
        return ConstantForcing(SurfaceFluxes(**section.fluxes, tracer_fluxes=section.tracer_fluxes))
    as_arrays = {name: jnp.asarray(flux, dtype=float) for name, flux in section.fluxes.items()}
    tracers = {name: jnp.asarray(flux, dtype=float) for name, flux in section.tracer_fluxes.items()}
    return TimeSeriesForcing.from_values(np.asarray(section.time), **as_arrays, tracer_fluxes=tracers)
