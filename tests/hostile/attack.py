"""What an attack is: a name, a folder that it prepares, and a command."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Concatenate, ParamSpec

P = ParamSpec("P")


@dataclass
class Try:
    """A command to run in a prepared folder.

    Args:
        arguments: of `tunax-lite`.
        names: a message must contain one of them, as a word; none means any message will do.
        must_fail: whether success would be a silent wrong result.
        products: files and folders that the command may write, relative to the folder.
        outside: run as a process of its own rather than in a worker.
        environment: variables of that process; `None` removes one.
        limits: resource limits of that process, by name in `resource`.
        seconds: more is a hang.
        also: a second command that runs at the same time, and is judged alike.
    """

    arguments: list[str]
    names: tuple[str, ...] = ()
    must_fail: bool = False
    products: tuple[str, ...] = ("out.nc", "results", "out")
    outside: bool = False
    environment: Mapping[str, str | None] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 60.0
    also: list[str] | None = None


Prepare = Callable[[Path, random.Random], Try]
"""Makes the folder, which holds a copy of the material, and gives the command."""


def later(prepare: Callable[Concatenate[Path, random.Random, P], Try]) -> Callable[P, Prepare]:
    """What prepares a folder, of the arguments behind the first two."""
    return lambda *of, **named: lambda folder, chance: prepare(folder, chance, *of, **named)


@dataclass(frozen=True)
class Attack:
    """An attack; `kind` is a row of the table, `name` is unique among those of the kind."""

    kind: str
    name: str
    prepare: Prepare


Source = Callable[[random.Random], Iterator[Attack]]
"""Gives attacks without end, or all that there are of a kind."""


def once(kind: str, prepared: Mapping[str, Prepare], times: int = 1) -> Source:
    """Each of a list, or several times with other files."""

    def source(chance: random.Random) -> Iterator[Attack]:
        for number in range(times):
            for name, prepare in prepared.items():
                yield Attack(kind, f"{name} {number}" if times > 1 else name, prepare)

    return source


def without_end(kind: str) -> Callable[[Callable[[random.Random], tuple[str, Prepare]]], Source]:
    """A source of what a function draws: a name, and what prepares it."""

    def decorated(draw: Callable[[random.Random], tuple[str, Prepare]]) -> Source:
        def source(chance: random.Random) -> Iterator[Attack]:
            for number in itertools.count(1):
                name, prepare = draw(chance)
                yield Attack(kind, f"{name} {number}", prepare)

        return source

    return decorated
