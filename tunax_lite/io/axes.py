"""Steps shared by all readers: times in seconds, heights upward, quality flags, gaps, joining files."""

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .errors import Source, check_increasing, check_possible, is_path, name_of
from .netcdf import Contents, Variable
from .series import Series, start_of_case
from .units import Conversion, conversion

_HEIGHTS = "altitude height height_above_mean_sea_level height_above_geoid depth depth_below_sea_surface"
_AXES = {
    "time": ("T", ("time",), ("time", "t")),
    "vertical": ("Z", tuple(_HEIGHTS.split()), ("z", "depth", "height", "z_center")),
}
"""Letters of CF, standard names, and names of coordinates."""
_WAYS = ("up", "down")


@dataclass(frozen=True)
class TimeAxis:
    """Times [s] since an epoch, or since an unknown time if that is `None`."""

    variable: Variable
    seconds: np.ndarray
    epoch: datetime.datetime | None

    def describe(self, record: int) -> str:
        """Time of a record, for messages."""
        seconds = float(self.seconds[record])
        if self.epoch is None:
            return f"{seconds:g} s (record {record})"
        moment = self.epoch + datetime.timedelta(seconds=seconds)
        return f"{moment.isoformat(timespec='seconds')} (record {record})"

    def since(self, start_time: str | None) -> np.ndarray:
        """Times [s] since the start of the case; unchanged if the epoch is unknown."""
        if self.epoch is not None and start_time is not None:
            return self.seconds + (self.epoch - start_of_case(start_time)).total_seconds()
        if self.epoch is not None:
            expected = "times in seconds, or another unit, since the start of a case without a date"
            got = f"times since {self.epoch.isoformat()}"
            raise self.variable.error(expected, got, "choose a case with `start_time`")
        if start_time is not None:
            expected, advice = "times since a date, such as 'days since 1950-01-01'", "give the unit of time"
            raise self.variable.error(expected, "no date", f"{advice} (units)")
        return self.seconds

    def check_gaps(self, longest: float | None) -> None:
        """Raise `FileFormatError` where two records are more than `longest` [s] apart."""
        steps = np.diff(self.seconds)
        late = [] if longest is None else np.flatnonzero(steps > longest * (1.0 + 1e-6))
        if len(late):
            got = f"a gap of {steps[late[0]]:g} s after {self.describe(int(late[0]))}"
            expected = f"a record at least every {longest:g} s"
            raise self.variable.error(expected, got, "fill the gap, or shorten the series")

    def check_complete(self, variable: Variable, values: np.ndarray, what: str) -> None:
        """Raise `FileFormatError` if a variable on these times has a missing value."""
        gaps = np.flatnonzero(~np.isfinite(values))
        if gaps.size:
            got = f"{values[gaps[0]]} at {self.describe(int(gaps[0]))}"
            raise variable.error(what, got, f"fill the {gaps.size} missing values before the run")


@dataclass(frozen=True)
class Record:
    """One quantity from one file, over time [s] since the start of the case."""

    variable: Variable
    axis: TimeAxis
    time: np.ndarray
    values: np.ndarray


def in_order(records: Sequence[Record], advice: str) -> list[Record]:
    """Sort the records of one quantity from several files by time."""
    records = sorted(records, key=lambda record: record.time[0])
    for before, after in zip(records[:-1], records[1:], strict=True):
        if after.time[0] <= before.time[-1]:
            expected = f"records after those of {before.variable.path}"
            expected += f", which end at {before.axis.describe(-1)}"
            raise after.variable.error(expected, after.axis.describe(0), advice)
    return records


def joined(records: Sequence[Record]) -> Series:
    """Join sorted records into one series."""
    time, values = (np.concatenate([getattr(one, key) for one in records]) for key in ("time", "values"))
    return Series(time, values)


def as_seconds(variable: Variable, time: np.ndarray, start_time: str) -> jax.Array:
    """Increasing times [s] in JAX's precision, which must resolve them."""
    found = jnp.asarray(time, dtype=float)
    if np.any(np.diff(np.asarray(found)) <= 0.0):
        expected = f"times that {found.dtype} tells apart from start_time, {start_time}, on"
        advice = (
            "choose a start_time close to them, or call tunax_lite.configure() first for double precision"
        )
        raise variable.error(expected, f"{np.diff(time).min():g} s between some {time[-1]:g} s later", advice)
    return found


def as_sources(given: Source | Iterable[Source]) -> list[Source]:
    """One path or dataset, or several, as a list."""
    is_one = isinstance(given, (str, Path)) or hasattr(given, "data_vars")
    several: list[Source] = [given] if is_one or not isinstance(given, Iterable) else list(given)
    if not several:
        raise ValueError("paths: expected at least one file, got none.")
    return [Path(source) if is_path(source) else source for source in several]


def stem_of(source) -> str:
    """Name of a source without folder and suffix."""
    return Path(name_of(source)).stem


def flags_of(file: Contents, variable: Variable) -> Variable | None:
    """Quality flags of a variable on its own axes: those its attributes refer to, or those named after it."""
    lower = {name.lower(): name for name in file.variables}
    stated = str(variable.attrs.get("ancillary_variables", "")).replace(",", " ").split()
    names = [one for one in stated if any(word in one.lower() for word in ("qc", "quality", "flag"))]
    names += [
        f"{variable.name}_{end}" for end in ("qc", "quality_control", "flag", "qc_flag", "quality_flag")
    ]
    # EPIC: QT_5020 belongs to T_20.
    epic = re.fullmatch(r"([A-Z]+)_(\d{2,3})", variable.name)
    names += [f"Q{epic[1]}_5{int(epic[2]):03d}"] if epic else []
    for name in (lower[name.lower()] for name in names if name.lower() in lower):
        flags = file[name].without_single(variable.dims)
        if set(flags.dims) == set(variable.dims):
            return flags.along(variable.dims, "repair the file")
    return None


def has_statistics(variable: Variable) -> bool:
    """Whether a variable is text, or an extreme or standard deviation over an interval."""
    methods = str(variable.attrs.get("cell_methods"))
    words = ("maximum", "minimum", "standard_deviation", "variance", "range")
    return variable.values.dtype.kind not in "fiu" or any(word in methods for word in words)


def has_flag(flags: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Where a quality flag (number or character) is one of those wanted."""
    if flags.dtype.kind in "fiu":
        return np.isin(flags, wanted)
    texts = [flag.decode() if isinstance(flag, bytes) else str(flag) for flag in flags.ravel()]
    return np.isin(np.array(texts, dtype=str), [str(flag) for flag in wanted]).reshape(flags.shape)


def measured(
    variable: Variable,
    quantity: str,
    axis: TimeAxis,
    unit: str | Conversion | None,
    good: np.ndarray | bool = True,
) -> np.ndarray:
    """Values in the package's unit, NaN where they are not good, checked against the possible range."""
    values = np.where(good, variable.converted(quantity, unit), np.nan)
    check_possible(variable.path, variable.name, quantity, values, axis.describe)
    if quantity == "salinity" and np.any(values > 0.0) and np.nanmax(values) < 0.1:
        expected, got = "salinity in g kg-1 or on the practical scale", f"at most {np.nanmax(values):g}"
        raise variable.error(expected, got, "it looks like kg kg-1; say so (units)")
    return values


def is_axis(variable: Variable, kind: str) -> bool:
    """Whether a coordinate is a `time` or a height or depth (`vertical`), by CF attributes or name."""
    letter, standard_names, names = _AXES[kind]
    own, is_time = variable.attrs, kind == "time"
    if own.get("axis") == letter or own.get("standard_name") in standard_names:
        return True
    says = " since " in str(own.get("units", "")) if is_time else str(own.get("positive")).lower() in _WAYS
    return says or variable.name.lower() in names


def find_axis(file: Contents, variable: Variable, given: str | None, kind: str) -> Variable:
    """Find the `time` or `vertical` coordinate of a variable."""
    advice = f"correct '{kind}' in the mapping"
    if given is not None:
        coordinate = file.named(given, f"the {kind} axis", advice)
        if len(coordinate.dims) != 1 or coordinate.dims[0] not in variable.dims:
            expected = f"one of the dimensions {variable.dims} of {variable.name}"
            raise coordinate.error(expected, coordinate.dims, advice)
        return coordinate
    along = [one for one in file.variables.values() if len(one.dims) == 1 and one.dims[0] in variable.dims]
    found = [one for one in along if is_axis(one, kind)]
    # The coordinate variable of the dimension takes precedence over others on the same dimension.
    candidates = [one for one in found if one.name == one.dims[0]] or found
    named = [one for one in candidates if one.attrs.get("standard_name") == kind or one.name.lower() == kind]
    candidates = named or candidates
    if len(candidates) != 1:
        expected = f"one {kind} coordinate among the dimensions {variable.dims}"
        got = " and ".join(one.name for one in candidates) or "none with CF attributes"
        raise variable.error(expected, got, f"name it in the mapping ('{kind}')")
    return candidates[0]


def order_in_time(times: Variable) -> tuple[np.ndarray, tuple[str, ...]]:
    """Indices that sort the records by time, and a note if the file is not sorted."""
    values = times.numbers()
    late = int((values < np.fmax.accumulate(values)).sum()) if values.size else 0
    order = np.argsort(values, kind="stable") if late else np.arange(values.size)
    said = f"{late} of {values.size} records are earlier than one before them: sorted."
    return order, (f"{times.path}: {times.name}: {said}",) if late else ()


def read_time(variable: Variable, given_unit: str | None = None, *, increasing: bool = True) -> TimeAxis:
    """Read times of a coordinate: finite, and increasing unless the file holds several series."""
    import netCDF4  # takes long

    unit = variable.unit(given_unit, "time")
    interval, _, reference = unit.partition(" since ")
    calendar = str(variable.attrs.get("calendar", "standard")).lower()
    epoch: Any = None  # a date, which netCDF4's type stubs declare as an array
    options = {"only_use_cftime_datetimes": False, "only_use_python_datetimes": True}
    try:
        scale, _ = conversion("interval", interval)
        if reference:
            epoch = netCDF4.num2date(np.zeros(()), f"seconds since {reference}", calendar, **options)
            epoch = epoch.replace(tzinfo=None)
    except (ValueError, OverflowError):
        expected = "a unit such as 'seconds' or 'days since 2000-01-01' in the standard calendar"
        got = f"'{unit}' in the calendar '{calendar}'"
        advice = "give the unit of time (units)"
        if calendar not in ("standard", "gregorian", "proleptic_gregorian"):
            advice = (
                "convert the times to the standard calendar, or its attribute 'calendar' is wrong: correct it"
            )
        raise variable.error(expected, got, advice) from None
    values = variable.numbers()
    # Days since 1950 in double precision resolve about a microsecond: drop the digits beyond.
    axis = TimeAxis(variable, values if scale == 1.0 else np.round(values * scale, 3), epoch)
    if epoch is not None:
        low, high = ((end - epoch).total_seconds() for end in (datetime.datetime.min, datetime.datetime.max))
        beyond = np.flatnonzero((axis.seconds < low) | (axis.seconds > high))
        if beyond.size:
            got = f"{values[beyond[0]]:g} in {unit} in record {beyond[0]}"
            expected = "times between the years 1 and 9999"
            raise variable.error(expected, got, "correct the unit or the times, or flag them as bad")
    describe = None if epoch is None else axis.describe
    check_increasing(variable.path, variable.name, values, describe, increasing=increasing)
    return axis
