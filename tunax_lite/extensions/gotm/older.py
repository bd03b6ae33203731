"""Translate configurations of GOTM 5 and 6 to version 7, by the tables in `older.yaml`."""

from collections.abc import Iterator
from pathlib import Path

from ..._types import JSON
from ...io.yaml_file import ConfigError, Document
from .keys import VERSION, table
from .namelists import read_canopy

_STEPS: dict[int, dict[str, JSON]] = {int(version): step for version, step in table("older.yaml").items()}
_OLDEST = min(_STEPS)

Values = dict[tuple[str, ...], tuple[JSON, str]]  # by key path, with the line


def up_to_date(document: Document) -> tuple[Document, str | None]:
    """The configuration in version 7, and a note if it was of an earlier version.

    Raises:
        ConfigError: an unknown version, or two earlier keys that map to the same one.
    """
    given = document.data.get("version")
    line = document.origins.get(("version",), "line ?")
    version = _OLDEST if given is None else given
    if version not in (*_STEPS, VERSION) or isinstance(version, bool):
        raise ConfigError(
            f"{document.source}: {line}: version: expected {', '.join(map(str, _STEPS))} or {VERSION}, got "
            f"{version}; bring the file up to date with GOTM's scripts/python/update_setup.py."
        )
    if version == VERSION:
        return document, None
    canopy = read_canopy(Path(document.source).parent)
    values: Values = dict(_leaves(canopy.data, (), canopy.origins))
    values |= _leaves(document.data, (), document.origins)
    for step in range(version, VERSION):
        values = _next(values, _STEPS[step], document.source)
    _complete(values)
    data: dict[str, JSON] = {}
    for path, (value, _) in values.items():
        *groups, name = path
        section = data
        for group in groups:
            section = section.setdefault(group, {})
        section[name] = value
    data["version"] = VERSION
    origins = dict(document.origins) | {path: line for path, (_, line) in values.items()}
    said = "no version, which is 5" if given is None else f"version {version}"
    return Document(data, origins, document.source), f"{said}: read as version {VERSION} has it"


def _leaves(
    data: dict[str, JSON], above: tuple[str, ...], origins: dict[tuple[str, ...], str]
) -> Iterator[tuple[tuple[str, ...], tuple[JSON, str]]]:
    for name, value in data.items():
        path = (*above, name)
        if isinstance(value, dict) and value and path[0] != "output":
            yield from _leaves(value, path, origins)
        else:
            yield path, (value, origins.get(path, "line ?"))


def _next(values: Values, step: dict[str, JSON], source: str) -> Values:
    """Translate settings from one version to the next."""
    names = {tuple(old.lower().split(".")): new for old, new in step["names"].items()}
    changed, dropped = step.get("values", {}), [tuple(name.split(".")) for name in step["dropped"]]
    found: Values = {}
    for path, (value, line) in values.items():
        lower = tuple(str(part).lower() for part in path)
        cut = next((n for n in range(len(path), 0, -1) if lower[:n] in names), 0)
        renamed = names[lower[:cut]] if cut else ".".join(map(str, path))
        for new in [renamed] if isinstance(renamed, str) else renamed:
            key = (*new.split("."), *path[cut:]) if cut else path
            if any(key[: len(old)] == old for old in dropped):
                continue
            word = changed.get(".".join(map(str, key)), {})
            value_now = word.get(str(value), value)
            if key in found and found[key][0] != value_now:
                raise ConfigError(
                    f"{source}: {line}: {'.'.join(path)}: expected one value of {'.'.join(key)}, got "
                    f"{found[key][0]!r} in {found[key][1]} and {value_now!r}; remove one of them."
                )
            found[key] = value_now, line
    for name, value in step.get("defaults", {}).items():
        found.setdefault(tuple(name.split(".")), (value, "default of the version"))
    return found


def _complete(values: Values) -> None:
    """Merge settings that earlier versions spread over two keys, and add those they lacked."""
    for name in ("temperature", "salinity"):
        kind, line = values.pop((name, "analytical", "method"), (1, "line ?"))
        method, at = values.get((name, "method"), (0, line))
        if method in (1, "analytical"):
            values[name, "method"] = {2: "two_layer", 3: "buoyancy"}.get(kind, "constant"), at
        elif line != "line ?":
            values.pop((name, "constant_value"), None)  # of a profile that is absent
    # Albedo used to apply to all shortwave radiation except a constant one.
    method, at = values.get(("surface", "swr", "method"), ("constant", ""))
    if method not in ("constant", 1):
        values.setdefault(("surface", "swr", "type"), ("downward", at))
    group = ("mimic_3d", "int_pressure")
    on = [
        line
        for path, (value, line) in values.items()
        if path[:3] == (*group, "gradients") and path[-1] == "method" and value not in ("off", 0)
    ]
    if on:
        values.setdefault((*group, "type"), ("gradients", on[0]))
    linear = ("equation_of_state", "linear")
    density = values.get(("equation_of_state", "rho0"), (1027.0, ""))[0]
    for old, new, sign in (("dtr0", "alpha", -1.0), ("dsr0", "beta", 1.0)):
        if (*linear, old) in values:
            value, line = values.pop((*linear, old))
            values[*linear, new] = (sign * value / density if isinstance(value, float | int) else value), line
