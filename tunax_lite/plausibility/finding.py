"""Findings of plausibility rules, the table of rules, and findings that readers leave on their way."""

import contextlib
import contextvars
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from .._docstrings import docstring_of

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


@dataclass(frozen=True)
class Rule:
    """A rule: its name, one sentence on what it notes, and the function that looks."""

    name: str
    summary: str
    look: Callable[..., Iterable[Finding]]


RULES: dict[str, Rule] = {}
"""All rules by name."""


def rule(name: str):
    """Add a function that yields findings of evidence to the table; its docstring says what it notes."""

    def add(look: Callable[[Evidence], Iterable[Finding]]) -> Callable[[Evidence], Iterable[Finding]]:
        summary = docstring_of(look).split("\n")[0].removeprefix("Note ").removesuffix(".")
        RULES[name] = Rule(name, summary, look)
        return look

    return add


def left_by_readers(name: str, summary: str) -> None:
    """Add a rule about names, attributes and positions: objects that were built no longer have them."""
    RULES[name] = Rule(name, summary, lambda evidence: ())


left_by_readers("position", "an instrument far from the site, or with a wrong sign or order of its position")
left_by_readers("sign_of_name", "a name or attribute that says upward, out of the water or evaporation")
left_by_readers(
    "net_of_the_sun", "a heat flux called net or total beside shortwave radiation, or net radiation"
)
left_by_readers("unit_of_name", "a name that says another unit than the attribute")
left_by_readers("another_quantity", "a name or attribute of another quantity or component")


def check_accepted(names: Iterable[str]) -> None:
    """Raise `ValueError` for a name that no rule has."""
    for name in names:
        if name not in RULES:
            raise ValueError(f"accept: expected names of rules among {', '.join(RULES)}, got '{name}'.")


@dataclass(frozen=True)
class Position:
    """Where an instrument or a model was, by its file [degrees north, degrees east]; one or many."""

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


Remark = Finding | Position | Gap
"""What readers leave."""

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
    """Leave findings, positions and gaps for whoever collects them; without anyone they are dropped."""
    found = _left.get()
    if found is not None:
        found.extend(findings)


def once(findings: Iterable[Finding], accept: Collection[str] = ()) -> tuple[Finding, ...]:
    """Findings without those of accepted rules; the first of each rule and input stands for the others."""
    kept: dict[tuple[str, str], Finding] = {}
    for one in findings:
        if one.rule not in accept:
            kept.setdefault((one.rule, one.where), one)
    return tuple(kept.values())
