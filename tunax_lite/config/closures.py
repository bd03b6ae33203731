"""The closure in a configuration: name, options (parts and switches), and numbers by dotted name."""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
from pydantic import BeforeValidator, field_validator

from .._types import JSON, in_precision
from ..calibration.parameters import with_parameters
from ..closures import AbstractClosure
from ..column.terms import AbstractTerm
from ..declarations import names_of
from .builder import (
    STANDS_AS,
    DerivedSection,
    class_of,
    declared_fields,
    importing,
    is_number,
    own_section,
    part_of,
)
from .section import Located, Section, closest, invalid, key, once


def flatten(value: JSON, prefix: str = "") -> JSON:
    """Flatten nested mappings of parameters to dotted names, and lists to one name per number."""
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
"""Values by dotted name; nested mappings are accepted too."""


def closure_names() -> list[str]:
    """Names of closures in configurations, with those using the constants of another model last."""
    return list(names_of(AbstractClosure))


def constants_of(name: str) -> list[str]:
    """Named sets of constants of a closure: the suffixes of the names of its variants."""
    kinds = names_of(AbstractClosure)
    variants = (
        each for each, known in kinds.items() if known.is_variant and known.kind is closure_class(name)
    )
    return [each.removeprefix(f"{name}_") for each in variants if each.startswith(f"{name}_")]


def closure_class(name: str) -> type[AbstractClosure]:
    """The class for a name or an import path `package.module:Class`; raises `PydanticCustomError`."""
    return class_of(AbstractClosure, name, "closure")


def imported_class(name: str) -> type[eqx.Module]:
    """The closure, term or part of one at an import path; raises `PydanticCustomError` for anything else."""
    return class_of(eqx.Module, name, "closure, a term or a part of one")


def term_of(given: Mapping[str, JSON]) -> AbstractTerm:
    """A term from the name of its class, its numbers and settings."""
    return own_section(AbstractTerm, given, "term").build()


def _checked_term(said: JSON) -> JSON:
    given = {"name": said} if isinstance(said, str) else said
    if isinstance(given, dict):
        term_of(given)
    return given


TermSection = Annotated[
    dict[str, JSON], BeforeValidator(_checked_term, json_schema_input_type=dict[str, JSON] | str)
]
"""A term: the `name` of its class, or package.module:Class, with its numbers and settings beside it."""


@functools.cache
def options_of(kind: type[AbstractClosure]) -> type[DerivedSection]:
    """The section of the options of a closure: parts, switches, and optional numbers."""
    return part_of(kind, numbers=False)


def closure_with(
    name: str, options: Mapping[str, JSON], parameters: Mapping[str, float] = MappingProxyType({})
) -> AbstractClosure:
    """A closure by name, with non-default settings.

    Args:
        name: as for `closure_class`.
        options: settings by field name: text, a switch, `None` to disable a limit, the name of a part or a
            mapping with its `name` and settings, a mapping for a boundary, three exponents, another closure
            as its name or a mapping with its `name` and `options`.
        parameters: numbers by dotted name.

    Raises:
        PydanticCustomError, ValidationError: an unknown setting, or an invalid value.
    """
    kind = closure_class(name)
    make = kind if (known := names_of(AbstractClosure).get(name)) is None else known.make
    given = _given(kind, options)
    try:
        closure = make(**given)
    except (TypeError, ValueError) as error:
        own = {field.name for field, _ in declared_fields(kind) if is_number(field)} & parameters.keys()
        try:  # an option may require a number without default
            if not own:
                raise error
            closure = make(**given, **{key: parameters[key] for key in own})
        except (TypeError, ValueError) as error:
            todo = (f"options of {kind.__name__} that go together", str(error), "change them")
            raise Located(("options",), f"{invalid(*todo).message()}.") from error
    # Arrays that a class has as defaults were made on import, before the precision was known.
    closure = in_precision(closure, jnp.result_type(float))
    try:
        return with_parameters(closure, parameters)
    except ValueError as error:
        raise Located(("parameters", _refused(closure, parameters)), str(error)) from error


def _refused(closure: AbstractClosure, parameters: Mapping[str, float]) -> str:
    """The first number that a closure rejects."""
    for path, value in parameters.items():
        try:
            with_parameters(closure, {path: value})
        except ValueError:
            return path
    return ""


def _given(
    kind: type[AbstractClosure], options: Mapping[str, JSON]
) -> dict[str, Any]:  # of the type of the field
    """Arguments of a closure that correspond to its options."""
    if not options:
        return {}
    section = options_of(kind)
    numbers = [field.name for field, _ in declared_fields(kind) if is_number(field)]
    for name, value in options.items():
        if name in numbers and value is not None:
            todo = f"it is a number: give it as parameters.{name}"
            raise invalid(f"an option of {kind.__name__}", f"'{name}'", todo)
        if name not in section.model_fields:
            hint = closest(name, list(section.model_fields))
            raise invalid(f"an option of {kind.__name__}", f"'{name}'", hint)
    return section.model_validate(options).given()


class ClosureSection(Section):
    """A closure by its name, with its parts and numbers."""

    name: str = key("name of the closure, or package.module:Class", "k_epsilon")
    constants: str | None = key(
        "set of constants by its name, `recommended` for one; null for the default ones", None
    )
    options: dict[str, JSON] = key(
        "settings of the closure that are not numbers, by name", default_factory=dict
    )
    parameters: Parameters = key("values that differ from the default, by dotted name", default_factory=dict)

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        closure_class(name)
        return name

    @field_validator("constants")
    @classmethod
    def _check_constants(cls, constants: str | None, info: Any) -> str | None:  # Any: of pydantic
        if constants is not None and "name" in info.data:
            sets = constants_of(info.data["name"])
            if constants not in sets:
                hint = closest(constants, sets) if sets else "leave the key out"
                raise invalid(f"constants of {info.data['name']}", f"'{constants}'", hint)
        return constants

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, JSON], info: Any) -> dict[str, JSON]:  # Any: of pydantic
        if "name" in info.data:  # missing if the name was rejected
            _given(closure_class(info.data["name"]), options)
        return options

    def _check(self) -> None:
        if self.model_fields_set:  # avoids creating arrays for defaults on import
            self.build()

    @once
    def build(self) -> AbstractClosure:
        """The closure."""
        name = self.name if self.constants is None else f"{self.name}_{self.constants}"
        return closure_with(name, self.options, self.parameters)


def _named(said: JSON) -> JSON:
    """The section of a closure from its name alone."""
    return {"name": said} if isinstance(said, str) else said


NamedClosure = Annotated[ClosureSection, BeforeValidator(_named)]
"""The section of a closure, or its name alone, which the schema leaves out to point at wrong keys."""
STANDS_AS[AbstractClosure] = Annotated[
    ClosureSection, BeforeValidator(_named, json_schema_input_type=ClosureSection | str)
]


def closure_of(document: dict[str, JSON], *, trusted: bool = False) -> AbstractClosure:
    """The closure in the content of a configuration file, with its initial constants.

    A class of another package is imported only if the file is `trusted`.
    """
    with importing(trusted):
        return ClosureSection.model_validate(_named(document.get("model", {}).get("closure", {}))).build()
