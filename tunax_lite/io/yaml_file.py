"""Reading YAML: duplicate keys are errors, numbers are as in YAML 1.2, every key knows its line.

`1e-3` is a number, `12:30` and `2020-01-01` are strings, only `true` and `false` are booleans: what a
reader of the file expects, and PyYAML's default of YAML 1.1 does not do.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .errors import ConfigError as ConfigError
from .errors import FileFormatError, read_text, shortened, what_is_at
from .protection import note_input

_MOST_VALUES = 1_000_000
_MOST_BYTES = 16 * 2**20
_DEEPEST = 100
"""Beyond these limits a YAML document is no configuration: aliases multiply what they repeat."""


@contextlib.contextmanager
def naming(source: Path, key: str) -> Iterator[None]:
    """Put file and key in front of the message of a refused value."""
    try:
        yield
    except (ConfigError, FileFormatError):
        raise
    except (ValueError, ArithmeticError) as error:
        raise ConfigError(f"{source}: {key}: {error}") from error


class Document(NamedTuple):
    """A YAML file as plain Python values.

    Args:
        data: the top-level mapping.
        origins: where a key was set, by key path: `line 7`, or `--set time.step=0`.
        source: name of the file, for messages.
    """

    data: dict[str, Any]
    origins: dict[tuple[str, ...], str]
    source: str


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict = {}


_PATTERNS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
)
for _tag, _pattern, _first in _PATTERNS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _construct_int(loader: _Loader, node: yaml.Node) -> int:
    # PyYAML reads a leading zero as octal.
    return int(loader.construct_scalar(node))  # type: ignore[arg-type]


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


def _to_python(loader: _Loader, node: yaml.Node, path: tuple[str, ...], origins: dict) -> Any:
    origins[path] = f"line {node.start_mark.line + 1}"
    if isinstance(node, yaml.SequenceNode):
        items = enumerate(node.value)
        return [_to_python(loader, child, (*path, str(index)), origins) for index, child in items]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node, deep=True)
    mapping = {}
    for key_node, value_node in node.value:
        key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
        line = key_node.start_mark.line + 1
        if key in mapping:
            raise ConfigError(
                f"line {line}: {'.'.join((*path, key))}: expected every key once, got '{key}' again "
                f"(first on {origins[(*path, key)]}); keep one of the two."
            )
        mapping[key] = _to_python(loader, value_node, (*path, key), origins)
        origins[(*path, key)] = f"line {line}"
    return mapping


def _count(node: yaml.Node, known: dict[int, int], above: tuple[int, ...] = ()) -> int:
    """Number of values that a node stands for, what aliases repeat counted every time."""
    if id(node) in known:
        return known[id(node)]
    where = f"line {node.start_mark.line + 1}"
    if id(node) in above:
        raise ConfigError(f"{where}: expected values, got an alias of what it is part of; write it out.")
    if len(above) >= _DEEPEST:
        raise ConfigError(f"{where}: expected at most {_DEEPEST} levels of keys, got more; correct the file.")
    below = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        known[id(node)] = 1 + sum(_count(value, known, below) for _, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        known[id(node)] = 1 + sum(_count(value, known, below) for value in node.value)
    else:
        known[id(node)] = 1
    return known[id(node)]


def _parse(text: str) -> tuple[Any, dict[tuple[str, ...], str]]:
    origins: dict[tuple[str, ...], str] = {}
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        n_values = 0 if node is None else _count(node, {})
        if n_values > _MOST_VALUES:
            raise ConfigError(
                f"expected at most {_MOST_VALUES} values, got {n_values:.3g}, which aliases repeat; write "
                "them out."
            )
        return (None if node is None else _to_python(loader, node, (), origins)), origins
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(
            f"{where}expected YAML, got {shortened(error.problem or error.context)}; correct the syntax "
            "there or in the line before."
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"expected YAML text, got {shortened(error)}; save the file as UTF-8 text."
        ) from error
    except RecursionError as error:
        raise ConfigError(
            f"expected at most {_DEEPEST} levels of keys, got many more; correct the file."
        ) from error
    except Exception as error:  # PyYAML passes on what its constructors raise
        raise ConfigError(
            f"expected YAML, got a value that cannot be read ({shortened(error)}); correct it."
        ) from error
    finally:
        if loader is not None:
            loader.dispose()


def parse_yaml(text: str) -> Any:
    """Plain values of a YAML text.

    Raises:
        ConfigError: text that is not YAML, has a key twice, or stands for more than a million values.
    """
    return _parse(text)[0]


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises:
        ConfigError: a file that is missing, not text, not YAML, empty, or that has a key twice.
    """
    found, name = what_is_at(path), shortened(path)
    if found != "a file":
        what = f"{'nothing' if found == 'none' else shortened(found)} there"
        raise ConfigError(
            f"{name}: expected a YAML file, got {what}; check the path (relative to {shortened(Path.cwd())})."
        )
    note_input(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(
                f"{name}: expected a YAML file of at most {_MOST_BYTES} bytes, got {path.stat().st_size}; "
                "name another file."
            )
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


def with_overrides(document: Document, overrides: Sequence[str], source: str = "--set") -> Document:
    """The document with `key.path=value` settings applied; values are parsed as YAML.

    Args:
        document: from `read_document`.
        overrides: the settings.
        source: where they were set, for messages.

    Raises:
        ConfigError: a setting without `=`, a value that is not YAML, or a path through a value that has
            no keys.
    """
    data, origins = _copy(document.data), dict(document.origins)
    for override in overrides:
        where = f"{source} {override}"
        key_path, separator, text = override.partition("=")
        parts = key_path.strip().split(".")
        if not separator or not all(parts):
            raise ConfigError(f"{where}: expected key.path=value, for example {source} time.step=30.")
        try:
            value, _ = _parse(text)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        origins[_assign(data, parts, value, where)] = where
    return Document(data, origins, document.source)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _assign(data: Any, parts: list[str], value: Any, where: str) -> tuple[str, ...]:
    """Set one value in nested mappings and lists; the path of the key that was set."""
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


def _next_key(container: Any, rest: list[str], where: str) -> tuple[Any, list[str]]:
    if isinstance(container, list):
        if rest[0].isdigit() and int(rest[0]) < len(container):
            return int(rest[0]), rest[1:]
        raise ConfigError(
            f"{where}: expected the number of an item, 0 to {len(container) - 1}, got '{rest[0]}'."
        )
    if not isinstance(container, dict):
        raise ConfigError(
            f"{where}: expected a key that has keys below it before '{rest[0]}', got the value {container!r}."
        )
    # A key may contain dots itself (names of parameters): the longest that exists wins.
    for n in range(len(rest), 1, -1):
        if ".".join(rest[:n]) in container:
            return ".".join(rest[:n]), rest[n:]
    return rest[0], rest[1:]
