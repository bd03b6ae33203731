"""Text files with dates, as GOTM and many stations write them: series in columns, and profiles.

A series has one line per time. A profile has a header with the time, the number of levels and their order,
then the levels. Both are checked for values that are not plausible.
"""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, SupportsInt

import numpy as np

from .._types import warn_of_input
from ..plausibility.rules import codes_among
from ..quantities import quantity_of
from .errors import (
    FileFormatError,
    check_lines,
    check_size,
    decimal,
    reading,
    shortened,
    what_is_at,
)
from .gaps import is_sunlight, long_gaps
from .series import Series, longest_missing

TIME_WIDTH = 19
"""Characters of a date and time."""


@dataclasses.dataclass(frozen=True)
class TextFile:
    """Lines of a file without comments, and their line numbers, from 1."""

    path: Path
    numbers: np.ndarray
    texts: list[str]

    def error(self, index: int, expected: str, got: str, advice: str) -> FileFormatError:
        """An error about one line."""
        return FileFormatError(self.path, f"line {self.numbers[index]}", expected, got, advice)

    def check(self, wrong: Iterable[tuple[int, str]], expected: str, advice: str) -> None:
        """Raise `FileFormatError` if any line is wrong; see `check_lines`."""
        numbered = [(self.numbers[index], got) for index, got in wrong]
        check_lines(self.path, numbered, "", expected, advice)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a file, counted from 1 without dates and heights, and its quantity after scaling.

    Args:
        quantity: name in the table of quantities.
        where: configuration file, line and key that name the file, for messages.
        longest_gap: longest time without a value that is bridged linearly [s]; by default a missing value is
            an error, and times between two records are not limited.
    """

    file: Path
    number: int
    quantity: str
    where: str
    scale_factor: float = 1.0
    offset: float = 0.0
    longest_gap: float | None = None

    def scaled(self, values: np.ndarray) -> np.ndarray:
        return self.scale_factor * values + self.offset


def read_lines(path: Path | str, where: str) -> TextFile:
    """Read the lines of a file; `where` tells what names it."""
    path = Path(path)
    found = what_is_at(path)
    if found != "a file":
        raise FileNotFoundError(
            f"{where}: expected the file {shortened(path)}, got {shortened(found)}; put it beside the "
            "configuration or correct its name."
        )
    with reading(path, "a text file"):
        check_size(path, "file", 8 * path.stat().st_size)
        content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = content.decode("latin-1").splitlines()
    kept = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] not in "#!"]
    if not kept:
        raise FileFormatError(path, "lines", "dates with values", "none", "check the file")
    numbers, texts = zip(*kept, strict=True)
    return TextFile(path, np.asarray(numbers), list(texts))


def read_times(file: TextFile, indices: np.ndarray) -> np.ndarray:
    """Read the times of lines [s] since 1970."""
    texts = file.texts
    heads = np.array([texts[index][:TIME_WIDTH] for index in indices], dtype=f"U{TIME_WIDTH}")
    digits = heads.view(np.uint32).reshape(len(indices), TIME_WIDTH).astype(np.int64) - ord("0")
    digits[digits == ord(" ") - ord("0")] = 0
    fields, valid = [], np.ones(len(indices), bool)
    for begin, end in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)):
        field = digits[:, begin:end]
        valid &= np.all((field >= 0) & (field <= 9), axis=1)
        fields.append(field @ (10 ** np.arange(end - begin)[::-1]))
    year, month, day, hour, minute, second = fields
    valid &= (month >= 1) & (month <= 12) & (day >= 1) & (hour <= 24) & (minute < 60) & (second <= 60)
    months = (np.where(valid, year, 1970) - 1970) * 12 + np.where(valid, month, 1) - 1
    first = months.astype("datetime64[M]")
    next_month = (first + np.timedelta64(1, "M")).astype("datetime64[D]")
    valid &= day <= (next_month - first.astype("datetime64[D]")).astype(np.int64)
    wrong = [(int(index), repr(texts[index][:TIME_WIDTH])) for index in indices[~valid]]
    advice = "correct the line, or start it with # if it is a comment"
    file.check(wrong, "a date and time YYYY-MM-DD HH:MM:SS", advice)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    return days * 86400 + hour * 3600 + minute * 60 + second


def read_columns(
    file: TextFile, indices: np.ndarray, columns: tuple[int, ...], *, skip: int, names: str
) -> np.ndarray:
    """Numbers by line and column; columns count from 0 after `skip` characters."""
    texts = [file.texts[index][skip:] for index in indices]
    if not texts:
        return np.zeros((0, len(columns)))
    if any("," in text for text in texts[:1]):
        texts = [text.replace(",", " ") for text in texts]
    try:
        values = np.loadtxt(texts, usecols=columns, ndmin=2, comments=None)
        if values.shape[0] == len(texts):  # fails on blank lines
            return values
    except ValueError:
        pass
    # Line by line: to name the wrong line, and to read Fortran's exponents `1.0D-3`.
    values = np.full((len(texts), len(columns)), np.nan)
    short: list[tuple[int, str]] = []
    wrong: dict[int, list[tuple[int, str]]] = {column: [] for column in columns}
    for row, text in enumerate(texts):
        words = text.replace(",", " ").split()
        at = int(indices[row])
        if len(words) <= max(columns):
            short.append((at, f"{len(words)}: {file.texts[at].strip()!r}"))
            continue
        for place, column in enumerate(columns):
            try:
                values[row, place] = decimal(words[column].lower().replace("d", "e"))
            except ValueError:
                wrong[column].append((at, repr(words[column])))
    expected = f"at least {max(columns) + 1} columns ({names})"
    file.check(short, expected, "check the column number and the line")
    for column, lines in wrong.items():
        file.check(lines, f"a number in column {column + 1} ({names})", "correct the line")
    return values


def iso(seconds: SupportsInt) -> str:
    """A time [s] since 1970 as text."""
    return str(np.datetime64(int(seconds), "s")).replace("T", " ")


# Advice on units that are easily confused.
_REMEDIES = {
    "hPa": "hPa, set scale_factor: 100 in a file of GOTM, unit: hPa in one of the package",
    "%": "per cent or oktas, set scale_factor (factor in the package): 0.01 or 0.125",
    "g kg-1": "g/kg, set scale_factor: 0.001 in a file of GOTM, unit: g kg-1 in one of the package",
    "K": "Kelvin, set offset: -273.15 in a file of GOTM, unit: K in one of the package",
    "mm h-1 or mm day-1": "mm per hour or day, set scale_factor in a file of GOTM, else the unit",
}


def _check_values(
    column: Column, file: TextFile, indices: np.ndarray, time: np.ndarray, values: np.ndarray
) -> None:
    """Raise `FileFormatError` for gaps and impossible values, with line and time [s] since 1970."""

    def refuse(wrong: np.ndarray, expected: str, advice: str) -> None:
        lines = [(int(indices[at]), f"{values[at]:g} at {iso(time[at])}") for at in wrong]
        expected = f"{expected} for {column.quantity} ({column.where})"
        file.check(lines, expected, advice)

    if column.longest_gap is None:
        advice = "fill the gap before the run, or let longest_gap bridge it"
        refuse(np.flatnonzero(~np.isfinite(values)), "a finite value", advice)
    try:
        known = quantity_of(column.quantity)
    except KeyError:  # a tracer
        return
    low, high = known.possible
    outside = np.flatnonzero((values < low) | (values > high))
    advice = "check the unit, the sign, the column and the fill value"
    if outside.size and known.suspect is not None:
        if known.suspect[1] <= values[outside[0]] <= known.suspect[2]:
            advice = f"the values look like {_REMEDIES[known.suspect[0]]}"
    unit = "" if known.unit == "1" else f" {known.unit}"
    refuse(outside, f"a value from {low:g} to {high:g}{unit}", advice)
    if column.quantity == "relative_humidity" and values.size > 1 and 0.0 < values.max() <= 1.5:
        expected = "relative humidity in %, of which some exceeds 1.5"
        advice = "a fraction, set scale_factor: 100, or unit: 1 outside GOTM"
        refuse(np.array([np.argmax(values)]), expected, advice)


_KELVIN = 273.15
_IN_KELVIN = ("air_temperature", "wet_bulb", "dew_point")
"""Temperatures of the air above 100 are in Kelvin, as in GOTM."""


@dataclasses.dataclass(frozen=True)
class Period:
    """The time span of a run: its start [s] since 1970, and its length [s]."""

    start: int
    length: float

    def within(self, time: np.ndarray, column: Column) -> slice:
        """Which records at times [s] since 1970 the run needs, with one before and one after."""
        begin, end = self.start, self.start + self.length
        after = np.flatnonzero(time > begin)
        first = (int(after[0]) if after.size else time.size) - 1
        reaches = np.flatnonzero(time >= end)
        if first < 0 or not reaches.size:
            expected = f"times from {iso(begin)} to {iso(np.ceil(end))}, those of the run"
            advice = f"extend the file ({column.where}), or change the start or the length of the run"
            got = f"{iso(time[0])} to {iso(time[-1])}"
            raise FileFormatError(column.file, column.quantity, expected, got, advice)
        return slice(first, max(int(reaches[0]), first + 1) + 1)


class Knots(NamedTuple):
    """Increasing times [s] since 1970, each with the two records of a file to interpolate between."""

    time: np.ndarray
    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray  # of the later record [1]

    @classmethod
    def of_records(cls, time: np.ndarray) -> "Knots":
        """Knots from the times of all records in file order.

        GOTM reads a file once, and interpolates from the last record that it has passed to the first one
        ahead. After a record that is not later than its predecessors, interpolation therefore restarts from
        it, and the series jumps at the record before, between two whole seconds of GOTM's clock.
        """
        latest = np.maximum.accumulate(time)
        ahead = np.flatnonzero(np.append(True, time[1:] > latest[:-1]))
        knots = cls(time[ahead], ahead, ahead, np.zeros(ahead.size))
        new = ahead[1:][(np.diff(ahead) > 1) & (np.diff(time[ahead]) > 1)]
        if not new.size:
            return knots
        jump, behind = latest[new - 1] + 1, new - 1
        weight = (jump - time[behind]) / (time[new] - time[behind])
        joined = [np.concatenate(pair) for pair in zip(knots, (jump, behind, new, weight), strict=True)]
        order = np.argsort(joined[0])
        return cls(*(each[order] for each in joined))

    def cut(self, part: slice) -> tuple[np.ndarray, "Knots"]:
        """The records that these knots need, and the knots with indices into those."""
        time, before, after, weight = (each[part] for each in self)
        records, places = np.unique(np.concatenate([before, after]), return_inverse=True)
        return records, Knots(time, places[: before.size], places[before.size :], weight)

    def values(self, of_records: np.ndarray) -> np.ndarray:
        """Values at the times, from those of the records along the first axis."""
        weight = self.weight.reshape((-1,) + (1,) * (of_records.ndim - 1))
        return of_records[self.before] + weight * (of_records[self.after] - of_records[self.before])


def warn_of_order(file: TextFile, indices: np.ndarray, time: np.ndarray, warnings: list[str]) -> None:
    """Note how many records (given by line indices) are not later than all before them."""
    latest = np.maximum.accumulate(time)
    back = np.flatnonzero(time[1:] <= latest[:-1]) + 1
    if back.size:
        first, n_again = int(back[0]), int(np.sum(time[back] == time[back - 1]))
        again = f" ({n_again} at the time of the record before)" if n_again else ""
        warnings.append(
            f"{file.path}: line {file.numbers[indices[first]]}: {iso(time[first])} is not after "
            f"{iso(latest[first - 1])}; {back.size} of {time.size} records are out of order{again}. They "
            "are read as GOTM reads them, with a jump at each; sort the records by time."
        )


class SeriesReader:
    """Read series from the files of a case over a period, each file once.

    Args:
        linear_sunlight: whether gaps in shortwave radiation are bridged linearly, with a note.
    """

    def __init__(self, period: Period, *, linear_sunlight: bool = False):
        self.period = period
        self.linear_sunlight = linear_sunlight
        self.warnings: list[str] = []
        self._files: dict = {}

    def read(self, column: Column) -> Series:
        """Read the series of a column over the period.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a line that is not a record, times that do not
                cover the run, a gap, an impossible value.
        """
        with reading(column.file, "a series of GOTM"):
            if column.file not in self._files:
                file = read_lines(column.file, column.where)
                indices = np.arange(len(file.texts))
                time = read_times(file, indices)
                warn_of_order(file, indices, time, self.warnings)
                if time.size > 1 and time[1:].max() <= time[0]:
                    got, advice = f"{iso(time[1])} after {iso(time[0])}", "sort the records by time"
                    raise file.error(1, "times that increase", got, advice)
                self._files[column.file] = (file, time, Knots.of_records(time))
            return self._read(column, *self._files[column.file])

    def _read(self, column: Column, file: TextFile, time: np.ndarray, knots: Knots) -> Series:
        indices, knots = knots.cut(self.period.within(knots.time, column))
        values = self._values(column, file, indices, time[indices])
        if column.longest_gap is not None:
            values, places = knots.values(values), indices[knots.after]
            return self._bridged(column, file, places, knots.time, values, column.longest_gap)
        is_filled = is_sunlight(column.quantity) and not self.linear_sunlight
        if not (is_filled and long_gaps(knots.time).size):
            self._warn_of_gap(file, indices[knots.after], knots.time)
        return Series((knots.time - self.period.start).astype(float), knots.values(values))

    def _values(self, column: Column, file: TextFile, indices: np.ndarray, time: np.ndarray) -> np.ndarray:
        columns, names = (column.number - 1,), column.quantity
        values = column.scaled(read_columns(file, indices, columns, skip=TIME_WIDTH, names=names)[:, 0])
        if column.quantity in _IN_KELVIN:
            values = np.where(values > 100.0, values - _KELVIN, values)
        _check_values(column, file, indices, time, values)
        return values

    def _bridged(
        self,
        column: Column,
        file: TextFile,
        indices: np.ndarray,
        time: np.ndarray,
        values: np.ndarray,
        allowed: float,
    ) -> Series:
        known = np.isfinite(values)
        ends = known[0] and known[-1]
        longest, at = longest_missing(time, known) if known.sum() > 1 and ends else (np.inf, 0)
        if longest > allowed * (1.0 + 1e-6):
            expected = f"a value of {column.quantity} at least every {allowed / 3600.0:g} h, "
            expected += f"and at both ends of the run ({column.where}, longest_gap)"
            got = f"{longest / 3600.0:g} h without one after {iso(time[at])}"
            raise file.error(int(indices[at]), expected, got, "fill the gap, or set a longer longest_gap")
        if not known.all():
            said = f"{file.path}: {np.sum(~known)} missing values of {column.quantity} are bridged, "
            self.warnings.append(f"{said}at most {longest / 3600.0:g} h after {iso(time[at])}")
        return Series((time[known] - self.period.start).astype(float), values[known])

    def _warn_of_gap(self, file: TextFile, indices: np.ndarray, time: np.ndarray) -> None:
        steps = np.diff(time)
        longest = int(np.argmax(steps))
        if steps.size > 10 and steps[longest] > 12 * np.median(steps):
            warning = (
                f"{file.path}: line {file.numbers[indices[longest + 1]]}: {steps[longest] / 3600:g} h "
                f"without a record after {iso(time[longest])}; interpolated linearly."
            )
            if warning not in self.warnings:
                self.warnings.append(warning)


@dataclasses.dataclass(frozen=True)
class Profiles:
    """Headers, numbers of levels, directions and times [s] since 1970 of the profiles in a file."""

    file: TextFile
    headers: np.ndarray
    counts: np.ndarray
    upward: np.ndarray
    time: np.ndarray


class ProfileReader:
    """Read profiles onto cells with centers at the heights `z_center` [m], each file once.

    Where the surface moves, `moved` gives the heights relative to the level at rest, `(n_times, n_cells)`, at
    times [s] since the start: a profile is interpolated to the cells as they are when its predecessor has
    passed.
    """

    def __init__(
        self,
        period: Period,
        z_center: np.ndarray,
        moved: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.period = period
        self.z_center = z_center
        self.moved = moved
        self.warnings: list[str] = []
        self._files: dict = {}

    def read(self, column: Column, *, whole_period: bool = True) -> Series:
        """Read the profiles of a column over the period, `(n_times, n_cells)`; a single one is constant.

        Args:
            column: of pro
            whole_period: read everything that the run needs, not only its initial profile.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a wrong number of levels, heights that do not
                increase, times that do not cover the run, a gap, an impossible value.
        """
        with reading(column.file, "profiles of GOTM"):
            if column.file not in self._files:
                found = find_profiles(read_lines(column.file, column.where))
                warn_of_order(found.file, found.headers, found.time, self.warnings)
                self._files[column.file] = found
            return self._read(column, self._files[column.file], whole_period)

    def _read(self, column: Column, found: Profiles, whole_period: bool) -> Series:
        knots, part = Knots.of_records(found.time), slice(None)
        if found.time.size > 1:
            period = self.period if whole_period else Period(self.period.start, 0.0)
            part = period.within(knots.time, column)
        needed, knots = knots.cut(part)
        z, values = self._levels(found, needed, column)
        profiles = np.split(values, np.cumsum(found.counts[needed])[:-1])
        if column.quantity in ("temperature", "salinity", "u", "v"):
            warn_of_input(codes_among(column.quantity, str(column.file), profiles))
        on_cells = self._interpolated(found, needed, z, values)
        if needed.size == 1:
            return Series(np.array([0.0, self.period.length]), np.repeat(on_cells, 2, axis=0))
        return Series((knots.time - self.period.start).astype(float), knots.values(on_cells))

    def _levels(self, found: Profiles, needed: np.ndarray, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """Read heights and values of all levels, bottom first in each profile."""
        spans = [np.arange(0)]
        for profile in needed:
            begin = int(found.headers[profile]) + 1
            span = np.arange(begin, begin + int(found.counts[profile]))
            spans.append(span if found.upward[profile] else span[::-1])
        file, indices = found.file, np.concatenate(spans)
        of_profile = np.repeat(needed, found.counts[needed])
        names = f"height and {column.quantity} of a level"
        read = read_columns(file, indices, (0, column.number), skip=0, names=names)
        z, values = read[:, 0], column.scaled(read[:, 1])
        expected = "heights [m], negative below the surface"
        wrong = [(int(indices[at]), f"{z[at]:g}") for at in np.flatnonzero(~np.isfinite(z))]
        file.check(wrong, "a finite height [m]", "correct the line")
        turned = []
        for at in np.flatnonzero((np.diff(z) <= 0.0) & (np.diff(of_profile) == 0)):
            header = iso(float(found.time[of_profile[at]]))
            turned.append((int(indices[at + 1]), f"{z[at + 1]:g} above {z[at]:g} in the profile of {header}"))
        changing = f"{expected}, that change as the header says (1 upward, 2 downward)"
        file.check(turned, changing, "correct the order in the header or in the levels")
        above = [(int(indices[at]), f"{z[at]:g}") for at in np.flatnonzero(z > 10.0)]
        file.check(above, expected, "change the sign")
        _check_values(column, file, indices, found.time[of_profile], values)
        return z, values

    def _interpolated(
        self, found: Profiles, needed: np.ndarray, z: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Values on the cells, constant beyond the outermost levels."""
        counts = found.counts[needed]
        ends = np.cumsum(counts)
        if self.moved is not None and found.time.size > 1:
            passed = np.append(self.period.start, np.maximum.accumulate(found.time)[:-1])[needed]
            heights = self.moved((passed - self.period.start).astype(float))
            levels = zip(heights, ends - counts, ends, strict=True)
            return np.stack([np.interp(on, z[a:b], values[a:b]) for on, a, b in levels])
        if np.all(counts == counts[0]):
            heights, table = z.reshape(needed.size, -1), values.reshape(needed.size, -1)
            if np.all(heights == heights[0]):
                if counts[0] == 1:
                    return np.repeat(table, self.z_center.size, axis=1)
                return Series(heights[0], table.T).on(self.z_center).T
        spans = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
        return np.stack([np.interp(self.z_center, z[span], values[span]) for span in spans])


def find_profiles(file: TextFile) -> Profiles:
    """Find the profiles by going from header to header."""
    headers, counts, upward = [], [], []
    index, n_lines = 0, len(file.texts)
    advice = "correct the number of levels in the header, or the levels"
    form = "YYYY-MM-DD HH:MM:SS, number of levels, 1 (upward) or 2 (downward)"
    while index < n_lines:
        words = file.texts[index][TIME_WIDTH:].replace(",", " ").split()
        if not _is_header(file.texts[index], words):
            last = f" after the {counts[-1]} levels of line {file.numbers[headers[-1]]}" if headers else ""
            got = repr(file.texts[index].strip())
            raise file.error(index, f"the header of a profile{last}: {form}", got, advice)
        count = int(words[0])
        following = range(index + 1, min(index + 1 + count, n_lines))
        early = next((line for line in following if _begins_with_time(file.texts[line])), None)
        if early is not None or index + count >= n_lines:
            end = n_lines if early is None else early
            raise file.error(index, f"{count} levels, as the header says", f"{end - index - 1}", advice)
        headers.append(index)
        counts.append(count)
        upward.append(int(words[1]) == 1)
        index += 1 + count
    places = np.asarray(headers, dtype=int)
    return Profiles(file, places, np.asarray(counts), np.asarray(upward), read_times(file, places))


def _is_header(text: str, words: list[str]) -> bool:
    counts = len(words) >= 2 and words[0].isdigit() and words[1].lstrip("+-").isdigit()
    return _begins_with_time(text) and not text[4].isdigit() and counts and int(words[0]) > 0


def _begins_with_time(text: str) -> bool:
    return len(text) > TIME_WIDTH and text[:4].isdigit() and text[13] == ":"
