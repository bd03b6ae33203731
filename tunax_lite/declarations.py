"""What a class says of itself to those who make it from a file: names, settings, and what its fields mean.

A calibratable number is declared with `parameter`, everything else that a file may set with `setting`; the
meaning of both stands in the docstring, under `Args:`. The names under which files know a class stand above
it, with `named`. Schema, builder, `describe` and the tables of the documentation read these declarations.
"""

import dataclasses
import functools
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx

K = TypeVar("K", bound=type)


def setting(
    default: object = dataclasses.MISSING,
    *,
    choices: Sequence[str | int] | None = None,
    at_least: float | int | None = None,
    above: float | int | None = None,
    at_most: float | int | None = None,
    below: float | int | None = None,
    finite: bool = True,
    null_is_default: bool = False,
    **options: Any,  # arguments of `equinox.field`
) -> Any:  # as the class annotates the field
    """Declare a field that a file may set and that is no calibratable number; static in a module.

    Args:
        default: value used if none is given.
        choices: texts that the field may have.
        at_least, above, at_most, below: bounds of a number, closed and open ones.
        finite: whether the number must be; where not, infinity has a meaning.
        null_is_default: whether `null` in a file stands for the default.
        options: further arguments of `equinox.field`.
    """
    bounds = {"ge": at_least, "gt": above, "le": at_most, "lt": below}
    declared = {
        "choices": None if choices is None else tuple(choices),
        "bounds": {name: bound for name, bound in bounds.items() if bound is not None},
        "finite": finite,
        "null_is_default": null_is_default,
    }
    return eqx.field(default=default, static=True, metadata={"setting": declared}, **options)


SETTING = {"setting": setting().metadata["setting"]}
"""Metadata of a field that is a plain setting."""


class Named(NamedTuple):
    """A name in files, the class of what it stands for, what makes it, and the arguments that it fixes."""

    name: str
    kind: type
    make: Callable[..., Any]  # an instance of `kind`, or what a class method makes of it
    is_variant: bool = False
    preset: Mapping[str, object] = MappingProxyType({})


_NAMED: list[Named] = []


def named(*names: str, **variants: str | Mapping[str, object]) -> Callable[[K], K]:
    """Give a class its name in files; unique among the classes of a field, `large` may be many things.

    Args:
        names: of the class.
        variants: names of the class with other numbers: a class method that makes it, or the arguments that
            differ.
    """

    def register(kind: K) -> K:
        _NAMED.extend(Named(name, kind, kind) for name in names)
        for name, how in variants.items():
            if isinstance(how, str):
                _NAMED.append(Named(name, kind, getattr(kind, how), True))
            else:
                _NAMED.append(Named(name, kind, functools.partial(kind, **how), True, how))
        return kind

    return register


def names_of(family: type) -> dict[str, Named]:
    """Names of a class and of those that derive from it: in order, variants behind."""
    found = (each for each in _NAMED if issubclass(each.kind, family))
    return {each.name: each for each in sorted(found, key=lambda each: (each.is_variant, each.name))}


def name_of(kind: type) -> str | None:
    """The name of a class in files; `None` without one."""
    return next((each.name for each in _NAMED if each.kind is kind and not each.is_variant), None)


def all_names() -> tuple[Named, ...]:
    """All names that the imported modules give."""
    return tuple(_NAMED)


@functools.cache
def meanings(kind: type) -> Mapping[str, str]:
    """What the fields of a class mean: `Args:` of its docstring, and of those that it derives from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= _arguments(inspect.cleandoc(each.__dict__.get("__doc__") or ""))
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for several, meaning in list(found.items()):
        first, _, last = several.partition(" ... ")
        if first in names and last in names:
            found |= dict.fromkeys(names[names.index(first) : names.index(last) + 1], meaning)
    return found


def _arguments(text: str) -> dict[str, str]:
    """Meanings by name; `a, b: meaning` stands for both, `a ... d: meaning` for all fields between them."""
    section = re.search(r"^Args:\n((?:[ ]+.*\n|\n)*)", text + "\n", flags=re.MULTILINE)
    found: dict[str, str] = {}
    if section is None:
        return found
    for entry in re.split(r"\n(?=    \S)", section[1].rstrip()):
        names, _, meaning = " ".join(entry.split()).partition(": ")
        found |= dict.fromkeys((name.strip() for name in names.split(",")), meaning)
    return found


def summary_and_source(kind: type) -> tuple[str, str]:
    """The first paragraph of the docstring of a class, and the source that it, or its module, names."""
    text = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    module = inspect.cleandoc(getattr(sys.modules.get(kind.__module__), "__doc__", None) or "")
    pattern = re.compile(r"^Sources?[^:\n]*: ((?:.+\n?)+)", flags=re.MULTILINE)
    source = pattern.search(text) or pattern.search(module)
    return " ".join(text.split("\n\n")[0].split()), " ".join(source[1].split()) if source else ""


@runtime_checkable
class Declaring(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]


_SAID = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}


def check_settings(module: Declaring) -> None:
    """Refuse settings that their declarations exclude.

    Args:
        module: whose fields are declared with `setting`.

    Raises:
        ValueError: a text that is no choice, or a number out of bounds.
    """
    kind = type(module)
    for field in dataclasses.fields(kind):
        value, declared = getattr(module, field.name), field.metadata.get("setting")
        if declared is None or value is None:
            continue
        choices, bounds = declared["choices"], declared["bounds"]
        if choices is not None and value not in choices:
            listed = ", ".join(map(str, choices))
            raise ValueError(f"{kind.__name__}: expected {field.name} out of {listed}, got {value!r}.")
        holds = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
        if not all(holds[name](value, bound) for name, bound in bounds.items()):
            wanted = " and ".join(f"{_SAID[name]} {bound:g}" for name, bound in bounds.items())
            raise ValueError(f"{kind.__name__}: expected {field.name} {wanted}, got {value!r}.")
        if declared["finite"] and isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{kind.__name__}: expected a finite {field.name}, got {value!r}.")
