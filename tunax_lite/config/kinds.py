"""Kinds of configuration file that extensions add to runs, calibrations and comparisons."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._types import JSON
from ..registry import additions
from .section import Section


class Kind(NamedTuple):
    """A kind of configuration file, and what commands do with it.

    Args:
        label: as `tunax-lite schema` names it.
        key: at the top level of its files, and of no others.
        config: its section.
        check: prints what its command would do: of the loaded configuration, values of parameters, and the
            page of `tunax-lite check`; returns the answer for scripts.
        calibrate: calibrates what it describes; `None` if it cannot be calibrated. Its arguments are those of
            `cli.calibrate.calibrate`.
    """

    label: str
    key: str
    config: type[Section]
    check: Callable[..., dict[str, Any]]  # Any: what JSON holds
    calibrate: Callable[..., None] | None = None

    @property
    def name(self) -> str:
        """In messages."""
        return f"a {self.label}"


def kinds() -> tuple[Kind, ...]:
    """Those of all extensions."""
    return additions("kinds", "KINDS")


def kind_in(data: Mapping[str, JSON]) -> Kind | None:
    """The kind of the content of a file, by its key, unless it is built in."""
    return next((kind for kind in kinds() if kind.key in data), None)


def kind_of(config: Section) -> Kind | None:
    """The kind of a configuration, unless it is built in."""
    return next((kind for kind in kinds() if isinstance(config, kind.config)), None)
