"""Derive sections of configuration files from class declarations: keys, types, ranges, meanings.

`section_of` derives a pydantic model from the fields of a class, and `one_of` the choice among all named
classes of a family, so that declarations are not repeated. pydantic checks a file, collects all problems with
their places, and writes the JSON Schema; `build` calls the class with the given values.
"""

import contextlib
import contextvars
import dataclasses
import enum
import functools
import importlib
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BeforeValidator, Field, TypeAdapter, WrapValidator, create_model
from pydantic.fields import FieldInfo

from .._docstrings import docstring_of
from .._types import JSON
from ..declarations import meanings, name_of, names_of, words_of
from .section import Annotation, Section, closest, invalid, once

T = TypeVar("T")
_trusted = contextvars.ContextVar("trusted", default=True)
"""Whether to import modules that a configuration names: in results it may be that of somebody else."""


class DerivedSection(Section):
    """A section derived from a class, which builds an instance of it."""

    maker: ClassVar[Any] = None  # the class, or a class method
    own_keys: ClassVar[Mapping[str, FieldInfo]] = {}
    conversions: ClassVar[dict[str, Callable[[Any], object]]] = {}  # one per key, for values of its type

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:  # Any: of pydantic
        super().__pydantic_init_subclass__(**options)
        written = inspect.get_annotations(cls)  # what a class writes out is not derived
        cls.own_keys = {name: field for name, field in cls.own_keys.items() if name not in written}

    @once
    def build(self) -> Any:  # of the class
        """Build the object; arguments that are not given take their defaults."""
        return type(self).maker(**self.given())

    def given(self) -> dict[str, Any]:  # of the type of the field
        """Arguments set in the file, or whose default differs in files."""
        fields = type(self).model_fields
        given = {
            name: getattr(self, name)
            for name, declared in self.own_keys.items()
            if name in self.model_fields_set or fields[name].default != declared.default
        }
        for name, value in given.items():
            if isinstance(value, DerivedSection):
                given[name] = value.build()
            elif name in self.conversions and value is not None:
                given[name] = self.conversions[name](value)
        return given

    def _check(self) -> None:
        if type(self).maker is not None:
            self.build()  # raises errors that only the class can detect


STANDS_AS: dict[type, Annotation] = {}
"""Sections of their own, with `build`, that stand in files for the classes of a family."""


class _Field(NamedTuple):
    """Type of a key, and the conversion from its value to the argument."""

    annotation: Annotation
    convert: Callable[[Any], object] | None = None  # for values that the annotation accepts


def section_of(kind: type, tag: str = "", name: str = "") -> type[DerivedSection]:
    """The section of a class, which builds an instance of it; `tag` is the key of its name, if it has one."""
    return part_of(kind, tag=tag, name=name, whole=True)


@functools.cache
def part_of(
    kind: type,
    only: str = "",
    tag: str = "",
    name: str = "",
    *,
    without: str = "",
    whole: bool = False,
    numbers: bool = True,
    prefix: str = "",
    optional: bool = False,
) -> Annotation:
    """The section of a class to derive from.

    Args:
        kind: with fields declared with `parameter` and `setting`, or that are such classes themselves.
        only: fields that a file may set; by default all declared fields.
        tag: key with the name of the class in files; empty for a class without names.
        name: of the class, whose presets are the defaults.
        without: fields that a file may not set.
        whole: whether the section is complete, and is checked by building the class.
        numbers: whether to include calibratable numbers; optional ones can be `null` either way.
        prefix: of the keys, before the names of the fields.
        optional: whether each key may be `null`, which is then its default.
    """
    known = names_of(kind)[name] if name else None
    keys: dict[str, Any] = {}  # types, each with what `Field` returns
    if name:
        keys[tag] = Literal[name], Field()
    conversions, null_is_default = {}, set()
    for field, made in declared_fields(kind):
        if field.name in without.split() or (only and field.name not in only.split()):
            continue
        # Any: arguments of `Field`.
        default: Any = _default(field, made, {} if known is None else known.preset)
        if not numbers and is_number(field):
            if not (field.default is None or _may_be_none(typing.get_type_hints(kind)[field.name])):
                continue
            made = _Field(None)
        if optional or (not numbers and "default_factory" in default):
            default = {"default": None}
        about = meanings(kind).get(field.name, "").removesuffix(".") or None
        annotation = Optional[made.annotation] if optional else made.annotation  # noqa: UP045
        keys[prefix + field.name] = annotation, Field(**default, description=about)
        if made.convert is not None:
            conversions[prefix + field.name] = made.convert
        if field.metadata.get("setting", {}).get("null_is_default"):
            null_is_default.add(prefix + field.name)
    section = create_model(
        f"{kind.__name__}{name.title().replace('_', '')}Section",
        __base__=DerivedSection,
        __doc__=docstring_of(kind).split("\n\n")[0],
        **keys,
    )
    section.conversions, section.null_is_default = conversions, frozenset(null_is_default)
    section.own_keys = {key: field for key, field in section.model_fields.items() if key != tag}
    if whole:
        section.maker = staticmethod(kind if known is None else known.make)
    return section


def one_of(
    family: type,
    tag: str = "name",
    *,
    replaced: Mapping[type, Annotation] = MappingProxyType({}),
    number: Callable[[float], JSON] | None = None,
) -> Annotation:
    """Type of a key whose value names one of the classes of a family, with its settings.

    Args:
        replaced: sections of classes that a file can set in other ways than by their fields.
        number: meaning of a plain number.
    """
    known = names_of(family)
    sections = [replaced.get(each.kind) or section_of(each.kind, tag, name) for name, each in known.items()]
    return choice(sections, tag, list(known), number)


def choice(
    sections: list[Annotation],
    tag: str,
    names: Iterable[str],
    number: Callable[[float], JSON] | None = None,
) -> Annotation:
    """Type of a key for one of several sections, or the name of a section without required keys."""

    def complete(value: JSON) -> JSON:
        if number is not None and isinstance(value, int | float) and not isinstance(value, bool):
            return number(value)
        return {tag: value} if isinstance(value, str) else value

    short: Annotation = Literal[tuple(names)]
    said = Union[tuple([short, *sections, *([float] if number is not None else [])])]  # noqa: UP007
    before = BeforeValidator(complete, json_schema_input_type=said)
    if len(sections) == 1:
        return Annotated[sections[0], before]
    return Annotated[Union[tuple(sections)], Field(discriminator=tag), before]  # noqa: UP007


def class_of(family: type[T], name: str, what: str) -> type[T]:
    """The class for a name or an import path `package.module:Class`; raises `PydanticCustomError`."""
    if (known := names_of(family).get(name)) is not None:
        return known.kind
    if ":" not in name:
        hint = closest(name, list(names_of(family)))
        raise invalid(f"the name of a {what}, or package.module:Class", f"'{name}'", hint)
    module, _, attribute = name.partition(":")
    if not (_trusted.get() or module in sys.modules):
        raise invalid(f"a {what} of the package", f"'{name}'", "import it first, if you trust it")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise invalid(
            "package.module:Class that can be imported",
            f"'{name}' ({error})",
            "install the package, or add its folder to PYTHONPATH",
        ) from error
    if not (isinstance(found, type) and issubclass(found, family)):
        raise invalid(f"a subclass of {family.__name__}", f"'{name}'", f"name a {what}")
    return found


@contextlib.contextmanager
def importing(trusted: bool) -> Iterator[None]:
    """Within, whether import paths in files may import modules that are not imported yet."""
    before = _trusted.set(trusted)
    try:
        yield
    finally:
        _trusted.reset(before)


def own_section(family: type, given: JSON, what: str) -> DerivedSection:
    """The section of a class from its name or import path, with its numbers and settings beside it."""
    settings = {"name": given} if isinstance(given, str) else dict(given)
    kind = class_of(family, str(settings.pop("name", "")), what)
    try:
        return section_of(kind).model_validate(settings)
    except TypeError as error:
        raise invalid(f"a {what} that numbers and settings make", str(error), "give what it needs") from error


def named_or_own(family: type, what: str) -> Annotation:
    """As `one_of`; also a class outside the package, by its import path."""

    def chosen(value: JSON, named: Callable[[JSON], DerivedSection]) -> DerivedSection:
        name = value.get("name") if isinstance(value, Mapping) else value
        is_path = isinstance(name, str) and ":" in name
        return own_section(family, value, what) if is_path else named(value)

    known = one_of(family)
    return Annotated[known, WrapValidator(chosen, json_schema_input_type=known | dict[str, JSON])]


@functools.cache
def declared_fields(kind: type) -> tuple[tuple[dataclasses.Field, _Field], ...]:
    """Fields that a file may set, with the types of their keys."""
    hints = typing.get_type_hints(kind)
    found = ((field, _field(field, hints[field.name])) for field in dataclasses.fields(kind) if field.init)
    return tuple((field, made) for field, made in found if made is not None)


def is_number(field: dataclasses.Field) -> bool:
    """Whether a field is a calibratable number."""
    return "valid_range" in field.metadata


def _field(field: dataclasses.Field, hint: Annotation) -> _Field | None:
    """Type of the key of a field; `None` if files cannot set it."""
    if "vector" in field.metadata or "leading_axes" in field.metadata and not is_number(field):
        return None
    if is_number(field):
        low, high = field.metadata["valid_range"]
        bounds = {"ge": low, "le": high}
        finite = {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
        number = Annotated[float, Field(**finite)]
        return _Field(Optional[number] if field.default is None or _may_be_none(hint) else number)  # noqa: UP045
    declared = field.metadata.get("setting", {"choices": None, "bounds": {}})
    inner = [each for each in get_args(hint) if each is not type(None)] if _may_be_none(hint) else [hint]
    made = _of_hint(inner[0] if len(inner) == 1 else hint, declared)
    if made is None or not _may_be_none(hint):
        return made
    if isinstance(made.annotation, type) and issubclass(
        made.annotation, DerivedSection
    ):  # true for its defaults
        switch = lambda value: ({} if value else None) if isinstance(value, bool) else value  # noqa: E731
        before = BeforeValidator(switch, json_schema_input_type=made.annotation | bool | None)
        return _Field(Annotated[made.annotation | None, before], made.convert)
    return _Field(Optional[made.annotation], made.convert)  # noqa: UP045


def _of_hint(hint: Annotation, declared: Mapping[str, Any]) -> _Field | None:  # from `setting`
    if declared["choices"] is not None:
        return _Field(Literal[declared["choices"]])
    if get_origin(hint) is dict and dataclasses.is_dataclass(family := get_args(hint)[1]):
        if not (isinstance(family, type) and names_of(family)):
            return None
        built = lambda values: {name: value.build() for name, value in values.items()}  # noqa: E731
        return _Field(dict[str, named_or_own(family, words_of(family).lower())], built)
    if hint in (bool, str) or get_origin(hint) in (Literal, dict):
        return _Field(hint)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return _Field(list[get_args(hint)[0]], tuple)
    if hint in (int, float):
        number = Annotated[hint, Field(**declared["bounds"])] if declared["bounds"] else hint
        return _Field(Optional[number] if declared.get("null_is_default") else number)  # noqa: UP045
    if not isinstance(hint, type):
        return None
    if issubclass(hint, enum.Enum):
        return _Field(Literal[tuple(each.value for each in hint)], hint)
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        n = len(hint._fields)  # pyright: ignore[reportAttributeAccessIssue]
        numbers = Annotated[list[float], Field(min_length=n, max_length=n)]
        return _Field(numbers, lambda values: hint(*values))
    for family, section in STANDS_AS.items():
        if issubclass(hint, family):
            return _Field(section, lambda value: value.build())
    if names_of(hint):
        return _Field(one_of(hint))
    if inspect.isabstract(hint) or not (dataclasses.is_dataclass(hint) and _is_complete(hint)):
        return None
    return _Field(section_of(hint))


def _is_complete(kind: type) -> bool:
    """Whether a file can set everything that a class needs."""
    return all(
        field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
        or is_number(field)
        or "setting" in field.metadata
        for field in dataclasses.fields(kind)
        if field.init
    )


def _may_be_none(hint: Annotation) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _default(
    field: dataclasses.Field, made: _Field, preset: Mapping[str, object]
) -> dict[str, Any]:  # of `Field`
    """The default as arguments of `Field`; that of a nested section is built on demand."""
    if field.name in preset:
        return {"default": preset[field.name]}
    if field.default is not dataclasses.MISSING:
        value = field.default.value if isinstance(field.default, enum.Enum) else field.default
        return {"default": list(value) if isinstance(value, tuple) else value}
    if field.default_factory is dataclasses.MISSING:
        return {}
    factory = field.default_factory

    def usual() -> object:
        name = name_of(type(factory()))
        return TypeAdapter(made.annotation).validate_python({} if name is None else name)

    return {"default_factory": usual}
