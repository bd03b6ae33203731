"""Sections of a configuration file on the weather and on what it does to the surface."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ..air_sea import (
    AbstractLongwave,
    BerliandBerliand,
    Bignami,
    Clark,
    Coare30,
    Coare36,
    Cogley,
    ConstantAlbedo,
    DownwardLongwave,
    Fairall,
    HastenrathLamb,
    Josey1,
    Josey2,
    Kondo,
    LargeYeager,
    Payne,
    WeatherOffsets,
)
from ..quantities import quantity_of
from .sections import Section, closest, invalid, named

BULK_FORMULAE: dict[str, Any] = {
    "kondo": Kondo,
    "fairall": Fairall,
    "coare30": Coare30,
    "coare36": Coare36,
    "large_yeager": LargeYeager,
}
"""Names of bulk formulae in configuration files."""
LONGWAVE: dict[str, type[AbstractLongwave] | None] = {
    "downward": DownwardLongwave,
    "net": None,
    "clark": Clark,
    "hastenrath_lamb": HastenrathLamb,
    "bignami": Bignami,
    "berliand_berliand": BerliandBerliand,
    "josey1": Josey1,
    "josey2": Josey2,
}
"""Names of what the longwave radiation is; the first two are series of the weather."""
ALBEDOS: dict[str, Any] = {"constant": ConstantAlbedo, "payne": Payne, "cogley": Cogley}
"""Names of albedos."""

Height = Annotated[float, Field(gt=0.1, le=1000.0)]


class KondoSection(Section):
    name: Literal["kondo"]


class SimilaritySection(Section):
    name: Literal["fairall", "coare30", "coare36", "large_yeager"]
    wind_height: Height = Field(default=10.0, description="height of the wind [m]")
    air_height: Height = Field(default=2.0, description="height of air temperature and humidity [m]")
    iterations: int | None = Field(
        default=None, ge=1, le=100, description="iterations; null for those of the formula"
    )


class SeriesShortwave(Section):
    name: Literal["downward", "net"]


class ClearSkySection(Section):
    name: Literal["clear_sky"]
    solar_constant: float = Field(default=1350.0, gt=0.0, le=2000.0, description="solar constant [W m-2]")
    transmissivity: float = Field(
        default=0.7, ge=1e-3, le=1.0, description="of the clear sky, sun in the zenith [1]"
    )
    ozone_absorption: float = Field(default=0.09, ge=0.0, le=1.0, description="absorbed by ozone [1]")


class ConstantAlbedoSection(Section):
    name: Literal["constant"]
    albedo: float = Field(ge=0.0, le=1.0, description="reflected part of the sunlight [1]")


class TabulatedAlbedoSection(Section):
    name: Literal["payne", "cogley"]


BulkSection = Annotated[
    KondoSection | SimilaritySection, Field(discriminator="name"), BeforeValidator(named("name"))
]
ShortwaveSection = Annotated[
    SeriesShortwave | ClearSkySection, Field(discriminator="name"), BeforeValidator(named("name"))
]


def _number_or_name(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"name": "constant", "albedo": value}
    return named("name")(value)


AlbedoSection = Annotated[
    ConstantAlbedoSection | TabulatedAlbedoSection,
    Field(discriminator="name"),
    BeforeValidator(_number_or_name),
]


class AirSeaSection(Section):
    """How the fluxes follow from the weather and the water."""

    bulk: BulkSection = Field(
        default=SimilaritySection(name="fairall"), description="formula of stress and turbulent heat"
    )
    longwave: Literal[
        "downward",
        "net",
        "clark",
        "hastenrath_lamb",
        "bignami",
        "berliand_berliand",
        "josey1",
        "josey2",
    ] = Field(default="downward", description="longwave radiation: what the weather holds, or a formula")
    shortwave: ShortwaveSection = Field(
        default=SeriesShortwave(name="downward"),
        description="sunlight: what the weather holds, or clear_sky with its clouds",
    )
    albedo: AlbedoSection | None = Field(
        default=None, description="reflected part of the sunlight: a number, payne or cogley"
    )
    relative_wind: bool = Field(default=True, description="whether the wind counts relative to the current")
    implicit_stress: bool = Field(
        default=True, description="whether that current is the one at the end of a step"
    )
    conservative_temperature: bool = Field(
        default=True, description="whether the column has conservative temperature"
    )
    rain_heat: bool = Field(default=False, description="whether rain brings heat")
    rain_stress: bool = Field(default=False, description="whether rain brings momentum")
    evaporation: bool | None = Field(
        default=None, description="whether latent heat takes water along; null: where there is precipitation"
    )
    heat_factor: float = Field(default=1.0, ge=0.0, le=10.0, description="factor of the heat fluxes [1]")
    shortwave_factor: float = Field(default=1.0, ge=0.0, le=10.0, description="factor of the sunlight [1]")
    offsets: dict[str, float] = Field(
        default_factory=dict, description="added to the series of the weather, in their units"
    )

    @field_validator("offsets")
    @classmethod
    def _check_offsets(cls, offsets: dict[str, float]) -> dict[str, float]:
        known = list(WeatherOffsets.__dataclass_fields__)
        for name in offsets:
            if name not in known:
                raise invalid("the name of a series of the weather", f"'{name}'", closest(name, known))
        return offsets

    @model_validator(mode="after")
    def _check_albedo(self) -> "AirSeaSection":
        if self.shortwave.name == "net" and self.albedo is not None:
            raise invalid(
                "no albedo where shortwave is net", f"albedo {self.albedo.name}", "remove one of the two"
            )
        return self


def _one_is_a_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Paths = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    Field(min_length=1, description="a file, or several"),
    BeforeValidator(_one_is_a_list),
]


class Era5Weather(Section):
    """Hourly single levels of ERA5."""

    format: Literal["era5"]
    paths: Paths
    interpolation: Literal["bilinear", "nearest"] = Field(
        default="bilinear", description="between the points of the grid"
    )


HumidityMeasure = Literal["relative", "wet_bulb", "dew_point", "specific"]


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
    shortwave: float | None = Field(default=None, ge=0.0, le=2000.0, description="sunlight [W m-2]")
    longwave: float | None = Field(default=None, **_possible("longwave"), description="longwave [W m-2]")


WeatherSection = Annotated[Era5Weather | TableWeather | ConstantWeather, Field(discriminator="format")]
"""The air over the column."""
