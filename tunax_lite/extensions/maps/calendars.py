"""Record times in the calendars of models and climatologies, converted to the time of a run.

A repeating year is stretched to each year of the run: a record at a fraction of its year lies at the same
fraction of every other year, so that months stay in place whatever the number of days. Other times are
matched by date; calendars that lack some days (noleap) share dates with the standard one.
"""

import datetime
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...io.netcdf import Variable

Date = Any  # of datetime or cftime, which have no common class
_BY_DATE = ("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day")
_BY_FRACTION = ("360_day", "all_leap", "366_day")
_MONTHS = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) / 365.0
_LONGEST = 1.75
"""A step between records may be so many times the usual one: months are 28 to 31 days long."""
_OF_CALENDAR = {"360_day": 360.0, "noleap": 365.0, "365_day": 365.0, "all_leap": 366.0, "366_day": 366.0}


@dataclass(frozen=True)
class RecordTimes:
    """Times of records.

    Args:
        variable: the coordinate of the (first) file, for messages.
        epoch: time 0 of the run.
        seconds: of the records since the epoch; for a repeating year, fractions of the year [1].
        order: of the records in the files for a repeating year; record numbers then continue through all
            years.
    """

    variable: Variable
    epoch: datetime.datetime
    seconds: np.ndarray
    order: np.ndarray | None = None

    @property
    def repeats(self) -> bool:
        return self.order is not None

    def __len__(self) -> int:
        return self.seconds.size

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """Times [s] since the epoch for record numbers."""
        if not self.repeats:
            return self.seconds[numbers]
        years, records = np.divmod(numbers, self.seconds.size)
        starts = self._starts(int(years.min()), int(years.max()) + 1)
        first = starts[years - years.min()]
        return first + self.seconds[records] * (starts[years - years.min() + 1] - first)

    def records(self, numbers: np.ndarray) -> np.ndarray:
        """Indices in the files for record numbers."""
        return numbers if self.order is None else self.order[numbers % self.order.size]

    def window(self, start: float, stop: float) -> np.ndarray:
        """Numbers of the records from before `start` to after `stop` [s]; equally many for equal lengths.

        Raises:
            FileFormatError: times not covered by the records.
        """
        numbers, time = self._numbers(start, stop)
        slack = 1e-9 * max(abs(time[0]), abs(time[-1]))
        if start < time[0] - slack or stop > time[-1] + slack:
            got = f"{self.describe(0)} to {self.describe(len(self) - 1)}"
            wanted = " to ".join(self._moment(each) for each in (start, stop))
            advice = "change start_time or duration, give more files, or say that the year repeats (repeats)"
            raise self.variable.error(f"records from {wanted}", got, advice)
        first = max(int(np.searchsorted(time, start + slack, side="right")) - 1, 0)
        most = min(self._most_within(stop - start), numbers.size)
        first = min(first, numbers.size - most)
        return numbers[first : first + most]

    def around(self, time: np.ndarray) -> np.ndarray:
        """Numbers of the available records around increasing times; at least two."""
        numbers, known = self._numbers(float(time[0]), float(time[-1]))
        first = np.clip(np.searchsorted(known, time[0], side="right") - 1, 0, known.size - 2)
        last = np.clip(np.searchsorted(known, time[-1], side="left"), first + 1, known.size - 1)
        return numbers[first : last + 1]

    def _numbers(self, start: float, stop: float) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and times of all records; for a repeating year, those around given times [s]."""
        numbers = np.arange(len(self))
        if self.repeats:
            years = [
                (self.epoch + datetime.timedelta(seconds=t)).year - self.epoch.year for t in (start, stop)
            ]
            numbers = np.arange(len(self) * (years[0] - 2), len(self) * (years[1] + 3))
        return numbers, self.at(numbers)

    @property
    def step(self) -> float:
        """Usual time between records [s]."""
        year = 365.0 * 86400.0 if self.repeats else 1.0
        return year * float(np.median(np.diff(self.seconds)))

    def _most_within(self, length: float) -> int:
        """Largest number of records within any interval of a length, plus one on either side."""
        time = self.seconds
        if self.repeats:
            # The shortest year, and the number of years that the length may touch.
            n_years = int(length // (365 * 86400.0)) + 2
            time = (np.arange(n_years)[:, None] + self.seconds).ravel() * 365 * 86400.0
        within = np.searchsorted(time, time + round(length, 3) * (1.0 + 1e-9), side="left")
        return int(np.max(within - np.arange(time.size))) + 2

    def _starts(self, first: int, last: int) -> np.ndarray:
        """Starts of years, counted from that of the epoch [s]."""
        years = range(self.epoch.year + first, self.epoch.year + last + 1)
        return np.array([(datetime.datetime(year, 1, 1) - self.epoch).total_seconds() for year in years])

    def describe(self, record: int) -> str:
        """Time of a record, for messages."""
        if not self.repeats:
            return f"{self._moment(self.seconds[record])} (record {record})"
        return f"day {1.0 + 365.0 * self.seconds[record]:.0f} of the year (record {record})"

    def describe_record(self, record: int) -> str:
        """The same for a record of the files."""
        return self.describe(record if self.order is None else int(np.flatnonzero(self.order == record)[0]))

    def _moment(self, seconds: float) -> str:
        try:
            return (self.epoch + datetime.timedelta(seconds=float(seconds))).isoformat(timespec="minutes")
        except OverflowError:
            return f"{seconds:g} s"

    def check(self) -> None:
        """Raise `FileFormatError` if records are missing: months of a year, steps of a series."""
        steps = np.diff(self.seconds, append=self.seconds[0] + 1.0 if self.repeats else [])
        usual = float(np.median(steps)) if steps.size else 1.0
        late = np.flatnonzero(steps > _LONGEST * usual)
        if steps.size and np.any(steps <= 0.0):
            at = int(np.flatnonzero(steps <= 0.0)[0])
            got = f"{self.describe((at + 1) % len(self))} after {self.describe(at)}"
            advice = "sort the files, and remove repeated records"
            raise self.variable.error("times that increase", got, advice)
        if late.size:
            at = int(late[0])
            following = self.describe((at + 1) % len(self))
            expected = "a record every month of the year" if len(self) < 13 else "records without a gap"
            got = f"none between {self.describe(at)} and {following}"
            raise self.variable.error(expected, got, "add what is missing")


def read_times(
    coordinates: Sequence[Variable], epoch: datetime.datetime, repeats: bool | None, stretched: bool
) -> RecordTimes:
    """Read the times of records in consecutive files.

    Args:
        coordinates: time coordinate of each file.
        epoch: time 0 of the run.
        repeats: whether the records are a repeating year; `None` to detect it by a reference year of 0 or 1,
            as in climatologies, or an attribute `modulo` or `climatology`.
        stretched: whether to stretch other years of 360 or 366 days to those of the run.

    Raises:
        FileFormatError: times without a date, in an unknown calendar, or with gaps.
    """
    first = coordinates[0]
    years, fractions, seconds = (
        np.concatenate(part) for part in zip(*(_placed(each, epoch) for each in coordinates), strict=True)
    )
    length = years[-1] + fractions[-1] - years[0] - fractions[0]
    if repeats is None:
        said = any({"modulo", "climatology"} & each.attrs.keys() for each in coordinates)
        repeats = length < 1.0 and (said or bool(np.all(years <= 1)))
    if repeats:
        if length >= 1.0:
            got = f"{length:.2f} years"
            raise first.error("records within one year, which repeats", got, "leave out all but one year")
        order = np.argsort(fractions, kind="stable")  # a year may begin in December
        found = RecordTimes(first, epoch, fractions[order], order)
    else:
        if np.isnan(seconds).any():
            calendar = str(first.attrs.get("calendar")).lower()
            expected = "times in a calendar whose days are those of the run"
            advice = "stretch its years to those of the run (stretched_years)"
            if not stretched:
                raise first.error(expected, f"the calendar '{calendar}'", advice)
            seconds = _of_fractions(years, fractions, epoch)
        found = RecordTimes(first, epoch, seconds)
    found.check()
    return found


def _placed(variable: Variable, epoch: datetime.datetime) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Years, fractions of them, and seconds since the epoch by date, NaN for dates that do not exist."""
    import netCDF4  # takes long

    unit, calendar = variable.unit(None, "time"), str(variable.attrs.get("calendar", "standard")).lower()
    expected = "times such as 'days since 2000-01-01' in a calendar of CF"
    refused = variable.error(expected, f"'{unit}' in the calendar '{calendar}'", "correct these attributes")
    values = np.atleast_1d(variable.numbers())
    if not np.all(np.isfinite(values)):
        raise variable.error("finite times", "NaN", "repair the file")
    interval, _, reference = unit.partition(" since ")
    if not reference or calendar not in (*_BY_DATE, *_BY_FRACTION):
        raise refused
    if interval.lower().rstrip("s") == "month":
        year, month = (int(part) for part in (re.findall(r"-?\d+", reference) + ["1", "1"])[:2])
        months = values + (month - 1)
        years = year + np.floor(months / 12.0).astype(int)
        fractions = np.interp(months % 12.0, np.arange(13), _MONTHS)
        return years, fractions, _of_fractions(years, fractions, epoch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that CF has no year 0
        options = {"only_use_cftime_datetimes": True, "has_year_zero": True}
        try:
            dates = np.asarray(netCDF4.num2date(values, unit, calendar, **options))
        except (ValueError, OverflowError):
            raise refused from None
        fractions = np.array([_fraction(date, calendar) for date in dates])
    years = np.array([date.year for date in dates])
    if calendar in _BY_FRACTION:
        return years, fractions, np.full(years.size, np.nan)
    seconds = [np.nan if date.year < 1 else (_as_datetime(date) - epoch).total_seconds() for date in dates]
    return years, fractions, np.round(np.array(seconds), 3)


def _as_datetime(date: Date) -> datetime.datetime:
    clock = date.hour, date.minute, date.second, date.microsecond
    return datetime.datetime(date.year, date.month, date.day, *clock)


def _fraction(date: Date, calendar: str) -> float:
    """Fraction of the year of a date."""
    begin = date.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    days = _OF_CALENDAR.get(calendar)
    if days is None:
        days = (begin.replace(year=date.year + 1) - begin).total_seconds() / 86400.0
    return (date - begin).total_seconds() / (86400.0 * days)


def _of_fractions(years: np.ndarray, fractions: np.ndarray, epoch: datetime.datetime) -> np.ndarray:
    """Seconds since the epoch for fractions of years; NaN for invalid years."""
    known = np.clip(years, 1, 9998).tolist()
    ends = (
        np.array([(datetime.datetime(year + i, 1, 1) - epoch).total_seconds() for year in known])
        for i in (0, 1)
    )
    begin, end = ends
    return np.where(years == known, begin + fractions * (end - begin), np.nan)
