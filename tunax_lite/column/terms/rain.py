"""Concentrations in rain, and tracers that rain does not dilute.

Fresh water dilutes every concentration in the same way (`terms.surface`): salinity, dyes, pools of
biogeochemistry. Rain contains none of them, unless `RainContent` sets their concentrations.
"""

import math

import equinox as eqx
import jax.numpy as jnp

from ..._types import is_traced
from ...declarations import check_kinds, named, setting
from ..grid import Grid
from ..state import State
from .base import AbstractTerm, Column, Tendency


class _Concentrations(dict):
    """Hashable mapping, for a static field."""

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(tuple(sorted(self.items())))

    @classmethod
    def of_numbers(cls, values: dict[str, float]) -> "_Concentrations":
        for name, value in values.items():
            if is_traced(value) or isinstance(value, str | bool) or not math.isfinite(value):
                raise ValueError(f"rain: expected a number as the concentration of {name}, got {value!r}.")
        return cls({name: float(value) for name, value in values.items()})


@named("rain")
class RainContent(AbstractTerm):
    """Concentrations in the rain, and tracers that rain does not dilute.

    Args:
        concentrations: in the rain, by name: `salinity` [g kg-1], or a tracer in its unit; 0 by default.
        no_concentrations: names of tracers that rain and evaporation do not change: an age, a marker.

    Raises:
        ValueError: a concentration that is not a number, or of a tracer in `no_concentrations`.
    """

    concentrations: dict[str, float] = eqx.field(
        default_factory=dict, static=True, converter=_Concentrations.of_numbers
    )
    no_concentrations: tuple[str, ...] = setting(())

    def __check_init__(self):
        check_kinds(self)
        if both := sorted(self.concentrations.keys() & set(self.no_concentrations)):
            expected = f"{both[0]} either in concentrations or in no_concentrations"
            raise ValueError(f"rain: expected {expected}, got both; remove one of them.")

    def undiluted(self) -> tuple[str, ...]:
        return self.no_concentrations

    def check_step(self, state: State, grid: Grid, dt: float) -> None:
        """Raise `ValueError` for a name that the state does not have."""
        known = ["salinity", *state.tracers]
        for name in (*self.concentrations, *self.no_concentrations):
            if name not in known:
                raise ValueError(f"rain: expected some of {', '.join(known)}, got {name}; correct the name.")

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        rain = column.fluxes.rain
        if rain is None and column.fluxes.freshwater_flux is not None:
            rain = jnp.maximum(column.fluxes.freshwater_flux, 0.0)
        if rain is None:
            return {}
        volume = rain / column.equation_of_state.reference_density
        if column.level is not None and column.level.fresh_water is not None:
            volume = volume * column.level.area_ratio
        return {name: Tendency(surface=volume * value) for name, value in self.concentrations.items()}
