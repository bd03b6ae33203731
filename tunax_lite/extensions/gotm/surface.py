"""Surface forcing and ice, as sections of a configuration of this package."""

from .keys import WORDS
from .settings import Content, KeyedValue, Settings, is_zero

_FRESHWATER_DENSITY = 1000.0
"""Density of rain in the air-sea fluxes [kg m-3]."""

_ZERO_CELSIUS = 273.15


def surface_sections(settings: Settings, held: list[str]) -> dict[str, Content]:
    """The section `fluxes`, or `weather` and `air_sea`; the variables of `held` have no flux."""
    if settings["surface.fluxes.method"] == "off":
        return {"fluxes": _prescribed(settings, held)}
    return _bulk(settings, held)


_DISPLACED_WATER_DENSITY = 1027.0
"""Density of the water that ice displaces [kg m-3]; GOTM computes the draft before it reads `rho0`."""
_ICE_DENSITY = 910.0
_MELTING_WATER = {"water_density": 1030.0, "water_heat_capacity": 4180.0}
"""Density [kg m-3] and heat capacity [J kg-1 K-1] of the water below melting ice in STIM."""


def draft(settings: Settings) -> float:
    """Depth below sea level [m] of the base of the initial ice, where the column begins.

    It is 0 in a lake, whose areas refer to the water level.
    """
    if settings["surface.ice.model"] == "no_ice" or settings["location.hypsograph"]:
        return 0.0
    return settings["surface.ice.H"] * _ICE_DENSITY / _DISPLACED_WATER_DENSITY


def ice_section(settings: Settings) -> Content:
    """The section `ice`; `None` if no ice can form or melt, or if the model was rejected."""
    model = settings["surface.ice.model"]
    if model == "no_ice" or settings["temperature.method"] == "off":
        return None
    thickness = settings.keyed("surface.ice.H")
    if model == "simple":
        if thickness.value > 0.0:
            why = "with the model simple GOTM treats this thickness as a permanent ice cover; set it to 0"
            settings.refuse("surface.ice.H", why)
        return "simple"
    if model == "basal_melt":
        if thickness.value == 0.0:
            settings.note("surface.ice.model", "as in GOTM, ice of zero thickness does not melt")
            return None
        return {"name": model, "initial_thickness": thickness, **_MELTING_WATER}
    if settings["surface.fluxes.method"] == "off":
        settings.refuse("surface.ice.model", f"{model} needs weather: fluxes.method kondo or fairall")
        return None
    if model == "mylake" and settings["surface.ice.ocean_ice_flux"] != 0.0:
        settings.refuse("surface.ice.ocean_ice_flux", "this heat is not taken from the water; set it to 0")
    settings.note("surface.ice.model", WORDS["ice"][model])
    switches = {"winton": {"snow_falls": False}, "mylake": {"exchanges_water": False}}.get(model, {})
    return {"name": model, "initial_thickness": thickness, **switches}


def _prescribed(settings: Settings, held: list[str]) -> dict[str, Content]:
    """Stress, heat, shortwave radiation and fresh water from constants and series."""
    fluxes = settings.inputs("surface.fluxes", {"tx": "stress_u", "ty": "stress_v"})
    if "temperature" not in held:
        fluxes["heat_flux"] = settings.input("surface.fluxes.heat")
        fluxes |= _prescribed_shortwave(settings)
    if "salinity" not in held:
        # GOTM's salt flux is -S P, whatever the densities.
        density = settings["equation_of_state.rho0"]
        fluxes["freshwater_flux"] = _scaled(density, settings.input("surface.precip"))
    return {name: flux for name, flux in fluxes.items() if not is_zero(flux)}


def _prescribed_shortwave(settings: Settings) -> dict[str, Content]:
    """Shortwave radiation [W m-2], and the albedo if it is downward."""
    if settings["surface.swr.method"] == "calculate":
        settings.note(
            "surface.swr.method",
            "GOTM computes shortwave radiation only with fluxes.method kondo or fairall; it is zero here too",
        )
        return {}
    shortwave = settings.input("surface.swr")
    if settings["surface.swr.type"] == "net" or is_zero(shortwave):
        return {"shortwave_flux": shortwave}
    return {"shortwave_flux": shortwave, "albedo": _albedo(settings)}


def _albedo(settings: Settings) -> Content:
    """Albedo of downward radiation: a number, or the name of a formula for the sun of every step."""
    if settings["surface.swr.method"] == "constant":
        settings.note(
            "surface.swr.method", "the albedo is applied once; GOTM applies it to a constant in every step"
        )
    method, key = settings["surface.albedo.method"], "surface.albedo.constant_value"
    if method == "constant":
        return settings.keyed(key)
    if method == "cogley":
        settings.refuse("surface.albedo.method", "cogley is not supported; use payne")
    return "payne"


def _scaled(factor: float, flux: Content) -> Content:
    """Multiply a number, or the factor and offset of a column, by a factor."""
    if isinstance(flux, dict):
        usual = {"factor": KeyedValue(1.0, flux["path"].key)}
        keys = {"factor", "offset"}
        return {key: _scaled(factor, each) if key in keys else each for key, each in (usual | flux).items()}
    return flux._replace(value=factor * flux.value) if isinstance(flux, KeyedValue) else factor * flux


def _bulk(settings: Settings, held: list[str]) -> dict[str, Content]:
    """Bulk formula (Kondo or Fairall), shortwave and longwave radiation."""
    is_calculated = settings["surface.swr.method"] == "calculate"
    method = settings["surface.longwave_radiation.method"]
    longwave = settings["surface.longwave_radiation.type"] if method == "file" else method
    longwave = "net" if method == "constant" else longwave
    if longwave in ("berliand_berliand", "josey1", "josey2"):
        expected = "use clark, hastenrath_lamb or bignami"
        settings.refuse("surface.longwave_radiation.method", f"{longwave} is not supported; {expected}")
        longwave = "clark"
    has_salinity, rain_acts = "salinity" not in held, settings["surface.precip.flux_impact"]
    weather = _weather(settings, rain_acts=rain_acts, has_salinity=has_salinity)
    air_sea: dict[str, Content] = {
        "bulk": settings.keyed("surface.fluxes.method"),
        "longwave": longwave,
        **_shortwave(settings, is_calculated),
        "heat_factor": settings.keyed("surface.fluxes.heat.scale_factor"),
        "relative_wind": settings["surface.ssuv_method"] == "relative",
        "implicit_stress": "long_steps",
        "rain_heat": rain_acts,
        "rain_stress": rain_acts,
        "evaporation": _evaporation(settings, rain_acts, has_salinity),
    }
    if is_calculated:
        air_sea["shortwave_factor"] = settings.keyed("surface.swr.scale_factor")
    return {"weather": weather, "air_sea": air_sea}


def _weather(settings: Settings, *, rain_acts: bool, has_salinity: bool) -> dict[str, Content]:
    """The section `weather`, with the inputs that the chosen formulae need."""
    measure = settings["surface.hum.type"]
    names = {"u10": "wind_u", "v10": "wind_v", "airt": "air_temperature", "hum": "humidity"}
    weather = settings.inputs("surface", names | {"airp": "air_pressure"})
    temperatures = ("air_temperature", *(["humidity"] if measure in ("wet_bulb", "dew_point") else []))
    for name in temperatures:  # GOTM takes values above 100 for kelvin
        if isinstance(weather[name], KeyedValue) and weather[name].value > 100.0:
            weather[name] = weather[name]._replace(value=weather[name].value - _ZERO_CELSIUS)
    path = "surface.longwave_radiation"
    for name, group, is_formula in (
        ("longwave", "longwave_radiation", settings[f"{path}.method"] not in ("file", "constant")),
        ("shortwave", "swr", settings["surface.swr.method"] == "calculate"),
    ):
        radiation = settings.input(f"surface.{group}")
        if is_formula:
            weather["cloud_cover"] = settings.input("surface.cloud")
        else:
            weather[name] = radiation
    if settings[f"{path}.method"] == "constant":
        weather["longwave"] = 0.0
        settings.note(f"{path}.method", "GOTM does not read the constant: there is no longwave radiation")
    if has_salinity or rain_acts:
        weather |= _rain(settings, rain_acts)
    return {"format": "series", "humidity_measure": measure, **weather}


def _rain(settings: Settings, rain_acts: bool) -> dict[str, Content]:
    """Precipitation [m s-1], for which GOTM's salt flux is -S P."""
    rain, density = settings.input("surface.precip"), settings["equation_of_state.rho0"]
    if is_zero(rain) and not rain_acts:
        return {}
    if not rain_acts:
        return {"precipitation": _scaled(density / _FRESHWATER_DENSITY, rain)}
    settings.note(
        "surface.precip.flux_impact",
        f"rain of {_FRESHWATER_DENSITY:g} kg m-3 dilutes water of {density:g} kg m-3; GOTM takes one density",
    )
    return {"precipitation": rain}


def _shortwave(settings: Settings, is_calculated: bool) -> dict[str, Content]:
    if not is_calculated and settings["surface.swr.type"] == "net":
        return {"shortwave": "net"}
    light = "clear_sky" if is_calculated else "downward"
    # GOTM takes the albedo for the sun at the step, also for means between records.
    return {"shortwave": light, "albedo": _albedo(settings), "albedo_of": "instant"}


def _evaporation(settings: Settings, rain_acts: bool, has_salinity: bool) -> bool:
    wanted = settings["surface.calc_evaporation"]
    if wanted and not rain_acts:
        settings.note(
            "surface.calc_evaporation",
            "GOTM computes evaporation only together with precip.flux_impact; it is zero here too",
        )
    return wanted and rain_acts and has_salinity
