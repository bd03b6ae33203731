"""GOTM's lake branch: a hypsograph, and named streams."""

from collections.abc import Iterator

from ..._types import JSON
from ...io import read_hypsography
from ...io.yaml_file import ConfigError
from .keys import STREAM
from .settings import Content, Said, Settings, checked

_SHORE = 0.1
"""How far the shore of a lake goes on above its hypsograph, over the depth."""


def depth_of(settings: Settings) -> Said:
    """Depth of the column [m]; that of the hypsograph if there is one, as in GOTM."""
    given = settings.said("location.depth")
    if not settings["location.hypsograph"]:
        return given
    z, _ = read_hypsography(settings.file("location.hypsograph").value, given.value)
    note = ("location.depth", f"as in GOTM the depth is that of the hypsograph, {-z[0]:g} m")
    if abs(-z[0] - given.value) > 1e-9 * given.value and note not in settings.notes:
        settings.note(*note)
    return Said(float(-z[0]), "location.hypsograph")


def hypsography(settings: Settings) -> dict[str, Content] | None:
    """The section `hypsography`."""
    if not settings["location.hypsograph"]:
        return None
    section = {"path": settings.file("location.hypsograph")}
    if settings["mimic_3d.zeta.method"] == "constant" and settings["mimic_3d.zeta.constant_value"] == 0.0:
        return section
    z, _ = read_hypsography(section["path"].value, settings["location.depth"])
    top = Said(max(float(z[-1]), 0.0) - _SHORE * float(z[0]), "location.hypsograph")
    settings.note(
        "location.hypsograph", f"as in GOTM its shore is extrapolated, here to {top.value:g} m and no further"
    )
    return section | {"top": top}


def level(settings: Settings) -> dict[str, Content] | None:
    """The section `level` of the interior, for a lake level that follows the water budget."""
    follows = settings["mimic_3d.zeta.method"] == "water_balance"
    if not settings["location.hypsograph"]:
        if follows:
            why = "only a lake has a level that follows its water; name a location.hypsograph"
            settings.refuse("mimic_3d.zeta.method", why)
        return None
    if (settings["water_balance_method"] == "free_surface") != follows:
        why = "free_surface and mimic_3d.zeta.method: water_balance need each other in GOTM; set both or none"
        settings.refuse("water_balance_method", why)
        return None
    return {"initial": settings.said("mimic_3d.zeta.constant_value")} if follows else None


def streams(settings: Settings) -> dict[str, Content] | None:
    """The section `streams` of the interior; in GOTM only lakes have them."""
    named, origins = settings.free.get("streams", ({}, {}))
    method = settings["water_balance_method"]
    if not named:
        return None
    if not settings["location.hypsograph"]:
        settings.notes.append(("streams", "as in GOTM there are none without a location.hypsograph"))
        return None
    if not isinstance(named, dict) or not all(isinstance(keys, dict) for keys in named.values()):
        raise settings.error("streams", f"expected names of streams with their keys, got {named!r:.100}")
    if method in ("none", "all_layers"):
        text = "excess water from streams, rain and evaporation leaves at the surface"
        settings.note("water_balance_method", text)
    return {str(name): _stream(settings, str(name), keys, origins) for name, keys in named.items()}


def _stream(settings: Settings, name: str, keys: dict[str, JSON], origins: dict) -> dict[str, Content]:
    given = dict(_flat(keys))
    values: dict[str, JSON] = {path: key.default for path, key in STREAM.items()}
    for path, value in given.items():
        line = origins.get(("streams", name, *path.split(".")), "line ?")
        where = f"{settings.source}: {line}: streams.{name}.{path}"
        if path not in STREAM:
            raise ConfigError(f"{where}: unknown key; expected some of {', '.join(STREAM)}.")
        try:
            values[path] = checked(STREAM[path], value)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error

    def read(group: str) -> Content:
        at = f"streams.{name}.{group}"
        if values[f"{group}.method"] == "constant":
            return Said(values[f"{group}.constant_value"], f"{at}.constant_value")
        if not values[f"{group}.file"]:
            raise settings.error(f"{at}.file", "expected the name of a file, got none; name it")
        path = str(settings.folder.absolute() / values[f"{group}.file"])
        options = {
            ours: Said(values[f"{group}.{theirs}"], f"{at}.{theirs}")
            for ours, theirs in (("column", "column"), ("factor", "scale_factor"), ("offset", "offset"))
        }
        return {"path": Said(path, f"{at}.file"), **options}

    section = {"place": Said(values["method"], f"streams.{name}.method"), "discharge": read("flow")}
    if values["method"] == "range":
        for ours, theirs in (("lower", "zl"), ("upper", "zu")):
            section[ours] = Said(values[theirs], f"streams.{name}.{theirs}")
    for ours, theirs in (("temperature", "temp"), ("salinity", "salt")):
        # In GOTM a negative constant means unknown: lake temperature, and fresh water.
        if values[f"{theirs}.method"] != "constant" or values[f"{theirs}.constant_value"] >= 0.0:
            section[ours] = read(theirs)
    return section


def _flat(keys: dict[str, JSON], prefix: str = "") -> Iterator[tuple[str, JSON]]:
    for name, value in keys.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
