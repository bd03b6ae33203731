"""Surface fluxes from the weather and the modelled surface temperature, and the effects of rain.

Source: Gosnell et al. (1995), J. Geophys. Res. 100, 18437-18442, for the heat flux of rain; Caldwell and
Elliott (1971), J. Phys. Oceanogr. 1, 145-148, for its momentum; GOTM.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._types import (
    FieldValue,
    Scalar,
    ScalarLike,
    SeriesOrScalar,
    array_field,
    as_float_array,
    is_traced,
    parameter,
)
from ..column.forcing import AbstractForcing, IceSurface, SurfaceFluxes, WaterSurface
from ..column.time_series import StepsOfRun, TimeSeries
from ..declarations import check_kinds, meanings, module_of, setting
from ..numerics.elementary import at_most, reciprocal, safe_sqrt, vector_norm
from ..physics.teos10 import surface_temperature
from ..quantities import Quantity, declares, quantity_of
from .air import (
    AIR_HEAT_CAPACITY,
    GAS_CONSTANT,
    KELVIN,
    VAPOUR_RATIO,
    AbstractBulkFormula,
    HumidityMeasure,
    MoistAir,
    WaterSkin,
    air_density,
    specific_humidity,
    vapour_pressure,
)
from .coare import Fairall
from .daylight import DiurnalCycle, MeanLight, days_of, diurnal_cycle, time_between_records
from .radiation import AbstractAlbedo, AbstractLongwave, ClearSky, ConstantAlbedo, SolarPosition

Values = SeriesOrScalar


def weather_variable(
    long_name: str,
    unit: str,
    possible: tuple[float, float],
    *,
    standard_name: str | None = None,
    positive: str | None = None,
    suspect: tuple[str, float, float] | None = None,
    usual: float | None = None,
    optional: bool = False,
) -> FieldValue:
    """Declare a variable of the weather, from which files, configurations, maps and offsets follow.

    Its name is that of the field, its meaning is in the docstring of the class.

    Args:
        long_name: name in figures.
        unit: as written in the UDUNITS package.
        possible: lowest and highest possible value.
        standard_name: standard name of CF.
        positive: direction in which it counts positive.
        suspect: a unit that is easily confused, and the range of values that suggests it.
        usual: default of configurations and maps.
        optional: whether it may be `None`.
    """
    quantity = Quantity("", long_name, unit, "outside", standard_name, possible, positive, suspect)
    metadata = {"quantity": quantity, "usual": usual}
    if optional:
        return eqx.field(default=None, converter=as_float_array, metadata=metadata)
    return eqx.field(converter=as_float_array, metadata=metadata)


_KELVIN = "K", 183.0, 340.0
"""Unit that is easily confused with degC, and the range of values that suggests it."""


@declares("outside")
class Weather(eqx.Module):
    """Weather at one position: at one time, or over time with time as the first axis.

    Args:
        wind_u: eastward wind at 10 m [m s-1].
        wind_v: northward wind at 10 m [m s-1].
        air_temperature: air temperature at 2 m [degC].
        humidity: humidity at 2 m, in the unit of its measure.
        air_pressure: air pressure at the surface [Pa].
        cloud_cover: cloud cover, 0 to 1.
        precipitation: rain [m s-1].
        shortwave: shortwave radiation at the surface [W m-2].
        longwave: longwave radiation, net into the water or downward [W m-2].
    """

    wind_u: Values = weather_variable(
        "eastward wind", "m s-1", (-100.0, 100.0), standard_name="eastward_wind", positive="eastward"
    )
    wind_v: Values = weather_variable(
        "northward wind", "m s-1", (-100.0, 100.0), standard_name="northward_wind", positive="northward"
    )
    air_temperature: Values = weather_variable(
        "air temperature", "degC", (-90.0, 60.0), standard_name="air_temperature", suspect=_KELVIN
    )
    humidity: Values = array_field(0, converter=as_float_array)  # a quantity for each measure
    air_pressure: Values = weather_variable(
        "air pressure",
        "Pa",
        (5e4, 1.2e5),
        standard_name="air_pressure",
        suspect=("hPa", 500.0, 1200.0),
        usual=101325.0,
    )
    cloud_cover: Values | None = weather_variable(
        "cover of the sky by clouds",
        "1",
        (0.0, 1.0),
        standard_name="cloud_area_fraction",
        suspect=("%", 10.01, 100.0),
        optional=True,
    )
    precipitation: Values | None = weather_variable(
        "precipitation",
        "m s-1",
        (-1e-4, 1e-3),
        standard_name="lwe_precipitation_rate",
        positive="into the water",
        suspect=("mm h-1 or mm day-1", 1e-3, 1e3),
        optional=True,
    )
    shortwave: Values | None = weather_variable(
        "shortwave radiation of the sky",
        "W m-2",
        (-50.0, 1800.0),
        positive="into the water",
        optional=True,
    )
    longwave: Values | None = weather_variable(
        "longwave radiation of the sky", "W m-2", (-600.0, 700.0), positive="into the water", optional=True
    )


WEATHER = tuple(dataclasses.fields(Weather))
"""Fields of the weather, with their declaration in the metadata."""


def _offsets() -> Any:  # base class with a parameter for each variable of the weather
    fields, about = {}, {}
    for field in WEATHER:
        quantity = field.metadata.get("quantity")
        unit = f"as the {field.name}" if quantity is None else quantity.unit_of_differences
        meaning = meanings(Weather).get(field.name, field.name).partition(" [")[0].removesuffix(".")
        fields[field.name] = Scalar, parameter(0.0, unit=unit)
        about[field.name] = f"added to the {meaning} [{unit}]."
    return module_of(fields, about)


class WeatherOffsets(_offsets()):
    """Offsets added to each series of the weather, for calibrations and sensitivities; 0 by default."""

    def add_to(self, weather: Weather) -> Weather:
        """Add the offsets to the weather."""
        known = {name: values for name, values in vars(weather).items() if values is not None}
        return Weather(**{name: values + getattr(self, name) for name, values in known.items()})


HUMIDITY_QUANTITIES: dict[HumidityMeasure, str] = {
    "relative": "relative_humidity",
    "wet_bulb": "wet_bulb",
    "dew_point": "dew_point",
    "specific": "specific_humidity",
}
"""Name of each measure of humidity in the table of quantities, and in files."""


def check_weather(weather: TimeSeries[Weather], humidity_measure: HumidityMeasure) -> None:
    """Raise `ValueError` for a value impossible in air, or a relative humidity given as a fraction."""
    for name in (field.name for field in WEATHER):
        quantity = quantity_of(HUMIDITY_QUANTITIES[humidity_measure] if name == "humidity" else name)
        lowest, highest = quantity.possible
        values = getattr(weather.values, name)
        if not isinstance(values, (jax.Array, np.ndarray)) or is_traced((values, weather.time)):
            continue
        values = np.asarray(values)
        bad = np.argwhere((values < lowest) | (values > highest))
        if len(bad):
            where = tuple(int(i) for i in bad[0])
            time = float(np.asarray(weather.time)[where[0]])
            raise ValueError(
                f"{weather.name}: expected {name} from {lowest:g} to {highest:g} [{quantity.unit}], got "
                f"{values[where]:g} at time {time:g} s (record {where[0]}); check its unit."
            )
    humidity = weather.values.humidity
    if humidity_measure != "relative" or is_traced(humidity) or not isinstance(humidity, jax.Array):
        return
    if np.max(np.asarray(humidity)) <= 1.5:
        raise ValueError(
            f"{weather.name}: expected relative humidity in %, got a largest value of "
            f"{np.max(np.asarray(humidity)):g}; multiply a fraction by 100."
        )


FRESHWATER_DENSITY = 1000.0  # [kg m-3]
RAIN_SPEED_RATIO = 0.85  # horizontal speed of rain over that of the wind at 10 m [1]
_RAIN_HEAT_CAPACITY = 3985.0  # [J kg-1 K-1]


def rain_heat(rain: Scalar, air: MoistAir, skin: WaterSkin, vaporisation_heat: Scalar) -> Scalar:
    """Heat flux into the water [W m-2] by rain [kg m-2 s-1] that falls at the wet-bulb temperature."""
    kelvin, t = air.temperature + KELVIN, air.temperature
    vapour_diffusivity = 2.11e-5 * jnp.exp(1.94 * jnp.log(kelvin / KELVIN))
    conductivity = 0.02411 * (1.0 + t * (3.309e-3 - 1.44e-6 * t))
    heat_diffusivity = conductivity * reciprocal(air.density * AIR_HEAT_CAPACITY)
    slope = air.specific_humidity * vaporisation_heat * reciprocal(GAS_CONSTANT * kelvin * kelvin)
    latent_transport = slope * vaporisation_heat * vapour_diffusivity
    factor = 1.0 + VAPOUR_RATIO * latent_transport * reciprocal(AIR_HEAT_CAPACITY * heat_diffusivity)
    moisture_excess = skin.specific_humidity - air.specific_humidity
    excess = skin.temperature - t + moisture_excess * vaporisation_heat * (1.0 / AIR_HEAT_CAPACITY)
    return -rain * _RAIN_HEAT_CAPACITY * excess * reciprocal(factor)


class BulkForcing(AbstractForcing):
    """Fluxes computed from weather and sea surface temperature, so that warmer water loses more heat.

    Args:
        weather: series of the state of the air.
        offsets: added to the series.
        bulk: formula of the turbulent fluxes.
        longwave: formula for the longwave radiation; `None` if the series is net radiation.
        shortwave: clear-sky formula for the shortwave radiation; `None` if the series provides it.
        albedo: reflected fraction of the shortwave radiation; by default the series is net.
        sun: position and time, for formulae that need the solar elevation.
        diurnal_cycle: spreads daily means of shortwave radiation over the day; see `with_mean_light`.
        wind_factor: factor of the wind [1]; below 1 in the shelter of a shore.
        heat_factor: factor of `heat_flux`: sensible, latent and longwave heat and that of rain [1].
        shortwave_factor: factor of the shortwave radiation [1].
        humidity_measure: kind of humidity in the series.
        conservative_temperature: whether the column has conservative temperature, which is converted to the
            in-situ surface temperature for the fluxes.
        relative_wind: whether fluxes follow the wind relative to the current.
        implicit_stress: whether the relative wind uses the current at the end of a step, which keeps long
            steps stable, or at its start, as in GOTM.
        rain_heat, rain_stress: whether rain carries heat and momentum.
        unresolved_wind: root of the difference between the squares of mean wind speed and mean wind vector
            [m s-1]; a run sets it where the records are finer than its step.
        evaporation: whether evaporation changes salinity and the level of a lake.

    Raises:
        ValueError: a missing series that a formula needs, a value impossible in air, or an unknown measure.
    """

    weather: TimeSeries[Weather] = array_field(0)
    bulk: AbstractBulkFormula = eqx.field(default_factory=Fairall)
    offsets: WeatherOffsets = eqx.field(default_factory=WeatherOffsets)
    longwave: AbstractLongwave | None = None
    shortwave: ClearSky | None = None
    albedo: AbstractAlbedo = eqx.field(default_factory=lambda: ConstantAlbedo(0.0))
    sun: SolarPosition | None = None
    diurnal_cycle: DiurnalCycle | None = None
    unresolved_wind: TimeSeries[SeriesOrScalar] | None = array_field(0, default=None)
    wind_factor: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    heat_factor: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    shortwave_factor: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    humidity_measure: HumidityMeasure = setting("relative")
    conservative_temperature: bool = setting(True)
    relative_wind: bool = setting(True)
    implicit_stress: bool = setting(True)
    rain_heat: bool = setting(False)
    rain_stress: bool = setting(False)
    evaporation: bool = setting(True)

    def __check_init__(self):
        check_kinds(self)
        if self.humidity_measure not in HUMIDITY_QUANTITIES:
            expected = f"humidity_measure as one of {', '.join(HUMIDITY_QUANTITIES)}"
            raise ValueError(f"{self.weather.name}: expected {expected}, got {self.humidity_measure!r}.")
        series, clear_sky = self.weather.values, self.shortwave
        cloudy = self.longwave is not None and self.longwave.needs_cloud
        astronomical = clear_sky is not None or self.albedo.needs_sun or self.diurnal_cycle is not None
        rain = self.rain_heat or self.rain_stress
        for missing, name, because in (
            (series.longwave is None and not cloudy, "weather.longwave", "no formula gives it"),
            (series.shortwave is None and clear_sky is None, "weather.shortwave", "no formula gives it"),
            (series.precipitation is None and rain, "weather.precipitation", "rain brings heat or momentum"),
            (self.sun is None and astronomical, "sun", "the light or the albedo depends on it"),
            (self.sun is None and cloudy, "sun", "the longwave radiation depends on its latitude"),
        ):
            if missing:
                raise ValueError(f"{self.weather.name}: expected {name}, got none; {because}.")
        check_weather(self.weather, self.humidity_measure)

    def check_covers(self, start: float, end: float) -> None:
        self.weather.check_covers(start, end)

    def air_temperature(self, time: ScalarLike) -> Scalar | None:
        return self.offsets.add_to(self.weather.at(time)).air_temperature

    def air_pressure(self, time: ScalarLike) -> Scalar | None:
        return self.offsets.add_to(self.weather.at(time)).air_pressure

    def wind_speed(self, time: ScalarLike, water: WaterSurface | None = None) -> Scalar | None:
        return self.air(self.offsets.add_to(self.weather.at(time)), water, self._unresolved(time)).wind_speed

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        if water is None:
            raise ValueError("BulkForcing.at: expected the surface of the water, got none; pass `water`.")
        weather = self.offsets.add_to(self.weather.at(time))
        temperature = water.temperature
        if self.conservative_temperature:
            temperature = surface_temperature(water.temperature, water.salinity)
        if water.ice is not None:
            temperature = jnp.where(water.ice.covers, water.ice.temperature, temperature)
            current = {name: jnp.where(water.ice.covers, 0.0, getattr(water, name)) for name in ("u", "v")}
            water = water._replace(**current)
        air = self.air(weather, water, self._unresolved(time))
        # Without the barrier XLA recomputes these scalars, and their derivatives, wherever they are used.
        air, skin = lax.optimization_barrier((air, WaterSkin.at(temperature, air.pressure)))
        exchange = self.bulk.exchange(air, skin)
        transfer, heat = exchange.momentum_transfer, exchange.sensible_heat + exchange.latent_heat
        fresh_water = None
        if weather.precipitation is not None:
            rain = fresh_water = FRESHWATER_DENSITY * weather.precipitation
            if self.rain_stress:
                transfer = transfer + RAIN_SPEED_RATIO * rain
            if self.rain_heat:
                heat = heat + rain_heat(rain, air, skin, exchange.vaporisation_heat)
        if self.evaporation:
            fresh_water = exchange.water if fresh_water is None else fresh_water + exchange.water
        longwave = self._longwave(temperature, air, weather)
        heat = heat + longwave
        return SurfaceFluxes(
            stress_u=transfer * air.wind_u,
            stress_v=transfer * air.wind_v,
            surface_drag=transfer if self.relative_wind and self.implicit_stress else None,
            heat_flux=self.heat_factor * heat,
            shortwave_flux=self._shortwave(time, weather, water.ice),
            freshwater_flux=fresh_water,
            latent_heat_flux=exchange.latent_heat,
            sensible_heat_flux=exchange.sensible_heat,
            longwave_flux=longwave,
        )

    def over_steps(self, steps: StepsOfRun) -> "BulkForcing":
        means = self.weather.step_means(steps)
        if means is None:
            return self
        weather, wind = self.weather.averaged(means), self.weather.values
        mean_speed = means(vector_norm(wind.wind_u, wind.wind_v))
        mean = weather.values
        variance = mean_speed**2 - mean.wind_u**2 - mean.wind_v**2
        is_mean = means.is_mean.reshape(-1, *(1,) * (mean_speed.ndim - 1))
        variance = jnp.where(is_mean & (variance > 1e-12 * mean_speed**2), variance, 0.0)
        unresolved = TimeSeries(weather.time, safe_sqrt(variance), weather.name)
        parts = lambda forcing: (forcing.weather, forcing.unresolved_wind)  # noqa: E731
        return eqx.tree_at(parts, self, (weather, unresolved), is_leaf=lambda part: part is None)

    def _unresolved(self, time: ScalarLike) -> Scalar | None:
        return None if self.unresolved_wind is None else self.unresolved_wind.at(time)

    def air(self, weather: Weather, water: WaterSurface | None, unresolved: Scalar | None = None) -> MoistAir:
        """Input of a bulk formula at one time, with the wind relative to the moving water."""
        u, v = self.wind_factor * weather.wind_u, self.wind_factor * weather.wind_v
        if self.relative_wind and water is not None:
            u, v = u - water.u, v - water.v
        speed = vector_norm(u, v)
        if unresolved is not None:
            speed = vector_norm(speed, self.wind_factor * unresolved)
        pressure, temperature = weather.air_pressure, weather.air_temperature
        humidity, measure = weather.humidity, self.humidity_measure
        vapour = vapour_pressure(humidity, measure, temperature, pressure)
        if measure != "specific":
            humidity = specific_humidity(vapour, pressure)
        return MoistAir(
            wind_u=u,
            wind_v=v,
            wind_speed=speed,
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

    def _shortwave(self, time: ScalarLike, weather: Weather, ice: IceSurface | None) -> Scalar:
        """Shortwave radiation that enters the water or ice [W m-2]."""
        zenith, day, downward = 0.0, 0.0, weather.shortwave
        formulae = self.shortwave, self.diurnal_cycle, self.albedo if self.albedo.needs_sun else None
        if self.sun is not None and any(part is not None for part in formulae):
            sun_time = self.sun.at(time)
            day, cosine = sun_time.day, self.sun.cosine_of_zenith(sun_time)
            # The arc cosine has infinite slope where the sun is in the zenith.
            zenith = jnp.rad2deg(jnp.arccos(at_most(cosine, 1.0 - 1e-7)))
            if self.shortwave is not None:
                cloud = 0.0 if weather.cloud_cover is None else weather.cloud_cover
                downward = self.shortwave.downward(cosine, self.sun.noon_altitude(sun_time), cloud)
            elif self.diurnal_cycle is not None:
                downward = self.diurnal_cycle.downward(time, cosine, self.offsets.shortwave)
        assert downward is not None
        albedo = self.albedo.value(zenith, day)
        if ice is not None:
            albedo = jnp.where(ice.covers, ice.albedo, albedo)
        return self.shortwave_factor * downward * (1.0 - albedo)


def with_mean_light(
    forcing: BulkForcing, treatment: MeanLight, *, dt: float, duration: float
) -> tuple[BulkForcing, list[str]]:
    """Add the albedo and the diurnal cycle that suit the records of shortwave radiation; return notes, too.

    Args:
        forcing: unchanged if a formula gives the shortwave radiation, or without `sun`.
        treatment: requested treatment of means.
        dt: time step of the run [s]; over the steps of a day, the cycle has the mean of the records.
        duration: duration of the run [s].
    """
    shortwave, sun, albedo = forcing.weather.values.shortwave, forcing.sun, forcing.albedo
    if shortwave is None or sun is None or forcing.shortwave is not None:
        return forcing, []
    time, values = np.asarray(forcing.weather.time, dtype=float), np.asarray(shortwave, dtype=float)
    interval, cycle = time_between_records(time, values), forcing.diurnal_cycle
    if treatment.spreads_means(interval):
        cycle = diurnal_cycle(days_of(sun, 0.0, duration), time, values, sun, dt)
    notes = treatment.notes(albedo, interval)
    albedo = treatment.albedo(albedo, sun.latitude, interval)
    return dataclasses.replace(forcing, albedo=albedo, diurnal_cycle=cycle), notes
