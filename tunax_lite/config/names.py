"""Descriptions of the names used in configurations, from the declarations of their classes."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from ..closures import AbstractClosure
from ..declarations import Named, all_names, meanings, names_of, summary_and_source, words_of
from ..views import AbstractShown
from .builder import class_of, is_number
from .section import closest

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, names of the columns, and rows of texts."""


class Declared(NamedTuple):
    """A number or setting of a named class, as text for display."""

    path: str
    default: str
    unit: str
    range: str
    meaning: str
    is_number: bool


class Described(NamedTuple):
    """Description of a name used in configurations; `tables` are title, columns and rows of further texts."""

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
        name: as in a configuration, `package.module:Class` included; several families may use it.

    Raises:
        ValueError: an unknown name, or a class that cannot be imported or is no closure and no term.
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


def families() -> dict[str, list[Named]]:
    """All names by the root of their class, in words."""
    found: dict[str, list[Named]] = {}
    for each in all_names():
        own = [kind for kind in each.kind.__mro__ if kind.__module__.startswith("tunax_lite.")]
        own = [kind for kind in own if kind is not AbstractShown]
        roots = [kind for kind in own if not set(kind.__bases__) & set(own)]
        root = AbstractClosure if AbstractClosure in roots else roots[0]
        found.setdefault(words_of(root), []).append(each)
    return {title: sorted(found[title], key=lambda each: each.name) for title in sorted(found)}


def declared(kind: type, make: Callable[[], object] | None = None) -> tuple[Declared, ...]:
    """Declarations of a class and its parts, with the defaults of the object from `make`, or of the class."""
    return tuple(_of_kind(kind, _instance_of(make or kind), ""))


def _instance_of(make: Callable[[], object]) -> object:
    """An instance, if everything has a default; otherwise `None`."""
    try:
        return make()
    except (TypeError, ValueError):
        return None


def _of_kind(kind: type, instance: object, prefix: str) -> Iterator[Declared]:
    """Declarations of a class in the order of its fields, with those of its parts last."""
    parts = []
    for field in dataclasses.fields(kind):
        meaning = meanings(kind).get(field.name, "")
        path, value = prefix + field.name, _value(field, instance)
        if is_number(field) or "vector" in field.metadata:
            declared = field.metadata if is_number(field) else field.metadata["vector"]
            low, high = declared.get("valid_range") or declared["range"]
            bounds = "any" if np.isinf(low) and np.isinf(high) else f"{low:g} to {high:g}"
            yield Declared(path, _shown(value), declared["unit"], bounds, meaning, True)
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
    """The name of a part, or else of its class."""
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
