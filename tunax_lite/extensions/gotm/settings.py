"""Checked values of a GOTM configuration, with the lines of their keys, and the keys that were used.

Values read by the translation count as used. A value that is neither used nor the default needs a reason, or
is an error in the report: no key of a file is silently ignored.
"""

import contextlib
import difflib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..._types import JSON
from ...io.errors import decimal
from ...io.yaml_file import ConfigError, Document
from .keys import FREE_SECTIONS, INPUT_KEYS, INPUTS, KEYS, NAMED_INPUT, Key

_CANONICAL = {path.lower(): path for path in (*KEYS, *INPUTS)}
_GROUPS = {".".join(path.split(".")[:n]) for path in KEYS for n in range(1, path.count(".") + 1)}
_CANONICAL |= {group.lower(): group for group in _GROUPS}

_COLUMN = {"column": "column", "factor": "scale_factor", "offset": "offset"}
"""Keys of GOTM for a column of a file, by the keys of this package."""
_TRUE = {"true", "t", ".true.", ".t.", "yes"}
_FALSE = {"false", "f", ".false.", ".f.", "no"}


Content = Any  # part of a configuration of this package: plain YAML in which values may be `KeyedValue`


class KeyedValue(NamedTuple):
    """A value for a configuration of this package, and the GOTM key that it comes from."""

    value: JSON
    key: str


def is_zero(content: Content) -> bool:
    """Return whether an input is the constant 0."""
    return (
        not isinstance(content, dict)
        and (content.value if isinstance(content, KeyedValue) else content) == 0.0
    )


class Settings:
    """Values of all keys, from the file or by default; `check` raises the errors in the file.

    Args:
        document: the YAML file, converted to version 7.
        note: note on that conversion, for the report.
    """

    def __init__(self, document: Document, note: str | None = None):
        self.source = document.source
        self.folder = Path(document.source).parent
        self.lines: dict[str, str] = {}
        self.free: dict[str, JSON] = {}
        self.set_in_file: dict[str, JSON] = {}  # values of the keys set in the file
        self.used: set[str] = set()
        self._reasons: dict[str, str] = {}
        self.notes: list[tuple[str, str]] = []
        self.refusals: list[tuple[str, str]] = []
        if note is not None:
            self.notes.append(("version", note))
        self._problems: list[str] = []
        self._read(document.data, (), document.origins)

    def check(self) -> None:
        """Raise `ConfigError` for all unknown keys and impossible values, with file, line and key."""
        if self._problems:
            raise ConfigError("\n".join(self._problems))

    def _read(self, data: dict, above: tuple[str, ...], origins: dict) -> None:
        for name, value in data.items():
            raw = (*above, name)
            key = ".".join(raw)
            self.lines[key] = origins.get(raw, "line ?")
            path = _CANONICAL.get(key.lower())
            if key in FREE_SECTIONS:
                self.free[key] = value or {}
                for at, line in origins.items():
                    if at[: len(raw)] == raw:
                        self.lines[".".join(map(str, at))] = line
                continue
            if path is None:
                self._problems.append(f"{self.where(key)}: unknown key; {_nearest(key)}.")
                continue
            self.lines[path] = self.lines[key]
            if path in KEYS:
                self._set(path, value)
            elif isinstance(value, dict):
                self._read(value, raw, origins)
            elif path in INPUTS and value is not None and f"{path}.constant_value" in KEYS:
                # GOTM accepts a number instead of a group for a constant.
                self._set(f"{path}.method", "constant")
                self._set(f"{path}.constant_value", value)
                self.lines[f"{path}.constant_value"] = self.lines[path]
            elif value is not None or path in INPUTS:
                got = f"got {value!r}; write the keys of {path} indented below it."
                self._problems.append(f"{self.where(path)}: expected a group of keys, {got}")

    def _set(self, path: str, value: JSON) -> None:
        try:
            self.set_in_file[path] = checked(KEYS[path], value)
        except ValueError as error:
            self._problems.append(f"{self.where(path)}: {error}")

    def __getitem__(self, path: str) -> JSON:
        """Return the value of a key, and mark it as used."""
        self.used.add(path)
        return self.peek(path)

    def peek(self, path: str) -> JSON:
        """Return the value of a key without marking it as used."""
        return self.set_in_file.get(path, KEYS[path].default)

    def keyed(self, path: str) -> KeyedValue:
        """Return the value of a key together with the key, and mark it as used."""
        return KeyedValue(self[path], path)

    def renamed(self, group: str, names: dict[str, str]) -> dict[str, KeyedValue]:
        """Return keyed values of a group by the package's names; `names` maps GOTM's names to these."""
        return {ours: self.keyed(f"{group}.{theirs}") for theirs, ours in names.items()}

    def inputs(self, group: str, names: dict[str, str]) -> dict[str, Content]:
        """Return inputs of a group by the package's names; `names` maps GOTM's names to these."""
        return {ours: self.input(f"{group}.{theirs}") for theirs, ours in names.items()}

    def input(self, path: str) -> Content:
        """Translate an input: a number, or a column of a file; 0 with any other method, such as `off`.

        Its keys are marked as used, or as without effect with this method.
        """
        values = {key: self.peek(f"{path}.{key}") for key in INPUT_KEYS if f"{path}.{key}" in KEYS}
        method = self[f"{path}.method"]
        for key in values:
            if (key != "constant_value") == (method == "file"):
                self.used.add(f"{path}.{key}")
            else:
                self.without_effect(f"{path}.{key}", f"{path}.method is {method}")
        return self.input_of(path, {"method": method} | values)

    def named_inputs(
        self, group: str, numbers: Mapping[str, tuple[float, str]]
    ) -> dict[str, tuple[Content, dict[str, KeyedValue]]]:
        """Translate inputs under names that the user chooses, and return their further keys.

        Args:
            group: group with these names as keys.
            numbers: default and unit of each further key, a number of at least 0.

        Raises:
            ConfigError: an unknown key, or a value that cannot be used; names file, line and key.
        """
        further = {key: Key("number", default, unit, 0.0) for key, (default, unit) in numbers.items()}
        named = self.free.get(group, {})
        if not isinstance(named, dict):
            raise self.error(group, f"expected names with their keys, got {named!r:.100}")
        inputs = {}
        for name, content in named.items():
            path = f"{group}.{name}"
            values_in_file = (
                content if isinstance(content, dict) else {"method": "constant", "constant_value": content}
            )
            values = self.values_of(path, values_in_file, {**NAMED_INPUT, **further})
            if values["method"] == "constant" and values["file"]:
                self.note(f"{path}.file", "is not read, because the method is constant; set `method: file`")
            keys = {key: KeyedValue(values[key], f"{path}.{key}") for key in further}
            inputs[str(name)] = self.input_of(path, values), keys
        return inputs

    def values_of(
        self, path: str, values_in_file: Mapping[str, JSON], keys: Mapping[str, Key]
    ) -> dict[str, JSON]:
        """Return the values of `keys` below a name that the user chooses, from the file or by default.

        Raises:
            ConfigError: as in `named_inputs`.
        """
        values: dict[str, JSON] = {name: key.default for name, key in keys.items()}
        for name, value in values_in_file.items():
            if name not in keys:
                near = difflib.get_close_matches(str(name), list(keys), n=1)
                hint = f"did you mean {near[0]}" if near else f"expected one of {', '.join(keys)}"
                raise self.error(f"{path}.{name}", f"unknown key; {hint}")
            try:
                values[name] = checked(keys[name], value)
            except ValueError as error:
                raise ConfigError(f"{self.where(f'{path}.{name}')}: {error}") from error
        return values

    def input_of(self, path: str, values: Mapping[str, JSON]) -> Content:
        """Translate an input like `input`, from the values of its keys."""
        if values["method"] == "constant":
            return KeyedValue(values["constant_value"], f"{path}.constant_value")
        if values["method"] != "file":
            return 0.0
        section: dict[str, Content] = {"path": self._file(f"{path}.file", str(values["file"]))}
        for ours, key in _COLUMN.items():
            if key == "column" or values[key] != NAMED_INPUT[key].default:
                section[ours] = KeyedValue(values[key], f"{path}.{key}")
        return section

    def file(self, path: str) -> KeyedValue:
        """Return the absolute path of a file that is named relative to the configuration."""
        return self._file(path, self[path])

    def _file(self, path: str, name: str) -> KeyedValue:
        if not name:
            raise self.error(path, "expected the name of a file, got none; name it, or use another method")
        return KeyedValue(str(self.folder.absolute() / name), path)

    def line(self, path: str) -> str:
        """Line and key; if the file does not set the key, the line of the nearest group."""
        parts = path.split(".")
        for n in range(len(parts), 0, -1):
            line = self.lines.get(".".join(parts[:n]))
            if line is not None:
                return f"{line}: {path}"
        return f"{path} (not in the file)"

    def where(self, path: str) -> str:
        """File, line and key, for messages."""
        return f"{self.source}: {self.line(path)}"

    def error(self, path: str, problem: str) -> ConfigError:
        """Return an error about a key; `problem` has no full stop."""
        return ConfigError(f"{self.where(path)}: {problem}.")

    def without_effect(self, path: str, reason: str) -> None:
        """Record why a key, or all unused keys of a group, have no effect."""
        self._reasons.setdefault(path, reason)

    def note(self, path: str, difference: str) -> None:
        """Record a difference from GOTM, and mark the key as used."""
        self.used.add(path)
        self.notes.append((path, difference))

    def refuse(self, path: str, reason: str) -> None:
        """Record an unsupported setting for the report, and mark the key as used."""
        self.used.add(path)
        if (path, reason) not in self.refusals:
            self.refusals.append((path, reason))

    def follow(self, rules: list[dict[str, JSON]]) -> None:
        """Ignore and reject keys by the rules in `words.yaml`."""
        for rule in rules:
            required, excluded = rule.get("if", {}), rule.get("unless", {})
            if any(self.peek(key) not in values for key, values in required.items()):
                continue
            if any(self.peek(key) in values for key, values in excluded.items()):
                continue
            self.follow(rule.get("rules", []))
            why = re.sub(r"\{(.*?)\}", lambda key: self._shown(key[1]), rule.get("why", ""))
            for key in rule.get("ignore", []):
                self.without_effect(key, why or f"{rule['of']} is {self._shown(rule['of'])}")
            for key in rule.get("refuse", []):
                self.refuse(key, why)

    def _shown(self, key: str) -> str:
        value = self.peek(key)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def reason(self, path: str) -> str | None:
        """Return why a key, or the nearest group above it, has no effect; `None` without a record."""
        parts = path.split(".")
        reasons = (self._reasons.get(".".join(parts[:n])) for n in range(len(parts), 0, -1))
        return next((reason for reason in reasons if reason is not None), None)


def looks_like_gotm(data: dict[str, JSON]) -> bool:
    """Return whether a YAML file has the sections of a GOTM configuration, of any version."""
    return not {"case", "cases"} & set(data) and bool({"location", "turbulence", "mimic_3d"} & set(data))


def _nearest(path: str) -> str:
    """Suggest a key: one of the same name elsewhere, or a similar path."""
    name = path.rpartition(".")[2]
    near = [candidate for candidate in KEYS if candidate.rpartition(".")[2] == name]
    near = near or difflib.get_close_matches(path, list(_CANONICAL.values()), n=1)
    return f"did you mean {near[0]}" if near else "remove it"


def checked(key: Key, value: JSON) -> JSON:
    """Convert a value to the kind of the key."""
    if value is None:
        return key.default
    if isinstance(value, (dict, list)):
        got = "keys" if isinstance(value, dict) else "a list"
        raise ValueError(f"expected one value, got {got}; write one.")
    if key.kind in ("text", "path"):
        return str(value).strip()
    if key.kind == "flag":
        word = str(value).strip().lower()
        if word not in _TRUE | _FALSE:
            raise ValueError(f"expected true or false, got {value!r}; choose one of these.")
        return word in _TRUE
    if key.kind == "choice":
        return _chosen(key, value)
    return _number(key, value)


def _chosen(key: Key, value: JSON) -> str:
    word = str(value).strip().lower()
    for name, number in key.choices.items():
        # GOTM also accepts the long names of choices that have no short one.
        if word in (name.lower(), str(number)) or word.startswith(f"{name.lower()} "):
            return name
    close = difflib.get_close_matches(word, [name.lower() for name in key.choices], n=1)
    hint = f"did you mean {close[0]}" if close else "choose one of these"
    raise ValueError(f"expected one of {', '.join(key.choices)}, got {str(value)!r}; {hint}.")


def _number(key: Key, value: JSON) -> float | int:
    number: JSON = value
    if isinstance(value, str):
        with contextlib.suppress(ValueError):  # Fortran's exponent may be `d`
            number = decimal(value.lower().replace("d", "e"))
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    if not is_number or (key.kind == "integer" and number != int(number)):
        kind = "a whole number" if key.kind == "integer" else f"a number [{key.unit}]"
        raise ValueError(f"expected {kind}, got {value!r}; correct it.")
    if not key.low <= number <= key.high:
        expected = f"expected a number from {key.low:g} to {key.high:g} [{key.unit}]"
        raise ValueError(f"{expected}, got {number:g}; correct it.")
    return int(number) if key.kind == "integer" else float(number)
