"""What a key of GOTM's configuration is: its kind, default, range and choices.

A key is a dotted path, `turbulence.turb_param.k_min`. An input (`surface.u10`) is a group of keys: a
method, a constant value, and the file, column, scale factor and offset of a series or of profiles.
"""

import dataclasses
import math
from typing import Any, Literal

Kind = Literal["number", "integer", "flag", "text", "path", "choice"]


@dataclasses.dataclass(frozen=True)
class Key:
    """One setting.

    Args:
        kind: what its value is.
        default: used where the file is silent; for a choice, its name.
        unit: of a number.
        low, high: closed range of a number.
        choices: names of a choice, and the integer that GOTM takes for each instead.
    """

    kind: Kind
    default: Any
    unit: str = "1"
    low: float = -math.inf
    high: float = math.inf
    choices: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Input:
    """A quantity that is constant or comes from a file.

    Args:
        unit: of the values after `scale_factor` and `offset`.
        low, high: closed range of the values.
        profile: whether the file holds profiles rather than a series.
        default: constant value where the file is silent; `None` if it cannot be constant.
        methods: names of the methods, the default first, and GOTM's integers for them.
        more: further keys of the group.
    """

    unit: str
    low: float = -math.inf
    high: float = math.inf
    profile: bool = False
    default: float | None = 0.0
    methods: dict[str, int] = dataclasses.field(default_factory=lambda: {"constant": 0, "file": 2})
    more: dict[str, Any] = dataclasses.field(default_factory=dict)

    def keys(self) -> dict[str, Any]:
        """The keys of the group."""
        keys: dict[str, Any] = {"method": choice(**self.methods)}
        if self.default is not None:
            keys["constant_value"] = number(self.default, self.unit, self.low, self.high)
        if "file" in self.methods:
            keys |= {
                "file": Key("path", ""),
                "column": Key("integer", 1, low=1.0),
                "scale_factor": number(1.0),
                "offset": number(0.0, self.unit),
            }
        return keys | self.more


def number(default: float, unit: str = "1", low: float = -math.inf, high: float = math.inf) -> Key:
    return Key("number", float(default), unit, low, high)


def numbers(unit: str = "1", low: float = -math.inf, high: float = math.inf, **defaults: float) -> dict:
    """Several numbers of one unit and range."""
    return {name: number(default, unit, low, high) for name, default in defaults.items()}


def flag(default: bool) -> Key:
    return Key("flag", default)


def choice(**names: int) -> Key:
    """Names and GOTM's integers; the first is the default. Hyphens are written as double underscores."""
    listed = {name.replace("__", "-"): value for name, value in names.items()}
    return Key("choice", next(iter(listed)), choices=listed)
