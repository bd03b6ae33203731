"""Quantities that change in time, in a configuration: a number, a list, a tide, or a column of a file."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import BeforeValidator, Field, model_validator

from .. import io
from ..io.errors import FileFormatError, check_possible
from ..io.registry import resolve
from ..io.series import Series, on_common_times
from ..io.yaml_file import ConfigError, naming
from .builder import Section, invalid

_KNOTS_PER_PERIOD = 400
"""Of a tide that stands as a series: linear in between, it is exact to 3e-5 of the amplitude."""
_MOST_KNOTS = 2_000_000


def _one_is_a_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Paths = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    Field(min_length=1, description="a file, or several"),
    BeforeValidator(_one_is_a_list, json_schema_input_type=list[str] | str),
]


class Harmonic(Section):
    """amplitude sin(2 pi (t - phase) / period), t from the start of the case."""

    amplitude: float = Field(description="amplitude, in the unit of the quantity")
    period: float = Field(gt=0.0, description="period [s]")
    phase: float = Field(default=0.0, description="time of the rise through zero [s]")


class TimedValue(Section):
    """A number, or a series over time."""

    constant: float | None = Field(default=None, description="the same at all times")
    time: list[float] | None = Field(default=None, min_length=2, description="times [s] since the start")
    values: list[float] | None = Field(default=None, min_length=2, description="values at those times")
    harmonics: list[Harmonic] | None = Field(
        default=None, min_length=1, description="tides, around `constant`"
    )
    path: str | None = Field(default=None, min_length=1, description="CSV or NetCDF file")
    variable: str | None = Field(default=None, min_length=1, description="column or variable of the file")
    unit: str | None = Field(default=None, min_length=1, description="unit, instead of that in the file")

    @model_validator(mode="after")
    def _check_combination(self) -> "TimedValue":
        given = frozenset(self.model_fields_set)
        combinations = (
            {"constant"},
            {"time", "values"},
            {"harmonics"},
            {"harmonics", "constant"},
            {"path", "variable"},
            {"path", "variable", "unit"},
        )
        if given not in combinations:
            raise invalid(
                "a number, `time` with `values`, `harmonics`, or `path` with `variable`",
                f"the keys {sorted(given)}",
                "give one of these combinations",
            )
        if self.time is not None and self.values is not None:
            if len(self.time) != len(self.values):
                raise invalid(
                    f"as many values as times ({len(self.time)})",
                    f"{len(self.values)}",
                    "complete the shorter list",
                )
            if any(b <= a for a, b in zip(self.time, self.time[1:], strict=False)):
                raise invalid("times that increase", f"{self.time}", "sort them and drop repetitions")
        return self


def _number_is_constant(value: Any) -> Any:
    return {"constant": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


TimedSection = Annotated[
    TimedValue, BeforeValidator(_number_is_constant, json_schema_input_type=TimedValue | float)
]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the parts of a case have in common.

    Args:
        source: the configuration file.
        key: of the case in it, for messages.
        start_time: ISO 8601 time of the start; `None` if the case has none.
        duration: of the case [s].
    """

    source: Path
    key: str
    start_time: str | None
    duration: float

    def at(self, *keys: str) -> str:
        """File and key of a part, for messages."""
        return f"{self.source}: {'.'.join((self.key, *keys))}"

    def file(self, name: str, *keys: str) -> Path:
        """The file of a name or a path.

        Raises:
            FileNotFoundError: no such file, with the key.
        """
        try:
            return resolve(name, self.source.parent)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.at(*keys)}: {error}") from error


def read_timed(section: TimedValue, quantity: str, setting: Setting, *keys: str) -> Series | float:
    """The quantity of a section.

    Args:
        section: of the configuration.
        quantity: what it is: its name in the table of quantities.
        setting: of the case.
        keys: of the section below the case, for messages.

    Raises:
        ConfigError: a value that cannot be.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    if section.path is not None and section.variable is not None:
        path, start_time = setting.file(section.path, *keys, "path"), setting.start_time
        return io.read_series(path, section.variable, quantity, start_time=start_time, unit=section.unit)
    numbers = [section.constant, *(section.values or ()), *(h.amplitude for h in section.harmonics or ())]
    try:
        given = np.array([number for number in numbers if number is not None])
        check_possible(setting.source, ".".join((setting.key, *keys)), quantity, given)
    except FileFormatError as error:
        raise ConfigError(str(error)) from error
    if section.harmonics is not None:
        return _tide(section.harmonics, section.constant or 0.0, setting.duration)
    if section.time is not None:
        return Series(np.asarray(section.time), np.asarray(section.values))
    assert section.constant is not None  # by the check of the section
    return section.constant


def read_common(
    parts: dict[str, tuple[TimedValue, str]], setting: Setting, *keys: str
) -> tuple[Float[Array, " time"], dict[str, Float[Array, " time"]]]:
    """Times, and arrays over them, of the quantities of one part.

    Args:
        parts: section and kind of each quantity, by name.
        setting: of the case.
        keys: of the part below the case, for messages.

    Raises:
        ConfigError: a value that cannot be, or series that do not cover the case.
        FileNotFoundError: a file that is missing.
        FileFormatError: a file that cannot be used.
    """
    given = {
        name: read_timed(section, quantity, setting, *keys, *([name] if len(parts) > 1 else []))
        for name, (section, quantity) in parts.items()
    }
    with naming(setting.source, ".".join((setting.key, *keys))):
        time, values = on_common_times(given, setting.duration)
    return jnp.asarray(time), {name: jnp.asarray(value + 0.0 * time) for name, value in values.items()}


def _tide(harmonics: list[Harmonic], mean: float, duration: float) -> Series:
    shortest = min(harmonic.period for harmonic in harmonics)
    n_knots = min(int(_KNOTS_PER_PERIOD * max(1.0, duration / shortest)) + 2, _MOST_KNOTS)
    time = np.linspace(0.0, duration, n_knots)
    values = np.full_like(time, mean)
    for harmonic in harmonics:
        values += harmonic.amplitude * np.sin(2.0 * np.pi * (time - harmonic.phase) / harmonic.period)
    return Series(time, values)
