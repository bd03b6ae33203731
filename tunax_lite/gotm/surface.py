"""What enters through the surface: prescribed, or computed by GOTM from the weather."""

import jax.numpy as jnp
import numpy as np

from ..air_sea import (
    AbstractAlbedo,
    AbstractBulkFormula,
    AbstractLongwave,
    BulkForcing,
    ClearSky,
    ConstantAlbedo,
    SolarPosition,
    Weather,
)
from ..declarations import names_of
from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..io.series import Series, on_common_times
from ..time_series import TimeSeries
from .profiles import Inputs
from .settings import Settings

_FLUXES = "surface.fluxes.method is off"


def read_prescribed_fluxes(
    inputs: Inputs, reference_density: float, *, has_temperature: bool, has_salinity: bool
) -> AbstractForcing:
    """Stress, heat, shortwave radiation and fresh water from constants and series.

    Args:
        inputs: of the case.
        reference_density: of fresh water too [kg m-3]: GOTM's salt flux is -S P, whatever the densities.
        has_temperature, has_salinity: a variable that GOTM does not solve for takes no flux.

    Raises:
        ConfigError, FileNotFoundError, FileFormatError: settings or files that cannot be used.
    """
    settings = inputs.settings
    for name in ("u10", "v10", "ssuv_method", "airp", "airt", "hum", "cloud", "calc_evaporation"):
        settings.without_effect(f"surface.{name}", _FLUXES)
    settings.without_effect("surface.precip.flux_impact", _FLUXES)
    settings.without_effect("surface.longwave_radiation", _FLUXES)
    given: dict[str, Series | float] = {
        "stress_u": inputs.scalar("surface.fluxes.tx"),
        "stress_v": inputs.scalar("surface.fluxes.ty"),
    }
    if has_temperature:
        given["heat_flux"] = inputs.scalar("surface.fluxes.heat")
        given["shortwave_flux"] = _net_shortwave(inputs)
    else:
        for name in ("fluxes.heat", "swr", "albedo"):
            settings.without_effect(f"surface.{name}", "temperature.method is off")
    if has_salinity:
        given["freshwater_flux"] = _scaled(inputs.scalar("surface.precip"), reference_density)
    else:
        settings.without_effect("surface.precip", "salinity.method is off")
    return _forcing({name: flux for name, flux in given.items() if not _is_zero(flux)}, inputs)


def _net_shortwave(inputs: Inputs) -> Series | float:
    """Shortwave radiation that enters the water [W m-2]."""
    settings = inputs.settings
    if settings["surface.swr.method"] == "calculate":
        settings.note(
            "surface.swr.method",
            "GOTM computes shortwave radiation only with fluxes.method kondo or fairall; it is zero here too",
        )
        settings.without_effect("surface.swr", _FLUXES)
        settings.without_effect("surface.albedo", "no shortwave radiation is computed")
        return 0.0
    shortwave = inputs.scalar("surface.swr")
    if settings["surface.swr.type"] == "net":
        settings.without_effect("surface.albedo", "surface.swr.type is net: GOTM then takes no albedo off")
        return shortwave
    if settings["surface.albedo.method"] != "constant":
        settings.refuse(
            "surface.albedo.method",
            "an albedo of the sun's height needs fluxes.method kondo or fairall; give a constant albedo, or "
            "net shortwave radiation",
        )
    return _scaled(shortwave, 1.0 - settings["surface.albedo.constant_value"])


def _scaled(flux: Series | float, factor: float) -> Series | float:
    return Series(flux.time, factor * flux.values) if isinstance(flux, Series) else factor * flux


def _is_zero(flux: Series | float) -> bool:
    return not np.any(flux.values if isinstance(flux, Series) else flux)


def _forcing(given: dict[str, Series | float], inputs: Inputs) -> AbstractForcing:
    if any(isinstance(flux, Series) for flux in given.values()):
        time, fluxes = on_common_times(given, inputs.period.length)
        return TimeSeriesForcing.from_values(
            jnp.asarray(time), **{name: jnp.asarray(flux) for name, flux in fluxes.items()}
        )
    return ConstantForcing(SurfaceFluxes(**given))


def ignore_what_only_observes(settings: Settings) -> None:
    """Keys that GOTM copies to its output, and that change nothing in the column."""
    for path in ("surface.sst", "surface.sss", "turbulence.epsprof", "o2"):
        settings.without_effect(path, "GOTM copies it to its output")
    for path in ("waves.Hs", "waves.Tz", "waves.phiw"):
        settings.without_effect(path, "only GOTM's sediments and KPP use it")
    settings.without_effect("title", "it names GOTM's output")
    settings.without_effect("location.name", "it is a label")
    settings.without_effect("version", "it names the format")


def check_ice(settings: Settings) -> None:
    """Without ice, or with the bound of freezing."""
    model = settings["surface.ice.model"]
    if model not in ("no_ice", "simple"):
        settings.refuse("surface.ice.model", f"the ice model {model} is not supported; use no_ice or simple")
    if settings["surface.ice.H"] > 0.0 and model != "no_ice":
        settings.refuse("surface.ice.H", "water that starts under ice is not supported; set it to 0")
    settings.without_effect("surface.ice", f"surface.ice.model is {model}")


_DRAG_OF_A_STORM = 0.05
"""Stress over speed of a wind of about 20 m s-1 [kg m-2 s-1]."""

_FRESHWATER_DENSITY = 1000.0
"""Of rain in the air-sea fluxes [kg m-3]."""


def read_bulk_fluxes(
    inputs: Inputs, start_time: str, reference_density: float, *, has_temperature: bool, has_salinity: bool
) -> BulkForcing:
    """Fluxes of Kondo or Fairall, shortwave radiation and longwave radiation.

    Args:
        inputs: of the case.
        start_time: of the run, ISO 8601.
        reference_density: of the column [kg m-3].
        has_temperature, has_salinity: whether GOTM solves for the variable.

    Raises:
        ConfigError, FileNotFoundError, FileFormatError: settings or files that cannot be used.
    """
    settings = inputs.settings
    _ignore_prescribed(settings)
    if not has_temperature:
        settings.refuse("temperature.method", "off together with bulk formulae is not supported")
    is_calculated = settings["surface.swr.method"] == "calculate"
    rain_acts = settings["surface.precip.flux_impact"]
    return BulkForcing(
        _weather(inputs, reference_density, rain_acts=rain_acts, has_salinity=has_salinity),
        bulk=names_of(AbstractBulkFormula)[settings["surface.fluxes.method"]].make(),
        longwave=_longwave(settings),
        shortwave=ClearSky() if is_calculated else None,
        albedo=_albedo(settings, is_calculated),
        sun=SolarPosition(start_time, settings["location.latitude"], settings["location.longitude"]),
        heat_factor=settings["surface.fluxes.heat.scale_factor"],
        shortwave_factor=settings["surface.swr.scale_factor"] if is_calculated else 1.0,
        humidity_measure=settings["surface.hum.type"],
        relative_wind=settings["surface.ssuv_method"] == "relative",
        implicit_stress=_step_is_long(inputs, reference_density),
        rain_heat=rain_acts,
        rain_stress=rain_acts,
        evaporation=_evaporation(settings, rain_acts, has_salinity),
    )


def _step_is_long(inputs: Inputs, reference_density: float) -> bool:
    """Whether a storm takes a large part of its speed relative to the uppermost cell away within a step."""
    thickness = inputs.z_face[-1] - inputs.z_face[-2]
    return bool(inputs.dt * _DRAG_OF_A_STORM > 0.5 * reference_density * thickness)


def _weather(
    inputs: Inputs, reference_density: float, *, rain_acts: bool, has_salinity: bool
) -> TimeSeries[Weather]:
    """Series of what the formulae need, on common times."""
    settings = inputs.settings
    given: dict[str, Series | float] = {
        "wind_u": inputs.scalar("surface.u10"),
        "wind_v": inputs.scalar("surface.v10"),
        "air_temperature": inputs.scalar("surface.airt"),
        "humidity": inputs.scalar("surface.hum", settings["surface.hum.type"]),
        "air_pressure": inputs.scalar("surface.airp"),
    }
    for name, group, formula in (
        ("longwave", "longwave_radiation", settings["surface.longwave_radiation.method"] != "file"),
        ("shortwave", "swr", settings["surface.swr.method"] == "calculate"),
    ):
        if not formula:
            given[name] = inputs.scalar(f"surface.{group}")
            continue
        settings.input(f"surface.{group}")
        settings.without_effect(f"surface.{group}.type", f"surface.{group} is computed")
        if "cloud_cover" not in given:
            given["cloud_cover"] = inputs.scalar("surface.cloud")
    settings.without_effect("surface.cloud", "no formula of radiation needs it")
    if has_salinity or rain_acts:
        given |= _rain(inputs, reference_density, rain_acts)
    settings.without_effect("surface.precip", "salinity.method is off")
    time, values = on_common_times(given, inputs.period.length)
    weather = Weather(**{name: jnp.asarray(value + np.zeros_like(time)) for name, value in values.items()})
    return TimeSeries(jnp.asarray(time), weather, "weather")


def _ignore_prescribed(settings: Settings) -> None:
    reason = f"surface.fluxes.method is {settings['surface.fluxes.method']}"
    for name in ("heat", "tx", "ty"):
        settings.without_effect(f"surface.fluxes.{name}", reason)


def _rain(inputs: Inputs, reference_density: float, rain_acts: bool) -> dict[str, Series | float]:
    """Precipitation [m s-1], of which the salt flux is GOTM's -S P."""
    rain = inputs.scalar("surface.precip")
    if isinstance(rain, float) and rain == 0.0 and not rain_acts:
        return {}
    if rain_acts:
        inputs.settings.note(
            "surface.precip.flux_impact",
            f"rain of {_FRESHWATER_DENSITY:g} kg m-3 dilutes water of {reference_density:g} kg m-3; GOTM "
            "takes one density",
        )
        return {"precipitation": rain}
    factor = reference_density / _FRESHWATER_DENSITY
    if isinstance(rain, Series):
        return {"precipitation": Series(rain.time, factor * rain.values)}
    return {"precipitation": factor * rain}


def _longwave(settings: Settings) -> AbstractLongwave | None:
    method = settings["surface.longwave_radiation.method"]
    kind = settings["surface.longwave_radiation.type"] if method == "file" else method
    return None if kind == "net" else names_of(AbstractLongwave)[kind].make()


def _albedo(settings: Settings, is_calculated: bool) -> AbstractAlbedo:
    if not is_calculated and settings["surface.swr.type"] == "net":
        settings.without_effect("surface.albedo", "surface.swr.type is net: GOTM then takes no albedo off")
        return ConstantAlbedo(0.0)
    method = settings["surface.albedo.method"]
    if method == "constant":
        return ConstantAlbedo(settings["surface.albedo.constant_value"])
    settings.without_effect("surface.albedo.constant_value", f"surface.albedo.method is {method}")
    return names_of(AbstractAlbedo)[method].make()


def _evaporation(settings: Settings, rain_acts: bool, has_salinity: bool) -> bool:
    wanted = settings["surface.calc_evaporation"]
    if wanted and not rain_acts:
        settings.note(
            "surface.calc_evaporation",
            "GOTM computes evaporation only together with precip.flux_impact; it is zero here too",
        )
    return wanted and rain_acts and has_salinity
