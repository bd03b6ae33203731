"""Sections derived from classes: a key for each declared field, with its type, range, default and meaning.

A class declares what a file may set with `parameter` and `setting`; `section_of` turns these declarations
into a pydantic model, and `one_of` into the choice among all named classes of a family. `build` calls the
class with the values of the file. Sections with other keys are written by hand, and registered in `BY_HAND`.
"""

import dataclasses
import enum
import functools
import importlib
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Optional, TypeVar, Union, get_args, get_origin

from pydantic import BeforeValidator, Field, TypeAdapter, WrapValidator, create_model

from .._types import JSON
from ..declarations import docstring_of, meanings, name_of, names_of, words_of
from .section import Annotation, Section, closest, in_short, invalid

T = TypeVar("T")


class DerivedSection(Section):
    """A section with keys for the declared fields of a class."""

    make: ClassVar[Any] = None  # the class, or a function that builds an instance with other defaults
    declared: ClassVar[frozenset[str]] = frozenset()  # keys that are arguments of `make`
    is_complete: ClassVar[bool] = False  # whether a file can set all arguments of `make`

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        # A subclass passes the keys that it declares itself to the class in its own `build` or `read`.
        cls.declared = cls.declared - inspect.get_annotations(cls).keys()

    def given(self) -> dict[str, Any]:  # Any: values of the fields
        """Arguments of `make` that the file sets."""
        return {name: _argument(getattr(self, name)) for name in self.declared & self.model_fields_set}

    def build(self) -> Any:  # Any: an instance of the class
        """Build the object; arguments that the file does not set take the defaults of `make`."""
        return type(self).make(**self.given())

    def _check(self) -> None:
        if self.is_complete:
            self.build()  # raises errors that only the class can detect


BY_HAND: dict[type, Annotation] = {}
"""Sections that are written by hand, with `build`, by the class (or base class) of the object."""


@functools.cache
def section_of(kind: type, name: str = "") -> Annotation:
    """Section of a class; a `name` is its first key, and the presets of this name are the defaults."""
    known = names_of(kind)[name] if name else None
    keys, tag = dict(keys_of(kind)), dict[str, Any]()
    if known is not None:
        tag["name"] = Literal[name], Field()
        for preset, value in known.preset.items():
            annotation, field = keys[preset]
            keys[preset] = annotation, Field(value, description=field.description)
    section = create_model(
        f"{kind.__name__}{name.title().replace('_', '')}Section",
        __base__=DerivedSection,
        __doc__=docstring_of(kind).split("\n\n")[0],
        **tag,
        **keys,
    )
    section.make, section.declared = kind if known is None else known.make, frozenset(keys)
    section.is_complete = _is_complete(kind)
    return section


def one_of(family: type) -> Annotation:
    """Type of a key for one of the named classes of a family: a section with `name`, or the name alone."""
    return choice(
        *(BY_HAND.get(each.kind) or section_of(each.kind, name) for name, each in names_of(family).items())
    )


def choice(*sections: Annotation) -> Annotation:
    """Type of a key for one of several sections, selected by `name`; the name alone is accepted, too."""
    names = [name for each in sections for name in get_args(each.model_fields["name"].annotation)]
    before = in_short("name", Union[Literal[tuple(names)], *sections])
    if len(sections) == 1:
        return Annotated[sections[0], before]
    return Annotated[Union[sections], Field(discriminator="name"), before]  # noqa: UP007


@functools.cache
def keys_of(kind: type) -> dict[str, Any]:  # Any: a type and a field of pydantic
    """Types and fields of the keys of a class: its numbers, settings, and parts that a file can set."""
    hints, found = typing.get_type_hints(kind), dict[str, Any]()
    for field in dataclasses.fields(kind):
        if field.init and (annotation := _annotation(field, hints[field.name])) is not None:
            about = meanings(kind).get(field.name, "").removesuffix(".") or None
            found[field.name] = annotation, Field(**_default(field, annotation), description=about)
    return found


def is_number(field: dataclasses.Field) -> bool:
    """Return whether a field is a number that can be calibrated."""
    return "valid_range" in field.metadata


def numbers_of(kind: type) -> dict[str, bool]:
    """Numbers that a file can set, by name; false for one that may be `None`."""
    hints, keys = typing.get_type_hints(kind), keys_of(kind)
    fields = [field for field in dataclasses.fields(kind) if field.name in keys and is_number(field)]
    return {each.name: each.default is not None and not _may_be_none(hints[each.name]) for each in fields}


def _annotation(field: dataclasses.Field, hint: Annotation) -> Annotation:
    """Type of the key of a field; `None` if a file cannot set it."""
    is_optional, inner = _may_be_none(hint), [each for each in get_args(hint) if each is not types.NoneType]
    if is_number(field):
        low, high = field.metadata["valid_range"]
        bounds = {name: bound for name, bound in (("ge", low), ("le", high)) if math.isfinite(bound)}
        found, is_optional = Annotated[float, Field(**bounds)], is_optional or field.default is None
    elif "vector" in field.metadata or "leading_axes" in field.metadata:
        return None
    else:
        found = _annotation_of(inner[0] if is_optional and len(inner) == 1 else hint, field.metadata)
    if found is None or not is_optional:
        return found
    # `true` stands for the defaults of the part, `false` for none.
    if isinstance(found, type) and issubclass(found, DerivedSection):
        switch = lambda value: ({} if value else None) if isinstance(value, bool) else value  # noqa: E731
        return Annotated[found | None, BeforeValidator(switch, json_schema_input_type=found | bool | None)]
    return Optional[found]  # noqa: UP045


def _may_be_none(hint: Annotation) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and types.NoneType in get_args(hint)


def _annotation_of(hint: Annotation, metadata: Mapping[str, Any]) -> Annotation:  # of the field
    """Type of the key of a setting or a part; `None` if a file cannot set it."""
    declared = metadata.get("setting", {"choices": None, "bounds": {}})
    if declared["choices"] is not None:
        return Literal[declared["choices"]]
    if get_origin(hint) is dict:
        family = get_args(hint)[1]
        if not dataclasses.is_dataclass(family):
            return hint
        return dict[str, named_or_own(family)] if names_of(family) else None  # pyright: ignore[reportArgumentType]
    if hint in (bool, str) or get_origin(hint) is Literal:
        return hint
    if hint in (tuple[str, ...], tuple[float, ...]):
        return list[get_args(hint)[0]]
    if hint in (int, float):
        return Annotated[hint, Field(**declared["bounds"])]
    if not isinstance(hint, type):
        return None
    if issubclass(hint, enum.Enum):
        return Literal[tuple(each.value for each in hint)]
    if issubclass(hint, tuple):
        return hint  # a named tuple of numbers
    by_hand = next((section for family, section in BY_HAND.items() if issubclass(hint, family)), None)
    if by_hand is not None or names_of(hint):
        return by_hand or one_of(hint)
    return section_of(hint) if dataclasses.is_dataclass(hint) and _is_complete(hint) else None


def _is_complete(kind: type) -> bool:
    """Return whether a file can set all arguments of a class that have no default."""
    defaults = "default", "default_factory"
    return not inspect.isabstract(kind) and all(
        is_number(field)
        or "setting" in field.metadata
        or any(getattr(field, name) is not dataclasses.MISSING for name in defaults)
        for field in dataclasses.fields(kind)
        if field.init
    )


def _default(field: dataclasses.Field, annotation: Annotation) -> dict[str, Any]:  # of `Field`
    """Default of a key as argument of `Field`, made on demand for a part; nothing if there is none."""
    if field.default is not dataclasses.MISSING:
        value = field.default.value if isinstance(field.default, enum.Enum) else field.default
        return {"default": list(value) if type(value) is tuple else value}
    factory = field.default_factory
    if factory is dataclasses.MISSING:
        return {}
    usual = lambda: TypeAdapter(annotation).validate_python(name_of(type(factory())) or {})  # noqa: E731
    return {"default_factory": usual}


def _argument(value: Any) -> Any:  # Any: value of a key, and of a field
    """Argument of a class from the value of its key."""
    if isinstance(value, dict):
        return {name: _argument(each) for name, each in value.items()}
    if type(value) is list:
        return tuple(value)
    return value.build() if hasattr(value, "build") else value


def class_of(family: type[T], name: str, what: str) -> type[T]:
    """Return the class of a name or an import path `package.module:Class`; raises `PydanticCustomError`.

    `what` is the family in words.
    """
    if (known := names_of(family).get(name)) is not None:
        return known.kind
    if ":" not in name:
        hint = closest(name, list(names_of(family)))
        raise invalid(f"the name of a {what}, or package.module:Class", f"'{name}'", hint)
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        got, todo = f"'{name}' ({error})", "install the package, or add its folder to PYTHONPATH"
        raise invalid("package.module:Class that can be imported", got, todo) from error
    if not (isinstance(found, type) and issubclass(found, family)):
        raise invalid(f"a subclass of {family.__name__}", f"'{name}'", f"name a {what}")
    return found


def own_section(family: type, given: JSON, what: str) -> DerivedSection:
    """Section of a class by its name or import path: `given` is that, or a mapping with `name` and keys."""
    settings = {"name": given} if isinstance(given, str) else dict(given)
    kind = class_of(family, str(settings.pop("name", "")), what)
    try:
        return section_of(kind).model_validate(settings)
    except TypeError as error:
        raise invalid(f"a {what} that numbers and settings make", str(error), "give what it needs") from error


def named_or_own(family: type) -> Annotation:
    """Like `one_of`; an import path of another class is accepted, too."""

    def chosen(value: JSON, named: Callable[[JSON], DerivedSection]) -> DerivedSection:
        name = value.get("name") if isinstance(value, Mapping) else value
        is_path = isinstance(name, str) and ":" in name
        return own_section(family, value, words_of(family).lower()) if is_path else named(value)

    known = one_of(family)
    return Annotated[known, WrapValidator(chosen, json_schema_input_type=known | dict[str, JSON])]
