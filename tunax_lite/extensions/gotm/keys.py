"""Keys of version 7 of GOTM's configuration: kind, default, range and choices; the table is `keys.yaml`.

A key is a dotted path, `turbulence.turb_param.k_min`. An input (`surface.u10`) is a group of keys: a method,
a constant value, and the file, column, scale factor and offset of a series or of profiles.
"""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ..._types import JSON
from ...io.yaml_file import parse_yaml

VERSION = 7


@dataclasses.dataclass(frozen=True)
class Key:
    """A setting.

    Args:
        kind: kind of the value.
        default: value if the file does not set the key; the name of a choice.
        unit: unit, if the value is a number.
        low, high: closed range, if the value is a number.
        choices: allowed names, with the integer that GOTM also accepts for each.
    """

    kind: Literal["number", "integer", "flag", "text", "path", "choice"]
    default: JSON
    unit: str = "1"
    low: float = -math.inf
    high: float = math.inf
    choices: dict[str, int] = dataclasses.field(default_factory=dict)


def _number(default: float, unit: str = "1", low: float | None = None, high: float | None = None) -> Key:
    bounds = -math.inf if low is None else low, math.inf if high is None else high
    return Key("number", default, unit, *bounds)


def _keys(table: dict[str, JSON], prefix: str = "") -> Iterator[tuple[str, Key]]:
    """The keys of a table, by their dotted paths."""
    for name, entry in table.items():
        path = prefix + name
        match entry:
            case bool():
                yield path, Key("flag", entry)
            case list():
                yield path, _number(*entry)
            case {"choice": names}:
                yield path, Key("choice", next(iter(names)), choices=names)
            case {"integer": default, **bounds}:
                yield path, Key("integer", default, **bounds)
            case {"text": default} | {"path": default}:
                yield path, Key("text" if "text" in entry else "path", default)
            case {"input": list(values), **more}:
                yield from _input_keys(path, values, **more)
            case _:
                yield from _keys(entry, f"{path}.")


def _input_keys(
    path: str,
    values: list[JSON],
    default: float | None = 0.0,
    methods: dict[str, int] = {"constant": 0, "file": 2},  # noqa: B006
    **more: JSON,
) -> Iterator[tuple[str, Key]]:
    """Keys of an input from its unit and bounds; without a constant value if the default is null."""
    unit, *bounds = values
    yield f"{path}.method", Key("choice", next(iter(methods)), choices=methods)
    if default is not None:
        yield f"{path}.constant_value", _number(default, unit, *bounds)
    if "file" in methods:
        yield f"{path}.file", Key("path", "")
        yield f"{path}.column", Key("integer", 1, low=1.0)
        yield f"{path}.scale_factor", _number(1.0)
        yield f"{path}.offset", _number(0.0, unit)
    yield from _keys(more, f"{path}.")


def table(name: str) -> dict[str, JSON]:
    """Read a YAML file of this folder."""
    return parse_yaml((Path(__file__).parent / name).read_text(encoding="utf-8"))


WORDS = table("words.yaml")
"""Names of this package by GOTM's names, and rules for keys without a counterpart."""

KEYS: dict[str, Key] = dict(_keys(table("keys.yaml")))
"""Every key by its dotted path."""
INPUTS = frozenset(path.removesuffix(".column") for path in KEYS if path.endswith(".column"))
"""Dotted paths of the inputs; their keys are in `KEYS`."""
INPUT_KEYS = ("constant_value", "file", "column", "scale_factor", "offset")
"""Keys of an input, except its method."""

FREE_SECTIONS = ("output", "fabm.input", "streams")
"""Sections whose keys are names that the user chooses."""

OUTPUT = dict(
    _keys(
        {
            "use": True,
            "is_active": True,
            "time_unit": {"choice": {"day": 2, "second": 0, "hour": 1, "month": 3, "year": 4, "dt": 5}},
            "time_step": {"integer": 1, "low": 1.0},
            "time_method": {"text": "point"},
        }
    )
)
"""Keys of an output file that the translation uses, besides its variables."""

NAMED_INPUT = {path.removeprefix("x."): key for path, key in _keys({"x": {"input": ["1"]}})}
"""Keys of an input under a name that the user chooses."""

STREAM = dict(
    _keys(
        {
            "method": {"choice": {"surface": 1, "bottom": 2, "range": 3, "interleaving": 4}},
            "zu": [0.0, "m"],
            "zl": [0.0, "m"],
            "flow": {"input": ["m3 s-1"]},
            "temp": {"input": ["degC"], "default": -1.0},
            "salt": {"input": ["psu"], "default": -1.0},
        }
    )
)
"""Keys of a stream of GOTM's lake branch."""
