"""What a configuration file may contain: keys, types, units and ranges, and the table of names to classes.

Nothing here builds an object; see `build`.
"""

import difflib
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from .._types import iterate_parameters
from ..closures import AbstractClosure, Constant, ConvectiveAdjustment, KEpsilon, PacanowskiPhilander
from ..physics import JERLOV_WATER_TYPES, AbstractEquationOfState, LinearEquationOfState

CLOSURES: dict[str, type[AbstractClosure]] = {
    "constant": Constant,
    "convective_adjustment": ConvectiveAdjustment,
    "k_epsilon": KEpsilon,
    "pacanowski_philander": PacanowskiPhilander,
}
"""Names of closures in configuration files."""

EQUATIONS_OF_STATE: dict[str, type[AbstractEquationOfState]] = {"linear": LinearEquationOfState}
"""Names of equations of state in configuration files."""


def closest(name: str, valid: list[str]) -> str:
    """A hint for a name that does not exist: the nearest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"choose one of: {', '.join(valid)}"


def _invalid(expected: str, got: Any, todo: str) -> PydanticCustomError:
    return PydanticCustomError(
        "invalid", "expected {expected}, got {got}; {todo}", {"expected": expected, "got": got, "todo": todo}
    )


class Section(BaseModel):
    """A mapping with a fixed set of keys; a key that is not among them is an error with a hint."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            valid = list(cls.model_fields)
            for key in data:
                if key not in valid:
                    context = {"key": key, "hint": closest(str(key), valid)}
                    raise PydanticCustomError("unknown_key", "{key}: {hint}", context)
        return data


def _flatten(value: Any, prefix: str = "") -> Any:
    """Nested mappings of parameters with dotted names instead."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, Any] = {}
    for key, item in value.items():
        below = _flatten(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
        for name, number in below.items():
            if name in flat:
                raise _invalid("every parameter once", f"'{name}' twice", "keep one of the two")
            flat[name] = number
    return flat


Parameters = Annotated[dict[str, float], BeforeValidator(_flatten)]
"""Values by dotted name; nested mappings are accepted too."""


def check_parameters(module: Any, values: Mapping[str, float]) -> None:
    """Check names and ranges of parameters against what a module declares.

    Raises:
        PydanticCustomError: a name that does not exist, or a value outside of its valid range.
    """
    declared = {info.path: info for info in iterate_parameters(module)}
    for name, value in values.items():
        if name not in declared:
            what = f"the name of a parameter of {type(module).__name__}"
            raise _invalid(what, f"'{name}'", closest(name, list(declared)))
        lower, upper = declared[name].valid_range
        if not lower <= value <= upper:
            raise _invalid(
                f"{name} from {lower:g} to {upper:g} [{declared[name].unit}]",
                f"{value:g}",
                "choose a value in this range",
            )


class ClosureSection(Section):
    name: Literal["constant", "convective_adjustment", "k_epsilon", "pacanowski_philander"] = Field(
        description="name of the closure"
    )
    parameters: Parameters = Field(
        default_factory=dict, description="values that differ from the default, by dotted name"
    )

    @model_validator(mode="after")
    def _check_parameters(self) -> "ClosureSection":
        check_parameters(CLOSURES[self.name](), self.parameters)
        return self


class ModelSection(Section):
    closure: ClosureSection = Field(
        default=ClosureSection(name="k_epsilon"), description="how turbulence mixes: name, parameters"
    )
    theta: float = Field(default=1.0, ge=0.0, le=1.0, description="weight of the new values in the fluxes [1]")
    molecular_viscosity: float | None = Field(
        default=None, ge=0.0, le=1.0, description="molecular viscosity [m2 s-1]"
    )
    molecular_diffusivity: float | None = Field(
        default=None, ge=0.0, le=1.0, description="molecular diffusivity [m2 s-1]"
    )


NCells = Annotated[int, Field(ge=3, le=100_000, description="number of cells")]
Zoom = Annotated[float, Field(ge=0.0, le=20.0, description="refinement; 0 for none [1]")]


class UniformGrid(Section):
    kind: Literal["uniform"]
    n_cells: NCells


class StretchedGrid(Section):
    kind: Literal["stretched"]
    n_cells: NCells
    surface_zoom: Zoom = 0.0
    bottom_zoom: Zoom = 0.0


class NativeGrid(Section):
    kind: Literal["native"]


class FacesGrid(Section):
    kind: Literal["faces"]
    z_face: list[float] = Field(
        min_length=4, description="heights of the faces, from the bottom up to 0 [m]"
    )


GridSection = Annotated[
    UniformGrid | StretchedGrid | NativeGrid | FacesGrid, Field(discriminator="kind")
]


class TimeSection(Section):
    step: float = Field(default=60.0, gt=0.0, le=86400.0, description="time step [s]")
    output_interval: float = Field(default=600.0, gt=0.0, description="time between saved frames [s]")
    duration: float | None = Field(
        default=None, gt=0.0, description="length of the run [s]; null for that of the case"
    )

    @model_validator(mode="after")
    def _check_multiples(self) -> "TimeSection":
        for name, interval, of, unit in (
            ("output_interval", self.output_interval, "step", self.step),
            ("duration", self.duration, "output_interval", self.output_interval),
        ):
            if interval is None:
                continue
            n = round(interval / unit)
            if n < 1 or not math.isclose(n * unit, interval, rel_tol=1e-9):
                raise _invalid(
                    f"{name} to be a multiple of {of} = {unit:g} s",
                    f"{interval:g} s",
                    f"for example {max(1, n) * unit:g}",
                )
        return self


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
        linear = self.surface is not None and slopes.count(None) >= 1 and self.z is None and self.values is None
        table = self.z is not None and self.values is not None and self.surface is None
        if not linear and not (table and slopes == [None, None]):
            raise _invalid(
                "a number, or `surface` with `gradient` or `buoyancy_frequency_squared`, or `z` with `values`",
                f"the keys {sorted(self.model_fields_set)}",
                "give one of these combinations",
            )
        if self.z is not None and self.values is not None:
            if len(self.z) != len(self.values):
                raise _invalid(
                    f"as many values as heights ({len(self.z)})", f"{len(self.values)}", "complete the shorter list"
                )
            if any(b <= a for a, b in zip(self.z, self.z[1:], strict=False)) or self.z[-1] > 0.0:
                raise _invalid("heights z that increase and end at or below 0", f"{self.z}", "sort them, deepest first")
        return self


def _number_is_surface(value: Any) -> Any:
    return {"surface": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


ProfileSection = Annotated[Profile, BeforeValidator(_number_is_surface)]
Flux = float | list[float]


class ForcingSection(Section):
    """Surface fluxes, each a number, or a list with one value per time; positive into the column."""

    time: list[float] | None = Field(
        default=None, min_length=2, description="times of the lists [s] since the start, increasing"
    )
    stress_u: Flux | None = Field(default=None, description="eastward stress on the water [N m-2]")
    stress_v: Flux | None = Field(default=None, description="northward stress on the water [N m-2]")
    heat_flux: Flux | None = Field(default=None, description="heat into the surface [W m-2]")
    shortwave_flux: Flux | None = Field(default=None, description="sunlight into the water [W m-2]")
    freshwater_flux: Flux | None = Field(
        default=None, description="precipitation minus evaporation [kg m-2 s-1]"
    )
    salt_flux: Flux | None = Field(default=None, description="salt [kg m-2 s-1]")
    tracer_fluxes: dict[str, Flux] = Field(
        default_factory=dict, description="tracer fluxes by name [tracer unit m s-1]"
    )

    @property
    def fluxes(self) -> dict[str, Flux]:
        """All fluxes that are given, those of tracers left out."""
        names = [name for name in type(self).model_fields if name not in ("time", "tracer_fluxes")]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @model_validator(mode="after")
    def _check_lengths(self) -> "ForcingSection":
        if self.time is not None and any(b <= a for a, b in zip(self.time, self.time[1:], strict=False)):
            raise _invalid("times that increase", f"{self.time}", "sort them and drop repetitions")
        for name, values in {**self.fluxes, **self.tracer_fluxes}.items():
            if not isinstance(values, list):
                continue
            if self.time is None:
                raise _invalid(f"`time` with the list of {name}", "none", "add `time`, or give one number")
            if len(values) != len(self.time):
                raise _invalid(
                    f"{name} with one value for each of the {len(self.time)} times",
                    f"{len(values)} values",
                    "complete the shorter list",
                )
        return self


class EquationOfStateSection(Section):
    name: Literal["linear"] = Field(default="linear", description="name of the equation of state")
    parameters: Parameters = Field(default_factory=dict, description="values by name")

    @model_validator(mode="after")
    def _check_parameters(self) -> "EquationOfStateSection":
        check_parameters(EQUATIONS_OF_STATE[self.name](), self.parameters)
        return self


class IdealisedCase(Section):
    """A case that needs no file."""

    format: Literal["idealised"]
    name: str = Field(default="idealised", description="name for files and figures")
    depth: float = Field(gt=0.0, le=12000.0, description="depth of the column [m]")
    duration: float = Field(gt=0.0, description="length of the case [s]")
    temperature: ProfileSection = Field(description="initial temperature [degC]")
    salinity: ProfileSection = Field(default=Profile(surface=35.0), description="initial salinity [g kg-1]")
    u: ProfileSection = Field(default=Profile(surface=0.0), description="initial eastward velocity [m s-1]")
    v: ProfileSection = Field(default=Profile(surface=0.0), description="initial northward velocity [m s-1]")
    tracers: dict[str, ProfileSection] = Field(default_factory=dict, description="passive tracers by name")
    latitude: float | None = Field(default=None, ge=-90.0, le=90.0, description="latitude [degrees north]")
    coriolis_parameter: float | None = Field(
        default=None, ge=-1e-2, le=1e-2, description="Coriolis parameter, instead of a latitude [s-1]"
    )
    equation_of_state: EquationOfStateSection = Field(
        default=EquationOfStateSection(), description="equation of state: name, parameters"
    )
    water_type: str = Field(default="I", description="Jerlov water type for sunlight")
    forcing: ForcingSection = Field(default=ForcingSection(), description="surface fluxes")

    @field_validator("water_type")
    @classmethod
    def _check_water_type(cls, value: str) -> str:
        if value not in JERLOV_WATER_TYPES:
            raise _invalid(f"one of {', '.join(JERLOV_WATER_TYPES)}", f"'{value}'", "choose one of these")
        return value

    @model_validator(mode="after")
    def _check_combination(self) -> "IdealisedCase":
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise _invalid("`latitude` or `coriolis_parameter`", "both", "remove one of them")
        for name in ("salinity", "u", "v"):
            if getattr(self, name).buoyancy_frequency_squared is not None:
                raise _invalid(
                    "`buoyancy_frequency_squared` for temperature only",
                    f"it for {name}",
                    "give a `gradient` instead",
                )
        return self
