"""What pages share: the frame, numbers, and where results come from."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

_UNKNOWN = "not known"


class Origin(NamedTuple):
    """When, with what, by which command, on which machine and from which data results were computed."""

    verb: str
    date: str
    version: str
    commit: str
    machine: str
    command: str
    config: str
    data: dict[str, str]  # SHA-256 of files by path

    @classmethod
    def of(cls, verb: str, attributes: Mapping[str, str]) -> "Origin":
        """That which the attributes of a file record."""
        kept = {name: attributes.get(f"tunax_lite_{name}", "") for name in cls._fields}
        known = {name: kept[name] or _UNKNOWN for name in ("date", "version", "commit", "machine", "command")}
        return cls(verb, **known, config=kept["config"], data=json.loads(kept["data"] or "{}"))


def page(template: str, origin: Origin, **content: Any) -> str:  # Any: whatever the template shows
    """A page as text."""
    environment = Environment(
        loader=PackageLoader("tunax_lite", "report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template(template).render(origin=origin, **content)


def number(value: float | list[float] | None, digits: int = 4) -> str:
    """Format a number for a table, or the lowest and highest of several."""
    if isinstance(value, list):
        return f"{number(min(value), digits)} to {number(max(value), digits)}"
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:.{digits}g}"
