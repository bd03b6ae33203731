"""Reading and writing YAML: unique keys, numbers of YAML 1.2, and the line of every key.

The syntax is that of ruamel.yaml. Its events are composed here: its own loaders lose the line numbers or are
ten times slower, turn `2020-01-01` into a date, and can be made to exhaust the memory or crash. `1e-3` is a
number, `no`, `12:30` and `2020-01-01` are texts, and only `true` and `false` are booleans.
"""

import contextlib
import copy
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML, YAMLError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from .._types import JSON
from .errors import ConfigError, FileFormatError, first_bytes, read_text, shortened, what_is_at
from .protection import note_input

_MOST_VALUES = 1_000_000
_MOST_BYTES = 16 * 2**20
_DEEPEST = 100
"""Beyond these limits a YAML document is no configuration: aliases multiply what they repeat."""

# Words and numbers as in YAML 1.2.
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")},
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"


@contextlib.contextmanager
def naming(source: Path, key: str) -> Iterator[None]:
    """Prepend file and key to the message of a rejected value."""
    try:
        yield
    except (ConfigError, FileFormatError):
        raise
    except (ValueError, ArithmeticError) as error:
        raise ConfigError(f"{source}: {key}: {error}") from error


class Document(NamedTuple):
    """A YAML file: its top-level mapping, the line of every key by key path (`line 7`), and its name."""

    data: dict[str, JSON]
    origins: dict[tuple[str, ...], str]
    source: str


class _Node(NamedTuple):
    """A value with its line and its number of descendants, counting each alias again."""

    line: int
    value: Any  # a scalar, a list of nodes, or (line, node) by key
    n_values: int = 1
    depth: int = 0

    def plain(self, path: tuple[str, ...], origins: dict[tuple[str, ...], str]) -> JSON:
        """The Python value, with a copy for every alias; records the lines."""
        origins.setdefault(path, f"line {self.line}")
        if isinstance(self.value, list):
            return [node.plain((*path, str(i)), origins) for i, node in enumerate(self.value)]
        if not isinstance(self.value, dict):
            return self.value
        origins.update({(*path, key): f"line {line}" for key, (line, _) in self.value.items()})
        return {key: node.plain((*path, key), origins) for key, (_, node) in self.value.items()}


def _at(event: Event, message: str) -> ConfigError:
    return ConfigError(f"line {event.start_mark.line + 1}: {message}")


def _composed(
    event: NodeEvent,
    events: Iterator[Any],  # of the kind that the previous event allows
    anchors: dict[str, _Node | None],
    path: tuple[str, ...] = (),
) -> _Node:
    """The value that begins with an event, composed from the following events; aliases share the node."""
    line = event.start_mark.line + 1
    known = anchors.get(event.anchor) if isinstance(event, AliasEvent) else None
    if isinstance(event, AliasEvent) and known is None:
        what = "what it is part of" if event.anchor in anchors else "nothing above it"
        raise _at(event, f"expected values, got an alias of {what}; write it out.")
    if len(path) + (0 if known is None else known.depth) >= _DEEPEST:
        raise _at(event, f"expected at most {_DEEPEST} levels of keys, got more; correct the file.")
    if known is not None:
        return known
    if event.anchor is not None:
        anchors[event.anchor] = None  # until it is complete
    if isinstance(event, ScalarEvent):
        node = _Node(line, _scalar(event))
    else:
        is_mapping, below = isinstance(event, MappingStartEvent), {}
        while not isinstance(first := next(events), CollectionEndEvent):
            key_line = first.start_mark.line + 1
            key = _key(first, below, path) if is_mapping else str(len(below))
            one = _composed(next(events) if is_mapping else first, events, anchors, (*path, key))
            below[key] = (key_line, one)
        nodes = [one for _, one in below.values()]
        n_values, depth = sum(one.n_values for one in nodes), max((one.depth for one in nodes), default=0)
        node = _Node(line, below if is_mapping else nodes, 1 + n_values, 1 + depth)
    if event.anchor is not None:
        anchors[event.anchor] = node
    return node


def _key(event: Event, before: dict[str, tuple[int, _Node]], path: tuple[str, ...]) -> str:
    if not isinstance(event, ScalarEvent):
        raise _at(event, "expected a word as key, got a list, a mapping or an alias; correct it.")
    if event.value in before:
        got = f"'{event.value}' again (first on line {before[event.value][0]})"
        key = ".".join((*path, event.value))
        raise _at(event, f"{key}: expected every key once, got {got}; keep one of the two.")
    return event.value


def _scalar(event: ScalarEvent) -> str | bool | int | float | None:
    tag, text = str(event.tag or "").removeprefix(_TAG), event.value
    if tag not in ("", "!", "str", "int", "float", "bool", "null"):
        raise _at(event, f"expected a plain value, got one with the tag {tag}; leave out the tag.")
    if not event.implicit[0] and tag in ("", "!", "str"):  # quoted, or a text block
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _document(events: Iterator[Event]) -> _Node | None:
    """The only document of a stream; `None` if it is empty."""
    document = None
    for event in events:
        if isinstance(event, NodeEvent):
            if document is not None:
                raise _at(event, "expected one document, got a second one; keep one of them.")
            document = _composed(event, events, {})
    return document


_LONE_STAR = re.compile(r"(?m)^([ -]*\w+: +)\*(?=\s|$)")
"""A value `*`, as older configurations of GOTM have it; to YAML it is an alias without a name."""


def _parse(text: str) -> tuple[JSON, dict[tuple[str, ...], str]]:
    origins: dict[tuple[str, ...], str] = {}
    try:
        try:
            node = _document(iter(YAML(typ="safe").parse(text)))
        except MarkedYAMLError:  # the fast parser follows YAML 1.1: within braces a plain word has no colon
            text = _LONE_STAR.sub(r"\1'*'", text)
            node = _document(iter(YAML(typ="safe", pure=True).parse(text)))
    except ConfigError:
        raise
    except (YAMLError, ValueError) as error:
        said = f"expected YAML text, got {shortened(error)}; save the file as UTF-8 text."
        if isinstance(error, MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            said = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
            said += f"expected YAML, got an error ({shortened(error.problem or error.context)}); "
            said += "correct the syntax there or in the line before."
        elif isinstance(error, ValueError):  # from int(), for thousands of digits
            said = f"expected YAML, got a value that cannot be read ({shortened(error)}); correct it."
        raise ConfigError(said) from error
    if node is None:
        return None, origins
    if node.n_values > _MOST_VALUES:
        got = f"{node.n_values:.3g}, which aliases repeat"
        raise ConfigError(f"expected at most {_MOST_VALUES} values, got {got}; write them out.")
    return node.plain((), origins), origins


class _Representer(SafeRepresenter):
    """Write numbers so that YAML 1.1 readers also take them for numbers: `1.0e-06`."""


def _with_point(representer: SafeRepresenter, data: float) -> ScalarNode:
    text = SafeRepresenter.represent_float(representer, data).value
    return representer.represent_scalar(f"{_TAG}float", text if "." in text else text.replace("e", ".0e"))


_Representer.add_representer(float, _with_point)


def yaml_text(content: object) -> str:
    """Plain values as YAML, with keys in their order; `parse_yaml` restores them."""
    yaml = YAML(typ="safe")
    yaml.Representer = _Representer
    yaml.default_flow_style, yaml.sort_base_mapping_type_on_output = False, False  # pyright: ignore
    yaml.dump(content, stream := io.StringIO())
    return stream.getvalue()


def parse_yaml(text: str) -> JSON:
    """Parse a YAML text into plain values.

    Raises:
        ConfigError: text that is not YAML, has a duplicate key, or expands to more than a million values.
    """
    return _parse(text)[0]


NAMES: dict[str, JSON] = parse_yaml(Path(__file__).with_name("names.yaml").read_text(encoding="utf-8"))
"""What files of each format call what they hold."""


_PLOT = "a configuration names observations by `path`; `tunax-lite plot` draws results"
_FIRST_BYTES = {
    b"CDF": ("a NetCDF file", _PLOT),
    b"\x89HDF": ("a NetCDF or HDF5 file", _PLOT),
    b"HDF5": ("a JLD2 file", _PLOT),
    b"GRIB": ("a GRIB file", _PLOT),
    b"PK\x03\x04": ("a zip archive", "unpack it (unzip), and give a file in it"),
    b"\x1f\x8b": ("a file packed by gzip", "unpack it (gunzip)"),
    b"\x89PNG": ("a figure", "give the configuration that it was made with"),
}
"""What files that are no text begin with: what they are, and what to do with them."""


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises:
        ConfigError: a file that is missing, not text, not YAML, empty, or has a duplicate key.
    """
    found, name = what_is_at(path), shortened(path)
    if found != "a file":
        what = f"{'nothing' if found == 'none' else shortened(found)} there"
        advice = f"check the path (relative to {shortened(Path.cwd())})"
        if found == "a folder" and (path / "zarr.json").exists():
            what, advice = "a Zarr store", "`tunax-lite plot` draws that of a map"
        raise ConfigError(f"{name}: expected a YAML file, got {what}; {advice}.")
    note_input(path)
    with contextlib.suppress(OSError):  # reading says why
        first = first_bytes(path, 4)
        for got, advice in (said for start, said in _FIRST_BYTES.items() if first.startswith(start)):
            raise ConfigError(f"{name}: expected a YAML file, got {got}; {advice}.")
    try:
        if path.stat().st_size > _MOST_BYTES:
            expected, got = f"a YAML file of at most {_MOST_BYTES} bytes", path.stat().st_size
            raise ConfigError(f"{name}: expected {expected}, got {got}; name another file.")
        text = read_text(path, "a readable YAML text file", "utf-8-sig")
    except (OSError, FileFormatError) as error:
        raise ConfigError(str(error)) from error
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
        ConfigError: a setting without `=`, a value that is not YAML, or a path through a scalar; `source`
            tells where it was set.
    """
    data, origins = copy.deepcopy(document.data), dict(document.origins)
    pairs = overrides.items() if isinstance(overrides, Mapping) else ((each, None) for each in overrides)
    for override, given in pairs:
        key_path, separator, text = override.partition("=")
        where = f"{source} {override}" if given is None else f"{source} {override}={given}"
        parts = key_path.strip().split(".")
        if not all(parts) or not separator and given is None:
            raise ConfigError(f"{where}: expected key.path=value, for example {source} time.step=30.")
        try:
            value = _parse(text)[0] if given is None else given
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        origins[_assign(data, parts, value, where)] = where
    return Document(data, origins, document.source)


def _assign(data: JSON, parts: list[str], value: JSON, where: str) -> tuple[str, ...]:
    """Set one value in nested mappings and lists; returns the path of the key."""
    container, rest, path = data, parts, []
    while True:
        key, rest = _next_key(container, rest, where)
        path.append(str(key))
        if not rest:
            container[key] = value
            return tuple(path)
        if isinstance(container, dict) and container.get(key) is None:
            container[key] = {}
        container = container[key]


def _next_key(container: JSON, rest: list[str], where: str) -> tuple[str | int, list[str]]:
    if isinstance(container, list):
        if rest[0].isdigit() and int(rest[0]) < len(container):
            return int(rest[0]), rest[1:]
        expected, got = f"the number of an item, 0 to {len(container) - 1}", f"'{rest[0]}'"
        raise ConfigError(f"{where}: expected {expected}, got {got}.")
    if not isinstance(container, dict):
        expected = f"a key that has keys below it before '{rest[0]}'"
        raise ConfigError(f"{where}: expected {expected}, got the value {container!r}.")
    # A key may contain dots itself (parameter names): the longest that exists is taken.
    for n in range(len(rest), 1, -1):
        if ".".join(rest[:n]) in container:
            return ".".join(rest[:n]), rest[n:]
    return rest[0], rest[1:]
