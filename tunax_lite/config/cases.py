"""Sections of a configuration file that say where a case comes from: a file, or numbers in the section."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..gotm import ObservedInputs
from ..io.cf_forcing import Mapping
from .builder import Section, closest, flatten, invalid, section_of
from .interior import InteriorSection
from .profiles import AbsorptionSection, EquationOfStateSection, Profile, ProfileSection, check_initial
from .site import SiteCase

DataPath = Annotated[
    str,
    Field(
        min_length=1, description="path of a file, or a name such as lesbrary:two_day_suite/8m/strong_wind"
    ),
]


def _check_flux(value: Any) -> Any:
    numbers = value if isinstance(value, list) else [value]
    if not numbers or any(isinstance(n, bool) or not isinstance(n, (int, float)) for n in numbers):
        raise invalid("a number, or a list of numbers over `time`", repr(value), "correct this value")
    return [float(n) for n in value] if isinstance(value, list) else value


Flux = Annotated[float | list[float], BeforeValidator(_check_flux)]
_LARGEST_FLUXES = {
    "stress_u": 50.0,
    "stress_v": 50.0,
    "heat_flux": 1e4,
    "shortwave_flux": 2e3,
    "freshwater_flux": 1.0,
    "salt_flux": 1.0,
}
"""Beyond these values [unit of the flux] a number is in another unit."""


class ForcingSection(Section):
    """Surface fluxes, each a number, or a list with one value per time; positive into the column."""

    time: list[float] | None = Field(
        default=None, min_length=2, description="times of the lists [s] since the start, increasing"
    )
    stress_u: Flux | None = Field(default=None, description="eastward stress on the water [N m-2]")
    stress_v: Flux | None = Field(default=None, description="northward stress on the water [N m-2]")
    heat_flux: Flux | None = Field(default=None, description="heat into the surface [W m-2]")
    shortwave_flux: Flux | None = Field(
        default=None, description="shortwave radiation into the water [W m-2]"
    )
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
    def _check_sizes(self) -> "ForcingSection":
        for name, values in self.fluxes.items():
            for value in values if isinstance(values, list) else [values]:
                largest = _LARGEST_FLUXES[name]
                if not abs(value) <= largest:
                    raise invalid(f"{name} from {-largest:g} to {largest:g}", f"{value:g}", "check its unit")
        return self

    @model_validator(mode="after")
    def _check_lengths(self) -> "ForcingSection":
        if self.time is not None and any(b <= a for a, b in zip(self.time, self.time[1:], strict=False)):
            raise invalid("times that increase", f"{self.time}", "sort them and drop repetitions")
        for name, values in {**self.fluxes, **self.tracer_fluxes}.items():
            if not isinstance(values, list):
                continue
            if self.time is None:
                raise invalid(f"`time` with the list of {name}", "none", "add `time`, or give one number")
            if len(values) != len(self.time):
                raise invalid(
                    f"{name} with one value for each of the {len(self.time)} times",
                    f"{len(values)} values",
                    "complete the shorter list",
                )
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
    equation_of_state: EquationOfStateSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="linear", validate_default=True, description="how temperature and salinity set the density"
    )
    absorption: AbsorptionSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="I", validate_default=True, description="how deep shortwave radiation goes"
    )
    interior: InteriorSection = Field(
        default=InteriorSection(), description="what is prescribed below the surface"
    )
    forcing: ForcingSection = Field(default=ForcingSection(), description="surface fluxes")

    @model_validator(mode="after")
    def _check_combination(self) -> "IdealisedCase":
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise invalid("`latitude` or `coriolis_parameter`", "both", "remove one of them")
        for name in self.forcing.tracer_fluxes:
            if name not in self.tracers:
                raise invalid(
                    "fluxes of tracers of the case",
                    f"`{name}`",
                    closest(name, list(self.tracers) or ["none"]),
                )
        check_initial(self)
        return self


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
