"""Times of files: dates as `datetime64[us]` in universal time, or seconds where a file has no date.

`read_time` decodes a coordinate; the functions below take its result.
"""

import datetime
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._types import warn_of_input
from .errors import check_increasing, name_of
from .local_tables import is_other_zone
from .series import Series, start_of_case
from .units import conversion
from .variables import error_of, like, note_on, numbers_in, unit_in_file

if TYPE_CHECKING:
    import xarray as xr

_REFERENCE = re.compile(
    r"(?P<year>\d{1,4})(-(?P<month>\d{1,2})(-(?P<day>\d{1,2}))?)?"
    r"((T| +)(?P<hour>\d{1,2})(:(?P<minute>\d{1,2})(:(?P<second>\d{1,2}(\.\d*)?))?)?(?![\d:]))?"
    r" *((?i:z|utc|gmt|ut)? *((?P<sign>[+-])(?P<ahead>\d{1,2})((:?(?P<minutes>\d\d))|(?P<part>\.\d+))?)?)$"
)
"""Date after `since`, with an optional clock and a zone such as Z, UTC, GMT, +02:00, -0700, UTC+2 or +5.5."""
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
_SECOND = np.timedelta64(1_000_000, "us")
_FIRST, _LAST = -62135596800.0, 253402300800.0
"""First and last time of Python's dates, in the years 1 and 9999 [s] since 1970."""


def read_reference(reference: str) -> tuple[tuple[int, int, int], datetime.timedelta]:
    """Read the reference of a unit of time: year, month and day, and the time of the day in universal time.

    Raises:
        ValueError: no date or time of the day, or a zone written as a name or more than 14 hours ahead.
    """
    parts = _REFERENCE.match(reference.strip())
    if parts is None:
        raise ValueError(f"'{reference}'")
    hour, minute, second = (float(parts[key] or 0.0) for key in ("hour", "minute", "second"))
    datetime.time(int(hour), int(minute), int(second))  # raises for an hour of 24 or more
    ahead = float((parts["ahead"] or "0") + (parts["part"] or "")) + float(parts["minutes"] or 0.0) / 60.0
    if ahead > 14.0:  # the year of 01-06-2015, where the day is first
        raise ValueError(f"'{reference}'")
    hour += ahead if parts["sign"] == "-" else -ahead
    date = int(parts["year"]), int(parts["month"] or 1), int(parts["day"] or 1)
    return date, datetime.timedelta(hours=hour, minutes=minute, seconds=second)


def read_time(
    variable: "xr.DataArray", requested_unit: str | None = None, *, increasing: bool = True
) -> "xr.DataArray":
    """Decode the times of a coordinate.

    Args:
        requested_unit: unit that replaces that of the file.
        increasing: `False` if records of several series follow each other.

    Raises:
        FileFormatError: an unknown unit or calendar, local time, years outside 1 to 9999, missing or (if
            `increasing`) repeated or unsorted times.
    """
    calendar = str(variable.attrs.get("calendar", "standard")).lower()
    unit = unit_in_file(variable, requested_unit, "time")
    interval, _, reference = unit.partition(" since ")
    epoch = 0.0
    try:
        scale, _ = conversion("interval", interval)
        if reference and calendar not in _CALENDARS:
            raise ValueError(calendar)
        if reference:
            import cftime  # takes long; Python's dates have no Julian calendar, and none before the year 1

            date, clock = read_reference(reference)
            start = cftime.datetime(*date, calendar=calendar) + clock
            epoch = (start - cftime.datetime(1970, 1, 1, calendar=calendar)).total_seconds()
    except (ValueError, OverflowError, TypeError):  # TypeError: cftime subtracts no date of the year 0
        expected = "a unit such as 'seconds' or 'days since 2000-01-01 00:00 +02:00' in the standard calendar"
        got = f"'{unit}' in the calendar '{calendar}'"
        advice = "give the unit of time (units)"
        if calendar not in _CALENDARS:
            advice = "convert the times to the standard calendar, or correct a wrong attribute 'calendar'"
        raise error_of(variable, expected, got, advice) from None
    zone = " ".join(str(variable.attrs.get(key, "")) for key in ("long_name", "timezone", "time_zone"))
    if requested_unit is None and is_other_zone(zone):
        since = reference or "2012-06-10 00:00"
        advice = f"give the unit with the zone, '{interval} since {since} +2:00' (units)"
        raise error_of(variable, "times in Universal Time", f"'{zone.strip()}'", advice)
    # Days since 1950 in double precision resolve about a microsecond: drop the digits beyond.
    seconds = numbers_in(variable)
    seconds = seconds if scale == 1.0 else np.round(seconds * scale, 3)
    times, names = like(variable, seconds), (name_of(variable), str(variable.name))
    if not reference:
        check_increasing(*names, seconds, increasing=increasing)
        return times
    beyond = np.flatnonzero((seconds + epoch < _FIRST) | (seconds + epoch > _LAST))
    if beyond.size:
        got = f"{variable.values[beyond[0]]} in {variable.attrs.get('units')} in record {beyond[0]}"
        expected = "times between the years 1 and 9999"
        raise error_of(variable, expected, got, "correct the unit or the times, or flag them as bad")
    start_of_file = np.datetime64(0, "us") + np.timedelta64(round(1e6 * epoch), "us")
    times = like(variable, np.round(1e6 * seconds).astype("m8[us]") + start_of_file)
    times.encoding |= {key: times.attrs.pop(key) for key in ("units", "calendar") if key in times.attrs}
    check_increasing(*names, seconds, lambda record: describe(times, record), increasing=increasing)
    return times


def is_dated(times: "xr.DataArray") -> bool:
    """Return whether times are dates; otherwise they count from an unknown time."""
    return times.dtype.kind == "M"


def describe(times: "xr.DataArray", record: int) -> str:
    """Time of a record and its number, or its line in a text file, for messages."""
    at, number = times.values[record], f"record {record}"
    if "line" in times.coords:
        number = f"line {times['line'].values[record]}"
    return f"{at.astype('M8[s]')} ({number})" if is_dated(times) else f"{at:g} s ({number})"


def seconds_since(times: "xr.DataArray", start_time: str | None) -> np.ndarray:
    """Times [s] since the start of the case; unchanged if they have no date.

    Raises:
        FileFormatError: the file has dates and the case has none, or the reverse.
    """
    if not is_dated(times):
        if start_time is not None:
            expected, advice = "times since a date, such as 'days since 1950-01-01'", "give the unit of time"
            raise error_of(times, expected, "no date", f"{advice} (units)")
        return times.values
    if start_time is None:
        expected = "times in seconds, or another unit, since the start of a case without a date"
        got = f"times since {str(times.values[0].astype('M8[s]')) if times.size else 'a date'}"
        raise error_of(times, expected, got, "choose a case with `start_time`")
    return (times.values - np.datetime64(start_of_case(start_time), "us")) / _SECOND


def order_in_time(times: "xr.DataArray") -> np.ndarray:
    """Return the indices that sort records by time; warns if they are not sorted."""
    values = numbers_in(times)
    late = int((values < np.fmax.accumulate(values)).sum()) if values.size else 0
    if late:
        note = f"{late} of {values.size} records are earlier than one before them: sorted"
        warn_of_input([note_on(times, note)])
    return np.argsort(values, kind="stable")


def bounds_of_means(
    file: "xr.Dataset", times: "xr.DataArray", variable: "xr.DataArray"
) -> "xr.DataArray | None":
    """Return the bounds (CF) of the times of a variable, `(n_records, 2)`.

    Bounds without a unit have that of the times. Returns `None` if there are no bounds, or if `cell_methods`
    marks the values as instantaneous.
    """
    bounds = file.get(str(times.attrs.get("bounds")))
    is_point = re.search(r"\btime: *point", str(variable.attrs.get("cell_methods", "")))
    if bounds is None or is_point or bounds.shape != (times.size, 2):
        return None
    stored = {key: times.encoding[key] for key in ("units", "calendar") if key in times.encoding}
    return bounds.assign_attrs(stored | times.attrs | bounds.attrs)


def intervals_of(
    file: "xr.Dataset", times: "xr.DataArray", variable: "xr.DataArray", unit: str | None
) -> np.ndarray | None:
    """Decode `bounds_of_means`, `(n_records, 2)`, like `times`; `None` if there are no valid bounds."""
    bounds = bounds_of_means(file, times, variable)
    if bounds is None:
        return None
    ends = read_time(like(bounds, bounds.values.reshape(-1), ("ends",)), unit, increasing=False).values
    ends = np.sort(ends.reshape(-1, 2), axis=1)
    return ends if ends.dtype.kind == times.dtype.kind and np.all(ends[:, 1] > ends[:, 0]) else None


def timed(
    variable: "xr.DataArray",
    times: "xr.DataArray",
    values: np.ndarray,
    start_time: str | None,
    intervals: np.ndarray | None = None,
) -> "xr.DataArray":
    """Build a series: values of a variable over time [s] since the start of the case.

    Further coordinates are the `moment` and `source` of each record, for messages, and for means `begin` and
    `end` of their intervals [s].
    """
    seconds = seconds_since(times, start_time)
    series = like(variable, values, ("time",))
    source = np.full(seconds.shape, name_of(variable), dtype=object)
    series = series.assign_coords(time=seconds, moment=("time", times.values), source=("time", source))
    if intervals is None:
        return series
    ends = [seconds_since(like(times, part), start_time) for part in intervals.T]
    return with_bounds(series, np.stack(ends, axis=1))


def with_bounds(series: "xr.DataArray", intervals: np.ndarray) -> "xr.DataArray":
    """Attach the intervals of means [s], `(n_records, 2)`, to their series."""
    return series.assign_coords(begin=("time", intervals[:, 0]), end=("time", intervals[:, 1]))


def error_at(series: "xr.DataArray", at: int, expected: str, got: str, advice: str) -> Exception:
    """Build an error about a record of a series; `{}` in `got` becomes its date and number in its file."""
    record = like(series, series.values)
    record.encoding["source"] = str(series["source"].values[at])
    first = int(np.argmax(series["source"].values == series["source"].values[at]))  # of this file
    return error_of(record, expected, got.format(describe(series["moment"][first:], at - first)), advice)


def joined(parts: Sequence["xr.DataArray"], advice: str) -> "xr.DataArray":
    """Join the series of one quantity from several files in the order of time.

    Raises:
        FileFormatError: files whose times overlap.
    """
    import xarray as xr  # takes long

    parts = sorted(parts, key=lambda part: float(part["time"][0]))
    for before, after in zip(parts[:-1], parts[1:], strict=True):
        if after["time"][0] <= before["time"][-1]:
            last = f"{describe(before['moment'], -1)} of {name_of(before)}"
            expected = f"records after {last}, the last one"
            raise error_of(after, expected, describe(after["moment"], 0), advice)
    if len(parts) == 1:
        return parts[0]
    if not all("end" in part.coords for part in parts):
        parts = [part.drop_vars(("begin", "end"), errors="ignore") for part in parts]
    series = xr.concat(parts, "time", join="override", combine_attrs="override")
    series.encoding = parts[0].encoding
    return series


def as_series(values: "xr.DataArray") -> Series:
    """Convert a series of `timed` to arrays; means hold over their intervals."""
    series = Series(values["time"].values, values.values)
    if "end" not in values.coords:
        return series
    return series.of_means(np.stack([values["begin"], values["end"]], axis=1))
