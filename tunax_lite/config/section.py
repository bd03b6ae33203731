"""Sections of a configuration file: pydantic models whose messages name the meaning of a key and hints."""

import difflib
import types
from collections.abc import Collection, Mapping
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticUndefined

from .._docstrings import docstring_of
from .._types import JSON
from ..plausibility import RULES

Annotation = Any  # of a key: a type, or a special form of `typing`
_UNKNOWN_KEY = "extra_forbidden"  # of pydantic
_MOST_PLACES = 3  # suggested for a misplaced key


def closest(name: str, valid: list[str]) -> str:
    """Hint for an unknown name: the closest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'" if near else f"choose one of: {', '.join(valid)}"


def invalid(expected: str, got: object, todo: str) -> PydanticCustomError:
    """A rejected value: what was expected, what was found, a remedy."""
    return PydanticCustomError("invalid", "{text}", {"text": f"expected {expected}, got {got}; {todo}"})


def reject(message: str, *keys: str) -> NoReturn:
    """Raise pydantic's error for a key of the section that is being checked."""
    error = PydanticCustomError("rejected", "{text}", {"text": message})
    raise ValidationError.from_exception_data("", [InitErrorDetails(type=error, loc=keys, input=None)])


def key(meaning: str, default: object = PydanticUndefined, **checks: Any) -> Any:  # of pydantic's `Field`
    """A key of a section: its meaning, its default if it has one, and how pydantic checks it."""
    return Field(default, description=meaning, **checks)


def known(expected: str, valid: Collection[str]) -> AfterValidator:
    """A check of a list of names, which must all be among known ones."""

    def check(names: list[str]) -> list[str]:
        for name in names:
            if name not in valid:
                raise invalid(expected, f"'{name}'", closest(name, list(valid)))
        return names

    return AfterValidator(check)


def in_short(key: str, section: Annotation, kind: type = str, **more: JSON) -> BeforeValidator:
    """Let a text, or a number if the kind is `float`, stand for a section with this key, and `more`."""
    kinds = (int, float) if kind is float else kind

    def whole(said: JSON) -> JSON:
        return {**more, key: said} if isinstance(said, kinds) and not isinstance(said, bool) else said

    return BeforeValidator(whole, json_schema_input_type=section | kind)


Accepted = Annotated[list[str], known("names of rules of plausibility", RULES)]
"""Rules of plausibility that are silenced."""


class Section(BaseModel):
    """A mapping with a fixed set of keys; an unknown key is an error with a hint."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        cls.__doc__ = cls.__doc__ or docstring_of(cls) or None  # the schema has it even if -OO drops it

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, data: JSON, validate: Any) -> Any:  # a function of pydantic; an instance
        try:
            section = validate(data)
        except ValidationError as error:
            problems = sorted(error.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN_KEY)
            told = [_explained(problem, cls.model_fields) for problem in problems]
            raise ValidationError.from_exception_data(cls.__name__, told) from None
        section._check()
        return section

    def _check(self) -> None:
        """Reject keys that exclude each other."""


def _explained(problem: ErrorDetails, fields: Mapping[str, FieldInfo]) -> InitErrorDetails:
    """Add the rejected value and the meaning of its key to a message of pydantic."""
    kind, location, context = problem["type"], problem["loc"], problem.get("ctx", {})
    name = str(location[0]) if location else ""
    error, field = kind, fields.get(name)
    if "text" in context:
        error = PydanticCustomError(kind, "{text}", context)  # pyright: ignore[reportArgumentType]
    elif kind != "value_error" and (field is not None or kind == _UNKNOWN_KEY):
        text = _text(problem, field, fields)
        about = "" if field is None or field.description is None else field.description.split(". ")[0]
        context = {"text": f"{text} ({about})" if about else text}
        error = PydanticCustomError(kind, "{text}", context)  # pyright: ignore[reportArgumentType]
    return InitErrorDetails(type=error, loc=location, input=problem["input"], ctx=context)


def _text(problem: ErrorDetails, field: FieldInfo | None, fields: Mapping[str, FieldInfo]) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if field is None:
        name = str(problem["loc"][0])
        within = [
            f"`{key}.{name}`"
            for key, each in fields.items()
            if any(name in section.model_fields for section in _sections(each.annotation))
        ]
        is_misplaced = 0 < len(within) <= _MOST_PLACES
        hint = (
            f"it belongs further in, as {' or '.join(within)}"
            if is_misplaced
            else closest(name, list(fields))
        )
        return f"unknown key; {hint}"
    if kind == "missing":
        return "expected a value, got none; add this key"
    below = _sections(field.annotation)
    if kind == "union_tag_not_found":
        tag = context["discriminator"].strip("'")
        tags = ", ".join(name for each in below for name in get_args(each.model_fields[tag].annotation))
        return f"expected the key '{tag}', one of {tags}, got none; add it"
    if kind == "union_tag_invalid":
        tags = context["expected_tags"].replace("'", "").split(", ")
        tag = context["discriminator"].strip("'")
        expected = f"expected {tag} to be one of {', '.join(tags)}"
        return f"{expected}, got '{context['tag']}'; {closest(context['tag'], tags)}"
    if kind.startswith("model_") and below:
        return (
            f"expected a mapping with keys among {', '.join(below[0].model_fields)}, got {problem['input']!r}"
        )
    expected = "expected a number" if kind.startswith(("greater", "less")) else "expected"
    return f"{problem['msg'].replace('Input should be', expected)}, got {problem['input']!r}"


def _sections(annotation: Annotation) -> list[type[BaseModel]]:
    """The sections in an annotation."""
    if get_origin(annotation) in (Annotated, Union, types.UnionType, list, dict):
        return [section for argument in get_args(annotation) for section in _sections(argument)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
