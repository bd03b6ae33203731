"""Sections of a configuration file that say where a case comes from: a file, or numbers in the section."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..gotm import ObservedInputs
from ..io.cf_forcing import Mapping
from .builder import Section, flatten, invalid, section_of
from .site import IdealisedCase, SiteCase

DataPath = Annotated[
    str,
    Field(
        min_length=1, description="path of a file, or a name such as lesbrary:two_day_suite/8m/strong_wind"
    ),
]


class LesbraryCase(Section):
    """A large-eddy simulation of the LESbrary; everything comes from the file."""

    format: Literal["lesbrary"]
    path: DataPath


class LegayCase(Section):
    """The large-eddy simulation of Legay et al. (2024), whose file holds profiles alone."""

    format: Literal["legay"]
    path: DataPath
    stress_u: float | None = Field(default=None, ge=-50.0, le=50.0, description="eastward stress [N m-2]")
    stress_v: float | None = Field(default=None, ge=-50.0, le=50.0, description="northward stress [N m-2]")
    surface_buoyancy_flux: float | None = Field(
        default=None, ge=-1e-4, le=1e-4, description="buoyancy into the surface [m2 s-3]"
    )
    coriolis_parameter: float | None = Field(
        default=None, ge=-1e-2, le=1e-2, description="Coriolis parameter [s-1]"
    )
    thermal_expansion: float | None = Field(
        default=None, gt=0.0, le=1e-3, description="thermal expansion [K-1]"
    )
    reference_temperature: float | None = Field(
        default=None, ge=-5.0, le=60.0, description="temperature of zero buoyancy [degC]"
    )

    @property
    def options(self) -> dict[str, float]:
        """What was given beside the path."""
        return self.model_dump(exclude={"format", "path"}, exclude_none=True)


MappingSection: Any = section_of(Mapping)


class CfNetcdfCase(Section):
    """Profiles over time in a CF NetCDF file."""

    format: Literal["cf_netcdf"]
    path: DataPath
    mapping: MappingSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default=MappingSection(), description="what the file does not say of itself"
    )


class GotmObservations(Section):
    """What the files of a case of GOTM hold of the water, to compare with."""

    surface_temperature: bool = Field(default=False, description="surface.sst, as sea_surface_temperature")
    surface_interval: float | None = Field(
        default=None, gt=0.0, description="only its records at multiples of this time [s]; null for all"
    )
    profiles: bool = Field(default=False, description="the profiles of temperature")
    z: list[Annotated[float, Field(le=0.0)]] | None = Field(
        default=None, min_length=1, description="heights to interpolate them to [m]; null for the cells"
    )

    @model_validator(mode="after")
    def _check_any(self) -> "GotmObservations":
        if not (self.surface_temperature or self.profiles):
            raise invalid("`surface_temperature` or `profiles`", "neither", "set one of them to true")
        return self


class GotmCase(Section):
    """A case of GOTM: its configuration, with the files that it names beside it."""

    format: Literal["gotm"]
    path: DataPath
    settings: Annotated[dict[str, Any], BeforeValidator(flatten)] = Field(
        default_factory=dict, description="values that replace those of the file, with GOTM's names"
    )
    ignore_unsupported: bool = Field(
        default=False, description="whether to run without settings that are not supported"
    )
    salinity_anomaly: bool = Field(
        default=True,
        description="whether practical salinity is converted with the anomaly of the place, or with the "
        "ratio of the standard ocean, as by a GOTM built without the table of anomalies",
    )
    vertical_velocity: bool = Field(
        default=False, description="whether `mimic_3d.w` carries the profiles; in GOTM 7 it does not"
    )
    observations: GotmObservations | None = Field(
        default=None, description="what of its files to compare with"
    )

    @property
    def observed(self) -> ObservedInputs | None:
        """Which of its inputs are observations."""
        return None if self.observations is None else ObservedInputs(**self.observations.model_dump())


CaseSection = Annotated[
    LesbraryCase | LegayCase | CfNetcdfCase | GotmCase | IdealisedCase | SiteCase,
    Field(discriminator="format"),
]
"""Where a case comes from."""
