"""Sections of a configuration file, checked by pydantic, with the package's own error messages."""

import difflib
import functools
import itertools
import types
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

import jax
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticUndefined

from .._docstrings import docstring_of
from .._types import JSON
from ..plausibility import RULES

Annotation = Any  # of a key: a type, or a special form of `typing`
S = TypeVar("S", bound="Section")
T = TypeVar("T")
SomeCase = Any  # a section of `cases`, which imports this one


def closest(name: str, valid: list[str]) -> str:
    """Hint for an unknown name: the closest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'" if near else f"choose one of: {', '.join(valid)}"


def invalid(expected: str, got: object, todo: str) -> PydanticCustomError:
    """A rejected value: what was expected, what was found, a remedy."""
    return PydanticCustomError(
        "invalid", "expected {expected}, got {got}; {todo}", {"expected": expected, "got": got, "todo": todo}
    )


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


def in_short(name: str, section: Annotation, kind: type = str) -> BeforeValidator:
    """Let a text, or a number if the kind is `float`, stand for a section with this key alone."""
    kinds = (int, float) if kind is float else kind

    def whole(said: JSON) -> JSON:
        return {name: said} if isinstance(said, kinds) and not isinstance(said, bool) else said

    return BeforeValidator(whole, json_schema_input_type=section | kind)


Accepted = Annotated[list[str], known("names of rules of plausibility", RULES)]
"""Rules of plausibility that are silenced."""


class Located(ValueError):
    """A value rejected in combination with others, and the keys involved."""

    def __init__(self, keys: tuple[str, ...], message: str):
        super().__init__(message)
        self.keys = keys


def once(build: Callable[[S], T]) -> Callable[[S], T]:
    """Let a section remember what it builds: it does not change, and its check builds it first."""

    @functools.wraps(build)
    def known(section: S) -> T:
        precision = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
        if precision not in section._built:
            section._built[precision] = build(section)
        return section._built[precision]

    return known


class Section(BaseModel):
    """A mapping with a fixed set of keys; an unknown key is an error with a hint."""

    _built: dict[bool, Any] = PrivateAttr(default_factory=dict)  # what it describes, by precision
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    null_is_default: ClassVar[frozenset[str]] = frozenset()
    """Keys whose `null` stands for the default."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        cls.__doc__ = cls.__doc__ or docstring_of(cls) or None  # the schema has it even if -OO drops it

    @model_validator(mode="wrap")
    @classmethod
    def _explain_problems(cls, data: JSON, validate: Callable[[JSON], Any]) -> Any:  # an instance
        if isinstance(data, dict):
            data = {key: v for key, v in data.items() if not (v is None and key in cls.null_is_default)}
        try:
            section = validate(data)
        except ValidationError as error:
            problems = sorted(error.errors(include_url=False), key=lambda one: one["type"] not in _UNKNOWN)
            told = [_explained(problem, cls.model_fields) for problem in problems]
            raise ValidationError.from_exception_data(cls.__name__, told) from None
        section._check()
        return section

    def _check(self) -> None:
        """Reject keys that exclude each other."""


MISSING = ", got none; add this key."
_UNKNOWN = ("extra_forbidden", "invalid_key")


def _explained(problem: ErrorDetails, fields: Mapping[str, FieldInfo]) -> InitErrorDetails:
    """Rephrase a problem of a section, unless a nested section has already done so.

    The nearest section that knows the key inserts its meaning between the two parts of the text.
    """
    kind, context, location = problem["type"], problem.get("ctx", {}), problem["loc"]
    field = fields.get(str(location[0])) if location else None
    if kind == "explained":
        parts = context
    elif kind not in ("invalid", "value_error"):
        parts = _in_words(problem, field, fields)
    else:
        error = (
            kind if kind == "value_error" else PydanticCustomError(kind, problem["msg"], context)  # pyright: ignore[reportArgumentType]
        )
        return InitErrorDetails(type=error, loc=location, input=problem["input"], ctx=context)
    if parts["about"] is None and field is not None:
        about = field.description
        parts = {**parts, "about": f" ({about.split('. ')[0]})" if about else ""}
    error = PydanticCustomError("explained", "{said}", parts)
    return InitErrorDetails(type=error, loc=location, input=problem["input"])


def _in_words(
    problem: ErrorDetails, field: FieldInfo | None, fields: Mapping[str, FieldInfo]
) -> dict[str, str | None]:
    """pydantic's message in two parts, for `about` in between; `None` for the meaning of the key."""
    kind, context, got = problem["type"], problem.get("ctx", {}), f"got {problem['input']!r}"
    below = [] if field is None else _sections(field.annotation)
    said, after, about = problem["msg"], f", {got}; correct this value.", None
    if kind in _UNKNOWN:
        name = str(problem["loc"][-1])
        hint = _further_in(name, fields) or closest(name, list(fields))
        said, before, after, about = f"{name}: {hint}", f"unknown key; {hint}", "", ""
    elif kind == "missing":
        before, after = "expected a value", MISSING
    elif kind == "union_tag_not_found":
        tag = context["discriminator"]
        known = (get_args(each.model_fields[tag.strip("'")].annotation) for each in below)
        tags = ", ".join(f"'{name}'" for name in itertools.chain(*known))
        before, after, about = f"expected the key {tag}, one of {tags}, got none; add it.", "", ""
    elif kind == "union_tag_invalid":
        hint = closest(context["tag"], context["expected_tags"].replace("'", "").split(", "))
        todo = hint if hint.startswith("did") else "choose one of these"
        before = f"expected {context['discriminator']} to be one of {context['expected_tags']}"
        after, about = f", got '{context['tag']}'; {todo}.", ""
    elif kind == "model_type" or (kind == "model_attributes_type" and below):
        keys = ", ".join(fields if kind == "model_type" else below[0].model_fields)
        before, after = f"expected a mapping with some of the keys {keys}", f", {got}; write one."
    elif kind.endswith(("too_short", "too_long")):
        bound, n = ("least", "min_length") if kind.endswith("short") else ("most", "max_length")
        what = "character" if kind.startswith("string") else "item"
        before = f"expected at {bound} {context[n]} {what}{'s' * (context[n] != 1)}"
    else:
        is_bound = kind.startswith(("greater", "less"))
        before = said.replace("Input should be", "expected a number" if is_bound else "expected")
    return {"said": said, "before": before, "after": after, "about": about}


_MOST_PLACES = 3


def _further_in(name: str, fields: Mapping[str, FieldInfo]) -> str:
    """Hint for a key that belongs to a part of the section; empty where none has it, or many have."""
    places = [
        f"`{key}.{name}`"
        for key, field in fields.items()
        if any(name in part.model_fields for part in _sections(field.annotation))
    ]
    return f"it belongs further in, as {' or '.join(places)}" if 0 < len(places) <= _MOST_PLACES else ""


def _sections(annotation: Annotation) -> list[type[BaseModel]]:
    """The sections in an annotation."""
    if get_origin(annotation) in (Annotated, Union, types.UnionType, list, dict):
        return [section for argument in get_args(annotation) for section in _sections(argument)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
