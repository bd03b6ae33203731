"""Older configurations of GOTM: namelists (`namelists.yaml`), and versions 5 and 6 (`older.yaml`).

A library for namelists would save seventy lines, but add a dependency and lose the line numbers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._types import JSON
from ...io.errors import read_text
from ...io.yaml_file import ConfigError, Document, read_document
from .keys import VERSION, table

_TABLE = table("namelists.yaml")
_TOKEN = re.compile(
    r"""\s*(?:(?P<comment>!.*)|(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<mark>[=,])|(?P<word>[^\s,=!'"]+))"""
)
_TRUE, _FALSE = re.compile(r"\.?t(rue)?\.?", re.IGNORECASE), re.compile(r"\.?f(alse)?\.?", re.IGNORECASE)


class _Value(NamedTuple):
    value: JSON
    line: str


def is_namelist(path: Path) -> bool:
    """Return whether a file is a namelist, by its name."""
    return path.suffix.lower() == ".nml"


def read_namelists(path: Path) -> Document:
    """Translate the namelists of a folder, located by one of them, to a configuration.

    Raises:
        ConfigError: a namelist that is missing or cannot be read, an unknown variable, or a value without a
            counterpart; names file and line.
    """
    folder = Path(path).parent
    if not (folder / _TABLE["required"]).is_file():
        problem = f"expected {_TABLE['required']} in this folder, got none; put all namelists into one folder"
        raise ConfigError(f"{path}: {problem}.")
    if (folder / "streams.nml").is_file():
        raise ConfigError(f"{folder / 'streams.nml'}: expected streams in a gotm.yaml; write them there.")
    variables: dict[str, _Value] = {}
    for name in _TABLE["files"]:
        if (folder / name).is_file():
            variables |= _read(folder / name)
    data: dict[str, JSON] = {"version": 6}
    document = Document(data, {("version",): "line ?"}, str(folder / _TABLE["required"]))
    unused = dict(variables)
    _names(variables, unused, document)
    _inputs(variables, unused, document)
    _output(variables, folder, document)
    for variable, (value, line) in unused.items():
        group, _, name = variable.partition(".")
        if variable in (only := _TABLE["only"]):
            if value != only[variable]:
                raise ConfigError(
                    f"{folder}: {line}: {variable}: expected {only[variable]!r}, got {value!r}."
                )
        elif name not in _TABLE["dropped"].get(group, ()):
            raise ConfigError(f"{folder}: {line}: {variable}: unknown variable; remove it.")
    return document


def read_canopy(folder: Path) -> Document:
    """Read `seagrass.nml`, which GOTM 5 and 6 read besides their YAML file; empty if absent."""
    path = folder / "seagrass.nml"
    document = Document({}, {}, str(path))
    if path.is_file():
        variables = _read(path)
        _names(variables, dict(variables), document)
    return document


def _names(variables: dict[str, _Value], unused: dict[str, _Value], document: Document) -> None:
    """Move variables that correspond to keys from `unused` to the document."""
    keys = {f"{group}.{name}": key for group, names in _TABLE["names"].items() for name, key in names.items()}
    for group, (prefix, *names) in _TABLE["same"].items():
        keys |= {f"{group}.{name.lower()}": f"{prefix}.{name}" for name in names}
    for variable, key in keys.items():
        if variable not in variables:
            continue
        value, line = unused.pop(variable)
        if key == "location.hypsograph" and not value:
            continue
        _put(document, key, _TABLE["values"].get(key, {}).get(_word(value), value), line)
    bulk = variables.get("airsea.calc_fluxes")
    if bulk is not None and not bulk.value:
        _put(document, "surface.fluxes.method", "off", bulk.line)


def _inputs(variables: dict[str, _Value], unused: dict[str, _Value], document: Document) -> None:
    """Move variables of inputs, such as a constant or a file, from `unused` to the document."""
    for key, (switch, words, constant, file, column, *scaling) in _TABLE["inputs"].items():
        if switch not in variables:
            continue
        number, line = variables[switch]
        used = [switch, constant, file, *(each for each in scaling if isinstance(each, str))]
        for variable in used:
            unused.pop(variable, None)
        method = _TABLE["methods"][words].get(_word(number))
        if method is None:
            allowed = ", ".join(_TABLE["methods"][words])
            raise ConfigError(
                f"{document.source}: {line}: {switch}: expected one of {allowed}, got {number!r}."
            )
        if method == "none":
            continue
        if words == "profile":
            kind = variables.get(switch.replace("prof_method", "analyt_method"))
            if method == "constant" and kind is not None:
                method = _TABLE["analytical"].get(_word(kind.value), method)
        _put(document, f"{key}.method", method, line)
        if method in ("constant", "tidal") and constant in variables:
            _put(document, f"{key}.constant_value", *variables[constant])
        if method == "file":
            _put(document, f"{key}.file", *variables.get(file, _Value("", line)))
            _put(document, f"{key}.column", column, line)
        for name, each in zip(("scale_factor", "offset"), scaling, strict=False):
            if not isinstance(each, str):
                _put(document, f"{key}.{name}", each, line)
            elif each in variables:
                _put(document, f"{key}.{name}", *variables[each])


def _output(variables: dict[str, _Value], folder: Path, document: Document) -> None:
    """Add the output files of `output.yaml`, or the file that the namelists describe."""
    if (folder / "output.yaml").is_file():
        document.data["output"] = read_document(folder / "output.yaml").data
        return
    name = variables.get("output.out_fn", _Value("output", "line ?")).value or "output"
    steps = variables.get("output.nsave", _Value(1, "line ?")).value
    file = {"time_unit": "dt", "time_step": steps, "variables": [{"source": "/*"}]}
    document.data["output"] = {str(name): file}


def _put(document: Document, key: str | tuple[str, ...], value: JSON, line: str) -> None:
    path = tuple(key.split(".")) if isinstance(key, str) else key
    section = document.data
    for group in path[:-1]:
        section = section.setdefault(group, {})
    section[path[-1]] = value
    document.origins[path] = line


def _word(value: JSON) -> str:
    return str(value).lower()


def _read(path: Path) -> dict[str, _Value]:
    """Read variables of a file by `namelist.name`, in lower case; each must have one value."""
    variables: dict[str, _Value] = {}
    group, name, at = None, None, 0

    def error(number: int, expected: str, got: str) -> ConfigError:
        return ConfigError(f"{path}: line {number}: expected {expected}, got {got!r}; correct the line.")

    for number, text in enumerate(read_text(path, "a readable namelist", "latin-1").splitlines(), 1):
        if group is None:  # text between namelists is ignored
            start = re.match(r"\s*[&$](\w+)(.*)", text)
            if start is None:
                continue
            group, text = start[1].lower(), start[2]
        column = 0
        while column < len(text.rstrip()):
            token = _TOKEN.match(text, column)
            if token is None:
                raise error(number, "a closing quotation mark", text.strip())
            column = token.end()
            word = token["word"]
            if word is not None and (word in ("/", "&end", "$end") or word.lower() in ("&end", "$end")):
                group, name = None, None
                break
            if token["comment"] is not None or token["mark"] is not None:
                continue
            if word is not None and re.match(r"\s*=", text[column:]):
                name, at = f"{group}.{word.lower()}", number
                continue
            if name is None:
                raise error(number, "a variable and =", text.strip())
            if name in variables and variables[name].line == f"{path.name} line {at}":
                raise error(number, f"one value of {name}", text.strip())
            value = token["text"][1:-1].strip() if word is None else _plain(word)
            variables[name] = _Value(value, f"{path.name} line {at}")
    if group is not None:
        raise error(at, f"a / at the end of &{group}", "none")
    return variables


def _plain(word: str) -> JSON:
    """A logical, a number, or the word itself."""
    if _TRUE.fullmatch(word) or _FALSE.fullmatch(word):
        return bool(_TRUE.fullmatch(word))
    for kind in (int, float):
        try:
            return kind(word.lower().replace("d", "e"))
        except ValueError:
            continue
    return word


_STEPS: dict[int, dict[str, JSON]] = {int(version): step for version, step in table("older.yaml").items()}
_OLDEST = min(_STEPS)

Values = dict[tuple[str, ...], tuple[JSON, str]]  # by key path, with the line


def up_to_date(document: Document) -> tuple[Document, str | None]:
    """Convert a configuration to version 7; return a note if it was of an earlier version.

    Raises:
        ConfigError: an unknown version, or different values of two earlier keys that became one.
    """
    written_version = document.data.get("version")
    line = document.origins.get(("version",), "line ?")
    version = _OLDEST if written_version is None else written_version
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
    translated = Document({}, dict(document.origins), document.source)
    for path, value_and_line in values.items():
        _put(translated, path, *value_and_line)
    translated.data["version"] = VERSION
    earlier = f"no version, taken as {version}" if written_version is None else f"version {version}"
    return translated, f"{earlier}: converted to version {VERSION}"


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
    translated: Values = {}
    for path, (value, line) in values.items():
        lower = tuple(str(part).lower() for part in path)
        cut = next((n for n in range(len(path), 0, -1) if lower[:n] in names), 0)
        renamed = names[lower[:cut]] if cut else ".".join(map(str, path))
        for new in [renamed] if isinstance(renamed, str) else renamed:
            key = (*new.split("."), *path[cut:]) if cut else path
            if any(key[: len(old)] == old for old in dropped):
                continue
            new_values = changed.get(".".join(map(str, key)), {})
            value_now = new_values.get(str(value), value)
            if key in translated and translated[key][0] != value_now:
                raise ConfigError(
                    f"{source}: {line}: {'.'.join(path)}: expected one value of {'.'.join(key)}, got "
                    f"{translated[key][0]!r} in {translated[key][1]} and {value_now!r}; remove one of them."
                )
            translated[key] = value_now, line
    for name, value in step.get("defaults", {}).items():
        translated.setdefault(tuple(name.split(".")), (value, "default of the version"))
    return translated


def _complete(values: Values) -> None:
    """Merge settings that earlier versions spread over two keys, and add those they lacked."""
    for name in ("temperature", "salinity"):
        kind, line = values.pop((name, "analytical", "method"), (1, "line ?"))
        method, at = values.get((name, "method"), (0, line))
        if method in (1, "analytical"):
            values[name, "method"] = {2: "two_layer", 3: "buoyancy"}.get(kind, "constant"), at
        elif line != "line ?":
            values.pop((name, "constant_value"), None)  # the profile is off
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
