"""The closure in a configuration: name, options (parts and switches), and numbers by dotted name."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any

import jax.numpy as jnp
from pydantic import AfterValidator, BeforeValidator, Field, create_model, field_validator

from .._types import JSON, in_precision
from ..calibration.parameters import with_parameters
from ..closures import AbstractClosure
from ..column.terms import AbstractTerm
from ..declarations import names_of
from .builder import BY_HAND, DerivedSection, class_of, keys_of, numbers_of, own_section
from .section import Section, in_short, invalid, key, reject


def flatten(value: JSON, prefix: str = "") -> JSON:
    """Flatten nested mappings to dotted names, and lists to `name[index]`; other values are unchanged."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, JSON] = {}
    for name, item in value.items():
        if isinstance(item, Mapping):
            below = flatten(item, f"{prefix}{name}.")
        elif isinstance(item, list):
            below = {f"{prefix}{name}[{index}]": number for index, number in enumerate(item)}
        else:
            below = {f"{prefix}{name}": item}
        for path, number in below.items():
            if path in flat:
                raise invalid("every parameter once", f"'{path}' twice", "keep one of the two")
            flat[path] = number
    return flat


Parameters = Annotated[
    dict[str, float],
    BeforeValidator(flatten, json_schema_input_type=dict[str, float | list[float] | dict[str, JSON]]),
]
"""Values by dotted name; nested mappings and lists are accepted, too."""


def closure_names() -> list[str]:
    """Names of closures in configurations, with variants that have a named set of constants last."""
    return list(names_of(AbstractClosure))


def closure_class(name: str) -> type[AbstractClosure]:
    """Return the class of a name or an import path `package.module:Class`; raises `PydanticCustomError`."""
    return class_of(AbstractClosure, name, "closure")


def term_of(given: Mapping[str, JSON]) -> AbstractTerm:
    """Build a term from a mapping with the name of its class, its numbers and its settings."""
    return own_section(AbstractTerm, given, "term").build()


def _checked_term(given: dict[str, JSON]) -> dict[str, JSON]:
    term_of(given)
    return given


TermSection = Annotated[
    dict[str, JSON], in_short("name", dict[str, JSON] | str), AfterValidator(_checked_term)
]
"""A term: a mapping with the `name` of its class, or package.module:Class, its numbers and settings."""


@functools.cache
def options_of(kind: type[AbstractClosure]) -> type[DerivedSection]:
    """Section of the options of a closure: parts, settings, and numbers that only `null` switches off."""
    numbers = numbers_of(kind)
    keys: dict[str, Any] = {}  # a type and a field of pydantic by name
    for name, (annotation, field) in keys_of(kind).items():
        if not numbers.get(name, False):
            keys[name] = None if name in numbers else annotation, Field(None, description=field.description)
    section = create_model(f"{kind.__name__}Options", __base__=DerivedSection, **keys)
    section.declared = frozenset(keys)
    return section


class ClosureSection(Section):
    """A closure by its name, with its parts and numbers."""

    name: str = key("name of the closure, or package.module:Class", "k_epsilon")
    constants: str | None = key(
        "name of a set of constants, such as `recommended`; null for the default ones", None
    )
    # A part is its name, or a mapping with `name` and settings; another closure has `name` and `options`.
    options: dict[str, JSON] = key(
        "settings of the closure that are not numbers, by name", default_factory=dict
    )
    parameters: Parameters = key("values that differ from the default, by dotted name", default_factory=dict)

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        closure_class(name)
        return name

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, JSON], info: Any) -> dict[str, JSON]:  # Any: of pydantic
        if "name" in info.data:  # missing if the name was rejected
            kind = closure_class(info.data["name"])
            for name in options.keys() & numbers_of(kind):
                if options[name] is not None:
                    todo = f"it is a number: give it as parameters.{name}"
                    raise invalid(f"an option of {kind.__name__}", f"'{name}'", todo)
            options_of(kind).model_validate(options)
        return options

    def _check(self) -> None:
        if self.model_fields_set:  # avoids creating arrays for defaults on import
            self.build()

    def build(self) -> AbstractClosure:
        """Build the closure in the precision of JAX; raises errors of pydantic for options and numbers."""
        kind = closure_class(self.name)
        name = self.name if self.constants is None else f"{self.name}_{self.constants}"
        known = names_of(AbstractClosure).get(name)
        if self.constants is not None and (known is None or known.kind is not kind):
            expected = f"expected a set of constants of {self.name}, such as recommended"
            reject(f"{expected}, got '{self.constants}'; correct it, or leave it out", "constants")
        make = kind if known is None else known.make
        given = options_of(kind).model_validate(self.options).given()
        # In a comparison, `parameters` may be the name of a file, which is read later.
        numbers = {} if isinstance(self.parameters, str) else self.parameters
        direct = {key: number for key, number in numbers.items() if key in numbers_of(kind)}
        try:
            try:
                closure = make(**given)
            except (TypeError, ValueError):  # an option may require a number without default
                closure = make(**given, **direct)
        except (TypeError, ValueError) as error:
            expected = f"expected options of {kind.__name__} that go together"
            reject(f"{expected}, got a conflict ({error}); change them", "options")
        # Arrays that a class has as defaults were made on import, before the precision was known.
        closure = in_precision(closure, jnp.result_type(float))
        try:
            return with_parameters(closure, numbers)
        except ValueError as error:
            path, _, message = str(error).partition(": ")  # path of the first rejected number
            reject(message, "parameters", path)


BY_HAND[AbstractClosure] = Annotated[ClosureSection, in_short("name", ClosureSection | str)]
NamedClosure = Annotated[ClosureSection, in_short("name", ClosureSection)]
"""The section of a closure, or its name; the schema lacks the name, so that editors mark wrong keys."""
