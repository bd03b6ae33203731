"""Descriptions of the names that configurations accept, from the declarations of their classes."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from ..declarations import Named, all_names, meanings, names_of, summary_and_source
from .builder import class_of, is_number
from .section import closest

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, names of the columns, and rows of texts."""


class Declared(NamedTuple):
    """Texts on a number, setting or part of a named class; `is_number` includes vectors of numbers."""

    path: str
    default: str
    unit: str
    range: str
    meaning: str
    is_number: bool


class Described(NamedTuple):
    """Description of a name: its class, the docstring of the class, its fields, and further tables."""

    name: str
    kind: type
    summary: str
    source: str
    declared: tuple[Declared, ...]
    tables: tuple[Table, ...]


@runtime_checkable
class _HasTables(Protocol):
    def tables(self) -> Sequence[Table]: ...


def describe(name: str) -> tuple[Described, ...]:
    """Describe a name: a closure, a part of one, a bulk formula, a water type, a method and so on.

    Args:
        name: name in a configuration, or an import path `package.module:Class`.

    Returns:
        One description for each family of classes that has the name.

    Raises:
        ValueError: an unknown name, or a class that cannot be imported or is no `equinox.Module`.
    """
    found = [each for each in all_names() if each.name == name]
    if ":" in name:
        kind = class_of(eqx.Module, name, "closure, a term or a part of one")
        found = [Named(name, kind, kind)]
    if not found:
        known = sorted({each.name for each in all_names()})
        raise ValueError(f"expected a name of configurations, got '{name}'; {closest(name, known)}.")
    return tuple(_described(each) for each in found)


def _described(each: Named) -> Described:
    instance = _instance_of(each.make)
    rows = tuple(_of_kind(each.kind, instance, ""))
    tables = tuple(instance.tables()) if isinstance(instance, _HasTables) else ()
    return Described(each.name, each.kind, *summary_and_source(each.kind), rows, tables)


def declared(kind: type, make: Callable[[], object] | None = None) -> tuple[Declared, ...]:
    """Describe the fields of a class and of its parts; `make` builds an instance with other defaults."""
    return tuple(_of_kind(kind, _instance_of(make or kind), ""))


def _instance_of(make: Callable[[], object]) -> object:
    """Build an instance; `None` if an argument has no default."""
    try:
        return make()
    except (TypeError, ValueError):
        return None


def _of_kind(kind: type, instance: object, prefix: str) -> Iterator[Declared]:
    """Describe the fields of a class in their order, and then those of its parts."""
    parts = []
    for field in dataclasses.fields(kind):
        meaning = meanings(kind).get(field.name, "")
        path, value = prefix + field.name, _value(field, instance)
        if is_number(field) or "vector" in field.metadata:
            about = field.metadata if is_number(field) else field.metadata["vector"]
            low, high = about.get("valid_range") or about["range"]
            bounds = "any" if np.isinf(low) and np.isinf(high) else f"{low:g} to {high:g}"
            yield Declared(path, _shown(value), about["unit"], bounds, meaning, True)
        elif "setting" in field.metadata:
            yield Declared(path, _shown(value), "", _choices(field), meaning, False)
        elif isinstance(value, eqx.Module):
            parts.append((path, value))
            yield Declared(path, _nearest_name(value), "", "", meaning, False)
        elif field.init and value is None and meaning:
            yield Declared(path, "none", "", "", meaning, False)
    for path, part in parts:
        yield from _of_kind(type(part), part, f"{path}.")


def _nearest_name(part: eqx.Module) -> str:
    """Name whose defaults equal the part, or else the class name."""
    known = names_of(type(part)).values()
    same = (
        each.name
        for each in known
        if each.kind is type(part) and eqx.tree_equal(_instance_of(each.make), part)
    )
    return next(same, type(part).__name__)


def _value(field: dataclasses.Field, instance: object) -> object:
    if instance is not None:
        return getattr(instance, field.name)
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _choices(field: dataclasses.Field) -> str:
    """Choices of a setting, or its bounds."""
    declared = field.metadata["setting"]
    if declared["choices"] is not None:
        return ", ".join(map(str, declared["choices"]))
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return " ".join(f"{signs[name]} {bound:g}" for name, bound in declared["bounds"].items())


def _shown(value: PyTree) -> str:
    if value is dataclasses.MISSING:
        return "to be given"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or hasattr(value, "dtype"):
        return f"{float(np.asarray(value)):.6g}" if np.size(value) == 1 else f"{np.size(value)} numbers"
    return str(getattr(value, "value", value))
