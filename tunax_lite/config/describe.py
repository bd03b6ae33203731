"""Sections of a configuration that make objects which are there already: `build` the other way round."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import numpy as np

from .._types import iterate_parameters
from ..closures import AbstractClosure, Boundary, Exponents
from ..declarations import name_of, names_of
from ..model import Model
from .closures import ClosureSection, closure_with
from .sections import ModelSection

_PLAIN = (bool, int, float, str, type(None))


def model_section(model: Model) -> dict[str, Any] | None:
    """Section `model` from which the same model is built; `None` for one that no section describes."""
    closure = closure_section(model.closure)
    if closure is None or model.tridiagonal_method is not None:
        return None
    section: dict[str, Any] = {"closure": closure}
    for name in ModelSection.model_fields:
        if name != "closure" and getattr(model, name) is not None:
            value = getattr(model, name)
            section[name] = value if isinstance(value, (int, float)) else float(np.asarray(value))
    return section if _is_valid(ModelSection, section) else None


def closure_section(closure: AbstractClosure) -> dict[str, Any] | None:
    """Section `closure` that builds the same closure to the bit; `None` where there is none."""
    name = name_of(type(closure))
    if name is None:
        return None
    try:
        options = dict(_options(closure, type(closure)()))
        parameters = _numbers(closure, closure_with(name, options))
        section = {"name": name, "options": options, "parameters": parameters}
        made = ClosureSection.model_validate(section).build()
    except (TypeError, ValueError):  # settings that cannot be said, or numbers out of their valid range
        return None
    return {key: value for key, value in section.items() if value} if eqx.tree_equal(made, closure) else None


def _is_valid(section: type[ModelSection], data: dict[str, Any]) -> bool:
    try:
        section.model_validate(data)
    except ValueError:
        return False
    return True


def _options(module: eqx.Module, usual: eqx.Module) -> Iterator[tuple[str, Any]]:
    """Settings that are not numbers and differ from the usual ones, as a configuration has them."""
    for field in dataclasses.fields(module):
        value, default = getattr(module, field.name), getattr(usual, field.name)
        if "valid_range" in field.metadata:
            if value is None and default is not None:
                yield field.name, None
        elif field.init and "vector" not in field.metadata and not _only_numbers_differ(value, default):
            said = _said(field.name, value)
            if said != _said(field.name, default):
                yield field.name, said


def _only_numbers_differ(value: Any, usual: Any) -> bool:
    """Whether a part that has no name differs from the usual one in its numbers alone."""
    if isinstance(value, Boundary) or not isinstance(value, eqx.Module) or _made_by(value):
        return False
    return type(value) is type(usual) and not dict(_options(value, usual))


def _made_by(part: Any) -> dict[str, Any]:
    """Names that stand for the class of a part of a closure, with what each makes."""
    if isinstance(part, AbstractClosure):
        return {}
    return {name: each.make() for name, each in names_of(type(part)).items() if each.kind is type(part)}


def _said(name: str, value: Any) -> Any:
    """A setting as a configuration has it.

    Raises:
        ValueError: a value for which there are no words.
    """
    if isinstance(value, Exponents):
        return list(value)
    if isinstance(value, Boundary):
        said = {key: getattr(value, key) for key in ("tke", "length_scale")}
        return said | {"breaking_waves": value.breaking_waves is not None}
    if isinstance(value, _PLAIN):
        return value
    found = _made_by(value)
    if not found:
        raise ValueError(f"{name}: expected a setting with a name, got {value!r}.")
    # Of several names of the same class, the nearest.
    settings = {part: dict(_options(value, usual)) for part, usual in found.items()}
    part = min(found, key=lambda part: (len(settings[part]), len(_numbers(value, found[part]))))
    options = settings[part]
    return {"name": part, **options} if options else part


def _numbers(module: Any, usual: Any) -> dict[str, float]:
    """Numbers that differ from those of another module of the same class, by dotted name."""
    known = {info.path: info.value for info in iterate_parameters(usual)}
    return {
        info.path: float(np.asarray(info.value))
        for info in iterate_parameters(module)
        if info.value is not None
        and (known.get(info.path) is None or not np.array_equal(info.value, known[info.path]))
    }
