"""The case of a configuration: described there, or read from a file of one of several formats."""

from pathlib import Path
from typing import Annotated, Literal, Union

from pydantic import Field

from .. import io
from ..column.case import Case
from ..column.observations import Observations
from ..io.cf_netcdf import Mapping, name_of_case
from ..io.les import name_of_legay, name_of_lesbrary
from ..io.netcdf import read_contents
from ..registry import additions
from .builder import part_of
from .case import AbstractFileCase
from .section import invalid, key
from .series import UNITS, ConversionSection, UnitGiven, conversions_of
from .site import IdealisedCase, SiteCase


class LesbraryCase(AbstractFileCase):
    """A large-eddy simulation of the LESbrary; everything comes from the file."""

    format: Literal["lesbrary"]  # pyright: ignore[reportIncompatibleVariableOverride]
    units: dict[
        Literal["temperature", "u", "v", "stress_u", "stress_v", "heat_flux", "shortwave_flux"], UnitGiven
    ] = key(UNITS, default_factory=dict)

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_lesbrary(path, units=conversions_of(self.units))

    def name_in(self, path: Path) -> str:
        return name_of_lesbrary(path)


class LegayCase(AbstractFileCase):
    """The large-eddy simulation of Legay et al. (2024), whose file contains only profiles."""

    format: Literal["legay"]  # pyright: ignore[reportIncompatibleVariableOverride]
    stress_u: float | None = key("eastward stress [N m-2]", None, ge=-50.0, le=50.0)
    stress_v: float | None = key("northward stress [N m-2]", None, ge=-50.0, le=50.0)
    surface_buoyancy_flux: float | None = key("buoyancy into the surface [m2 s-3]", None, ge=-1e-4, le=1e-4)
    coriolis_parameter: float | None = key("Coriolis parameter [s-1]", None, ge=-1e-2, le=1e-2)
    thermal_expansion: float | None = key("thermal expansion [K-1]", None, gt=0.0, le=1e-3)
    reference_temperature: float | None = key("temperature of zero buoyancy [degC]", None, ge=-5.0, le=60.0)
    units: dict[
        Literal["temperature", "u", "v", "stress_u", "stress_v", "surface_buoyancy_flux"], UnitGiven
    ] = key(UNITS, default_factory=dict)

    def _check(self) -> None:
        for name in self._converted:
            if getattr(self, name) is None:
                raise invalid(f"`{name}` with `units.{name}`", "none", "add it")
        self._numbers()  # raises for a unit of another quantity

    @property
    def _converted(self) -> dict[str, ConversionSection]:
        """Conversions of numbers of the section; the others are those of variables of the file."""
        return {name: each for name, each in self.units.items() if name in type(self).model_fields}

    def _numbers(self) -> dict[str, float]:
        given = self.model_dump(exclude={"format", "path", "units"}, exclude_none=True)
        return given | {name: each.converted(name, given[name]) for name, each in self._converted.items()}

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        units = {name: each for name, each in self.units.items() if name not in self._converted}
        return io.read_legay(path, **self._numbers(), units=conversions_of(units))

    def name_in(self, path: Path) -> str:
        return name_of_legay(path)


class MappingSection(part_of(Mapping)):
    """Information missing in a file."""

    units: dict[str, UnitGiven] = key(UNITS, default_factory=dict)

    def _check(self) -> None:
        self.build()  # raises errors that only the class can detect

    def build(self) -> Mapping:
        """The mapping."""
        return Mapping(**self.given(), units=conversions_of(self.units))


class CfNetcdfCase(AbstractFileCase):
    """Profiles over time in a CF NetCDF file."""

    format: Literal["cf_netcdf"]  # pyright: ignore[reportIncompatibleVariableOverride]
    mapping: MappingSection = key("information missing in the file", MappingSection())

    def read_file(self, path: Path) -> tuple[Case, Observations]:
        return io.read_cf_netcdf(path, self.mapping.build())

    def name_in(self, path: Path) -> str:
        return name_of_case(read_contents(path, only=()), self.mapping.build())


_FROM_FILES = (LesbraryCase, LegayCase, CfNetcdfCase, *additions("formats", "CASE_FORMATS"))
CaseSection = Annotated[Union[*_FROM_FILES, IdealisedCase, SiteCase], Field(discriminator="format")]
"""Where a case comes from; extensions add formats."""
