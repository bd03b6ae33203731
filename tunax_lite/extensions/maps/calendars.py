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

import numpy as np

from ...io.axes import read_reference
from ...io.netcdf import Variable

_BY_DATE = ("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day")
_BY_FRACTION = ("360_day", "all_leap", "366_day")
_MONTHS = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) / 365.0
_LONGEST = 1.75
"""A step between records may be so many times the usual one: months are 28 to 31 days long."""
_YEAR = 365.0 * 86400.0


@dataclass(frozen=True)
class RecordTimes:
    """Times of records; those of a repeating year are there for every year of the run, and two beside it.

    Args:
        variable: the coordinate of the (first) file, for messages.
        epoch: time 0 of the run.
        seconds: times since the epoch, increasing.
        records: number in the files of the record at each time.
        step: usual time between records [s].
        repeats: whether they are a repeating year.
    """

    variable: Variable
    epoch: datetime.datetime
    seconds: np.ndarray
    records: np.ndarray
    step: float
    repeats: bool

    def window(self, start: float, stop: float) -> slice:
        """The records from before `start` to after `stop` [s]; equally many for equal lengths.

        Raises:
            FileFormatError: times not covered by the records.
        """
        time = self.seconds
        slack = 1e-9 * max(abs(time[0]), abs(time[-1]))
        if start < time[0] - slack or stop > time[-1] + slack:
            got = f"{self.describe(0)} to {self.describe(-1)}"
            wanted = " to ".join(self._moment(each) for each in (start, stop))
            advice = "change start_time or duration, give more files, or say that the year repeats (repeats)"
            raise self.variable.error(f"records from {wanted}", got, advice)
        # The largest number of records within any interval of this length, and one on either side.
        ends = np.searchsorted(time, time + round(stop - start, 3) * (1.0 + 1e-9), side="left")
        n = min(int(np.max(ends - np.arange(time.size))) + 2, time.size)
        first = max(int(np.searchsorted(time, start + slack, side="right")) - 1, 0)
        first = min(first, time.size - n)
        return slice(first, first + n)

    def around(self, start: float, stop: float) -> slice:
        """The available records around a period; at least two."""
        n = self.seconds.size
        first = int(np.clip(np.searchsorted(self.seconds, start, side="right") - 1, 0, n - 2))
        last = int(np.clip(np.searchsorted(self.seconds, stop, side="left"), first + 1, n - 1))
        return slice(first, last + 1)

    def describe(self, number: int) -> str:
        """Time of a record, for messages."""
        record = self.records[number]
        if not self.repeats:
            return f"{self._moment(self.seconds[number])} (record {record})"
        moment = self.epoch + datetime.timedelta(seconds=float(self.seconds[number]))
        begin, end = (datetime.datetime(moment.year + i, 1, 1) for i in (0, 1))
        return f"day {1.0 + 365.0 * ((moment - begin) / (end - begin)):.0f} of the year (record {record})"

    def _moment(self, seconds: float) -> str:
        try:
            return (self.epoch + datetime.timedelta(seconds=float(seconds))).isoformat(timespec="minutes")
        except OverflowError:
            return f"{seconds:g} s"

    def check(self) -> None:
        """Raise `FileFormatError` if records are missing: months of a year, steps of a series."""
        steps = np.diff(self.seconds)
        back, late = (np.flatnonzero(each).tolist() for each in (steps <= 0.0, steps > _LONGEST * self.step))
        wrong = [*back, *late]
        if not wrong:
            return
        before, after = (self.describe(number) for number in (wrong[0], wrong[0] + 1))
        if back:
            advice = "sort the files, and remove repeated records"
            raise self.variable.error("times that increase", f"{after} after {before}", advice)
        is_year = np.unique(self.records).size < 13
        expected = "a record every month of the year" if is_year else "records without a gap"
        raise self.variable.error(expected, f"none between {before} and {after}", "add what is missing")


def read_times(
    coordinates: Sequence[Variable],
    epoch: datetime.datetime,
    duration: float,
    repeats: bool | None,
    stretched: bool,
) -> RecordTimes:
    """Read the times of records in consecutive files.

    Args:
        coordinates: time coordinate of each file.
        epoch: time 0 of the run.
        duration: of the run [s].
        repeats: whether the records are a repeating year; `None` to detect it by a reference year of 0 or 1,
            as in climatologies, or an attribute `modulo` or `climatology`.
        stretched: whether to stretch other years of 360 or 366 days to those of the run.

    Raises:
        FileFormatError: times without a date, in an unknown calendar, or with gaps.
    """
    first = coordinates[0]
    parts = zip(*(_dated(each, epoch) for each in coordinates), strict=True)
    years, fractions, seconds = (np.concatenate(part) for part in parts)
    length = years[-1] + fractions[-1] - years[0] - fractions[0]
    if repeats is None:
        said = any({"modulo", "climatology"} & each.attrs.keys() for each in coordinates)
        repeats = bool(length < 1.0 and (said or np.all(years <= 1)))
    records, usual = np.arange(years.size), np.diff(seconds)
    if repeats:
        if length >= 1.0:
            got = f"{length:.2f} years"
            raise first.error("records within one year, which repeats", got, "leave out all but one year")
        order = np.argsort(fractions, kind="stable")  # a year may begin in December
        last = (epoch + datetime.timedelta(seconds=duration)).year
        several, usual = np.arange(epoch.year - 2, last + 3), _YEAR * np.diff(fractions[order])
        seconds = _of_fractions(several[:, None], fractions[order], epoch).ravel()
        records = np.tile(order, several.size)
    elif np.isnan(seconds).any():
        calendar = str(first.attrs.get("calendar")).lower()
        expected = "times in a calendar whose days are those of the run"
        advice = "stretch its years to those of the run (stretched_years)"
        if not stretched:
            raise first.error(expected, f"the calendar '{calendar}'", advice)
        seconds = _of_fractions(years, fractions, epoch)
        usual = np.diff(seconds)
    found = RecordTimes(first, epoch, seconds, records, float(np.median(usual)), repeats)
    found.check()
    return found


def _dated(variable: Variable, epoch: datetime.datetime) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        years, fractions = year + months // 12, np.interp(months % 12.0, np.arange(13), _MONTHS)
        return years, fractions, _of_fractions(years, fractions, epoch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns that CF has no year 0
        options = {"only_use_cftime_datetimes": True, "has_year_zero": True}
        try:
            (year, month, day), clock = read_reference(reference)
            since = f"{interval} since {year:04}-{month:02}-{day:02}"
            dates = np.asarray(netCDF4.num2date(values, since, calendar, **options))
            dates = (dates + clock).tolist()
        except (ValueError, OverflowError):
            raise refused from None
        begins = [date.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0) for date in dates]
        lengths = [begin.replace(year=begin.year + 1) - begin for begin in begins]
    parts = zip(dates, begins, lengths, strict=True)
    fractions = [(date - begin).total_seconds() / length.total_seconds() for date, begin, length in parts]
    years, fractions = np.array([date.year for date in dates]), np.array(fractions)
    if calendar in _BY_FRACTION:
        return years, fractions, np.full(years.size, np.nan)
    moments = np.array([date.isoformat() for date in dates], dtype="M8[us]")
    return years, fractions, np.round((moments - np.datetime64(epoch)) / np.timedelta64(1, "s"), 3)


def _of_fractions(years: np.ndarray, fractions: np.ndarray, epoch: datetime.datetime) -> np.ndarray:
    """Seconds since the epoch for fractions of years."""
    begins = (np.stack([years, years + 1]).astype(int) - 1970).astype("M8[Y]").astype("M8[us]")
    begin, end = (begins - np.datetime64(epoch)) / np.timedelta64(1, "s")
    return begin + fractions * (end - begin)
