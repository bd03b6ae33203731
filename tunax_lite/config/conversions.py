"""Unit, factor, offset and sign of the inputs of a configuration: one declaration for all formats."""

from collections.abc import Iterator
from typing import Annotated, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, model_validator

from ..io.units import Conversion
from .builder import part_of

V = TypeVar("V", float, np.ndarray)


class ConversionSection(part_of(Conversion)):
    """How values become the quantity of the package: sign (factor x + offset), x converted from its unit."""

    @model_validator(mode="after")
    def _check_conversion(self):
        _ = self.conversion  # raises what only the class can detect
        return self

    @property
    def conversion(self) -> Conversion:
        """The conversion."""
        return Conversion(**{name: getattr(self, name) for name in Conversion.__dataclass_fields__})

    def converted(self, quantity: str, values: V) -> V:
        """Numbers of the configuration in the package's unit."""
        scale, offset = self.conversion.linear(quantity, None)
        return values if (scale, offset) == (1.0, 0.0) else scale * values + offset


CONVERSION_KEYS = set(Conversion.__dataclass_fields__)

UnitGiven = Annotated[
    ConversionSection,
    BeforeValidator(
        lambda said: {"unit": said} if isinstance(said, str) else said,
        json_schema_input_type=ConversionSection | str,
    ),
]
"""The conversion of an input, or in short its unit."""
UNITS = (
    "unit of each, instead of that in the file, or its unit, factor, offset and sign, which act in this order"
)


def conversions_of(given: dict) -> dict[str, Conversion]:
    """Conversions by name, for a reader."""
    return {str(name): each.conversion for name, each in given.items()}


def notes_on_conversions(section: object, *keys: str) -> tuple[str, ...]:
    """A note for each input whose values change beyond their unit, by its keys below a section."""
    return tuple(
        f"{'.'.join(path)}: values are {each.conversion.in_words()}"
        for path, each in _within(section, keys)
        if each.conversion.acts
    )


def _within(section: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ConversionSection]]:
    """All conversions in a section, with their keys."""
    if isinstance(section, ConversionSection):
        yield keys, section
    parts = section if isinstance(section, dict) else {}
    if isinstance(section, BaseModel):
        parts = {name: getattr(section, name) for name in type(section).model_fields}
    elif isinstance(section, list):
        parts = dict(enumerate(section))
    for name, part in parts.items():
        yield from _within(part, (*keys, str(name)))
