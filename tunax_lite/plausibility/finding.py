"""Findings of plausibility rules, the table of rules, and findings that readers leave on their way."""

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Evidence = TypeVar("Evidence")


@dataclass(frozen=True)
class Finding:
    """What a rule found unlikely.

    Args:
        rule: name of the rule, with which `accept` silences it.
        quantity: name in the table of quantities, or what else it is about.
        where: the input, such as `weather.air_pressure`, or a file and a variable.
        said: what is unlikely, with its number and what was expected.
        cause: the likely cause, in a few words.
        key: what sets it right in a configuration.
    """

    rule: str
    quantity: str
    where: str
    said: str
    cause: str
    key: str = ""

    def __str__(self) -> str:
        remedy = f"{self.key}, or " if self.key else ""
        return f"{self.where}: {self.said}: {self.cause}? {remedy}`accept: [{self.rule}]`"


Look = Callable[[Evidence], Iterable[Finding]]

RULES: dict[str, Callable[..., Iterable[Finding]]] = {
    name: lambda evidence: ()
    for name in ("position", "sign_of_name", "net_of_the_sun", "unit_of_name", "another_quantity")
}
"""Rules by name. Readers apply the first five: built objects have no names, attributes and positions."""


def rule(look: Look) -> Look:
    """Add a function that yields findings of evidence to the table."""
    RULES[look.__name__] = look
    return look


@dataclass(frozen=True)
class Position:
    """Positions of instruments or models from a file [degrees north, degrees east]."""

    where: str
    latitude: object
    longitude: object


@dataclass(frozen=True)
class Gap:
    """A time without values that the reader of an input over time bridged or filled.

    Args:
        name: of the input, as in the table of inputs.
        start, length: time of the last value before it, and to the next one [s].
        case: name of the case.
    """

    name: str
    start: float
    length: float
    case: str = ""


_LATE = 2.5
"""Multiple of the usual interval above which a time without values is a gap."""


def late_records(time: np.ndarray) -> np.ndarray:
    """Indices of the times [s] after which the next one comes unusually late."""
    apart = np.diff(time)
    return np.flatnonzero(apart > _LATE * np.median(apart)) if apart.size else np.zeros(0, dtype=int)


Remark = Finding | Position | Gap | str
"""Remarks that readers leave; a text is a note for the user."""

_left: contextvars.ContextVar[list[Remark] | None] = contextvars.ContextVar("findings", default=None)


@contextlib.contextmanager
def collecting() -> Iterator[list[Remark]]:
    """Collect what readers remark about names, attributes and gaps, which the objects they build lack."""
    found: list[Remark] = []
    token = _left.set(found)
    try:
        yield found
    finally:
        _left.reset(token)


def leave(findings: Iterable[Remark]) -> None:
    """Leave findings, positions, gaps and notes for whoever collects them; otherwise they are dropped."""
    found = _left.get()
    if found is not None:
        found.extend(findings)
