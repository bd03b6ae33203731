"""From the declarations of a class to the section of a file that makes it: keys, types, ranges, meanings.

`section_of` derives a pydantic model from the fields of a class, `one_of` the choice among all named classes
of a family, so that nothing that a class declares is written down again. pydantic checks, gathers all
problems of a file with their places, and writes the JSON Schema; `build` calls the class with what was given.
"""

import dataclasses
import difflib
import enum
import functools
import inspect
import itertools
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Optional, Union, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticUndefined

from ..declarations import meanings, name_of, names_of


def closest(name: str, valid: list[str]) -> str:
    """A hint for a name that does not exist: the nearest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"choose one of: {', '.join(valid)}"


def invalid(expected: str, got: Any, todo: str) -> PydanticCustomError:
    """A refused value: what was expected, what was got, what to do."""
    return PydanticCustomError(
        "invalid", "expected {expected}, got {got}; {todo}", {"expected": expected, "got": got, "todo": todo}
    )


def key(meaning: str, default: Any = PydanticUndefined, **checks: Any) -> Any:
    """A key of a section: what it means, its default if it has one, and how pydantic checks it."""
    return Field(default, description=meaning, **checks)


class Located(ValueError):
    """A value that is refused together with others, and the keys below the section that it has."""

    def __init__(self, keys: tuple[str, ...], message: str):
        super().__init__(message)
        self.keys = keys


class Section(BaseModel):
    """A mapping with a fixed set of keys; a key that is not among them is an error with a hint."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    null_is_default: ClassVar[frozenset[str]] = frozenset()
    """Keys whose `null` stands for the default."""

    @model_validator(mode="wrap")
    @classmethod
    def _explain_problems(cls, data: Any, validate: Callable[[Any], Any]) -> Any:
        if isinstance(data, dict):
            data = {key: v for key, v in data.items() if not (v is None and key in cls.null_is_default)}
        try:
            return validate(data)
        except ValidationError as error:
            problems = sorted(error.errors(include_url=False), key=lambda one: one["type"] not in _UNKNOWN)
            told = [_explained(problem, cls.model_fields) for problem in problems]
            raise ValidationError.from_exception_data(cls.__name__, told) from None

    @model_validator(mode="after")
    def _check_together(self):
        self._check()
        return self

    def _check(self) -> None:
        """Refuse keys that do not go together."""


MISSING = ", got none; add this key."
_UNKNOWN = ("extra_forbidden", "invalid_key")


def _explained(problem: ErrorDetails, fields: Mapping[str, FieldInfo]) -> InitErrorDetails:
    """A problem of a section with such fields, said in our words, or already said by a section below it.

    What the key is about says the nearest section that knows it, between the two parts of the text.
    """
    kind, context, location = problem["type"], problem.get("ctx", {}), problem["loc"]
    field = fields.get(str(location[0])) if location else None
    if kind == "explained":
        parts = context
    elif kind not in ("invalid", "value_error"):
        parts = _in_words(problem, field, fields)
    else:
        error = (
            kind if kind == "value_error" else PydanticCustomError(kind, cast(Any, problem["msg"]), context)
        )
        return InitErrorDetails(type=error, loc=location, input=problem["input"], ctx=context)
    if parts["about"] is None and field is not None:
        about = field.description
        parts = {**parts, "about": f" ({about.split('. ')[0]})" if about else ""}
    error = PydanticCustomError("explained", "{said}", parts)
    return InitErrorDetails(type=error, loc=location, input=problem["input"])


def _in_words(
    problem: ErrorDetails, field: FieldInfo | None, fields: Mapping[str, FieldInfo]
) -> dict[str, Any]:
    """What pydantic found, in two parts; `about` is what stands between them, `None` if it is to be said."""
    kind, context, got = problem["type"], problem.get("ctx", {}), f"got {problem['input']!r}"
    below = [] if field is None else _sections(field.annotation)
    said, after, about = problem["msg"], f", {got}; correct this value.", None
    if kind in _UNKNOWN:
        name = str(problem["loc"][-1])
        hint = closest(name, list(fields))
        said, before, after, about = f"{name}: {hint}", f"unknown key; {hint}", "", ""
    elif kind == "missing":
        before, after = "expected a value", MISSING
    elif kind == "union_tag_not_found":
        tag = context["discriminator"]
        known = (get_args(each.model_fields[tag.strip("'")].annotation) for each in below)
        tags = ", ".join(f"'{name}'" for name in itertools.chain(*known))
        before, after, about = f"expected the key {tag}, one of {tags}, got none; add it.", "", ""
    elif kind == "union_tag_invalid":
        hint = closest(context["tag"], re.findall("'([^']*)'", context["expected_tags"]))
        todo = hint if hint.startswith("did") else "choose one of these"
        before = f"expected {context['discriminator']} to be one of {context['expected_tags']}"
        after, about = f", got '{context['tag']}'; {todo}.", ""
    elif kind == "model_type" or (kind == "model_attributes_type" and below):
        keys = ", ".join(fields if kind == "model_type" else below[0].model_fields)
        before, after = f"expected a mapping with some of the keys {keys}", f", {got}; write one."
    else:
        before = said.replace("Input should be", "expected")
        before = re.sub("expected (?=greater|less)", "expected a number ", before)
        before = re.sub("^(?:List|Dictionary|String) should have (.*?)(?: after.*)?$", r"expected \1", before)
    return {"said": said, "before": before, "after": after, "about": about}


def _sections(annotation: Any) -> list[type[BaseModel]]:
    """The sections that an annotation is made of."""
    if get_origin(annotation) in (Annotated, Union, types.UnionType, list, dict):
        return [section for argument in get_args(annotation) for section in _sections(argument)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


class Made(Section):
    """A section that was derived from a class, and makes it."""

    maker: ClassVar[Any] = None
    own_keys: ClassVar[Mapping[str, FieldInfo]] = {}
    conversions: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def build(self, **others: Any) -> Any:
        """The object, with arguments that no file gives; what is not given is left to the class."""
        return type(self).maker(**self.given(), **others)

    def given(self) -> dict[str, Any]:
        """Arguments of the class that the file gives, or whose default is another one in files."""
        fields = type(self).model_fields
        given = {
            name: getattr(self, name)
            for name, declared in self.own_keys.items()
            if name in self.model_fields_set or fields[name].default != declared.default
        }
        for name, value in given.items():
            if isinstance(value, Made):
                given[name] = value.build()
            elif name in self.conversions and value is not None:
                given[name] = self.conversions[name](value)
        return given

    def _check(self) -> None:
        if type(self).maker is not None:
            self.build()  # raises what only the class knows


STANDS_AS: dict[type, Any] = {}
"""Sections of their own, with `build`, that stand in files for the classes of a family."""


class _Field(NamedTuple):
    """Type of a key, and what makes the argument of its value where it is not the value itself."""

    annotation: Any
    convert: Callable[[Any], Any] | None = None


@functools.cache
def section_of(
    kind: type,
    tag: str = "",
    name: str = "",
    *,
    only: tuple[str, ...] | None = None,
    numbers: bool = True,
    partial: bool = False,
) -> type[Made]:
    """The section of a class.

    Args:
        kind: whose fields are declared with `parameter` and `setting`, or are themselves such classes.
        tag: key of the name in files, which says the class; empty for a class without names.
        name: of the class, whose presets are its defaults.
        only: fields that a file may set; by default all that are declared.
        numbers: whether calibratable numbers are among them; those that may be absent can be `null`
            either way.
        partial: for a section that something else completes: nothing is made of it to check it.
    """
    fields: dict[str, Any] = {}
    known = names_of(kind)[name] if name else None
    if known is not None:
        fields[tag] = (Literal[name], Field())
    conversions = {}
    for field, made in declared_fields(kind):
        if only is not None and field.name not in only:
            continue
        if is_number(field) and not numbers:
            if not (field.default is None or _may_be_none(typing.get_type_hints(kind)[field.name])):
                continue
            made = _Field(None)
        if made.convert is not None:
            conversions[field.name] = made.convert
        default: Any = _default(field, made, {} if known is None else known.preset)
        if not numbers and "default_factory" in default:
            default = dict(default=None)
        meaning = meanings(kind).get(field.name)
        about = None if meaning is None else meaning.removesuffix(".")
        fields[field.name] = (made.annotation, Field(**default, description=about))
    section = create_model(
        f"{kind.__name__}{name.title().replace('_', '')}Section",
        __base__=Made,
        __doc__=inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0],
        **fields,
    )
    section.conversions = conversions
    section.own_keys = {key: field for key, field in section.model_fields.items() if key != tag}
    section.null_is_default = frozenset(
        field.name
        for field, _ in declared_fields(kind)
        if field.metadata.get("setting", {}).get("null_is_default")
    )
    if not partial:
        section.maker = staticmethod(kind if known is None else known.make)
    return section


def part_of(kind: type, only: str = "", tag: str = "", name: str = "", *, partial: bool = True) -> Any:
    """The section of a class for another to derive from: of all its fields, or of those named in `only`."""
    return section_of(kind, tag, name, only=tuple(only.split()) or None, partial=partial)


def one_of(
    family: type,
    tag: str = "name",
    *,
    replaced: Mapping[type, Any] = MappingProxyType({}),
    number: Callable[[Any], Any] | None = None,
) -> Any:
    """Type of a key whose value names one of the classes of a family, with its settings.

    Args:
        replaced: sections of classes that a file says in more ways than with their fields.
        number: what a number stands for.
    """
    known = names_of(family)
    sections = [replaced.get(each.kind) or section_of(each.kind, tag, name) for name, each in known.items()]
    return choice(sections, tag, list(known), number)


def choice(
    sections: list[Any], tag: str, names: Iterable[str], number: Callable[[Any], Any] | None = None
) -> Any:
    """Type of a key for one of several sections, or for the name of one that has nothing else to say."""

    def complete(value: Any) -> Any:
        if number is not None and isinstance(value, int | float) and not isinstance(value, bool):
            return number(value)
        return {tag: value} if isinstance(value, str) else value

    short: Any = Literal[tuple(names)]
    said = Union[tuple([short, *sections, *([float] if number is not None else [])])]  # noqa: UP007
    before = BeforeValidator(complete, json_schema_input_type=said)
    if len(sections) == 1:
        return Annotated[sections[0], before]
    return Annotated[Union[tuple(sections)], Field(discriminator=tag), before]  # noqa: UP007


@functools.cache
def declared_fields(kind: type) -> tuple[tuple[dataclasses.Field, _Field], ...]:
    """Fields that a file may set, with the types of their keys."""
    hints = typing.get_type_hints(kind)
    found = ((field, _field(field, hints[field.name])) for field in dataclasses.fields(kind) if field.init)
    return tuple((field, made) for field, made in found if made is not None)


def is_number(field: dataclasses.Field) -> bool:
    """Whether a field is a calibratable number."""
    return "valid_range" in field.metadata


def _field(field: dataclasses.Field, hint: Any) -> _Field | None:
    """Type of the key of a field; `None` for one that no file sets."""
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
    if isinstance(made.annotation, type) and issubclass(made.annotation, Made):  # true for its defaults
        switch = lambda value: ({} if value else None) if isinstance(value, bool) else value  # noqa: E731
        before = BeforeValidator(switch, json_schema_input_type=made.annotation | bool | None)
        return _Field(Annotated[made.annotation | None, before], made.convert)
    return _Field(Optional[made.annotation], made.convert)  # noqa: UP045


def _of_hint(hint: Any, declared: Any) -> _Field | None:
    if declared["choices"] is not None:
        return _Field(Literal[declared["choices"]])
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
    if not dataclasses.is_dataclass(hint):
        return None
    for family, section in STANDS_AS.items():
        if issubclass(hint, family):
            return _Field(section, lambda value: value.build())
    if names_of(hint):
        return _Field(one_of(hint))
    if inspect.isabstract(hint) or not _is_complete(hint):
        return None
    return _Field(section_of(hint))


def _is_complete(kind: type) -> bool:
    """Whether a file can say all that a class needs."""
    return all(
        field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
        or is_number(field)
        or "setting" in field.metadata
        for field in dataclasses.fields(kind)
        if field.init
    )


def _may_be_none(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _default(field: dataclasses.Field, made: _Field, preset: Mapping[str, Any]) -> Any:
    """The default as arguments of `Field`; that of a part is made when it is asked for."""
    if field.name in preset:
        return {"default": preset[field.name]}
    if field.default is not dataclasses.MISSING:
        value = field.default.value if isinstance(field.default, enum.Enum) else field.default
        return {"default": list(value) if isinstance(value, tuple) else value}
    if field.default_factory is dataclasses.MISSING:
        return {}
    factory = field.default_factory

    def usual() -> Any:
        name = name_of(type(factory()))
        return TypeAdapter(made.annotation).validate_python({} if name is None else name)

    return {"default_factory": usual}
