"""Times of records in seconds since the start of a run, from the calendars of models and climatologies.

A repeating year is stretched to each year of the run: a record at a fraction of its year lies at the same
fraction of every other year, so that months stay in place whatever the number of days. Other times are
matched by date; calendars that lack some days (noleap) share dates with the standard one.
"""

import datetime
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...io.times import read_reference
from ...io.variables import error_of, numbers_in, unit_in_file

if TYPE_CHECKING:
    import xarray as xr

_LONGEST = 1.75
"""Longest interval between records, relative to the median: months are 28 to 31 days long."""
_YEAR = 365.0 * 86400.0


@dataclass(frozen=True)
class RecordTimes:
    """Times of records; a repeating year is copied to every year of the run and to two years on either side.

    Args:
        variable: the coordinate of the (first) file, for messages.
        epoch: time 0 of the run.
        seconds: times since the epoch, increasing.
        records: index of the record at each time, counted through all files.
        interval: median time between records [s].
        repeats: whether the records are a repeating year.
    """

    variable: "xr.DataArray"
    epoch: datetime.datetime
    seconds: np.ndarray
    records: np.ndarray
    interval: float
    repeats: bool

    def window(self, start: float, stop: float) -> slice:
        """Records from before `start` to after `stop` [s]; equally long parts of a run get equal shapes.

        Raises:
            FileFormatError: times not covered by the records.
        """
        time = self.seconds
        slack = 1e-9 * max(abs(time[0]), abs(time[-1]))
        if start < time[0] - slack or stop > time[-1] + slack:
            got = f"{self.describe(0)} to {self.describe(-1)}"
            wanted = " to ".join(self._moment(each) for each in (start, stop))
            advice = "change start_time or duration, give more files, or set `repeats` for a repeating year"
            raise error_of(self.variable, f"records from {wanted}", got, advice)
        # The largest number of records within any period of this length, and one on either side. Rounding
        # gives periods of one length the same number.
        ends = np.searchsorted(time, time + round(stop - start, 3) * (1.0 + 1e-9), side="left")
        n = min(int(np.max(ends - np.arange(time.size))) + 2, time.size)
        first = max(int(np.searchsorted(time, start + slack, side="right")) - 1, 0)
        first = min(first, time.size - n)
        return slice(first, first + n)

    def around(self, start: float, stop: float) -> slice:
        """Records from the last before `start` to the first after `stop`, if they exist; at least two."""
        n = self.seconds.size
        first = int(np.clip(np.searchsorted(self.seconds, start, side="right") - 1, 0, n - 2))
        last = int(np.clip(np.searchsorted(self.seconds, stop, side="left"), first + 1, n - 1))
        return slice(first, last + 1)

    def describe(self, number: int) -> str:
        """Time of a record, for messages."""
        moment = self._moment(self.seconds[number])
        return f"{moment[5:10] if self.repeats else moment} (record {self.records[number]})"

    def _moment(self, seconds: float) -> str:
        return str(np.datetime64(self.epoch, "m") + np.timedelta64(round(seconds / 60.0), "m"))


def read_times(
    coordinates: Sequence["xr.DataArray"], epoch: datetime.datetime, duration: float, repeats: bool | None
) -> RecordTimes:
    """Read the times of records in consecutive files.

    Args:
        coordinates: time coordinate of each file.
        epoch: time 0 of the run.
        duration: of the run [s].
        repeats: whether the records are a repeating year; `None` to detect it: records within one year, with
            dates in the years 0 or 1, as in climatologies, or an attribute `modulo` or `climatology`.

    Raises:
        FileFormatError: times without a date, in an unknown calendar, not finite, not increasing, with gaps,
            or over a year or more if they repeat.
    """
    first, dates_of_files = coordinates[0], [_dates(each) for each in coordinates]
    dates = [date for in_file, _ in dates_of_files for date in in_file]
    years = np.array([date.year for date in dates])
    fractions = np.concatenate([in_file for _, in_file in dates_of_files])
    length = years[-1] + fractions[-1] - years[0] - fractions[0]
    if repeats is None:
        is_declared = any({"modulo", "climatology"} & each.attrs.keys() for each in coordinates)
        repeats = bool(length < 1.0 and (is_declared or np.all(years <= 1)))
    if repeats:
        if length >= 1.0:
            got = f"{length:.2f} years"
            raise error_of(first, "records within one year, which repeats", got, "leave out all but one year")
        order = np.argsort(fractions, kind="stable")  # a year may begin in December
        last = (epoch + datetime.timedelta(seconds=duration)).year
        copies = np.arange(epoch.year - 2, last + 3)
        edges = (np.append(copies, last + 3) - 1970).astype("M8[Y]").astype("M8[us]")
        edges = (edges - np.datetime64(epoch)) / np.timedelta64(1, "s")
        seconds = (edges[:-1, None] + fractions[order] * np.diff(edges)[:, None]).ravel()
        records, interval = np.tile(order, copies.size), np.median(_YEAR * np.diff(fractions[order]))
    else:
        try:
            moments = np.array([date.isoformat() for date in dates], dtype="M8[us]")
        except ValueError:
            expected, got = "dates of the standard calendar", f"the calendar '{dates[0].calendar}'"
            raise error_of(first, expected, got, "convert it: xarray's `convert_calendar`") from None
        seconds = np.round((moments - np.datetime64(epoch)) / np.timedelta64(1, "s"), 3)
        records, interval = np.arange(seconds.size), np.median(np.diff(seconds))
    times, intervals = RecordTimes(first, epoch, seconds, records, float(interval), repeats), np.diff(seconds)
    if (backward := np.flatnonzero(intervals <= 0.0)).size:
        before = int(backward[0])
        got = f"{times.describe(before + 1)} after {times.describe(before)}"
        raise error_of(first, "times that increase", got, "sort the files, and remove repeated records")
    if (gaps := np.flatnonzero(intervals > _LONGEST * interval)).size:
        before = int(gaps[0])
        got = f"none between {times.describe(before)} and {times.describe(before + 1)}"
        raise error_of(first, "records without a gap", got, "add what is missing")
    return times


def _dates(variable: "xr.DataArray") -> tuple[list[Any], np.ndarray]:  # of cftime
    """Dates of the records in the calendar of the file, and the fraction of their year that has passed."""
    import cftime  # takes long

    unit = unit_in_file(variable, None, "time")
    calendar = str(variable.attrs.get("calendar", "standard")).lower()
    values = np.atleast_1d(numbers_in(variable))
    if not np.all(np.isfinite(values)):
        raise error_of(variable, "finite times", "NaN", "repair the file")
    interval, _, reference = unit.partition(" since ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that CF has no year 0
        options: dict[str, Any] = {"calendar": calendar, "has_year_zero": True}
        try:
            (year, month, day), clock = read_reference(reference)
            if re.fullmatch("months?", interval.lower()):  # calendar months; cftime rejects this unit
                months = 12 * year + month - 1 + values
                at = [[int(n) // 12, int(n) % 12 + 1, day] for n in np.floor([months, months + 1.0]).ravel()]
                ends = np.reshape([cftime.datetime(*each, **options) for each in at], (2, -1))
                dates = (ends[0] + (months % 1.0) * (ends[1] - ends[0]) + clock).tolist()
            else:
                since = f"{interval} since {year:04}-{month:02}-{day:02}"
                options["only_use_cftime_datetimes"] = True
                dates = (cftime.num2date(values, since, **options) + clock).tolist()
        except (ValueError, OverflowError):
            expected = "times such as 'days since 2000-01-01' in a calendar of CF"
            got = f"'{unit}' in the calendar '{calendar}'"
            raise error_of(variable, expected, got, "correct these attributes") from None
        begins = [date.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0) for date in dates]
        lengths = [begin.replace(year=begin.year + 1) - begin for begin in begins]
    parts = zip(dates, begins, lengths, strict=True)
    return dates, np.array([(date - begin) / length for date, begin, length in parts])
