"""How light the water is, brought to the surface."""

import jax.numpy as jnp

from .._types import CenterArray
from .base import ColumnState


def potential_density(water: ColumnState) -> CenterArray:
    """Density of the water if it were brought to the surface [kg m-3]."""
    state = water.state
    at_surface = jnp.zeros_like(state.temperature)
    return water.equation_of_state.density(state.temperature, state.salinity, at_surface)


def buoyancy(water: ColumnState) -> CenterArray:
    """b = -g (rho - rho_0) / rho_0 of the potential density [m s-2]."""
    state = water.state
    at_surface = jnp.zeros_like(state.temperature)
    return water.equation_of_state.buoyancy(state.temperature, state.salinity, at_surface)
