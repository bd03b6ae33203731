"""Sections of a configuration file on the water: its equation of state and its light."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .. import constants
from .._types import valid_range_of
from ..physics import (
    JERLOV_WATER_TYPES,
    AbstractAbsorption,
    AbstractEquationOfState,
    LinearEquationOfState,
    RgbAbsorption,
    SimplifiedEquationOfState,
    Teos10,
    TwoBandAbsorption,
)
from .sections import Section, invalid, named

EQUATIONS_OF_STATE: dict[str, type[AbstractEquationOfState]] = {
    "linear": LinearEquationOfState,
    "simplified": SimplifiedEquationOfState,
    "teos10": Teos10,
}
"""Names of equations of state in configuration files."""


def declared(kind: type, name: str) -> Any:
    """The range that a class declares for a field, as arguments of `Field`."""
    low, high = valid_range_of(kind, name)
    return {"ge": low, "le": high}


_LINEAR = LinearEquationOfState
Gravity = Annotated[
    float, Field(**declared(_LINEAR, "gravity"), description="acceleration of gravity [m s-2]")
]
Density = Annotated[
    float, Field(**declared(_LINEAR, "reference_density"), description="reference density [kg m-3]")
]
HeatCapacity = Annotated[
    float, Field(**declared(_LINEAR, "heat_capacity"), description="heat capacity [J kg-1 K-1]")
]


class TangentSection(Section):
    """Where a linear equation of state touches TEOS-10."""

    temperature: float = Field(ge=-5.0, le=60.0, description="conservative temperature [degC]")
    salinity: float = Field(ge=0.0, le=60.0, description="absolute salinity [g kg-1]")
    pressure: float = Field(default=0.0, ge=0.0, le=12000.0, description="sea pressure [dbar]")


class LinearSection(Section):
    name: Literal["linear"]
    thermal_expansion: float = Field(
        default=2e-4, **declared(_LINEAR, "thermal_expansion"), description="thermal expansion [K-1]"
    )
    haline_contraction: float = Field(
        default=7.8e-4, **declared(_LINEAR, "haline_contraction"), description="haline contraction [kg g-1]"
    )
    reference_temperature: float = Field(
        default=20.0,
        **declared(_LINEAR, "reference_temperature"),
        description="temperature of the reference density [degC]",
    )
    reference_salinity: float = Field(
        default=35.0,
        **declared(_LINEAR, "reference_salinity"),
        description="salinity of the reference density [g kg-1]",
    )
    tangent_to_teos10: TangentSection | None = Field(
        default=None, description="point of TEOS-10 that gives expansion, contraction and reference"
    )
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = constants.REFERENCE_DENSITY
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY

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


Coefficient = Annotated[float, Field(ge=-1.0, le=1.0)]
PerMetre = Annotated[float, Field(ge=-1e-2, le=1e-2)]


class SimplifiedSection(Section):
    name: Literal["simplified"]
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = 1026.0
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY
    expansion_rate: float = Field(default=0.1655, ge=0.0, le=1.0, description="a_0 [kg m-3 K-1]")
    contraction_rate: float = Field(default=0.76554, ge=0.0, le=5.0, description="b_0 [kg m-3 (g kg-1)-1]")
    cabbeling_temperature: Coefficient = Field(default=5.952e-2, description="lambda_1 [K-1]")
    cabbeling_salinity: Coefficient = Field(default=5.4914e-4, description="lambda_2 [(g kg-1)-1]")
    thermobaric_temperature: PerMetre = Field(default=1.497e-4, description="mu_1 [m-1]")
    thermobaric_salinity: PerMetre = Field(default=1.109e-5, description="mu_2 [m-1]")
    cross_term: Coefficient = Field(default=2.4341e-3, description="nu [kg m-3 K-1 (g kg-1)-1]")


class Teos10Section(Section):
    name: Literal["teos10"]
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = constants.REFERENCE_DENSITY
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY


EquationOfStateSection = Annotated[
    LinearSection | SimplifiedSection | Teos10Section,
    Field(discriminator="name"),
    BeforeValidator(named("name")),
]


def equation_of_state(
    section: LinearSection | SimplifiedSection | Teos10Section,
) -> AbstractEquationOfState:
    """The equation of state of a section."""
    if isinstance(section, LinearSection) and section.tangent_to_teos10 is not None:
        common = section.model_dump(include={"gravity", "reference_density", "heat_capacity"})
        return LinearEquationOfState.from_teos10(**section.tangent_to_teos10.model_dump(), **common)
    numbers = section.model_dump(exclude={"name", "tangent_to_teos10"})
    return EQUATIONS_OF_STATE[section.name](**numbers)


Share = Annotated[float, Field(**declared(TwoBandAbsorption, "infrared_fraction"))]
LightDepth = Annotated[float, Field(**declared(TwoBandAbsorption, "infrared_depth"))]
BottomAbsorbs = Annotated[
    bool, Field(description="whether light that reaches the bottom heats the lowest cell, or leaves")
]


class JerlovSection(Section):
    name: Literal["I", "I_upper_50m", "IA", "IB", "II", "III"]
    bottom_absorbs: BottomAbsorbs = True


class TwoBandSection(Section):
    name: Literal["two_band"]
    infrared_fraction: Share = Field(default=0.58, description="infrared share of the light [1]")
    infrared_depth: LightDepth = Field(default=0.35, description="of the infrared light [m]")
    visible_depth: LightDepth = Field(default=23.0, description="of the visible light [m]")
    bottom_absorbs: BottomAbsorbs = True


class RgbSection(Section):
    name: Literal["rgb"]
    chlorophyll: float = Field(default=0.05, ge=0.01, le=10.0, description="chlorophyll [mg m-3]")
    infrared_fraction: Share = Field(default=0.58, description="infrared share of the light [1]")
    infrared_depth: LightDepth = Field(default=0.35, description="of the infrared light [m]")
    bottom_absorbs: BottomAbsorbs = True


AbsorptionSection = Annotated[
    JerlovSection | TwoBandSection | RgbSection,
    Field(discriminator="name"),
    BeforeValidator(named("name")),
]
"""How deep sunlight goes: a water type of Jerlov, two bands, or a chlorophyll concentration."""


def absorption(section: JerlovSection | TwoBandSection | RgbSection) -> AbstractAbsorption:
    """The absorption of sunlight of a section."""
    if isinstance(section, JerlovSection):
        return TwoBandAbsorption(*JERLOV_WATER_TYPES[section.name], bottom_absorbs=section.bottom_absorbs)
    kind: Any = TwoBandAbsorption if isinstance(section, TwoBandSection) else RgbAbsorption
    return kind(**section.model_dump(exclude={"name"}))
