"""Sections of a configuration file on the water: the equation of state."""

from typing import Annotated, Literal

from pydantic import Field

from .. import constants
from ..physics import (
    AbstractEquationOfState,
    LinearEquationOfState,
    SimplifiedEquationOfState,
    Teos10,
)
from .sections import Section

EQUATIONS_OF_STATE: dict[str, type[AbstractEquationOfState]] = {
    "linear": LinearEquationOfState,
    "simplified": SimplifiedEquationOfState,
    "teos10": Teos10,
}
"""Names of equations of state in configuration files."""

Gravity = Annotated[float, Field(gt=0.0, le=100.0, description="acceleration of gravity [m s-2]")]
Density = Annotated[float, Field(ge=500.0, le=2000.0, description="reference density [kg m-3]")]
HeatCapacity = Annotated[float, Field(ge=1.0, le=1e5, description="heat capacity [J kg-1 K-1]")]


class LinearSection(Section):
    name: Literal["linear"]
    thermal_expansion: float = Field(default=2e-4, ge=0.0, le=1e-3, description="thermal expansion [K-1]")
    haline_contraction: float = Field(
        default=7.8e-4, ge=0.0, le=1e-2, description="haline contraction [kg g-1]"
    )
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = constants.REFERENCE_DENSITY
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY


class SimplifiedSection(Section):
    name: Literal["simplified"]
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = 1026.0
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY


class Teos10Section(Section):
    name: Literal["teos10"]
    gravity: Gravity = constants.GRAVITY
    reference_density: Density = constants.REFERENCE_DENSITY
    heat_capacity: HeatCapacity = constants.HEAT_CAPACITY


EquationOfStateSection = Annotated[
    LinearSection | SimplifiedSection | Teos10Section, Field(discriminator="name")
]


def equation_of_state(
    section: LinearSection | SimplifiedSection | Teos10Section,
) -> AbstractEquationOfState:
    """The equation of state of a section."""
    return EQUATIONS_OF_STATE[section.name](**section.model_dump(exclude={"name"}))
