"""What the docstrings of a closure say about its parameters: meaning and source."""

import operator
from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx

from .._types import iterate_parameters, iterate_weights
from ..corrections import CorrectedForcing
from ..corrections.initial_state import VARIABLES as INITIAL_VARIABLES
from ..declarations import meanings, summary_and_source


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
    known = dict(meanings(CorrectedForcing))
    known |= {name: f"increment of the initial {name}" for name in INITIAL_VARIABLES}
    named = {path: path.rpartition(".")[2] for path in paths}
    return {path: ParameterDescription(known[name], "") for path, name in named.items() if name in known}


def _describe(module: eqx.Module, path: str) -> ParameterDescription:
    part, _, name = path.rpartition(".")
    owner = type(operator.attrgetter(part)(module) if part else module)
    return ParameterDescription(meanings(owner).get(name, ""), _source(owner))


def _source(kind: type) -> str:
    """The source of a class, else of what it inherits from."""
    return next((source for owner in kind.__mro__ if (source := summary_and_source(owner)[1])), "")
