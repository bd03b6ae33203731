"""Reading and writing YAML: unique keys, numbers of YAML 1.2, and the line of every key.

PyYAML parses and composes; its nodes know their lines. Scalars follow YAML 1.2 instead of 1.1: `1e-3` is a
number, `no`, `12:30` and `2020-01-01` are texts, and only `true` and `false` are booleans.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .._types import JSON
from .errors import ConfigError, FileFormatError, read_text, shortened

_MOST_VALUES = 1_000_000
_MOST_CHARACTERS = 16 * 2**20
_DEEPEST = 100
"""Limits of documents: nested aliases of a short one can expand to more than the memory holds."""

_TAG = "tag:yaml.org,2002:"
_RESOLVERS = (
    ("null", "null|Null|NULL|~|", ["", "n", "N", "~"]),
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", "[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
)
"""Tags of plain scalars in YAML 1.2: a pattern, and the characters with which a match can begin."""
_CONSTRUCTORS = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    "str": str,
}


class _Loader(yaml.CSafeLoader):
    yaml_implicit_resolvers: dict = {}


class _Dumper(yaml.CSafeDumper):
    """Quotes texts that YAML 1.1 or 1.2 would take for something else."""


for _name, _pattern, _first in _RESOLVERS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})\\Z"), _first)


class Document(NamedTuple):
    """A YAML file: its top-level mapping, the line of every key by key path (`line 7`), and its name."""

    data: dict[str, JSON]
    origins: dict[tuple[str, ...], str]
    source: str


def _error(node: yaml.Node | yaml.Event, message: str) -> ConfigError:
    return ConfigError(f"line {node.start_mark.line + 1}: {message}")


_TOO_DEEP = f"expected at most {_DEEPEST} levels of keys, got more; correct the file."


def _plain(node: yaml.Node, path: tuple[str, ...], origins: dict[tuple[str, ...], str]) -> JSON:
    """Return the values of a node, copied for every alias, and add the lines of its keys and items."""
    if len(origins) > _MOST_VALUES:
        expected = f"expected at most {_MOST_VALUES} values"
        raise _error(node, f"{expected}, but aliases repeat more; write them out.")
    if len(path) > _DEEPEST:
        raise _error(node, _TOO_DEEP)
    origins.setdefault(path, f"line {node.start_mark.line + 1}")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, str(i)), origins) for i, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        tag = node.tag.removeprefix(_TAG)
        if tag not in _CONSTRUCTORS:
            raise _error(node, f"expected a plain value, got one with the tag {tag}; leave out the tag.")
        try:
            return _CONSTRUCTORS[tag](node.value)
        except ValueError as error:  # thousands of digits, or a tag that does not fit
            got = f"got one that cannot be read ({error})"
            raise _error(node, f"expected a value, {got}; correct it.") from error
    values: dict[str, JSON] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _error(key_node, "expected a word as key, got a list or a mapping; correct it.")
        key, below = key_node.value, (*path, key_node.value)
        if key in values:
            got = f"'{key}' again (first on {origins[below]})"
            message = f"{'.'.join(below)}: expected every key once, got {got}; keep one of the two."
            raise _error(key_node, message)
        origins[below] = f"line {key_node.start_mark.line + 1}"
        values[key] = _plain(value_node, below, origins)
    return values


def _composed(text: str) -> yaml.Node | None:
    """Node of the only document of a text; `None` if it is empty."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):  # composing is recursive: a deep document would crash it
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _error(event, _TOO_DEEP)
    return yaml.compose(text, Loader=_Loader)


_LONE_STAR = re.compile(r"(?m)^([ -]*\w+: +)\*(?=\s|$)")
"""A value `*`, as older configurations of GOTM have it; to YAML it is an alias without a name."""


def _parse(text: str) -> tuple[JSON, dict[tuple[str, ...], str]]:
    try:
        try:
            node = _composed(text)
        except yaml.MarkedYAMLError:
            node = _composed(_LONE_STAR.sub(r"\1'*'", text))
    except (yaml.YAMLError, UnicodeError) as error:
        message = f"expected YAML text, got {shortened(error)}; save the file as UTF-8 text."
        if isinstance(error, yaml.MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
            problem = shortened(error.problem or error.context)
            message = (
                f"{where}expected YAML, got an error ({problem}); correct it there or in the line before."
            )
        raise ConfigError(message) from error
    origins: dict[tuple[str, ...], str] = {}
    return (None if node is None else _plain(node, (), origins)), origins


def yaml_text(content: object) -> str:
    """Plain values as YAML, with keys in their order; `parse_yaml` restores them."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)


def parse_yaml(text: str) -> JSON:
    """Parse a YAML text into plain values.

    Raises:
        ConfigError: text that is not YAML, has a duplicate key, or expands to more than a million values.
    """
    return _parse(text)[0]


NAMES: dict[str, JSON] = parse_yaml(Path(__file__).with_name("names.yaml").read_text(encoding="utf-8"))
"""Variable names in files, by format; see the comments in `names.yaml`."""


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises:
        ConfigError: a file that is missing, not text, not YAML, empty, or has a duplicate key.
    """
    name = shortened(path)
    try:
        text = read_text(path, "a readable YAML text file", "utf-8-sig")
    except (OSError, FileFormatError) as error:
        raise ConfigError(str(error)) from error
    if len(text) > _MOST_CHARACTERS:
        expected = f"a YAML file of at most {_MOST_CHARACTERS} characters"
        raise ConfigError(f"{name}: expected {expected}, got {len(text)}; name another file.")
    try:
        data, origins = _parse(text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(data, dict):
        got = "an empty file" if data is None else f"a {type(data).__name__}"
        raise ConfigError(f"{name}: expected keys and values at the top level, got {got}.")
    return Document(data, origins, str(path))


def with_overrides(
    document: Document, overrides: Sequence[str] | Mapping[str, JSON], source: str = "--set"
) -> Document:
    """Apply settings to the document.

    Raises:
        ConfigError: a setting without `=`, a value that is not YAML, or a path through a scalar; the
            message names `source`, the origin of the settings.
    """
    data, origins = copy.deepcopy(document.data), dict(document.origins)
    pairs = overrides.items() if isinstance(overrides, Mapping) else ((each, None) for each in overrides)
    for override, new in pairs:
        key_path, separator, text = override.partition("=")
        where = f"{source} {override}" if new is None else f"{source} {override}={new}"
        parts = key_path.strip().split(".")
        if not all(parts) or not separator and new is None:
            raise ConfigError(f"{where}: expected key.path=value, for example {source} time.dt=30.")
        try:
            value = _parse(text)[0] if new is None else new
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        origins[_assign(data, parts, value, where)] = where
    return Document(data, origins, document.source)


def _assign(data: JSON, parts: list[str], value: JSON, where: str) -> tuple[str, ...]:
    """Set one value in nested mappings and lists; returns the path of the key."""
    container: Any = data
    rest, path = parts, []
    while True:
        key: Any  # of a list or a mapping
        if isinstance(container, list):
            if not rest[0].isdigit() or int(rest[0]) >= len(container):
                expected = f"the number of an item, 0 to {len(container) - 1}"
                raise ConfigError(f"{where}: expected {expected}, got '{rest[0]}'.")
            key, rest = int(rest[0]), rest[1:]
        elif isinstance(container, dict):
            # A key may contain dots itself (parameter names): the longest that exists is taken.
            n = next((n for n in range(len(rest), 1, -1) if ".".join(rest[:n]) in container), 1)
            key, rest = ".".join(rest[:n]), rest[n:]
        else:
            expected = f"a key that has keys below it before '{rest[0]}'"
            raise ConfigError(f"{where}: expected {expected}, got the value {container!r}.")
        path.append(str(key))
        if not rest:
            container[key] = value
            return tuple(path)
        if isinstance(container, dict) and container.get(key) is None:
            container[key] = {}
        container = container[key]
