"""Sections of a configuration file that every kind of file shares: keys, types, units and ranges.

Nothing here but the closure is built; see `build`. Names of classes are in `closures`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..calibration.parameters import with_parameters
from ..closures import AbstractClosure
from ..runtime.limits import MOST_CELLS
from .closures import CLOSURES as CLOSURES
from .closures import closest, closure_class, closure_with, invalid


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


def named(tag: str) -> Callable[[Any], Any]:
    """A validator that lets a name stand for a section that has nothing else to say."""
    return lambda value: {tag: value} if isinstance(value, str) else value


def flatten(value: Any, prefix: str = "") -> Any:
    """Nested mappings of parameters with dotted names instead, and lists with the place of each number."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            below = flatten(item, f"{prefix}{key}.")
        elif isinstance(item, list):
            below = {f"{prefix}{key}[{index}]": number for index, number in enumerate(item)}
        else:
            below = {f"{prefix}{key}": item}
        for name, number in below.items():
            if name in flat:
                raise invalid("every parameter once", f"'{name}' twice", "keep one of the two")
            flat[name] = number
    return flat


Parameters = Annotated[dict[str, float], BeforeValidator(flatten)]
"""Values by dotted name; nested mappings are accepted too."""


class ClosureSection(Section):
    name: str = Field(default="k_epsilon", description="name of the closure, or package.module:Class")
    options: dict[str, Any] = Field(
        default_factory=dict, description="settings of the closure that are not numbers, by name"
    )
    parameters: Parameters = Field(
        default_factory=dict, description="values that differ from the default, by dotted name"
    )

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        closure_class(name)
        return name

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, Any], info: Any) -> dict[str, Any]:
        if "name" in info.data:  # absent if the name itself was refused
            closure_with(info.data["name"], options)
        return options

    @field_validator("parameters")
    @classmethod
    def _check_parameters(cls, values: dict[str, float], info: Any) -> dict[str, float]:
        if "name" in info.data and "options" in info.data:
            with_parameters(closure_with(info.data["name"], info.data["options"]), values)
        return values

    def build(self) -> AbstractClosure:
        """The closure."""
        return with_parameters(closure_with(self.name, self.options), self.parameters)


def closure_of(document: dict[str, Any]) -> AbstractClosure:
    """The closure of the content of a configuration file, with the constants it began with.

    Raises:
        ValueError: a closure that cannot be made.
    """
    return ClosureSection.model_validate(document.get("model", {}).get("closure", {})).build()


class ModelSection(Section):
    closure: ClosureSection = Field(
        default=ClosureSection(), description="how turbulence mixes: name, parameters"
    )
    theta: float = Field(
        default=1.0, ge=0.0, le=1.0, description="weight of the new values in the fluxes [1]"
    )
    molecular_viscosity: float | None = Field(
        default=None, ge=0.0, le=1.0, description="molecular viscosity [m2 s-1]"
    )
    molecular_diffusivity: float | None = Field(
        default=None, ge=0.0, le=1.0, description="molecular diffusivity [m2 s-1]"
    )
    molecular_salt_diffusivity: float | None = Field(
        default=None, ge=0.0, le=1.0, description="that of salinity, if it differs [m2 s-1]"
    )
    coefficient_memory: float | None = Field(
        default=None,
        ge=0.0,
        le=0.99,
        description="share of the eddy coefficients kept from the step before [1]; 0.5 for smooth gradients",
    )
    n_sweeps: int = Field(
        default=1, ge=1, le=10, description="how often a step is taken; 2 for very long steps"
    )
    like_gotm: bool = Field(
        default=False, description="shear, drag and time levels as GOTM has them; true in GOTM's cases"
    )


NCells = Annotated[int, Field(ge=3, le=MOST_CELLS, description="number of cells")]
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
        min_length=4,
        max_length=MOST_CELLS + 1,
        description="heights of the faces, from the bottom up to 0 [m]",
    )


GridSection = Annotated[UniformGrid | StretchedGrid | NativeGrid | FacesGrid, Field(discriminator="kind")]


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
            if interval is None or interval > 1e15 * unit:  # more steps than any run may have
                continue
            n = round(interval / unit)
            if n < 1 or not math.isclose(n * unit, interval, rel_tol=1e-9):
                raise invalid(
                    f"{name} to be a multiple of {of} = {unit:g} s",
                    f"{interval:g} s",
                    f"for example {max(1, n) * unit:g}",
                )
        return self


Precision = Annotated[
    Literal["float64", "float32"], Field(description="floating-point numbers of the computation")
]
