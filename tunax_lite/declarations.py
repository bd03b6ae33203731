"""Declarations that let files build classes: names, settings, and the meaning of fields.

A calibratable number is declared with `parameter` (`_types.py`), everything else that a file may set with
`setting`; the meaning of both is in the docstring, under `Args:`. The decorator `named` gives a class its
names in files. The schema, the builder, `describe` and the tables of the documentation read these
declarations.
"""

import dataclasses
import enum
import functools
import inspect
import math
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, get_args, get_origin, runtime_checkable

import equinox as eqx
import numpy as np

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
    **options: Any,  # arguments of `equinox.field`
) -> Any:  # as the class annotates the field
    """Declare a field that a file may set and that is not a calibratable number; static in a module.

    The constructor of a module raises `ValueError` for a value that violates the declaration, and `TypeError`
    for one of the wrong type; the constructor of another dataclass has to call `check_settings`.

    Args:
        default: default value.
        choices: allowed texts.
        at_least, above, at_most, below: bounds of a number, closed and open ones.
        finite: whether the number must be finite; otherwise infinity has a meaning.
        options: further arguments of `equinox.field`.
    """
    bounds = {"ge": at_least, "gt": above, "le": at_most, "lt": below}
    declared = {
        "choices": None if choices is None else tuple(choices),
        "bounds": {name: bound for name, bound in bounds.items() if bound is not None},
        "finite": finite,
    }

    def checked(value: Any) -> Any:  # as the class annotates the field
        if choices is None:
            value = _converted(field.type, field.name, value)
        _check_setting(field.name, value, declared)
        return value

    metadata = {"setting": declared}
    field = eqx.field(default=default, static=True, converter=checked, metadata=metadata, **options)
    return field


SETTING = {"setting": setting().metadata["setting"]}
"""Metadata of a field that is a plain setting."""


class Named(NamedTuple):
    """A name in files: the class it selects, the constructor, and the arguments that it fixes."""

    name: str
    kind: type
    make: Callable[..., Any]  # an instance of `kind`, or a class method that returns one
    is_variant: bool = False
    preset: Mapping[str, object] = MappingProxyType({})


_NAMED: list[Named] = []


def named(*names: str, **variants: str | Mapping[str, object]) -> Callable[[K], K]:
    """Give a class its name in files, unique among the classes allowed for a field.

    Args:
        names: names of the class.
        variants: names of variants with other numbers: the class method that builds a variant, or the
            arguments that differ.
    """

    def register(kind: K) -> K:
        _NAMED.extend(Named(name, kind, kind) for name in names)
        for name, variant in variants.items():
            if isinstance(variant, str):
                _NAMED.append(Named(name, kind, getattr(kind, variant), True))
            else:
                _NAMED.append(Named(name, kind, functools.partial(kind, **variant), True, variant))
        return kind

    return register


def names_of(family: type) -> dict[str, Named]:
    """Names of a class and its subclasses, in order, with variants last."""
    matching = (each for each in _NAMED if issubclass(each.kind, family))
    return {each.name: each for each in sorted(matching, key=lambda each: (each.is_variant, each.name))}


def name_of(kind: type) -> str | None:
    """Name of a class in files; `None` if it has none."""
    return next((each.name for each in _NAMED if each.kind is kind and not each.is_variant), None)


def all_names() -> tuple[Named, ...]:
    """All names declared in imported modules."""
    return tuple(_NAMED)


def words_of(family: type) -> str:
    """Name of a base class in words, such as "Biogeochemical model" for `AbstractBiogeochemicalModel`."""
    words = re.sub("(?<=[a-z])([A-Z])", r" \1", family.__name__.removeprefix("Abstract")).split()
    return " ".join([words[0], *map(str.lower, words[1:])])


def docstring_of(documented: type | ModuleType) -> str:
    """Docstring of a class (not inherited) or a module; empty with `python -OO`."""
    return inspect.cleandoc(documented.__doc__ or "")


@functools.cache
def meanings(kind: type) -> Mapping[str, str]:
    """Meanings of the fields of a class, from `Args:` in the docstrings of the class and its bases."""
    meaning_by_name: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        meaning_by_name |= _arguments(docstring_of(base))
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for several, meaning in list(meaning_by_name.items()):
        first, _, last = several.partition(" ... ")
        if first in names and last in names:
            meaning_by_name |= dict.fromkeys(names[names.index(first) : names.index(last) + 1], meaning)
    return meaning_by_name


def _arguments(text: str) -> dict[str, str]:
    """Meanings by name; `a, b: meaning` applies to both, `a ... d: meaning` to all fields between them."""
    section = re.search(r"^Args:\n((?:[ ]+.*\n|\n)*)", text + "\n", flags=re.MULTILINE)
    meaning_by_name: dict[str, str] = {}
    if section is None:
        return meaning_by_name
    for entry in re.split(r"\n(?=    \S)", section[1].rstrip()):
        names, _, meaning = " ".join(entry.split()).partition(": ")
        meaning_by_name |= dict.fromkeys((name.strip() for name in names.split(",")), meaning)
    return meaning_by_name


def module_of(fields: Mapping[str, tuple[Any, Any]], about: Mapping[str, str]) -> Any:  # a base class
    """Make a module class whose fields follow from the declarations of another class.

    Args:
        fields: type and declaration of each field, by name.
        about: meanings of the fields, by name.
    """
    parts = {name: field for name, (_, field) in fields.items()}
    kinds = {name: kind for name, (kind, _) in fields.items()}
    names = {"__module__": __name__, "__doc__": _documented(about), "__annotations__": kinds}
    return types.new_class("Derived", (eqx.Module,), exec_body=lambda body: body.update(parts | names))


def _documented(meaning_by_name: Mapping[str, str]) -> str:
    """Write the docstring from which `meanings` reads the meanings of fields."""
    lines = (f"    {name}: {meaning}\n" for name, meaning in meaning_by_name.items())
    return "Derived fields.\n\nArgs:\n" + "".join(lines)


def summary_and_source(kind: type) -> tuple[str, str]:
    """First paragraph of the docstring of a class, and the source that it or its module cites, if any."""
    text, home = docstring_of(kind), sys.modules.get(kind.__module__)
    module = "" if home is None else docstring_of(home)
    pattern = re.compile(r"^Sources?[^:\n]*: ((?:.+\n?)+)", flags=re.MULTILINE)
    source = pattern.search(text) or pattern.search(module)
    return " ".join(text.split("\n\n")[0].split()), " ".join(source[1].split()) if source else ""


@runtime_checkable
class Declaring(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]


_BOUND_IN_WORDS = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}


def check_settings(instance: Declaring) -> None:
    """Reject settings that violate their declarations; modules of Equinox do so by themselves.

    Args:
        instance: instance of a dataclass with fields declared with `setting`.

    Raises:
        ValueError: a text that is not among the choices, or a number out of bounds.
    """
    for field in dataclasses.fields(type(instance)):
        if (declared := field.metadata.get("setting")) is not None:
            _check_setting(
                field.name, getattr(instance, field.name), declared, f"{type(instance).__name__}: "
            )


def check_kinds(module: Declaring) -> None:
    """Reject parts of a module whose class is not the declared one, such as a name in place of a closure.

    Raises:
        TypeError: a part of another class; the message says what to pass.
    """
    for name, kinds, is_optional, by_name in _kinds_of_parts(type(module)):
        value = getattr(module, name)
        if by_name and not isinstance(value, dict):
            first = value[0] if isinstance(value, list | tuple) and value else value
            kind = first if isinstance(first, type) else type(first)
            expected = f"{name} by names of your choice, such as {{'mine': {kind.__name__}()}}"
            raise TypeError(f"{type(module).__name__}: expected {expected}, got a {type(value).__name__}.")
        for part in value.values() if by_name else (value,):
            if not (isinstance(part, kinds) or (is_optional and part is None)):
                raise TypeError(f"{type(module).__name__}: {_wrong_class(part, kinds, name)}")


def check_mixing(closure: object, mixing: object, n_faces: int) -> None:
    """Reject the mixing that a closure returned, unless it has eddy coefficients on all faces.

    Raises:
        TypeError: missing coefficients, or another number of faces; the message says what to return.
    """
    for name in ("eddy_viscosity", "eddy_diffusivity"):
        shape = getattr(getattr(mixing, name, None), "shape", None)
        if shape is None or shape[:1] != (n_faces,):
            got = f"{type(mixing).__name__} without it" if shape is None else f"the shape {shape}"
            raise TypeError(
                f"{type(closure).__name__}: expected {name} on the {n_faces} faces of the grid, got {got}; "
                "return EddyCoefficients.from_inner_faces(viscosity, diffusivity), each shaped as "
                "inputs.shear_squared."
            )


@functools.cache
def _kinds_of_parts(kind: type) -> tuple[tuple[str, tuple[type, ...], bool, bool], ...]:
    """Fields that hold modules: name, classes, whether it is optional, and whether it is a dictionary."""
    parts = []
    for field in dataclasses.fields(kind):
        by_name = get_origin(field.type) is dict
        hint = get_args(field.type)[1] if by_name else field.type
        hints = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        kinds = tuple(get_origin(each) or each for each in hints if each is not types.NoneType)
        if all(isinstance(each, type) and issubclass(each, eqx.Module) for each in kinds):
            parts.append((field.name, kinds, types.NoneType in hints, by_name))
    return tuple(parts)


def _wrong_class(part: object, kinds: tuple[type, ...], name: str) -> str:
    """Message for a part of a wrong class: expected class, actual class, and what to pass."""
    concrete = [kind for kind in _concrete(kinds) if not kind.__name__.startswith(("Abstract", "_"))]
    got, remedy = repr(part), f"give an instance of {', '.join(kind.__name__ for kind in concrete[:4])}"
    if isinstance(part, type):
        got, remedy = f"the class {part.__name__}", f"make an instance: {part.__name__}(...)"
    elif isinstance(part, str) and (known := names_of(kinds[0]).get(part)) is not None:
        if hasattr(known.kind, "of"):  # a preset of many numbers
            call = f".of({part!r})"
        elif known.is_variant and not known.preset:
            call = f".{known.make.__name__}()"
        else:
            call = f"({', '.join(f'{key}={value!r}' for key, value in known.preset.items())})"
        remedy = f"make an instance: {known.kind.__name__}{call}"
    elif not isinstance(part, str | int | float | None):
        got, remedy = type(part).__name__, getattr(part, "remedy", remedy)
    wanted = " or ".join(kind.__name__ for kind in kinds)
    return f"expected an instance of {wanted} as {name}, got {got}; {remedy}."


def _concrete(kinds: Iterable[type]) -> list[type]:
    """Return the classes and all their subclasses, without abstract classes."""
    concrete = []
    for kind in kinds:
        concrete += ([] if inspect.isabstract(kind) else [kind]) + _concrete(kind.__subclasses__())
    return concrete


def _converted(kind: Any, name: str, value: Any) -> Any:  # as the class annotates the field
    """Convert a setting to the type of its field: a list to a tuple, a text to a member of an enumeration.

    Raises:
        TypeError, ValueError: a value of another type, or a text that names no member.
    """
    expected = ""
    if get_origin(kind) is tuple:
        if isinstance(value, list):
            return tuple(value)
        expected = "" if isinstance(value, tuple) else f"a list, such as [{value!r:.100}]"
    elif isinstance(kind, type) and issubclass(kind, enum.Enum) and not isinstance(value, kind):
        members = {member.value: member for member in kind}
        if value not in members:
            raise ValueError(f"expected {name} out of {', '.join(map(str, members))}, got {value!r}.")
        return members[value]
    elif kind is int and not isinstance(value, int | np.integer):
        expected = "a whole number"
    elif kind is bool and not isinstance(value, int | np.bool_):
        expected = "True or False"
    if expected:
        raise TypeError(f"{name}: expected {expected}, got {value!r}.")
    return value


def _check_setting(
    name: str,
    value: Any,  # as the class annotates the field
    declared: Mapping[str, Any],  # Any: the type of a value depends on the key
    owner: str = "",
) -> None:
    if value is None:
        return
    choices, bounds = declared["choices"], declared["bounds"]
    if choices is not None and value not in choices:
        raise ValueError(f"{owner}expected {name} out of {', '.join(map(str, choices))}, got {value!r}.")
    if bounds and (isinstance(value, bool) or not isinstance(value, int | float | np.number)):
        raise TypeError(f"{owner}{name}: expected a number, got {value!r}.")
    holds = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
    if bounds and not all(holds[each](value, bound) for each, bound in bounds.items()):
        wanted = " and ".join(f"{_BOUND_IN_WORDS[each]} {bound:g}" for each, bound in bounds.items())
        raise ValueError(f"{owner}expected {name} {wanted}, got {value!r}.")
    if declared["finite"] and isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{owner}expected a finite {name}, got {value!r}.")
