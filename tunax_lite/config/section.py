"""Sections of a configuration file: pydantic models whose messages explain a key and suggest a remedy."""

import difflib
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, NoReturn

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

from .._types import JSON
from ..plausibility import RULES

Annotation = Any  # type of a key: a class, or a special form of `typing`
_UNKNOWN_KEY = "extra_forbidden"  # name of the error in pydantic
_RENAMED = {"step": "dt", "time_step": "dt", "time_steps": "time.dt"}
"""Present names of keys, by a former name or that in other files, which `closest` would not find."""


def closest(name: str, valid: list[str]) -> str:
    """Hint for an unknown name: the closest valid one, or all of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'" if near else f"choose one of: {', '.join(valid)}"


def invalid(expected: str, got: object, todo: str) -> PydanticCustomError:
    """Return the error for a rejected value: "expected ..., got ...; remedy"."""
    return PydanticCustomError("invalid", "{text}", {"text": f"expected {expected}, got {got}; {todo}"})


def reject(message: str, *keys: str) -> NoReturn:
    """Raise a message for one key of the section that is being checked."""
    error = PydanticCustomError("rejected", "{text}", {"text": message})
    raise ValidationError.from_exception_data("", [InitErrorDetails(type=error, loc=keys, input=None)])


def key(meaning: str, default: object = PydanticUndefined, **checks: Any) -> Any:  # of pydantic's `Field`
    """Declare a key of a section: its meaning, its default if any, and arguments of `pydantic.Field`."""
    return Field(default, description=meaning, **checks)


def known(expected: str, valid: Collection[str]) -> AfterValidator:
    """Check that all names of a list are valid; `expected` describes a name in the message."""

    def check(names: list[str]) -> list[str]:
        for name in names:
            if name not in valid:
                raise invalid(expected, f"'{name}'", closest(name, list(valid)))
        return names

    return AfterValidator(check)


def in_short(key: str, accepted: Annotation, kind: type = str, **more: JSON) -> BeforeValidator:
    """Accept one value instead of a section.

    Args:
        key: key of the section that gets the value.
        accepted: type of the key in the JSON Schema.
        kind: type of the value: `str`, or `float`, which includes integers.
        more: other keys of the section.
    """
    kinds = (int, float) if kind is float else kind

    def expanded(value: JSON) -> JSON:
        return {**more, key: value} if isinstance(value, kinds) and not isinstance(value, bool) else value

    return BeforeValidator(expanded, json_schema_input_type=accepted)


Accepted = Annotated[list[str], known("names of rules of plausibility", RULES)]
"""Rules of plausibility whose notes are not printed."""


class Section(BaseModel):
    """A mapping with a fixed set of keys; an unknown key is an error with a hint."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    instead: ClassVar[str] = ""  # what `in_short` accepts besides a mapping, for messages: "a number or "

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, data: JSON, validate: Any) -> Any:  # Any: function of pydantic, and a section
        if not isinstance(data, Mapping | cls):
            keys = f"{cls.instead}a mapping with keys among {', '.join(cls.model_fields)}"
            raise invalid(keys, repr(data), "give one")
        try:
            section = validate(data)
        except ValidationError as error:
            problems = sorted(error.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN_KEY)
            explained = [_explained(problem, cls.model_fields) for problem in problems]
            raise ValidationError.from_exception_data(cls.__name__, explained) from None
        section._check()
        return section

    def _check(self) -> None:
        """Raise an error for values that contradict each other; subclasses override this."""


def _explained(problem: ErrorDetails, fields: Mapping[str, FieldInfo]) -> InitErrorDetails:
    """Add the rejected value and the meaning of its key to a message of pydantic."""
    kind, location, context = problem["type"], problem["loc"], problem.get("ctx", {})
    if kind == "value_error":  # raised by a class that the section builds: its message is complete
        return InitErrorDetails(type=kind, loc=location, input=problem["input"], ctx=context)
    text = context.get("text")  # set by `invalid` and `reject`, or by this function in a subsection
    if text is None:
        name = str(location[0])
        about = (fields[name].description or "" if name in fields else "").split(". ")[0]
        text = _text(problem, list(fields)) + (f" ({about})" if about else "")
    error = PydanticCustomError(kind, "{text}", {"text": text})  # pyright: ignore[reportArgumentType]
    return InitErrorDetails(type=error, loc=location, input=problem["input"])


def _text(problem: ErrorDetails, names: list[str]) -> str:
    """Message "expected ..., got ..." for an error of pydantic in a section with keys of these names."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == _UNKNOWN_KEY:
        name = str(problem["loc"][0])
        new = _RENAMED.get(name, "")
        hint = f"did you mean '{new}'" if new.split(".")[0] in names else closest(name, names)
        return f"unknown key; {hint}"
    if kind == "missing":
        return "expected a value, got none; add this key"
    if kind == "union_tag_not_found":
        return f"expected the key {context['discriminator']}, got none; add it"
    if kind == "union_tag_invalid":
        tags = context["expected_tags"].replace("'", "").split(", ")
        expected = f"expected {context['discriminator']} to be one of {', '.join(tags)}"
        return f"{expected}, got '{context['tag']}'; {closest(context['tag'], tags)}"
    if kind in ("dict_type", "model_attributes_type"):
        return f"expected a mapping with keys, got {problem['input']!r}; give one"
    expected = "expected a number" if kind.startswith(("greater", "less")) else "expected"
    return f"{problem['msg'].replace('Input should be', expected)}, got {problem['input']!r}"
