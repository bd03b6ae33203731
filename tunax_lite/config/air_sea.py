"""Sections of a configuration file on the weather and on what it does to the surface."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..air_sea import (
    AbstractAlbedo,
    AbstractLongwave,
    BulkForcing,
    ClearSky,
)
from ..air_sea.air import HumidityMeasure
from ..declarations import names_of
from ..quantities import quantity_of
from .builder import Section, choice, invalid, one_of, section_of

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


def _one_is_a_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Paths = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    Field(min_length=1, description="a file, or several"),
    BeforeValidator(_one_is_a_list, json_schema_input_type=list[str] | str),
]


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
