"""What the docstrings of a closure say about its parameters: meaning and source."""

import inspect
import operator
import re
from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx

from .._types import iterate_parameters, iterate_weights
from ..corrections import CorrectedForcing
from ..corrections.initial_state import VARIABLES as INITIAL_VARIABLES

_ENTRY = re.compile(r"^    ((?:\w+)(?:, \w+)*): (.*)$")


class ParameterDescription(NamedTuple):
    """Of a parameter.

    Args:
        meaning: what the docstring says of it; empty if nothing.
        source: where the equations of its module come from; empty if it does not say.
    """

    meaning: str
    source: str


def describe_parameters(module: eqx.Module) -> dict[str, ParameterDescription]:
    """Description of each calibratable number of a module, by path."""
    paths = [info.path for info in iterate_parameters(module)]
    paths += [path for path, _ in iterate_weights(module)]
    return {path: _describe(module, path) for path in paths}


def describe_corrections(paths: Iterable[str]) -> dict[str, ParameterDescription]:
    """Description of corrections of a case, by path."""
    meanings = _meanings(CorrectedForcing)
    meanings |= {name: f"increment of the initial {name}" for name in INITIAL_VARIABLES}
    named = {path: path.rpartition(".")[2] for path in paths}
    return {
        path: ParameterDescription(meanings[name], "") for path, name in named.items() if name in meanings
    }


def _describe(module: eqx.Module, path: str) -> ParameterDescription:
    part, _, name = path.rpartition(".")
    owner = type(operator.attrgetter(part)(module) if part else module)
    return ParameterDescription(_meanings(owner).get(name, ""), _source(owner))


def _meanings(kind: type) -> dict[str, str]:
    """Entries of the `Args` of a class and of what it inherits from, the class itself first."""
    found: dict[str, str] = {}
    for owner in kind.__mro__:
        for name, text in _entries(owner.__doc__ or "").items():
            found.setdefault(name, text)
    return found


def _entries(docstring: str) -> dict[str, str]:
    lines = inspect.cleandoc(docstring).splitlines()
    if "Args:" not in lines:
        return {}
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines[lines.index("Args:") + 1 :]:
        if line and not line.startswith(" "):
            break
        entry = _ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
        for name in names:
            found[name] = f"{found.get(name, '')} {entry[2] if entry else line.strip()}".strip()
    return found


def _source(kind: type) -> str:
    """The `Source` of a class, else of its module, else of what it inherits from."""
    for owner in kind.__mro__:
        module = inspect.getmodule(owner)
        for docstring in (owner.__doc__, module and module.__doc__):
            match = re.search(r"^Source: (.*?)(?:\n\s*\n|\Z)", inspect.cleandoc(docstring or ""), re.M | re.S)
            if match:
                return " ".join(match[1].split())
    return ""
