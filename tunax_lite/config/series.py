"""Conversions of inputs, quantities over time, and the settings that the parts of a case share."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_type_hints

import numpy as np
from pydantic import BeforeValidator, Field, create_model, model_validator

from .. import io
from ..column.grid import Grid, Hypsography
from ..column.time_series import TimeSeries
from ..declarations import meanings
from ..io.dated_text import Column, DatedFiles
from ..io.gaps import bridged
from ..io.place import Place
from ..io.series import Series, as_series_together
from ..io.times import as_series
from ..io.tracers import Tracer
from ..io.units import Conversion
from ..io.yaml_file import ConfigError
from .builder import DerivedSection, section_of
from .section import Annotation, Section, closest, in_short, invalid, key

T = TypeVar("T")
V = TypeVar("V", float, np.ndarray)
_KNOTS_PER_PERIOD = 400
"""Number of knots per tidal period; linear in between, a tide is exact to 3e-5 of its amplitude."""
_MOST_KNOTS = 2_000_000


Paths = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    key("a file, or several", min_length=1),
    BeforeValidator(
        lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=list[str] | str
    ),
]
DataPath = Annotated[
    str,
    key("path of a file, or a name such as lesbrary:two_day_suite/8m/strong_wind", min_length=1),
]
CoriolisParameter = Annotated[float, key("Coriolis parameter [s-1]", ge=-1e-2, le=1e-2)]
ColumnNumber = Annotated[
    int,
    key(
        "column of a file in the format of GOTM, from 1, without dates and heights; values without `unit` "
        "are in that of the package",
        ge=1,
    ),
]


class ConversionSection(section_of(Conversion)):
    """Conversion to the unit of the package: sign (factor x + offset), where x is converted from `unit`."""

    @model_validator(mode="after")
    def _check_conversion(self):
        self.build()  # raises errors that only the class can detect
        return self

    def converted(self, quantity: str, values: V) -> V:
        """Convert numbers of the configuration to the package's unit."""
        scale, offset = self.build().linear(quantity, None)
        return values if (scale, offset) == (1.0, 0.0) else scale * values + offset


CONVERSION_KEYS = set(Conversion.__dataclass_fields__)

UnitGiven = Annotated[ConversionSection, in_short("unit", ConversionSection | str)]
"""The conversion of an input, or in short its unit."""


class TracerVariable(ConversionSection):
    """A tracer in a file of profiles."""

    variable: str = key("its name in the file", min_length=1)


TracerSection = Annotated[TracerVariable, in_short("variable", TracerVariable | str)]
UNITS = (
    "unit of each, instead of that in the file, or its unit, factor, offset and sign, which act in this order"
)


def conversions_of(given: dict) -> dict[str, Conversion]:
    """Build conversions by name."""
    return {str(name): each.build() for name, each in given.items()}


def check_keys(section: Section, combinations: Iterable[tuple[set[str], set[str]]], expected: str) -> None:
    """Reject a section unless its keys match one of the combinations of required and optional keys.

    Keys at their defaults, and those of a conversion, do not count. `expected` describes the combinations.
    """
    fields = type(section).model_fields
    keys = {name for name in section.model_fields_set if getattr(section, name) != fields[name].default}
    if isinstance(section, ConversionSection):
        keys -= CONVERSION_KEYS
    if not any(required <= keys <= required | optional for required, optional in combinations):
        got = f"the keys {sorted(section.model_fields_set)}"
        raise invalid(expected, got, "give one of these combinations")


def check_table(places: list[float], values: list[float], what: str) -> None:
    """Reject lists of different lengths, and heights or times (`what`) that do not increase."""
    if len(places) != len(values):
        expected = f"as many values as {what} ({len(places)})"
        raise invalid(expected, f"{len(values)}", "complete the shorter list")
    if not all(a < b for a, b in itertools.pairwise(places)):
        raise invalid(f"{what} that increase", f"{places}", "sort them and drop repetitions")


class Harmonic(Section):
    """A sine over time: amplitude sin(2 pi (t - phase) / period), with t from the start of the case."""

    amplitude: float = key("amplitude, in the unit of the quantity")
    period: float = key("period [s]", gt=0.0)
    phase: float = key("time of the rise through zero [s]", 0.0)

    def at(self, time: np.ndarray) -> np.ndarray:
        """Values at times [s]."""
        return self.amplitude * np.sin(2.0 * np.pi * (time - self.phase) / self.period)


class TimedValue(ConversionSection):
    """A number, or a series over time."""

    instead: ClassVar[str] = "a number or "
    constant: float | None = key("value at all times", None)
    time: list[float] | None = key("times [s] since the start", None, min_length=2)
    values: list[float] | None = key("values at those times", None, min_length=2)
    harmonics: list[Harmonic] | None = key("sines, such as tides, added to `constant`", None, min_length=1)
    path: str | None = key("CSV or NetCDF file", None, min_length=1)
    variable: str | None = key("column or variable of the file", None, min_length=1)
    column: ColumnNumber | None = None
    n_times: int | None = key(
        "number of samples of the sines over the case; null for 400 in the shortest period", None, ge=2
    )
    longest_gap: float | None = key(
        "longest time without a value in the file that is bridged [s]; null: none may be missing",
        None,
        gt=0.0,
    )

    def _check(self) -> None:
        check_keys(
            self,
            (
                ({"constant"}, set()),
                ({"time", "values"}, set()),
                ({"harmonics"}, {"constant", "n_times"}),
                ({"path", "variable"}, {"longest_gap"}),
                ({"path", "column"}, {"longest_gap"}),
            ),
            "a number, `time` with `values`, `harmonics`, or `path` with `variable` or `column`",
        )
        if self.time is not None and self.values is not None:
            check_table(self.time, self.values, "times")

    def read(self, quantity: str, setting: "Setting", *keys: str) -> Series | float:
        """Read a quantity in the unit of the package: a series, or a number if it is constant.

        `keys` leads from the case to this section.
        """
        start, gaps = setting.start_time, {"longest_gap": self.longest_gap, "position": setting.position}
        if self.column is not None:
            column = setting.column(self, quantity, *keys)
            with setting.naming(*keys, "path"):
                series, linear = setting.dated.series(column), setting.linear_sunlight
                return as_series(bridged(series, quantity, start_time=start, linear_sunlight=linear, **gaps))
        if self.path is not None and self.variable is not None:
            path = setting.file(self.path, *keys, "path")
            return io.read_series(path, self.variable, quantity, start_time=start, unit=self.build(), **gaps)
        with setting.naming(*keys):
            values = np.asarray(self.values if self.values is not None else self.constant or 0.0)
            time = None if self.time is None else np.asarray(self.time)
            if self.harmonics is not None:
                time = _times_of_tide(self.harmonics, setting.duration, self.n_times)
                values = sum((harmonic.at(time) for harmonic in self.harmonics), values)
            values = np.asarray(self.converted(quantity, values))
        setting.check(quantity, values, *keys)
        return float(values) if time is None else Series(time, values)


def _times_of_tide(harmonics: list[Harmonic], duration: float, n_times: int | None) -> np.ndarray:
    """Times [s] over the case at which a tide is sampled; `n_times` is their number if it is set."""
    if n_times is None:
        shortest = min(harmonic.period for harmonic in harmonics)
        n_times = min(int(_KNOTS_PER_PERIOD * max(1.0, duration / shortest)) + 2, _MOST_KNOTS)
    return np.linspace(0.0, duration, n_times)


TimedSection = Annotated[TimedValue, in_short("constant", TimedValue | float, float)]


def timed(kind: type, names: Iterable[str]) -> Annotation:
    """Create a base class of sections with time-dependent keys for fields of a class.

    A field without default becomes a required key, unless it declares a usual value.

    Args:
        kind: class whose docstring describes the fields.
        names: names of the fields.
    """
    keys: dict[str, Any] = {}  # a type and a field of pydantic by name
    timed_section: Annotation = TimedSection
    for name in names:
        field, about = kind.__dataclass_fields__[name], meanings(kind).get(name, name).partition(";")[0]
        about, usual = about.removesuffix("."), field.metadata.get("usual")
        if field.default is not dataclasses.MISSING:
            keys[name] = timed_section | None, key(about, None)
        elif usual is None:
            keys[name] = timed_section, key(about)
        else:
            keys[name] = timed_section, key(about, TimedValue(constant=usual))
    return create_model(f"Timed{kind.__name__}", __base__=Section, **keys)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting(Place):
    """Position of a case in its file, with the settings that its parts share.

    Args:
        grid: vertical grid.
        basin: areas of a lake over height; `None` in the sea.
        start_time: start of the case in ISO 8601; `None` without a date.
        duration: length of the case [s].
        position: latitude and longitude [degrees]; `None` without a longitude.
        step: time step of its runs [s].
        elevation: height of the surface above its level at rest [m], over time.
        linear_sunlight: true to bridge gaps in shortwave radiation by a straight line.
        draft: depth of the top of the column below sea level [m].
        tracer_units: unit by tracer, for those of terms.
        tracer_names: names of all tracers.
    """

    grid: Grid
    basin: Hypsography | None
    start_time: str | None
    duration: float
    position: tuple[float, float] | None
    step: float
    elevation: "TimedValue | None"
    linear_sunlight: bool
    draft: float
    tracer_units: Mapping[str, str]
    tracer_names: tuple[str, ...]

    @functools.cached_property
    def z_center(self) -> np.ndarray:
        """Heights of the cell centers [m], in NumPy, because JAX would compile programs for them."""
        faces = np.asarray(self.grid.z_face)
        return 0.5 * (faces[1:] + faces[:-1])

    @functools.cached_property
    def dated(self) -> DatedFiles:
        """Reader of files in GOTM's format, for the period of the case."""
        return DatedFiles(self.date_and_position()[0], self.duration)

    def read_profiles(self, column: Column, *, whole_period: bool = True) -> Series:
        """Read profiles on the cells from a file in GOTM's format, whose heights count from sea level.

        `whole_period` is false if only the start of the case must be covered.
        """
        z, moved = self.z_center - self.draft, None if self.elevation is None else self._moved
        return self.dated.profiles(column, z, moved, whole_period=whole_period)

    @functools.cached_property
    def _height(self) -> Series | float:
        assert self.elevation is not None
        return self.elevation.read("height", self, "interior", "surface_elevation")

    def _moved(self, time: np.ndarray) -> np.ndarray:
        """Heights of the cells [m] at the start of the step with each time [s], `(n_times, n_cells)`."""
        # The first profiles are read before the surface has moved.
        elevation, step, depth = self._height, self.step, -float(np.asarray(self.grid.z_face)[0])
        start = step * np.floor(np.maximum(time, 0.0) / step)
        height = elevation.on(start) if isinstance(elevation, Series) else np.full_like(start, elevation)
        thicker = 1.0 + np.where(time > 0.0, height, 0.0) / depth
        return (self.z_center + depth) * thicker[:, None] - depth - self.draft

    def date_and_position(self, *keys: str) -> tuple[str, float, float]:
        """Start, latitude and longitude [degrees] of the case; without them `ConfigError` at these keys."""
        if self.start_time is None or self.position is None:
            raise ConfigError(
                f"{self.at(*keys)}: expected a case with `latitude`, `longitude` and `start_time`, got none; "
                "use the format site."
            )
        return self.start_time, *self.position

    def column(self, section: Any, quantity: str, *keys: str) -> Column:  # sections with the keys of a column
        """Column of a file that a section names, with its conversion."""
        path = self.file(section.path, *keys, "path")
        with self.naming(*keys):
            how, unit = section.build(), self.tracer_units.get(quantity)
            linear = how.linear(quantity, None) if unit is None else how.linear_of_tracer(unit)
            return Column(path, section.column, quantity, *linear)

    def check_tracer(self, name: str, *keys: str) -> None:
        """Raise `ConfigError` for a tracer that the case lacks; `keys` leads to its name."""
        known = self.tracer_names
        if name not in known:
            hint = closest(name, list(known)) if known else "add the term that carries it"
            expected = f"a tracer of the case ({', '.join(known) or 'it has none'})"
            raise ConfigError(f"{self.at(*keys)}: expected {expected}, got {name}; {hint}")

    def tracers(self, sections: Mapping[str, "TracerSection"], *keys: str) -> dict[str, Tracer]:
        """Variables in files of measured profiles by tracer of the case; `keys` leads to the sections."""
        for name in sections:
            self.check_tracer(name, *keys, name)
        units = self.tracer_units
        return {name: Tracer(each.variable, units.get(name), each.build()) for name, each in sections.items()}


def read_together(
    section: Section, kind: Callable[..., T], title: str, setting: Setting, *keys: str, **quantities: str
) -> TimeSeries[T]:
    """Read keys of a section, `quantities` by key, as one series of a class on common times."""
    values = {
        name: getattr(section, name).read(quantity, setting, *keys, name)
        for name, quantity in quantities.items()
    }
    return series_of(values, kind, title, setting, *keys)


def series_of(
    values: Mapping[str, Series | float], kind: Callable[..., T], title: str, setting: Setting, *keys: str
) -> TimeSeries[T]:
    """Combine values over time to one series of a class on common times; `keys` leads to their section."""
    with setting.naming(*keys):
        time, on_times = as_series_together(values, setting.duration)
    return TimeSeries(time, kind(**on_times), title)


class SeriesPart(DerivedSection):
    """A part of a case with series of quantities, and further arguments of its class."""

    makes: ClassVar[Any]  # class of the part, with a field `series`
    quantities: ClassVar[Mapping[str, str]]  # names in the table of quantities, by key

    def series(self, setting: Setting, *keys: str) -> TimeSeries:
        """Read the series on common times; `keys` leads to this section."""
        (kind,) = get_args(get_type_hints(self.makes)["series"])
        title = keys[-1].replace("_", " ").replace("stokes", "Stokes")
        return read_together(self, kind, title, setting, *keys, **self.quantities)

    # Any: an instance of `makes`; the wind is defined in `interior`, which imports this file.
    def read(self, setting: Setting, *keys: str, wind: Any = None) -> Any:
        """Read the part; some use the wind at 10 m."""
        return self.makes(self.series(setting, *keys), **self.given())
