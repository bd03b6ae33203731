"""Weather, air-sea fluxes and prescribed fluxes in a configuration, and the resulting forcing."""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from pydantic import Field

from .. import air_sea, io
from ..air_sea.air import HumidityMeasure
from ..air_sea.bulk_forcing import HUMIDITY_QUANTITIES, WEATHER, Weather
from ..air_sea.daylight import AlbedoOf, time_between_records
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..column.terms import WindVector
from ..column.time_series import TimeSeries
from ..declarations import names_of
from ..io.series import Series, on_common_times
from .builder import choice, one_of, section_of
from .section import Annotation, Section, in_short, invalid, key
from .series import (
    UNITS,
    Paths,
    Setting,
    TimedSection,
    TimedValue,
    UnitGiven,
    conversions_of,
    series_of,
    timed,
)

_DRAG_OF_A_STORM = 0.05
"""Stress over speed of a wind of about 20 m s-1 [kg m-2 s-1]."""

LONGWAVE = ("net", *names_of(air_sea.AbstractLongwave))
"""Kinds of longwave radiation; `downward` and `net` are series of the weather."""


class SeriesShortwave(Section):
    """Shortwave radiation from the series of the weather."""

    name: Literal["downward", "net"]


ClearSkySection: Annotation = section_of(air_sea.ClearSky, "clear_sky")
ShortwaveSection: Annotation = choice(SeriesShortwave, ClearSkySection)
_Albedo: Annotation = one_of(air_sea.AbstractAlbedo)
AlbedoSection: Annotation = Annotated[_Albedo, in_short("albedo", _Albedo | float, float, name="constant")]
ReadWeather = tuple[TimeSeries[Weather], HumidityMeasure]


class AirSeaSection(section_of(air_sea.BulkForcing)):
    """How fluxes follow from the weather and the water."""

    humidity_measure: ClassVar[None] = None  # no key here: the section of the weather has one
    longwave: Literal[LONGWAVE] = key("longwave radiation of the weather, or a formula", "downward")  # pyright: ignore[reportInvalidTypeForm]
    shortwave: ShortwaveSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "shortwave radiation of the weather, or clear_sky with its clouds",
        SeriesShortwave(name="downward"),
    )
    albedo: AlbedoSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "reflected part of the shortwave radiation: a number or payne", None
    )
    albedo_of: AlbedoOf | None = key(
        "solar elevation that the albedo follows: instant, that of each step, or day, its mean over the day; "
        "null for the day where records of shortwave radiation are more than 3 h apart",
        None,
    )
    diurnal_cycle: bool = key(
        "whether shortwave radiation with records more than 3 h apart is spread over the day", False
    )
    implicit_stress: bool | Literal["long_steps"] = key(
        "whether the drag counts with the velocity at the end of a step; long_steps: only where "
        "a step takes much of the speed of a storm away",
        True,
    )

    def _check(self) -> None:
        if self.shortwave.name == "net" and self.albedo is not None:
            got = f"albedo {self.albedo.name}"
            raise invalid("no albedo where shortwave is net", got, "remove one of the two")
        if self.diurnal_cycle and isinstance(self.shortwave, ClearSkySection):
            expected = "no diurnal_cycle where shortwave is clear_sky, which has its own"
            raise invalid(expected, "true", "remove one of the two")

    @property
    def sky(self) -> air_sea.ClearSky | None:
        """Formula of the shortwave radiation; `None` for a series."""
        return self.shortwave.build() if isinstance(self.shortwave, ClearSkySection) else None

    @property
    def formula(self) -> air_sea.AbstractLongwave | None:
        """Formula of the longwave radiation; `None` for a series."""
        if self.longwave in ("downward", "net"):
            return None
        return names_of(air_sea.AbstractLongwave)[self.longwave].make()

    def mean_light(self) -> air_sea.MeanLight:
        """Treatment of shortwave radiation given as means over part of a day."""
        return air_sea.MeanLight(self.albedo_of, self.diurnal_cycle)


class Era5Source(Section):
    """Files of single levels of ERA5."""

    paths: Paths
    accumulation: float | None = key(
        "time before its stamp over which a parameter is accumulated [s]; null for an hour", None, gt=0.0
    )


class Era5Weather(Era5Source):
    """Weather of ERA5."""

    format: Literal["era5"]

    def read(self, formulae: AirSeaSection, setting: Setting) -> ReadWeather:
        """Read the weather at the position of the case, and the kind of its humidity."""
        start, latitude, longitude = setting.date_and_position("weather")
        return io.read_era5(
            [setting.file(path, "weather", "paths") for path in self.paths],
            latitude=latitude,
            longitude=longitude,
            start_time=start,
            shortwave=None if formulae.sky is not None else formulae.shortwave.name,
            longwave=formulae.longwave if formulae.formula is None else None,
            accumulation=self.accumulation,
        )


class TableWeather(Section):
    """Weather of a station, ship or buoy: CSV, or NetCDF with variables over time."""

    format: Literal["table"]
    paths: Paths
    variables: dict[str, float | str] = key(
        "names in the file, or numbers, by name of a series of the weather", default_factory=dict
    )
    units: dict[str, UnitGiven] = key(UNITS, default_factory=dict)
    humidity_measure: HumidityMeasure | None = key("humidity measure; null for that of the file", None)
    longest_gap: float | None = key(
        "longest time between two values [s]; null: any between records, none missing", 21600.0, gt=0.0
    )
    stamp: Literal["start", "middle", "end"] | None = key(
        "where the time of a mean stands in its interval, between two records; null for what the file says",
        None,
    )

    def read(self, formulae: AirSeaSection, setting: Setting) -> ReadWeather:
        """Read the weather at the position of the case, and the kind of its humidity."""
        return io.read_weather(
            [setting.file(path, "weather", "paths") for path in self.paths],
            shortwave=None if formulae.sky is not None else formulae.shortwave.name,
            longwave=formulae.longwave if formulae.formula is None else None,
            start_time=setting.date_and_position("weather")[0],
            position=setting.position,
            units=conversions_of(self.units),
            **self.model_dump(exclude={"format", "paths", "units"}),
        )


_WEATHER = [field.name for field in WEATHER]


class GivenWeather(timed(Weather, _WEATHER)):
    """Constant weather, or one series per quantity."""

    format: Literal["constant", "series"]
    wind_v: TimedSection = key("northward wind [m s-1]", TimedValue(constant=0.0))
    humidity_measure: HumidityMeasure = key(
        "relative [%], wet_bulb, dew_point [degC] or specific [kg kg-1]", "relative"
    )

    def _given(self) -> dict[str, TimedValue]:
        return {name: getattr(self, name) for name in _WEATHER if getattr(self, name) is not None}

    def _check(self) -> None:
        for name, series in self._given().items():
            if self.format == "constant" and series.constant is None:
                raise invalid("numbers", f"a series of {name}", "choose the format series")

    def read(self, formulae: AirSeaSection, setting: Setting) -> ReadWeather:
        """Read the weather for the duration of the case, and the kind of its humidity."""
        quantities = {"humidity": HUMIDITY_QUANTITIES[self.humidity_measure]}
        values = {
            name: each.read(quantities.get(name, name), setting, "weather", name)
            for name, each in self._given().items()
        }
        if self.format == "constant":
            numbers = {name: jnp.asarray(each) for name, each in values.items()}
            return TimeSeries.constant(Weather(**numbers), "weather"), self.humidity_measure
        return series_of(values, Weather, "weather", setting, "weather"), self.humidity_measure


WeatherSection = Annotated[Era5Weather | TableWeather | GivenWeather, Field(discriminator="format")]
"""The air over the column."""


def bulk_forcing(
    weather: Era5Weather | TableWeather | GivenWeather,
    section: AirSeaSection,
    setting: Setting,
    reference_density: float,
) -> air_sea.BulkForcing:
    """Forcing from the weather; `reference_density` [kg m-3] decides on `long_steps` of implicit stress."""
    with setting.naming("weather"):
        series, measure = weather.read(section, setting)
        values, sky = series.values, section.sky
        if (sky is not None or section.formula is not None) and values.cloud_cover is None:
            raise ValueError(
                "expected cloud_cover, from which the radiation of air_sea follows, got none; add it, or "
                "choose shortwave and longwave that are in the weather."
            )
        if sky is not None:
            values = dataclasses.replace(values, shortwave=None)
        implicit = section.implicit_stress
        if implicit == "long_steps":
            implicit = _step_is_long(reference_density, setting)
        forcing = air_sea.BulkForcing(
            weather=TimeSeries(series.time, values, series.name),
            sun=air_sea.SolarPosition(*setting.date_and_position("weather")),
            humidity_measure=measure,
            **bulk_arguments(section, implicit_stress=implicit),
        )
    length = {"dt": setting.step, "duration": setting.duration}
    forcing, notes = air_sea.with_mean_light(forcing, section.mean_light(), **length)
    for note in notes:
        setting.note(note, "air_sea")
    return forcing


def bulk_arguments(section: AirSeaSection, *, implicit_stress: bool) -> dict[str, Any]:  # by field
    """Arguments of `BulkForcing` except weather, sun and humidity measure."""
    albedo = air_sea.Payne() if section.albedo is None else section.albedo.build()
    return section.given() | {
        "longwave": air_sea.DownwardLongwave() if section.longwave == "downward" else section.formula,
        "shortwave": section.sky,
        "albedo": air_sea.ConstantAlbedo(0.0) if section.shortwave.name == "net" else albedo,
        "implicit_stress": implicit_stress,
    }


def _step_is_long(reference_density: float, setting: Setting) -> bool:
    """Return whether one step of a storm changes the relative wind by more than half."""
    z = np.asarray(setting.grid.z_face)
    return bool(setting.step * _DRAG_OF_A_STORM > 0.5 * reference_density * (z[-1] - z[-2]))


def wind_of(forcing: AbstractForcing) -> TimeSeries[WindVector] | None:
    """Wind at 10 m that drives waves, without calibrated offsets; `None` if there is none at 10 m."""
    if not isinstance(forcing, air_sea.BulkForcing) or getattr(forcing.bulk, "wind_height", 10.0) != 10.0:
        return None
    weather = forcing.weather
    return TimeSeries(weather.time, WindVector(weather.values.wind_u, weather.values.wind_v), weather.name)


class FluxesSection(timed(SurfaceFluxes, FLUXES)):
    """Surface fluxes into the water, each a number or a series."""

    albedo: AlbedoSection | None = key(  # pyright: ignore[reportInvalidTypeForm]
        "reflected fraction of shortwave_flux: a number or payne at the end of each step", None
    )
    tracer_fluxes: dict[str, TimedSection] = key(
        "tracer fluxes by name [tracer unit m s-1]", default_factory=dict
    )
    era5: Era5Source | None = key("all of them, as ERA5 computed them", None)

    def _check(self) -> None:
        if self.albedo is not None and self.shortwave_flux is None:
            raise invalid("shortwave_flux with an albedo", "none", "add it, or remove the albedo")
        others = sorted(self.model_fields_set - {"era5"})
        if self.era5 is not None and others:
            raise invalid("`era5` alone", f"{others[0]} too", "remove one of the two")


def prescribed_forcing(section: FluxesSection, setting: Setting, key: str) -> AbstractForcing:
    """Forcing from the fluxes of a section: series, numbers or ERA5 files; `key` is that of the section."""
    if section.era5 is not None:
        start, latitude, longitude = setting.date_and_position(key, "era5")
        return io.read_era5_fluxes(
            [setting.file(path, key, "era5", "paths") for path in section.era5.paths],
            latitude=latitude,
            longitude=longitude,
            start_time=start,
            **section.era5.model_dump(exclude={"paths"}),
        )
    for name in section.tracer_fluxes:
        setting.check_tracer(name, key, "tracer_fluxes", name)
    fluxes = {
        name: each.read(name, setting, key, name)
        for name in FLUXES
        if (each := getattr(section, name)) is not None
    }
    tracers = {
        f"tracer {name}": each.read(name, setting, key, "tracer_fluxes", name)
        for name, each in section.tracer_fluxes.items()
    }
    if section.albedo is not None:
        albedo = section.albedo.build()
        fluxes["shortwave_flux"] = _net_shortwave(fluxes["shortwave_flux"], albedo, setting, key)
    # A series of zeros is omitted and costs nothing.
    fluxes = {k: flux for k, flux in fluxes.items() if not isinstance(flux, Series) or np.any(flux.values)}
    with setting.naming(key):
        time, values = on_common_times(fluxes | tracers, setting.duration)
    tracer_fluxes = {name: values.pop(f"tracer {name}") for name in section.tracer_fluxes}
    if any(isinstance(flux, Series) for flux in (*fluxes.values(), *tracers.values())):
        return TimeSeriesForcing.from_values(time, **values, tracer_fluxes=tracer_fluxes)
    return ConstantForcing(SurfaceFluxes(**values, tracer_fluxes=tracer_fluxes))


_MOST_STEPS = 2_000_000
"""Largest number of steps for which the albedo of prescribed light is computed."""


def _net_shortwave(
    light: Series | float, albedo: air_sea.AbstractAlbedo, setting: Setting, key: str
) -> Series | float:
    """Shortwave radiation that enters the water [W m-2], with the albedo at the end of each step.

    Of cases with more than `_MOST_STEPS` steps, only the first ones have values.
    """
    if not albedo.needs_sun:
        entering = 1.0 - float(albedo.value(0.0, 0.0))
        return Series(light.time, entering * light.values) if isinstance(light, Series) else entering * light
    step = setting.step
    n_steps = min(max(1, math.ceil(setting.duration / step)), _MOST_STEPS)
    time, interval = step * np.arange(n_steps + 1.0), np.inf
    if isinstance(light, Series):
        interval = time_between_records(light.time, light.values)
        time = time[(time >= light.time[0]) & (time <= light.time[-1])]
        # No records between steps unless they are finer, because `over_steps` averages finer series.
        is_fine = np.min(np.diff(light.time)) < (1.0 - 1e-6) * step
        time = np.union1d(time, light.time if is_fine else light.time[[0, -1]])
    for note in air_sea.MeanLight("instant").notes(albedo, interval):
        setting.note(note, key)
    sun = air_sea.SolarPosition(*setting.date_and_position(key, "albedo"))
    now = sun.at(jnp.asarray(time))
    reflected = albedo.value(jnp.rad2deg(jnp.arccos(sun.cosine_of_zenith(now))), now.day)
    downward = light.on(time) if isinstance(light, Series) else light
    return Series(time, (1.0 - np.asarray(reflected)) * downward)
