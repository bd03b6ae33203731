"""Processes within the column, as the section `interior` of a configuration of this package."""

from collections.abc import Mapping

import numpy as np

from ...io.dated_text import read_columns, read_lines
from ...io.errors import reading
from .settings import Content, KeyedValue, Settings, is_zero
from .water import level, streams

_MOST_KNOTS = 1_000_000
"""Largest number of knots of a tidal series; with fewer steps it is exact at the end of every step."""

_DRIFT = "waves.stokes_drift"


def interior_section(settings: Settings, times: Mapping[str, Content]) -> dict[str, Content]:
    """The section `interior`, except relaxation and prescribed profiles."""
    parts = {
        "pressure_gradient": _external_pressure(settings, times),
        "buoyancy_gradient": _gradients(settings),
        "plume": _plume(settings),
        "bottom_friction": _bottom_friction(settings),
        "seagrass": _seagrass(settings),
        "streams": streams(settings),
        "lid_friction": _lid_friction(settings),
        "stokes_drift": _stokes_drift(settings),
        "level": level(settings),
        "wave_height": _wave_height(settings),
        "surface_elevation": _elevation(settings, times),
    }
    if parts["stokes_drift"] is not None and settings[f"{_DRIFT}.dusdz.method"] == "off":
        parts["stokes_shear"] = False
    return {name: part for name, part in parts.items() if part is not None}


def _constant_tide_or_file(
    settings: Settings, path: str, group: str, times: Mapping[str, Content]
) -> Content:
    """Translate an input that may also be two tidal harmonics around a constant; `group` has their periods.

    As in GOTM, the time of the tide counts from midnight of the first day.
    """
    content = settings.input(path)
    if settings[f"{path}.method"] != "tidal":
        return content
    harmonics = []
    for n in (1, 2):
        period = settings.keyed(f"{group}.period_{n}")
        phase = settings[f"{path}.tidal.phase_{n}"] - times["since_midnight"]
        amplitude = settings.keyed(f"{path}.tidal.amp_{n}")
        if period.value == 0.0:
            raise settings.error(period.key, "expected a period [s] that is not 0, got 0; correct it")
        if period.value < 0.0:
            settings.note(period.key, "as in GOTM, the tide of a negative period falls first")
            amplitude, period = (keyed._replace(value=-keyed.value) for keyed in (amplitude, period))
        harmonics.append({"amplitude": amplitude, "period": period, "phase": phase})
    n_times = min(round(times["length"] / times["dt"]), _MOST_KNOTS) + 1
    constant = KeyedValue(settings.peek(f"{path}.constant_value"), f"{path}.constant_value")
    return {"harmonics": harmonics, "constant": constant, "n_times": n_times}


def _external_pressure(settings: Settings, times: Mapping[str, Content]) -> dict[str, Content] | None:
    group = "mimic_3d.ext_pressure"
    kind = settings[f"{group}.type"]
    slopes = {
        ours: _constant_tide_or_file(settings, f"{group}.{theirs}", group, times)
        for theirs, ours in (("dpdx", "x"), ("dpdy", "y"))
    }
    if kind == "elevation" and all(is_zero(slope) for slope in slopes.values()):
        return None
    if kind == "velocity":
        return {"kind": "velocity_at_height", **slopes, "height": settings.input(f"{group}.h")}
    return {"kind": "surface_slope" if kind == "elevation" else "mean_velocity", **slopes}


_INTERNAL = "mimic_3d.int_pressure"


def _plume(settings: Settings) -> dict[str, Content] | None:
    at_surface = settings[f"{_INTERNAL}.plume.type"] == "surface"
    if settings[f"{_INTERNAL}.type"] != "plume":
        return None
    slopes = settings.renamed(f"{_INTERNAL}.plume", {"x_slope": "slope_x", "y_slope": "slope_y"})
    return {**slopes, "at_surface": at_surface, "from_rest": True}


def _gradients(settings: Settings) -> dict[str, Content] | None:
    kind = settings[f"{_INTERNAL}.type"]
    advected = {name: settings[f"{_INTERNAL}.{name}_adv"] for name in ("t", "s")}
    if kind != "gradients" and not any(advected.values()):
        return None
    names = {"dtdx": "temperature_x", "dtdy": "temperature_y", "dsdx": "salinity_x", "dsdy": "salinity_y"}
    switches = {"advect_temperature": advected["t"], "advect_salinity": advected["s"]}
    switches |= {"accelerates": kind == "gradients", "from_rest": True}
    return {**settings.inputs(f"{_INTERNAL}.gradients", names), **switches}


def _bottom_friction(settings: Settings) -> dict[str, Content] | None:
    if settings["bottom.max_it_z0b"] != 1:
        settings.note(
            "bottom.max_it_z0b", "the roughness is computed once, from the previous friction velocity"
        )
    if not settings["bottom.calc_bottom_stress"]:
        return None
    return {
        "physical_roughness": settings.keyed("bottom.h0b"),
        "von_karman": _von_karman(settings),
        "viscosity": settings.keyed("physical_constants.avmolu"),
        "from_rest": True,
    }


def _seagrass(settings: Settings) -> dict[str, Content] | None:
    """Canopy from a file: the number of levels, then height, excursion and friction on one line each."""
    if settings["seagrass.method"] == "off":
        return None
    name = settings.file("seagrass.file").value
    with reading(name, "a file of sea grass"):
        file = read_lines(name, settings.where("seagrass.file"))
        rows = np.arange(1, len(file.texts))
        (n_levels,) = read_columns(file, np.arange(1), (0,), skip=0, names="number of levels")[0]
        if not 2 <= n_levels <= rows.size:
            raise file.error(
                0,
                "the number of levels, at least 2, and as many lines",
                f"{n_levels:g} and {rows.size} lines",
                "correct the file",
            )
        names = "height, excursion and friction of a level"
        levels = read_columns(file, rows[: int(n_levels)], (0, 1, 2), skip=0, names=names)
    profiles = dict(zip(("height", "excursion", "friction"), levels.T.tolist(), strict=True))
    return profiles | {"efficiency": settings.keyed("seagrass.alpha")}


def _von_karman(settings: Settings) -> Content:
    """Kappa for friction at walls, which KPP lacks; `None` with other closures, which have one."""
    is_kpp = settings["turbulence.turb_method"] == "cvmix"
    return settings.keyed("turbulence.turb_param.kappa") if is_kpp else None


def _lid_friction(settings: Settings) -> dict[str, Content] | None:
    """Friction of the lid that GOTM places above a surface plume, with any ice model or none."""
    if settings[f"{_INTERNAL}.type"] != "plume" or settings[f"{_INTERNAL}.plume.type"] != "surface":
        return None
    roughness = settings.keyed("surface.roughness.z0s_min")
    return {"roughness_length": roughness, "von_karman": _von_karman(settings)}


def _elevation(settings: Settings, times: Mapping[str, Content]) -> Content:
    """Height of the surface above its level at rest; GOTM moves it only if the ice models are off."""
    path = "mimic_3d.zeta"
    ice = settings["surface.ice.model"]
    if ice != "no_ice" or settings[f"{path}.method"] == "water_balance":
        return None
    elevation = _constant_tide_or_file(settings, path, f"{path}.tidal", times)
    if is_zero(elevation):
        return None
    if settings["grid.method"] == "file_h":
        settings.note(path + ".method", "as in GOTM, layers of prescribed thickness do not stretch")
        return None
    return elevation


def _stokes_drift(settings: Settings) -> dict[str, Content] | None:
    """Stokes drift with the profile type of `us`, which `vs` must share."""
    shape = settings[f"{_DRIFT}.us.method"]
    shears = {name: settings[f"{_DRIFT}.{name}.method"] for name in ("dusdz", "dvsdz")}
    if shape != "file":
        for name in ("us", "vs", *shears):  # mark their keys as used or without effect
            settings.input(f"{_DRIFT}.{name}")
    if shape == "off" and shears["dusdz"] != "file":
        settings.without_effect(_DRIFT, f"{_DRIFT}.us.method is off")
        return None
    used = {"exponential": ("us0", "vs0", "exponential"), "file": ("us0", "vs0")}.get(shape, ("empirical",))
    for name in ("us0", "vs0", "exponential", "empirical"):
        if name not in used:
            settings.without_effect(f"{_DRIFT}.{name}", f"{_DRIFT}.us.method is {shape}")
    if shears["dusdz"] == "off" and settings["turbulence.scnd.method"] == "quasi_eq_h15":
        settings.refuse(
            f"{_DRIFT}.dusdz.method", "a shear is needed with scnd.method quasi_eq_h15; choose us"
        )
    if shears["dusdz"] == "file":
        settings.refuse(
            f"{_DRIFT}.dusdz.method", "a shear from file is not supported; use us, the shear of the drift"
        )
    if shape == "off":
        return None
    if shape == "empirical":
        return _wind_drift(settings)
    if shape == "file":
        surface = settings.inputs(_DRIFT, {"us0": "surface_u", "vs0": "surface_v"})
        return {"kind": "profiles", **settings.inputs(_DRIFT, {"us": "u", "vs": "v"}), **surface}
    surface = settings.inputs(_DRIFT, {"us0": "u", "vs0": "v"})
    return {"kind": "exponential", "decay_depth": settings.input(f"{_DRIFT}.exponential.ds"), **surface}


def _wave_height(settings: Settings) -> Content:
    """Wave height for Langmuir turbulence in KPP; a constant is part of the closure."""
    if settings["turbulence.turb_method"] != "cvmix" or settings["waves.Hs.method"] == "constant":
        return None
    if settings["cvmix.surface_layer.langmuir_method"] == "none":
        return None
    return settings.input("waves.Hs")


def _wind_drift(settings: Settings) -> dict[str, Content]:
    """Drift from the wind in `empirical`; if that is off, from the wind of the air-sea fluxes."""
    section = {"kind": "wind_sea", "gravity": settings.keyed("physical_constants.gravity")}
    paths = {axis: f"{_DRIFT}.empirical.{axis}wnd" for axis in ("u", "v")}
    has_wind = settings[f"{paths['u']}.method"] != "off"
    if not has_wind:
        settings.without_effect(f"{_DRIFT}.empirical", f"{paths['u']}.method is off")
        paths = {axis: f"surface.{axis}10" for axis in paths}
    if has_wind or settings["surface.fluxes.method"] != "off":
        return section | {axis: settings.input(path) for axis, path in paths.items()}
    settings.note(
        f"{_DRIFT}.us.method",
        "GOTM reads no wind with surface.fluxes.method off; there is no drift here either",
    )
    return section | {"u": 0.0, "v": 0.0}
