"""Profiles over depth in a configuration, and the water: its equation of state and its light."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import BeforeValidator, Field, model_validator

from ..grid import Grid
from ..physics import AbstractAbsorption, AbstractEquationOfState, LinearEquationOfState
from ..quantities import QUANTITIES
from ..state import State
from .builder import Section, invalid, one_of, section_of


class Profile(Section):
    """Values over depth: from the surface down with a gradient, or linear between given heights."""

    surface: float | None = Field(default=None, description="value at the surface")
    gradient: float | None = Field(default=None, description="change per metre upwards")
    buoyancy_frequency_squared: float | None = Field(
        default=None, description="N² that sets the gradient of temperature [s-2]"
    )
    z: list[float] | None = Field(default=None, min_length=2, description="heights, increasing [m]")
    values: list[float] | None = Field(default=None, min_length=2, description="values at z")

    @model_validator(mode="after")
    def _check_combination(self) -> "Profile":
        slopes = [self.gradient, self.buoyancy_frequency_squared]
        linear = (
            self.surface is not None and slopes.count(None) >= 1 and self.z is None and self.values is None
        )
        table = self.z is not None and self.values is not None and self.surface is None
        if not linear and not (table and slopes == [None, None]):
            raise invalid(
                "a number, or `surface` with `gradient` or `buoyancy_frequency_squared`, "
                "or `z` with `values`",
                f"the keys {sorted(self.model_fields_set)}",
                "give one of these combinations",
            )
        if self.z is not None and self.values is not None:
            if len(self.z) != len(self.values):
                raise invalid(
                    f"as many values as heights ({len(self.z)})",
                    f"{len(self.values)}",
                    "complete the shorter list",
                )
            if any(b <= a for a, b in zip(self.z, self.z[1:], strict=False)) or self.z[-1] > 0.0:
                raise invalid(
                    "heights z that increase and end at or below 0", f"{self.z}", "sort them, deepest first"
                )
        return self


def _number_is_surface(value: Any) -> Any:
    return {"surface": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


ProfileSection = Annotated[
    Profile, BeforeValidator(_number_is_surface, json_schema_input_type=Profile | float)
]


def values_of(
    profile: Profile, gradient: float | None = None
) -> Callable[[Float[Array, " center"]], Float[Array, " center"]]:
    """A profile as a function of the height; `gradient` [m-1] where it does not stand in the profile."""
    if profile.z is not None and profile.values is not None:
        heights, values = np.asarray(profile.z), np.asarray(profile.values)
        return lambda z: jnp.interp(z, heights, values)
    slope = gradient if gradient is not None else (profile.gradient or 0.0)
    surface = profile.surface or 0.0
    return lambda z: surface + slope * z


def initial_state(
    case: Any,
    grid: Grid,
    water: AbstractEquationOfState,
    measured: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> State:
    """The state that the profiles of a case give.

    Args:
        case: a section with profiles of temperature, salinity, u, v and tracers.
        grid: of the case.
        water: with it N² sets a gradient of temperature.
        measured: values on the cells, by name, of what the section leaves out.

    Raises:
        ValueError: N² for the temperature of water that does not expand, or a profile that leaves what
            water can be.
    """
    given: dict[str, Any] = {
        name: (lambda z, values=measured[name]: jnp.asarray(values) + 0.0 * z)
        if name in measured
        else values_of(getattr(case, name))
        for name in ("temperature", "salinity", "u", "v")
    }
    temperature, salinity = case.temperature, case.salinity
    slope = None if temperature is None else temperature.buoyancy_frequency_squared
    if temperature is not None and slope is not None:
        # At the surface: the gradient is that of one straight profile.
        top = jnp.zeros(())
        salty = measured["salinity"][-1] if salinity is None else values_of(salinity)(top)
        expansion, _ = water.expansion(values_of(temperature)(top), jnp.asarray(salty, dtype=float), top)
        if expansion == 0.0:
            raise ValueError(
                "temperature.buoyancy_frequency_squared: expected water that expands with temperature, got "
                "a thermal expansion of 0; give a gradient instead."
            )
        given["temperature"] = values_of(temperature, slope / float(water.gravity * expansion))
    tracers = {name: values_of(profile) for name, profile in case.tracers.items()}
    state = State.from_profiles(grid, tracers=tracers, **given)
    for name in ("temperature", "salinity", "u", "v"):
        (lowest, highest), unit = QUANTITIES[name].possible, QUANTITIES[name].unit
        values = np.asarray(getattr(state, name))
        for value in (values.min(), values.max()):
            if not lowest <= value <= highest:
                raise ValueError(
                    f"{name}: expected values from {lowest:g} to {highest:g} [{unit}] in the whole column, "
                    f"got {value:g}; check the gradient."
                )
    return state


def check_initial(case: Any) -> None:
    """Refuse initial profiles in another unit, and N² for what is not temperature."""
    for name in ("temperature", "salinity", "u", "v"):
        (lowest, highest), unit = QUANTITIES[name].possible, QUANTITIES[name].unit
        profile = getattr(case, name)
        values = [] if profile is None else [profile.surface, *(profile.values or [])]
        for value in values:
            if value is not None and not lowest <= value <= highest:
                raise invalid(
                    f"{name} from {lowest:g} to {highest:g} [{unit}]", f"{value:g}", "check its unit"
                )
    for name in ("salinity", "u", "v"):
        profile = getattr(case, name)
        if profile is not None and profile.buoyancy_frequency_squared is not None:
            raise invalid(
                "`buoyancy_frequency_squared` for temperature only",
                f"it for {name}",
                "give a `gradient` instead",
            )


class TangentSection(Section):
    """Where a linear equation of state touches TEOS-10."""

    temperature: float = Field(ge=-5.0, le=60.0, description="conservative temperature [degC]")
    salinity: float = Field(ge=0.0, le=60.0, description="absolute salinity [g kg-1]")
    pressure: float = Field(default=0.0, ge=0.0, le=12000.0, description="sea pressure [dbar]")


_Linear: Any = section_of(LinearEquationOfState, "name", "linear", partial=True)


class LinearSection(_Linear):
    tangent_to_teos10: TangentSection | None = Field(
        default=None, description="point of TEOS-10 that gives expansion, contraction and reference"
    )

    @model_validator(mode="after")
    def _check_combination(self) -> "LinearSection":
        numbers = {
            "thermal_expansion",
            "haline_contraction",
            "reference_temperature",
            "reference_salinity",
        } & self.model_fields_set
        if self.tangent_to_teos10 is not None and numbers:
            raise invalid(
                "tangent_to_teos10 or the numbers that it gives",
                f"it and {', '.join(sorted(numbers))}",
                "remove one of them",
            )
        return self

    def build(self, **others: Any) -> LinearEquationOfState:
        """The equation of state."""
        given = self.given() | others
        if self.tangent_to_teos10 is None:
            return LinearEquationOfState(**given)
        return LinearEquationOfState.from_teos10(**self.tangent_to_teos10.model_dump(), **given)


EquationOfStateSection: Any = one_of(AbstractEquationOfState, replaced={LinearEquationOfState: LinearSection})
AbsorptionSection: Any = one_of(AbstractAbsorption)
"""How deep shortwave radiation goes: a water type of Jerlov, two bands, or a chlorophyll concentration."""
