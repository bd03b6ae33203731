"""Sections of a configuration for the grid, profiles, sea water, lake and observations of a GOTM case."""

import dataclasses
import math

import numpy as np

from ..._types import JSON
from ...config.closures import flatten
from ...declarations import check_settings, setting
from ...io import read_hypsography
from ...io.dated_text import read_columns, read_lines
from ...io.errors import reading
from .keys import STREAM, WORDS
from .settings import Content, KeyedValue, Settings

_SHORE = 0.1
"""Height to which the shore of a lake is extrapolated above its hypsograph, relative to the depth [1]."""


def depth_of(settings: Settings) -> KeyedValue:
    """Depth of the column [m]; as in GOTM that of the hypsograph, if there is one."""
    depth = settings.keyed("location.depth")
    if not settings["location.hypsograph"]:
        return depth
    z, _ = read_hypsography(settings.file("location.hypsograph").value, depth.value)
    if abs(-z[0] - depth.value) > 1e-9 * depth.value:
        settings.note("location.depth", f"as in GOTM the depth is that of the hypsograph, {-z[0]:g} m")
    return KeyedValue(float(-z[0]), "location.hypsograph")


def hypsography(settings: Settings) -> dict[str, Content] | None:
    """The section `hypsography`; `None` without a hypsograph."""
    if not settings["location.hypsograph"]:
        return None
    section = {"path": settings.file("location.hypsograph")}
    if settings["mimic_3d.zeta.method"] == "constant" and settings["mimic_3d.zeta.constant_value"] == 0.0:
        return section
    z, _ = read_hypsography(section["path"].value, settings["location.depth"])
    top = KeyedValue(max(float(z[-1]), 0.0) - _SHORE * float(z[0]), "location.hypsograph")
    settings.note("location.hypsograph", f"as in GOTM the shore is extrapolated, here up to {top.value:g} m")
    return section | {"top": top}


def level(settings: Settings) -> dict[str, Content] | None:
    """The section `level` of the interior; `None` unless a lake level follows the water budget."""
    follows = settings["mimic_3d.zeta.method"] == "water_balance"
    if not settings["location.hypsograph"]:
        if follows:
            why = "only a lake has a level that follows its water budget; name a location.hypsograph"
            settings.refuse("mimic_3d.zeta.method", why)
        return None
    if (settings["water_balance_method"] == "free_surface") != follows:
        why = "free_surface and mimic_3d.zeta.method: water_balance need each other in GOTM; set both or none"
        settings.refuse("water_balance_method", why)
        return None
    return {"initial": settings.keyed("mimic_3d.zeta.constant_value")} if follows else None


def streams(settings: Settings) -> dict[str, Content] | None:
    """The section `streams` of the interior; in GOTM only lakes have them."""
    named = settings.free.get("streams")
    method = settings["water_balance_method"]  # counts as used also without streams
    if not named:
        return None
    if not settings["location.hypsograph"]:
        settings.notes.append(("streams", "as in GOTM there are no streams without a location.hypsograph"))
        return None
    if not isinstance(named, dict) or not all(isinstance(keys, dict) for keys in named.values()):
        raise settings.error("streams", f"expected names of streams with their keys, got {named!r:.100}")
    if method in ("none", "all_layers"):
        text = "excess water from streams, rain and evaporation leaves at the surface"
        settings.note("water_balance_method", text)
    return {str(name): _stream(settings, f"streams.{name}", keys) for name, keys in named.items()}


def _stream(settings: Settings, path: str, keys: dict[str, JSON]) -> dict[str, Content]:
    values = settings.values_of(path, flatten(keys), STREAM)

    def read(group: str) -> Content:
        stream_keys = {key.removeprefix(f"{group}."): value for key, value in values.items()}
        return settings.input_of(f"{path}.{group}", stream_keys)

    section = {"place": KeyedValue(values["method"], f"{path}.method"), "discharge": read("flow")}
    if values["method"] == "range":
        for ours, theirs in (("lower", "zl"), ("upper", "zu")):
            section[ours] = KeyedValue(values[theirs], f"{path}.{theirs}")
    for ours, theirs in (("temperature", "temp"), ("salinity", "salt")):
        # In GOTM a negative constant stands for the temperature of the lake, and for fresh water.
        if values[f"{theirs}.method"] != "constant" or values[f"{theirs}.constant_value"] >= 0.0:
            section[ours] = read(theirs)
    return section


NO_RELAXATION = 1e15
"""Time scale [s] from which on GOTM's relaxation is off: its default."""

_TEOS10_HEAT_CAPACITY = 3991.86795711963
"""Heat capacity of TEOS-10 [J kg-1 K-1], which GOTM uses unless the equation of state is custom."""


def grid_section(settings: Settings, depth: float) -> dict[str, Content]:
    """The section `grid` of a column of a depth [m], from zooming or from a file of layer thicknesses."""
    method, n_cells = settings["grid.method"], settings["grid.nlev"]
    if method == "analytical":
        cells = {"n_cells": settings.keyed("grid.nlev")}
        zooms = settings.renamed("grid", {"ddu": "surface_zoom", "ddl": "bottom_zoom"})
        if any(zoom.value for zoom in zooms.values()):
            return {"kind": "stretched", **cells, **zooms}
        return {"kind": "uniform", **cells}
    file = settings.file("grid.file").value
    with reading(file, "a file of layer thicknesses"):
        thickness = _thicknesses(settings, file, n_cells, depth if method == "file_h" else 1.0)
    # The last face is exactly the surface.
    depths = np.concatenate([[0.0], np.cumsum(thickness)])
    return {"kind": "faces", "z_face": KeyedValue((-depth * depths[::-1] / depths[-1]).tolist(), "grid.file")}


def _thicknesses(settings: Settings, name: str, n_cells: int, total: float) -> np.ndarray:
    """Read thicknesses from the surface down, which must add up to `total`."""
    file = read_lines(name, settings.where("grid.file"))
    values = read_columns(file, np.arange(len(file.texts)), (0,), skip=0, names="layer thickness")[:, 0]
    if int(values[0]) != n_cells or values.size < n_cells + 1:
        raise file.error(
            0,
            f"the number of layers, {n_cells} as grid.nlev says, and as many lines",
            f"{values[0]:g} and {values.size - 1} lines",
            "correct the file or grid.nlev",
        )
    thickness = values[1 : n_cells + 1]
    bad = np.flatnonzero(~(thickness > 0.0))
    if bad.size:
        raise file.error(
            int(bad[0]) + 1, "a positive thickness", f"{thickness[bad[0]]:g}", "correct the line"
        )
    if abs(thickness.sum() - total) > 1e-5 * max(total, 1.0):
        expected = f"thicknesses that add up to {total:g}"
        raise file.error(0, expected, f"{thickness.sum():g}", "correct the file or the depth")
    return thickness


def hydrography(settings: Settings, dt: float) -> tuple[dict[str, Content], dict[str, Content], list[str]]:
    """Profiles of the case with their kinds, the section `relaxation`, and names of prescribed variables."""
    case: dict[str, Content] = {name: _profile(settings, name) for name in ("temperature", "salinity")}
    case |= {name: settings.input(f"velocities.{name}") for name in ("u", "v")}
    temperature_kind = settings.keyed("temperature.type")
    case["temperature_kind"] = temperature_kind._replace(value=temperature_kind.value.replace("-", "_"))
    case["salinity_kind"] = settings.keyed("salinity.type")
    relaxation = {name: _relaxation(settings, name, dt) for name in ("temperature", "salinity")}
    for name, kind in (("temperature", "conservative"), ("salinity", "absolute")):
        section = relaxation[name]
        if section is not None and settings[f"{name}.type"] != kind:
            section["from_zero"] = True
            settings.note(
                f"{name}.relax.tau",
                "as in GOTM the first step relaxes to zero, because the profile is converted only after it",
            )
    relaxation["velocity"] = _velocity_relaxation(settings)
    held = [name for name in ("temperature", "salinity") if settings[f"{name}.method"] == "off"]
    return case, {name: section for name, section in relaxation.items() if section is not None}, held


def _profile(settings: Settings, name: str) -> Content:
    """Initial profile of temperature or salinity."""
    method, letter = settings[f"{name}.method"], name[0]
    layers, profile = f"{name}.two_layer", settings.input(name)
    if method == "two_layer":
        names = {"z_s": "upper_depth", f"{letter}_s": "upper", "z_b": "lower_depth", f"{letter}_b": "lower"}
        layer = settings.renamed(layers, names)
        top, bottom = layer["upper_depth"].value, layer["lower_depth"]
        if bottom.value < top:
            raise settings.error(bottom.key, f"expected at least z_s = {top:g} m, got {bottom.value:g}")
        return {"two_layer": layer}
    if method == "off":
        return settings.peek(f"{name}.constant_value")
    if method != "buoyancy":
        return profile
    other = "salinity" if name == "temperature" else "temperature"
    if settings[f"{other}.method"] != "constant":
        raise settings.error(
            f"{name}.method",
            f"expected a constant {other} where {name} follows from the buoyancy frequency, got "
            f"{other}.method: {settings[f'{other}.method']}",
        )
    n_squared = {"buoyancy_frequency_squared": settings.keyed(f"{name}.NN"), "everywhere": True}
    return {"surface": settings.keyed(f"{layers}.{letter}_s"), **n_squared}


def _relaxation(settings: Settings, name: str, dt: float) -> dict[str, Content] | None:
    """Relaxation of temperature or salinity; `None` if all time scales are infinite."""
    keys = ("tau", "tau_s", "tau_b", "h_s", "h_b")
    read = settings.renamed(f"{name}.relax", dict(zip(keys, keys, strict=True)))
    if settings[f"{name}.method"] == "off":
        return None
    ends = (("surface", "s"), ("bottom", "b"))
    layers = {layer: end for layer, end in ends if read[f"h_{end}"].value > 0.0}
    scales = [read["tau"], *(read[f"tau_{end}"] for end in layers.values())]
    if all(scale.value >= NO_RELAXATION for scale in scales):
        return None
    # GOTM converts the relaxation profile at the end of a step, for the next one.
    section = {"profile": "case", "lag": dt, "time_scale": read["tau"]}
    for layer, end in layers.items():
        section |= {f"{layer}_height": read[f"h_{end}"], f"{layer}_time_scale": read[f"tau_{end}"]}
    return section


def _velocity_relaxation(settings: Settings) -> dict[str, Content] | None:
    tau, ramp = settings.keyed("velocities.relax.tau"), settings.keyed("velocities.relax.ramp")
    if tau.value >= NO_RELAXATION:
        return None
    section = {"u": "case", "v": "case", "time_scale": tau}
    if ramp.value >= NO_RELAXATION:
        return section
    settings.note(
        ramp.key,
        "as in GOTM the relaxation fades over the ramp and has its full strength after it",
    )
    return section | {"fading_period": ramp}


def equation_of_state(settings: Settings) -> dict[str, Content]:
    """The section `equation_of_state`, with GOTM's reference density and gravity."""
    method, group = settings["equation_of_state.method"], "equation_of_state.linear"
    section: dict[str, Content] = {
        "gravity": settings.keyed("physical_constants.gravity"),
        "reference_density": settings.keyed("equation_of_state.rho0"),
        "heat_capacity": _TEOS10_HEAT_CAPACITY,
    }
    if method == "linear_custom":
        numbers = settings.renamed(group, WORDS["linear_equation_of_state"])
        return {"name": "linear"} | section | numbers
    if method == "full_teos-10":
        return {"name": "specific_volume"} | section
    tangent = settings.renamed(group, {"T0": "temperature", "S0": "salinity", "p0": "pressure"})
    return {"name": "linear", "tangent_to_teos10": tangent | {"form": "specific_volume"}} | section


def absorption(settings: Settings) -> dict[str, Content]:
    """The section `absorption`; radiation that reaches the bottom leaves the column, as in GOTM."""
    method = settings["light_extinction.method"]
    section: dict[str, Content] = {"name": "two_band", "bottom_absorbs": False}
    if method != "custom":
        return section | dict(zip(WORDS["optics"].values(), WORDS["jerlov"][method], strict=True))
    numbers = settings.inputs("light_extinction", WORDS["optics"])
    if any(isinstance(number, dict) for number in numbers.values()):
        section["name"] = "two_band_series"
    return section | numbers


def coriolis_parameter(settings: Settings) -> float:
    """Coriolis parameter [s-1] from the latitude and GOTM's rotation period."""
    angle = math.radians(settings["location.latitude"])
    return 4.0 * math.pi / settings["physical_constants.rotation_period"] * math.sin(angle)


@dataclasses.dataclass(frozen=True)
class ObservedInputs:
    """Inputs of a case that are observations.

    Args:
        surface_temperature: the series `surface.sst`, as `sea_surface_temperature`.
        surface_interval: use only records at multiples of this time since the start [s]; `None` for all.
        profiles: use the profiles of `temperature`.
        z: heights to interpolate profiles to [m]; `None` for the cell centers.
    """

    surface_temperature: bool = setting(False)
    surface_interval: float | None = setting(None, above=0.0)
    profiles: bool = setting(False)
    z: tuple[float, ...] | None = setting(None)

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]
        if not (self.surface_temperature or self.profiles):
            raise ValueError("expected `surface_temperature` or `profiles`, got neither; set one to true.")


def observed_section(settings: Settings, observed: ObservedInputs) -> dict[str, Content]:
    """The section `observations`, for the selected inputs."""
    section: dict[str, Content] = {"format": "inputs", "surface_interval": observed.surface_interval}
    section |= {"profiles": observed.profiles, "z": None if observed.z is None else list(observed.z)}
    needed = {"surface.sst": observed.surface_temperature, "temperature": observed.profiles}
    for path, is_needed in needed.items():
        if is_needed and settings[f"{path}.method"] != "file":
            method = settings[f"{path}.method"]
            raise settings.error(
                f"{path}.method", f"expected a file of observations to compare with, got {method}"
            )
    if observed.surface_temperature:
        section["surface_temperature"] = settings.input("surface.sst")
    return section
