"""Sections of a configuration file on the water: its equation of state and its light."""

from typing import Any

from pydantic import Field, model_validator

from ..physics import AbstractAbsorption, AbstractEquationOfState, LinearEquationOfState
from .builder import Section, invalid, one_of, section_of


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
