"""What enters through the surface, where GOTM's configuration prescribes the fluxes."""

import jax.numpy as jnp
import numpy as np

from ..forcing import AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..io.series import Series, on_common_times
from .inputs import Inputs
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
