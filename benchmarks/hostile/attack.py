"""What an attack is: a name, a folder that it prepares, and a command."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Try:
    """A command to run in a prepared folder.

    Args:
        arguments: of `tunax-lite`.
        names: a message must contain one of them; none means any message will do.
        must_fail: whether success would be a silent wrong result.
        products: files and folders that the command may write, relative to the folder.
        outside: run as a process of its own rather than in a worker.
        environment: variables of that process; `None` removes one.
        limits: resource limits of that process, by name in `resource`.
        before: called with the process once it runs, for faults.
        seconds: more is a hang.
        also: a second command that runs at the same time, and is judged alike.
    """

    arguments: list[str]
    names: tuple[str, ...] = ()
    must_fail: bool = False
    products: tuple[str, ...] = ("out.nc", "results", "out")
    outside: bool = False
    environment: dict[str, str | None] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    seconds: float = 60.0
    also: list[str] | None = None


@dataclass(frozen=True)
class Attack:
    """An attack of a kind.

    Args:
        kind: a row of the table.
        name: says what is done, unique among those of the kind.
        prepare: makes the folder, which holds a copy of the material, and gives the command.
    """

    kind: str
    name: str
    prepare: Callable[[Path, random.Random], Try]


Source = Callable[[random.Random], Iterator[Attack]]
"""Gives attacks without end, or all that there are of a kind."""
