"""Sections of a configuration file on a place in the ocean: the weather, its fluxes, what was measured."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ..air_sea import AbstractAlbedo, AbstractLongwave, BulkForcing, ClearSky
from ..air_sea.air import HumidityMeasure
from ..declarations import names_of
from ..io.series import GOOD_FLAGS, start_of_case
from ..quantities import quantity_of
from .builder import Section, choice, invalid, one_of, section_of
from .interior import InteriorSection
from .profiles import AbsorptionSection, EquationOfStateSection, Profile, ProfileSection, check_initial
from .series import Paths, TimedSection

LONGWAVE = ("net", *names_of(AbstractLongwave))
"""What the longwave radiation is; `downward` and `net` are series of the weather."""


class SeriesShortwave(Section):
    name: Literal["downward", "net"]


ClearSkySection: Any = section_of(ClearSky, "name", "clear_sky")
ShortwaveSection: Any = choice([SeriesShortwave, ClearSkySection], "name", ["downward", "net", "clear_sky"])
AlbedoSection: Any = one_of(AbstractAlbedo, number=lambda value: {"name": "constant", "albedo": value})
_Switches: Any = section_of(
    BulkForcing,
    only=(
        *("bulk", "relative_wind", "implicit_stress", "conservative_temperature", "rain_heat"),
        *("rain_stress", "heat_factor", "shortwave_factor", "offsets"),
    ),
    partial=True,
)


class AirSeaSection(_Switches):
    """How the fluxes follow from the weather and the water."""

    longwave: Literal[LONGWAVE] = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="downward", description="longwave radiation: what the weather holds, or a formula"
    )
    shortwave: ShortwaveSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default=SeriesShortwave(name="downward"),
        description="shortwave radiation: what the weather holds, or clear_sky with its clouds",
    )
    albedo: AlbedoSection | None = Field(  # pyright: ignore[reportInvalidTypeForm]
        default=None, description="reflected part of the shortwave radiation: a number, payne or cogley"
    )
    evaporation: bool | None = Field(
        default=None, description="whether latent heat takes water along; null: where there is precipitation"
    )

    @model_validator(mode="after")
    def _check_albedo(self) -> "AirSeaSection":
        if self.shortwave.name == "net" and self.albedo is not None:
            raise invalid(
                "no albedo where shortwave is net", f"albedo {self.albedo.name}", "remove one of the two"
            )
        return self


class Era5Weather(Section):
    """Hourly single levels of ERA5."""

    format: Literal["era5"]
    paths: Paths
    interpolation: Literal["bilinear", "nearest"] = Field(
        default="bilinear", description="between the points of the grid"
    )


class TableWeather(Section):
    """Weather of a station, ship or buoy: CSV, or NetCDF with variables over time."""

    format: Literal["table"]
    paths: Paths
    variables: dict[str, float | str] = Field(
        default_factory=dict, description="names in the file, or numbers, by name of a series of the weather"
    )
    units: dict[str, str] = Field(default_factory=dict, description="units, instead of those in the file")
    humidity_measure: HumidityMeasure | None = Field(
        default=None, description="what the humidity measures; null for what the file has"
    )
    time: str | None = Field(default=None, min_length=1, description="name of the times in the file")
    longest_gap: float | None = Field(
        default=21600.0, gt=0.0, description="longest time between two records [s]; null for any"
    )


def _possible(quantity: str) -> dict[str, Any]:  # keywords of Field are of many types
    low, high = quantity_of(quantity).possible
    return {"ge": low, "le": high}


class ConstantWeather(Section):
    """Weather that does not change."""

    format: Literal["constant"]
    wind_u: float = Field(**_possible("wind_u"), description="eastward wind [m s-1]")
    wind_v: float = Field(default=0.0, **_possible("wind_v"), description="northward wind [m s-1]")
    air_temperature: float = Field(**_possible("air_temperature"), description="air temperature [degC]")
    humidity: float = Field(ge=-100.0, le=130.0, description="humidity, in the unit of its measure")
    humidity_measure: HumidityMeasure = Field(
        default="relative", description="relative [%], wet_bulb, dew_point [degC] or specific [kg kg-1]"
    )
    air_pressure: float = Field(
        default=101325.0, **_possible("air_pressure"), description="air pressure [Pa]"
    )
    cloud_cover: float | None = Field(default=None, ge=0.0, le=1.0, description="cloud cover, 0 to 1")
    precipitation: float | None = Field(default=None, ge=0.0, le=1e-3, description="rain [m s-1]")
    shortwave: float | None = Field(
        default=None, ge=0.0, le=2000.0, description="shortwave radiation [W m-2]"
    )
    longwave: float | None = Field(default=None, **_possible("longwave"), description="longwave [W m-2]")


WeatherSection = Annotated[Era5Weather | TableWeather | ConstantWeather, Field(discriminator="format")]
"""The air over the column."""


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


ObservationsSection = Annotated[MooringProfiles | ArgoProfilesSection, Field(discriminator="format")]
"""Measured profiles."""


class FluxesSection(Section):
    """Surface fluxes, each a number or a series; positive into the column."""

    stress_u: TimedSection | None = Field(default=None, description="eastward stress [N m-2]")
    stress_v: TimedSection | None = Field(default=None, description="northward stress [N m-2]")
    heat_flux: TimedSection | None = Field(
        default=None, description="heat without shortwave radiation [W m-2]"
    )
    shortwave_flux: TimedSection | None = Field(
        default=None, description="shortwave radiation into the water [W m-2]"
    )
    freshwater_flux: TimedSection | None = Field(
        default=None, description="precipitation minus evaporation [kg m-2 s-1]"
    )
    salt_flux: TimedSection | None = Field(default=None, description="salt [kg m-2 s-1]")


class SiteCase(Section):
    """A place with a date: fluxes from the weather, and profiles that were measured there."""

    format: Literal["site"]
    name: str = Field(default="site", min_length=1, description="name for files and figures")
    latitude: float = Field(ge=-90.0, le=90.0, description="latitude [degrees north]")
    longitude: float = Field(ge=-180.0, le=360.0, description="longitude [degrees east]")
    start_time: str = Field(description="date and time of the start, ISO 8601, Universal Time")
    duration: float = Field(gt=0.0, description="length of the case [s]")
    depth: float = Field(gt=0.0, le=12000.0, description="depth of the column [m]")
    temperature: ProfileSection | None = Field(
        default=None, description="initial conservative temperature [degC]; null for the measured one"
    )
    salinity: ProfileSection | None = Field(
        default=None, description="initial absolute salinity [g kg-1]; null for the measured one"
    )
    u: ProfileSection = Field(default=Profile(surface=0.0), description="initial eastward velocity [m s-1]")
    v: ProfileSection = Field(default=Profile(surface=0.0), description="initial northward velocity [m s-1]")
    tracers: dict[str, ProfileSection] = Field(default_factory=dict, description="passive tracers by name")
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
    equation_of_state: EquationOfStateSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="teos10", validate_default=True, description="how temperature and salinity set the density"
    )
    absorption: AbsorptionSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="I", validate_default=True, description="how deep shortwave radiation goes"
    )
    interior: InteriorSection = Field(
        default=InteriorSection(), description="what is prescribed below the surface"
    )

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
        for name in ("temperature", "salinity"):
            if getattr(self, name) is None and self.initial is None and self.observations is None:
                raise invalid(
                    f"`{name}`, or measured profiles to start from (`observations`)", "neither", "add one"
                )
        check_initial(self)
        return self
