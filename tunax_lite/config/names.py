"""Descriptions of the names used in configurations, from the declarations of their classes."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from ..closures import AbstractClosure
from ..declarations import Named, all_names, meanings, names_of, summary_and_source, words_of
from ..views import AbstractShown
from .builder import is_number
from .closures import imported_class
from .section import closest


class Declared(NamedTuple):
    """A number or setting of a named class, as text for display."""

    path: str
    default: str
    unit: str
    range: str
    meaning: str
    is_number: bool


class Pool(NamedTuple):
    """A pool of a biogeochemical model, as text for display."""

    name: str
    unit: str
    start: str
    meaning: str


class Description(NamedTuple):
    """Description of a name used in configurations.

    Args:
        pools: of a biogeochemical model.
        links: pools of other models to which it can be coupled.
        kept: name, unit and meaning of profiles that a run can keep.
    """

    name: str
    kind: type
    summary: str
    source: str
    declared: tuple[Declared, ...]
    pools: tuple[Pool, ...] = ()
    links: tuple[str, ...] = ()
    kept: tuple[tuple[str, str, str], ...] = ()


@runtime_checkable
class _HasPools(Protocol):
    """A biogeochemical model."""

    def pools(self) -> Sequence[Any]: ...  # `Pool` of an extension

    def links(self) -> Sequence[str]: ...

    def measurable(self) -> Mapping[str, tuple[str, str]]: ...


def describe(name: str) -> tuple[Description, ...]:
    """Describe a name: a closure, a part of one, a bulk formula, a water type, a method and so on.

    Args:
        name: as in a configuration, `package.module:Class` included; several families may use it.

    Raises:
        ValueError: an unknown name, or a class that cannot be imported or is no closure and no term.
    """
    found = [each for each in all_names() if each.name == name]
    if ":" in name:
        kind = imported_class(name)
        found = [Named(name, kind, kind)]
    if not found:
        known = sorted({each.name for each in all_names()})
        raise ValueError(f"expected a name of configurations, got '{name}'; {closest(name, known)}.")
    return tuple(_described(each) for each in found)


def _described(each: Named) -> Description:
    made = _made(each.make)
    said = Description(
        each.name, each.kind, *summary_and_source(each.kind), tuple(_of_kind(each.kind, made, ""))
    )
    if not isinstance(made, _HasPools):
        return said
    pools = tuple(
        Pool(of.name, of.unit, f"{of.initial:g}", of.meaning + " (on the bottom)" * of.on_bottom)
        for of in made.pools()
    )
    kept = tuple((name, *of) for name, of in made.measurable().items())
    return said._replace(pools=pools, links=tuple(made.links()), kept=kept)


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
    return tuple(_of_kind(kind, _made(make or kind), ""))


def _made(make: Callable[[], object]) -> object:
    """An instance, if everything has a default; otherwise `None`."""
    try:
        return make()
    except (TypeError, ValueError):
        return None


def _of_kind(kind: type, made: object, prefix: str) -> Iterator[Declared]:
    """Declarations of a class in the order of its fields, with those of its parts last."""
    parts = []
    for field in dataclasses.fields(kind):
        meaning = meanings(kind).get(field.name, "")
        path, value = prefix + field.name, _value(field, made)
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
    same = (each.name for each in known if each.kind is type(part) and eqx.tree_equal(_made(each.make), part))
    return next(same, type(part).__name__)


def _value(field: dataclasses.Field, made: object) -> object:
    if made is not None:
        return getattr(made, field.name)
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
