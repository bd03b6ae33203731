"""Sections of a configuration file that say where a case comes from: a place, numbers, or a file."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ..gotm import GotmOptions, ObservedInputs
from ..io.cf_forcing import Mapping
from ..io.series import GOOD_FLAGS, start_of_case
from .air_sea import AirSeaSection, WeatherSection
from .builder import Section, closest, flatten, invalid, section_of
from .closures import TermSection
from .interior import InteriorSection
from .profiles import AbsorptionSection, EquationOfStateSection, Profile, ProfileSection, check_initial
from .series import CoriolisParameter, Paths, Quantities, TimedSection, TimedValue

GoodFlags = Annotated[
    list[Annotated[int, Field(ge=0, le=9)]],
    Field(min_length=1, description="quality flags of values that are used"),
]
_LONGEST_GAP = 15.0 * 86400.0


class MooringProfiles(Section):
    """A mooring in the format of OceanSITES, or another CF NetCDF file of fixed depths."""

    format: Literal["oceansites"]
    paths: Paths
    variables: dict[Literal["temperature", "salinity", "u", "v"], str] = Field(
        default_factory=dict, description="names in the file of temperature, salinity, u, v"
    )
    units: dict[Literal["temperature", "salinity", "u", "v", "time", "z"], str] = Field(
        default_factory=dict, description="units, instead of those in the file"
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    practical_salinity: float | None = Field(
        default=None, ge=0.0, le=50.0, description="to convert temperatures with, where none was measured"
    )
    longest_gap: float = Field(
        default=_LONGEST_GAP, gt=0.0, description="longest time that is bridged to start or to relax [s]"
    )


class ArgoProfilesSection(Section):
    """Core profiles of Argo floats."""

    format: Literal["argo"]
    paths: Paths
    z: list[float] | Literal["measured"] | None = Field(
        default=None,
        description="heights [m] to interpolate to; null for the cells, measured for their own",
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    largest_spacing: float = Field(
        default=200.0, gt=0.0, description="of two good values [m] to interpolate between"
    )
    longest_gap: float = Field(
        default=_LONGEST_GAP, gt=0.0, description="longest time that is bridged to start or to relax [s]"
    )

    @field_validator("z")
    @classmethod
    def _check_heights(cls, z: list[float] | str | None) -> list[float] | str | None:
        if isinstance(z, list) and (
            not z or any(b <= a for a, b in zip(z, z[1:], strict=False)) or z[-1] > 0.0
        ):
            raise invalid("heights that increase and end at or below 0", f"{z}", "sort them, deepest first")
        return z


class NumbersSection(Section):
    """A number of the column over time, from a table."""

    path: str = Field(min_length=1, description="CSV or NetCDF file")
    variable: str = Field(min_length=1, description="column or variable of the file")
    unit: str | None = Field(default=None, min_length=1, description="unit, instead of that in the file")
    flags: str | None = Field(default=None, min_length=1, description="column of the quality flags")
    good_flags: GoodFlags = list(GOOD_FLAGS)
    kind: Literal["in_situ", "potential", "conservative"] = Field(
        default="in_situ", description="of a temperature of the surface"
    )


class InputObservations(Section):
    """What the inputs of the case hold of the water."""

    format: Literal["inputs"]
    surface_temperature: TimedSection | None = Field(
        default=None, description="of the kind of the temperature, as sea_surface_temperature"
    )
    surface_interval: float | None = Field(
        default=None, gt=0.0, description="only its records at multiples of this time [s]; null for all"
    )
    profiles: bool = Field(default=False, description="those of temperature, of a file")
    z: list[Annotated[float, Field(le=0.0)]] | None = Field(
        default=None, min_length=1, description="heights to interpolate them to [m]; null for the cells"
    )


ObservationsSection = Annotated[
    MooringProfiles | ArgoProfilesSection | InputObservations, Field(discriminator="format")
]
"""Measured profiles."""


_Flux = Annotated[
    TimedSection | None,
    BeforeValidator(lambda v: v, json_schema_input_type=TimedValue | float | list[float] | None),
]


class FluxesSection(Quantities):
    """Surface fluxes, each a number, a series, or a list with one value per `time`; positive downward."""

    time: list[float] | None = Field(
        default=None, min_length=2, description="times of the lists [s] since the start, increasing"
    )
    stress_u: _Flux = Field(default=None, description="eastward stress on the water [N m-2]")
    stress_v: _Flux = Field(default=None, description="northward stress on the water [N m-2]")
    heat_flux: _Flux = Field(
        default=None, description="heat into the surface, without shortwave radiation [W m-2]"
    )
    shortwave_flux: _Flux = Field(default=None, description="shortwave radiation into the water [W m-2]")
    freshwater_flux: _Flux = Field(default=None, description="precipitation minus evaporation [kg m-2 s-1]")
    salt_flux: _Flux = Field(default=None, description="salt [kg m-2 s-1]")
    tracer_fluxes: dict[str, TimedSection] = Field(
        default_factory=dict, description="tracer fluxes by name [tracer unit m s-1]"
    )

    @model_validator(mode="before")
    @classmethod
    def _with_times(cls, data: Any) -> Any:
        """Lists as series over `time`."""

        def placed(name: str, value: Any) -> Any:
            if not isinstance(value, list) or name == "time":
                return value
            if data.get("time") is None:
                raise invalid(f"`time` with the list of {name}", "none", "add `time`, or give one number")
            return {"time": data["time"], "values": value}

        if not isinstance(data, dict):
            return data
        flat = {name: placed(name, value) for name, value in data.items()}
        if isinstance(tracers := data.get("tracer_fluxes"), dict):
            flat["tracer_fluxes"] = {name: placed(name, value) for name, value in tracers.items()}
        return flat


class _PlacedCase(Section):
    """What cases have in common whose column the configuration describes."""

    format: str
    name: str = Field(default="", min_length=1, description="name for files and figures")
    depth: float = Field(gt=0.0, le=12000.0, description="depth of the column [m]")
    duration: float = Field(gt=0.0, description="length of the case [s]")
    coriolis_parameter: CoriolisParameter | None = Field(
        default=None, description="Coriolis parameter, instead of that of the latitude [s-1]"
    )
    u: ProfileSection = Field(default=Profile(surface=0.0), description="initial eastward velocity [m s-1]")
    v: ProfileSection = Field(default=Profile(surface=0.0), description="initial northward velocity [m s-1]")
    tracers: dict[str, ProfileSection] = Field(default_factory=dict, description="passive tracers by name")
    equation_of_state: EquationOfStateSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="teos10", validate_default=True, description="how temperature and salinity set the density"
    )
    absorption: AbsorptionSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="I", validate_default=True, description="how deep shortwave radiation goes"
    )
    interior: InteriorSection = Field(
        default=InteriorSection(), description="what is prescribed below the surface"
    )
    terms: dict[str, TermSection] = Field(
        default_factory=dict, description="what else acts on the column, by a name of your choice"
    )

    @model_validator(mode="after")
    def _check_profiles(self):
        check_initial(self)
        return self


class IdealisedCase(_PlacedCase):
    """A case that needs no file."""

    format: Literal["idealised"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = Field(default="idealised", min_length=1, description="name for files and figures")
    temperature: ProfileSection = Field(description="initial temperature [degC]")
    salinity: ProfileSection = Field(default=Profile(surface=35.0), description="initial salinity [g kg-1]")
    latitude: float | None = Field(default=None, ge=-90.0, le=90.0, description="latitude [degrees north]")
    equation_of_state: EquationOfStateSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="linear", validate_default=True, description="how temperature and salinity set the density"
    )
    forcing: FluxesSection = Field(default=FluxesSection(), description="surface fluxes")
    longitude: ClassVar[None] = None
    start_time: ClassVar[None] = None
    observations: ClassVar[None] = None
    initial: ClassVar[None] = None
    weather: ClassVar[None] = None
    series: ClassVar[dict[str, Any]] = {}
    temperature_kind: ClassVar[str] = "conservative"
    salinity_kind: ClassVar[str] = "absolute"

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
        return self


class SiteCase(_PlacedCase):
    """A place with a date: fluxes from the weather, and profiles that were measured there."""

    format: Literal["site"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = Field(default="site", min_length=1, description="name for files and figures")
    latitude: float = Field(ge=-90.0, le=90.0, description="latitude [degrees north]")
    longitude: float = Field(ge=-360.0, le=360.0, description="longitude [degrees east]")
    start_time: str = Field(description="date and time of the start, ISO 8601, Universal Time")
    temperature: ProfileSection | None = Field(
        default=None, description="initial conservative temperature [degC]; null for the measured one"
    )
    salinity: ProfileSection | None = Field(
        default=None, description="initial absolute salinity [g kg-1]; null for the measured one"
    )
    temperature_kind: Literal["conservative", "potential", "in_situ"] = Field(
        default="conservative", description="of the temperature that is given"
    )
    salinity_kind: Literal["absolute", "practical"] = Field(
        default="absolute", description="of the salinity that is given"
    )
    salinity_anomaly: bool = Field(
        default=True,
        description="whether practical salinity is converted with the anomaly of the place, or with the "
        "ratio of the standard ocean",
    )
    observations: ObservationsSection | None = Field(
        default=None, description="measured profiles, to start from, to relax to and to compare with"
    )
    series: dict[str, NumbersSection] = Field(
        default_factory=dict,
        description="numbers to compare with, by name of the observable",
    )
    initial: ObservationsSection | None = Field(
        default=None, description="measured profiles to start from, where they are others"
    )
    weather: WeatherSection | None = Field(default=None, description="the air, from which fluxes follow")
    air_sea: AirSeaSection = Field(default_factory=AirSeaSection, description="how they follow from it")
    fluxes: FluxesSection | None = Field(default=None, description="surface fluxes, instead of the weather")

    @field_validator("start_time")
    @classmethod
    def _check_start(cls, value: str) -> str:
        try:
            start_of_case(value)
        except ValueError:
            raise invalid("an ISO 8601 time", f"'{value}'", "write it like 2012-06-10T00:00:00") from None
        return value

    @model_validator(mode="after")
    def _check_combination(self) -> "SiteCase":
        if (self.weather is None) == (self.fluxes is None):
            got = "neither" if self.weather is None else "both"
            raise invalid("`weather` or `fluxes`", got, "give one of them")
        if self.weather is None and "air_sea" in self.model_fields_set:
            raise invalid("`air_sea` together with `weather`", "it with `fluxes`", "remove it")
        measured = self.initial or self.observations
        for name in ("temperature", "salinity"):
            if getattr(self, name) is None and (measured is None or measured.format == "inputs"):
                raise invalid(
                    f"`{name}`, or measured profiles to start from (`observations`)", "neither", "add one"
                )
        return self


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


_Observed: Any = section_of(ObservedInputs, partial=True)
_Options: Any = section_of(GotmOptions, only=("salinity_anomaly", "vertical_velocity"), partial=True)


class GotmObservations(_Observed):
    """What the files of a case of GOTM hold of the water, to compare with."""

    surface_temperature: bool = Field(default=False, description="surface.sst, as sea_surface_temperature")

    @model_validator(mode="after")
    def _check_any(self) -> "GotmObservations":
        if not (self.surface_temperature or self.profiles):
            raise invalid("`surface_temperature` or `profiles`", "neither", "set one of them to true")
        return self


class GotmCase(_Options):
    """A case of GOTM: its configuration, with the files that it names beside it."""

    format: Literal["gotm"]
    path: DataPath
    settings: Annotated[dict[str, Any], BeforeValidator(flatten)] = Field(
        default_factory=dict, description="values that replace those of the file, with GOTM's names"
    )
    ignore_unsupported: bool = Field(
        default=False, description="whether to run without settings that are not supported"
    )
    observations: GotmObservations | None = Field(
        default=None, description="what of its files to compare with"
    )

    @property
    def observed(self) -> ObservedInputs | None:
        """Which of its inputs are observations."""
        given = self.observations
        if given is None:
            return None
        return ObservedInputs(**{**given.given(), "surface_temperature": given.surface_temperature})


CaseSection = Annotated[
    LesbraryCase | LegayCase | CfNetcdfCase | GotmCase | IdealisedCase | SiteCase,
    Field(discriminator="format"),
]
"""Where a case comes from."""
