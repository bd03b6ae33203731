"""Fluxes through the surface from the weather and the model's own surface temperature."""

import equinox as eqx
import jax.numpy as jnp

from .._types import Scalar, ScalarLike, array_field, parameter
from ..declarations import setting
from ..forcing import AbstractForcing, SurfaceFluxes, WaterSurface
from ..numerics.limiters import at_most, vector_norm
from ..physics.surface_temperature import surface_temperature
from ..time_series import TimeSeries
from .albedo import AbstractAlbedo, ConstantAlbedo
from .base import KELVIN, AbstractBulkFormula, MoistAir, WaterSkin
from .fairall import Fairall
from .humidity import HumidityMeasure, air_density, specific_humidity, vapour_pressure
from .longwave import AbstractLongwave
from .rain import FRESHWATER_DENSITY, RAIN_SPEED_RATIO, rain_heat
from .solar import ClearSky, SolarPosition
from .weather import Weather, WeatherOffsets, check_weather


class BulkForcing(AbstractForcing):
    """Fluxes that follow from the weather and from the water, so that a warmer surface loses more heat.

    Args:
        weather: series of the state of the air.
        offsets: added to the series.
        bulk: formula of the turbulent fluxes.
        longwave: formula of the longwave radiation; `None` where the series is the net radiation.
        shortwave: sky that the shortwave radiation comes through; `None` where the series is that.
        albedo: reflected part of the shortwave radiation; the default takes the series as net.
        sun: place and time, for what needs to know where the sun stands.
        heat_factor: factor of sensible, latent and longwave heat together [1].
        shortwave_factor: factor of the shortwave radiation [1].
        humidity_measure: what the series of humidity holds.
        conservative_temperature: whether the column has conservative temperature, from which that of the
            surface is computed, or the temperature that the air meets.
        relative_wind: whether the wind counts relative to the current.
        implicit_stress: whether such a wind counts relative to the current at the end of a step, which keeps
            long steps stable, or at its start, as in GOTM.
        rain_heat, rain_stress: whether rain brings heat and momentum.
        evaporation: whether the latent heat takes water along.

    Raises:
        ValueError: a series that a formula needs and that is absent, or a value that no air has.
    """

    weather: TimeSeries[Weather] = array_field(0)
    bulk: AbstractBulkFormula = eqx.field(default_factory=Fairall)
    offsets: WeatherOffsets = eqx.field(default_factory=WeatherOffsets)
    longwave: AbstractLongwave | None = None
    shortwave: ClearSky | None = None
    albedo: AbstractAlbedo = eqx.field(default_factory=lambda: ConstantAlbedo(0.0))
    sun: SolarPosition | None = None
    heat_factor: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    shortwave_factor: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    humidity_measure: HumidityMeasure = setting("relative")
    conservative_temperature: bool = setting(True)
    relative_wind: bool = setting(True)
    implicit_stress: bool = setting(True)
    rain_heat: bool = setting(False)
    rain_stress: bool = setting(False)
    evaporation: bool = setting(False)

    def __check_init__(self):
        series, sky = self.weather.values, self.shortwave
        cloudy = self.longwave is not None and self.longwave.needs_cloud
        astronomical = sky is not None or self.albedo.needs_sun
        rain = self.rain_heat or self.rain_stress
        for missing, name, because in (
            (series.longwave is None and not cloudy, "weather.longwave", "no formula gives it"),
            (series.shortwave is None and sky is None, "weather.shortwave", "no formula gives it"),
            (series.precipitation is None and rain, "weather.precipitation", "rain brings heat or momentum"),
            (self.sun is None and astronomical, "sun", "the light or the albedo depends on it"),
            (self.sun is None and cloudy, "sun", "the longwave radiation depends on its latitude"),
        ):
            if missing:
                raise ValueError(f"{self.weather.name}: expected {name}, got none; {because}.")
        check_weather(self.weather, self.humidity_measure)

    def check_covers(self, start: float, end: float) -> None:
        self.weather.check_covers(start, end)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        if water is None:
            raise ValueError("BulkForcing.at: expected the surface of the water, got none; pass `water`.")
        weather = self.offsets.add_to(self.weather.at(time))
        temperature = water.temperature
        if self.conservative_temperature:
            temperature = surface_temperature(water.temperature, water.salinity)
        air = self.air(weather, water)
        skin = WaterSkin.at(temperature, air.pressure)
        exchange = self.bulk.exchange(air, skin)
        transfer, heat = exchange.momentum_transfer, exchange.sensible_heat + exchange.latent_heat
        rain = None
        if weather.precipitation is not None:
            rain = FRESHWATER_DENSITY * weather.precipitation
            if self.rain_stress:
                transfer = transfer + RAIN_SPEED_RATIO * rain
            if self.rain_heat:
                heat = heat + rain_heat(rain, air, skin, exchange.vaporisation_heat)
        if self.evaporation:
            rain = exchange.water if rain is None else rain + exchange.water
        longwave = self._longwave(temperature, air, weather)
        heat = heat + longwave
        return SurfaceFluxes(
            stress_u=transfer * air.wind_u,
            stress_v=transfer * air.wind_v,
            surface_drag=transfer if self.relative_wind and self.implicit_stress else None,
            heat_flux=self.heat_factor * heat,
            shortwave_flux=self._shortwave(time, weather),
            freshwater_flux=rain,
            latent_heat_flux=exchange.latent_heat,
            sensible_heat_flux=exchange.sensible_heat,
            longwave_flux=longwave,
        )

    def air(self, weather: Weather, water: WaterSurface) -> MoistAir:
        """What a bulk formula sees of the weather at one time, over moving water."""
        u, v = weather.wind_u, weather.wind_v
        if self.relative_wind:
            u, v = u - water.u, v - water.v
        pressure, temperature = weather.air_pressure, weather.air_temperature
        if self.humidity_measure == "specific":
            humidity = weather.humidity
            vapour = vapour_pressure(humidity, "specific", temperature, pressure)
        else:
            vapour = vapour_pressure(weather.humidity, self.humidity_measure, temperature, pressure)
            humidity = specific_humidity(vapour, pressure)
        return MoistAir(
            wind_u=u,
            wind_v=v,
            wind_speed=vector_norm(u, v),
            temperature=temperature,
            vapour_pressure=vapour,
            specific_humidity=humidity,
            pressure=pressure,
            density=air_density(temperature + KELVIN, humidity, pressure),
        )

    def _longwave(self, temperature: Scalar, air: MoistAir, weather: Weather) -> Scalar:
        """Net longwave radiation into the water [W m-2]."""
        if self.longwave is None:
            assert weather.longwave is not None
            return weather.longwave
        cloud = 0.0 if weather.cloud_cover is None else weather.cloud_cover
        latitude = 0.0 if self.sun is None else self.sun.latitude
        series = 0.0 if weather.longwave is None else weather.longwave
        return self.longwave.net(temperature, air, cloud, latitude, series)

    def _shortwave(self, time: ScalarLike, weather: Weather) -> Scalar:
        """Shortwave radiation that enters the water [W m-2]."""
        zenith, day, downward = 0.0, 0.0, weather.shortwave
        if self.sun is not None and (self.shortwave is not None or self.albedo.needs_sun):
            now = self.sun.at(time)
            day, cosine = now.day, self.sun.cosine_of_zenith(now)
            # The slope of the arc is infinite where the sun stands in the zenith.
            zenith = jnp.rad2deg(jnp.arccos(at_most(cosine, 1.0 - 1e-7)))
            if self.shortwave is not None:
                cloud = 0.0 if weather.cloud_cover is None else weather.cloud_cover
                downward = self.shortwave.downward(cosine, self.sun.noon_altitude(now), cloud)
        assert downward is not None
        return self.shortwave_factor * downward * (1.0 - self.albedo.value(zenith, day))
