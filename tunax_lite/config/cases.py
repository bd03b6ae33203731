"""Sections of a configuration file that define cases: a site, idealised values, or a file."""

from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .._types import JSON
from ..air_sea.daylight import AlbedoOf
from ..column.forcing import FLUXES, SurfaceFluxes
from ..ice import AbstractIce
from ..io.cf_forcing import Mapping
from ..io.series import GOOD_FLAGS, start_of_case
from ..io.units import Conversion
from ..registry import additions
from .air_sea import AirSeaSection, AlbedoSection, Era5Source, WeatherSection
from .builder import one_of, part_of
from .closures import TermSection
from .conversions import UNITS, ConversionSection, UnitGiven, conversions_of
from .interior import InteriorSection
from .lakes import HypsographySection
from .profiles import AbsorptionSection, EquationOfStateSection, Profile, ProfileSection, check_initial
from .section import Section, closest, invalid, key
from .series import CoriolisParameter, DataPath, Paths, TimedSection, TimedValue, increases, timed

GoodFlags = Annotated[
    list[Annotated[int, Field(ge=0, le=9)]],
    key("quality flags of values that are used", min_length=1),
]
_LONGEST_GAP = 15.0 * 86400.0


_PRACTICAL_SALINITY = (
    "practical salinity to convert temperatures with where none was measured: a number, a profile, or a "
    "NetCDF file of which the mean is taken; null for that of the case"
)


class MooringProfiles(Section):
    """A mooring in OceanSITES, IMOS or CMEMS format, or another CF NetCDF file."""

    format: Literal["oceansites"]
    paths: Paths
    variables: dict[Literal["temperature", "salinity", "u", "v"], str | None] = key(
        "names in the file of temperature, salinity, u, v; null to leave one out", default_factory=dict
    )
    units: dict[Literal["temperature", "salinity", "u", "v", "time", "z"], UnitGiven] = key(
        UNITS, default_factory=dict
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    depths: Literal["nominal", "measured"] | float = key(
        "for instruments whose depth varies; or the depth [m] of an instrument whose file does not give it",
        "nominal",
    )
    practical_salinity: ProfileSection | str | None = key(_PRACTICAL_SALINITY, None)
    longest_gap: float = key("longest time that is bridged to start or to relax [s]", _LONGEST_GAP, gt=0.0)


class ArgoProfilesSection(Section):
    """Profiles of Argo floats."""

    format: Literal["argo"]
    paths: Paths
    z: list[float] | Literal["measured"] | None = key(
        "heights [m] to interpolate to; null for the cells, measured for their own", None
    )
    good_flags: GoodFlags = list(GOOD_FLAGS)
    units: dict[Literal["temperature", "salinity", "pressure"], UnitGiven] = key(UNITS, default_factory=dict)
    practical_salinity: ProfileSection | str | None = key(_PRACTICAL_SALINITY, None)
    largest_spacing: float = key("of two good values [m] to interpolate between", 200.0, gt=0.0)
    longest_gap: float = key("longest time that is bridged to start or to relax [s]", _LONGEST_GAP, gt=0.0)

    @field_validator("z")
    @classmethod
    def _check_heights(cls, z: list[float] | str | None) -> list[float] | str | None:
        if isinstance(z, list) and not (z and increases(z) and z[-1] <= 0.0):
            raise invalid("heights that increase and end at or below 0", f"{z}", "sort them, deepest first")
        return z


MeasuredProfiles = MooringProfiles | ArgoProfilesSection


class NumbersSection(ConversionSection):
    """A scalar observable over time, from a table."""

    path: str = key("CSV or NetCDF file", min_length=1)
    variable: str = key("column or variable of the file", min_length=1)
    flags: str | None = key("column of the quality flags", None, min_length=1)
    good_flags: GoodFlags = list(GOOD_FLAGS)
    kind: Literal["in_situ", "potential", "conservative"] = key("of a temperature of the surface", "in_situ")


class InputObservations(Section):
    """Observations among the inputs of a case."""

    format: Literal["inputs"]
    surface_temperature: TimedSection | None = key(
        "of the kind of the temperature, as sea_surface_temperature", None
    )
    surface_interval: float | None = key(
        "only its records at multiples of this time [s]; null for all", None, gt=0.0
    )
    profiles: bool = key("those of temperature, of a file", False)
    z: list[Annotated[float, Field(le=0.0)]] | None = key(
        "heights to interpolate them to [m]; null for the cells", None, min_length=1
    )


ObservationsSection = Annotated[MeasuredProfiles | InputObservations, Field(discriminator="format")]
"""Measured profiles."""


_Flux = Annotated[
    TimedSection,
    BeforeValidator(lambda v: v, json_schema_input_type=TimedValue | float | list[float] | None),
]


class FluxesSection(timed(SurfaceFluxes, FLUXES, _Flux)):
    """Surface fluxes, each a number, a series, or a list with one value per `time`; positive downward."""

    time: list[float] | None = key("times of the lists [s] since the start, increasing", None, min_length=2)
    albedo: AlbedoSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "reflected fraction of shortwave_flux: a number, payne or cogley at the end of each step", None
    )
    albedo_of: AlbedoOf | None = key("as in air_sea", None)
    diurnal_cycle: bool = key("whether shortwave_flux is spread over the day, as in air_sea", False)
    tracer_fluxes: dict[str, TimedSection] = key(
        "tracer fluxes by name [tracer unit m s-1]", default_factory=dict
    )
    era5: Era5Source | None = key("all of them, as ERA5 computed them", None)

    def _check(self) -> None:
        self.check_possible()
        if self.albedo is not None and self.shortwave_flux is None:
            raise invalid("shortwave_flux with an albedo", "none", "add it, or remove the albedo")
        if self.diurnal_cycle and self.shortwave_flux is None:
            raise invalid("shortwave_flux with a diurnal_cycle", "none", "add it, or remove the cycle")
        others = sorted(self.model_fields_set - {"era5"})
        if self.era5 is not None and others:
            raise invalid("`era5` alone", f"{others[0]} too", "remove one of the two")

    @model_validator(mode="before")
    @classmethod
    def _with_times(cls, data: JSON) -> JSON:
        """Convert lists to series over `time`."""

        def placed(name: str, value: JSON) -> JSON:
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
    """Shared by cases whose column is described in the configuration."""

    format: str
    name: str = key("name for files and figures", "", min_length=1)
    depth: float = key("depth of the column [m]", gt=0.0, le=12000.0)
    hypsography: HypsographySection | None = key("how large a lake is at its depths", None)
    duration: float = key("length of the case [s]", gt=0.0)
    coriolis_parameter: CoriolisParameter | None = key(
        "Coriolis parameter, instead of that of the latitude [s-1]", None
    )
    u: ProfileSection = key("initial eastward velocity [m s-1]", Profile(surface=0.0))
    v: ProfileSection = key("initial northward velocity [m s-1]", Profile(surface=0.0))
    tracers: dict[str, ProfileSection] = key("passive tracers by name", default_factory=dict)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "teos10", validate_default=True
    )
    absorption: AbsorptionSection = key("how deep shortwave radiation goes", "I", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    interior: InteriorSection = key("prescribed terms below the surface", InteriorSection())
    terms: dict[str, TermSection] = key("further terms, by a name of your choice", default_factory=dict)
    ice: one_of(AbstractIce) | None = key("ice on the water", None)  # pyright: ignore[reportInvalidTypeForm]


class IdealisedCase(_PlacedCase):
    """A case without files."""

    format: Literal["idealised"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = key("name for files and figures", "idealised", min_length=1)
    temperature: ProfileSection = key("initial temperature [degC]")
    salinity: ProfileSection = key("initial salinity [g kg-1]", Profile(surface=35.0))
    latitude: float | None = key("latitude [degrees north]", None, ge=-90.0, le=90.0)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "linear", validate_default=True
    )
    forcing: FluxesSection = key("surface fluxes", FluxesSection())
    longitude: ClassVar[None] = None
    start_time: ClassVar[None] = None
    observations: ClassVar[None] = None
    initial: ClassVar[None] = None
    weather: ClassVar[None] = None
    series: ClassVar[dict[str, NumbersSection]] = {}
    temperature_kind: ClassVar[str] = "conservative"
    salinity_kind: ClassVar[str] = "absolute"

    def _check(self) -> None:
        check_initial(self)
        if self.latitude is not None and self.coriolis_parameter is not None:
            raise invalid("`latitude` or `coriolis_parameter`", "both", "remove one of them")
        for name in self.forcing.tracer_fluxes:
            if name not in self.tracers:
                raise invalid(
                    "fluxes of tracers of the case",
                    f"`{name}`",
                    closest(name, list(self.tracers) or ["none"]),
                )


class RestartSection(Section):
    """GOTM restart file."""

    path: str = key("its restart.nc", min_length=1)
    allow_missing: bool = key("whether quantities missing in the file start from their defaults", False)


class SiteCase(_PlacedCase):
    """A site with a date: weather or fluxes, and measured profiles."""

    format: Literal["site"]  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = key("name for files and figures", "site", min_length=1)
    latitude: float = key("latitude [degrees north]", ge=-90.0, le=90.0)
    longitude: float = key("longitude [degrees east]", ge=-360.0, le=360.0)
    start_time: str = key("date and time of the start, ISO 8601, Universal Time")
    temperature: ProfileSection | None = key(
        "initial conservative temperature [degC]; null for the measured one", None
    )
    salinity: ProfileSection | None = key(
        "initial absolute salinity [g kg-1]; null for the measured one", None
    )
    temperature_kind: Literal["conservative", "potential", "in_situ"] = key(
        "of the temperature that is given", "conservative"
    )
    salinity_kind: Literal["absolute", "practical"] = key("of the salinity that is given", "absolute")
    salinity_anomaly: bool = key(
        "whether practical salinity is converted with the anomaly of the place, or with the "
        "ratio of the standard ocean",
        True,
    )
    observations: ObservationsSection | None = key(
        "measured profiles, to start from, to relax to and to compare with", None
    )
    series: dict[str, NumbersSection] = key(
        "numbers to compare with, by name of the observable", default_factory=dict
    )
    initial: ObservationsSection | None = key(
        "measured profiles to start from, if other than `observations`", None
    )
    restart: RestartSection | None = key("of GOTM, instead of profiles and turbulence at rest", None)
    weather: WeatherSection | None = key("the air, from which fluxes follow", None)
    air_sea: AirSeaSection = key("how they follow from it", default_factory=AirSeaSection)
    fluxes: FluxesSection | None = key("surface fluxes, instead of the weather", None)

    @field_validator("start_time")
    @classmethod
    def _check_start(cls, value: str) -> str:
        try:
            start_of_case(value)
        except ValueError:
            raise invalid("an ISO 8601 time", f"'{value}'", "write it like 2012-06-10T00:00:00") from None
        return value

    def _check(self) -> None:
        check_initial(self)
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


class LesbraryCase(Section):
    """A large-eddy simulation of the LESbrary; everything comes from the file."""

    format: Literal["lesbrary"]
    path: DataPath
    units: dict[
        Literal["temperature", "u", "v", "stress_u", "stress_v", "heat_flux", "shortwave_flux"], UnitGiven
    ] = key(UNITS, default_factory=dict)


class LegayCase(Section):
    """The large-eddy simulation of Legay et al. (2024), whose file contains only profiles."""

    format: Literal["legay"]
    path: DataPath
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
        _ = self.options  # raises for a unit of another quantity

    @property
    def _converted(self) -> dict[str, ConversionSection]:
        return {name: each for name, each in self.units.items() if name in type(self).model_fields}

    @property
    def options(self) -> dict[str, float]:
        """Options given besides the path, in the units of the package."""
        given = self.model_dump(exclude={"format", "path", "units"}, exclude_none=True)
        return given | {name: each.converted(name, given[name]) for name, each in self._converted.items()}

    @property
    def conversions(self) -> dict[str, Conversion]:
        """Those of variables of the file."""
        return conversions_of({k: v for k, v in self.units.items() if k not in self._converted})


class MappingSection(part_of(Mapping)):
    """Information missing in a file."""

    units: dict[str, UnitGiven] = key(UNITS, default_factory=dict)

    def _check(self) -> None:
        self.build()  # raises errors that only the class can detect

    def build(self, **others: Any) -> Mapping:  # of the class
        """The mapping."""
        return Mapping(**self.given(), units=conversions_of(self.units), **others)


class CfNetcdfCase(Section):
    """Profiles over time in a CF NetCDF file."""

    format: Literal["cf_netcdf"]
    path: DataPath
    mapping: MappingSection = key("information missing in the file", MappingSection())


_FROM_FILES = (LesbraryCase, LegayCase, CfNetcdfCase, *additions("formats", "CASE_FORMATS"))
CaseSection = Annotated[Union[*_FROM_FILES, IdealisedCase, SiteCase], Field(discriminator="format")]
"""Where a case comes from; extensions add formats."""
