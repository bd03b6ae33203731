"""Text files with dates, as GOTM and many stations write them: series in columns, and profiles.

A series has one line per time. A profile has a header with the time, the number of levels and their order,
then the levels.
"""

import dataclasses
import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np

from .._types import warn_of_input
from .axes import check_measured
from .errors import FileFormatError, check_possible, decimal, read_text, reading
from .local_tables import decoded
from .series import Series, start_of_case
from .times import error_at, timed
from .variables import array

if TYPE_CHECKING:
    import xarray as xr

TIME_WIDTH = 19
"""Characters of a date and time."""


@dataclasses.dataclass(frozen=True)
class TextFile:
    """Lines of a file, without blank ones and comments, and their line numbers, from 1."""

    path: Path
    numbers: np.ndarray
    texts: list[str]

    def error(self, index: int, expected: str, got: str, advice: str) -> FileFormatError:
        """Build an error about a line."""
        return FileFormatError(self.path, f"line {self.numbers[index]}", expected, got, advice)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a file, counted from 1 without dates and heights, and its quantity after scaling."""

    file: Path
    number: int
    quantity: str
    scale_factor: float = 1.0
    offset: float = 0.0

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"column {self.number}"


def read_lines(path: Path | str, where: str = "") -> TextFile:
    """Read the lines of a file that are not blank or comments; `where` is the key that names the file."""
    path = Path(path)
    try:
        lines = read_text(path, "a text file", decoded).splitlines()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{where}: {error}" if where else str(error)) from error
    kept = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] not in "#!"]
    if not kept:
        raise FileFormatError(path, "lines", "lines with values", "none", "check the file")
    numbers, texts = zip(*kept, strict=True)
    return TextFile(path, np.asarray(numbers), list(texts))


_FIELDS = (slice(0, 4), slice(5, 7), slice(8, 10), slice(11, 13), slice(14, 16), slice(17, 19))
"""Positions of year, month, day, hour, minute and second in a line; any characters may separate them."""


def _seconds(text: str) -> float:
    """Time [s] since 1970 at the beginning of a line, NaN if it has none; as in Fortran, a blank is a 0."""
    digits = [text[part].replace(" ", "0") for part in _FIELDS]
    if not "".join(digits).isdecimal():
        return np.nan
    year, month, day, hour, minute, second = map(int, digits)
    try:
        midnight = datetime.datetime(year, month, day, tzinfo=datetime.UTC).timestamp()
    except ValueError:
        return np.nan
    is_clock = hour <= 24 and minute < 60 and second <= 60
    return midnight + 3600.0 * hour + 60.0 * minute + second if is_clock else np.nan


def read_times(file: TextFile, indices: np.ndarray) -> np.ndarray:
    """Read the times of lines [s] since 1970."""
    time = np.array([_seconds(file.texts[index]) for index in indices], dtype=float)
    for index in indices[np.isnan(time)][:1].tolist():
        expected, got = "a date and time YYYY-MM-DD HH:MM:SS", repr(file.texts[index][:TIME_WIDTH])
        raise file.error(index, expected, got, "correct the line, or start it with # if it is a comment")
    return time


def read_columns(
    file: TextFile, indices: np.ndarray, columns: tuple[int, ...], *, skip: int, names: str
) -> np.ndarray:
    """Numbers of lines, `(n_lines, n_columns)`; columns count from 0 after `skip` characters.

    Raises:
        FileFormatError: a line with fewer columns, or with a text among them.
    """
    values = np.full((len(indices), len(columns)), np.nan)
    for row, index in enumerate(map(int, indices)):
        words = file.texts[index][skip:].replace(",", " ").split()
        try:
            # Fortran writes 1.0D-3.
            values[row] = [decimal(words[column].lower().replace("d", "e")) for column in columns]
        except (IndexError, ValueError):
            expected = f"numbers in the columns {', '.join(str(column + 1) for column in columns)} ({names})"
            got = repr(file.texts[index].strip())
            raise file.error(index, expected, got, "check the column number and the line") from None
    return values


def iso(seconds: SupportsFloat) -> str:
    """Write a time [s] since 1970 as text."""
    return str(np.datetime64(int(float(seconds)), "s")).replace("T", " ")


def _later_records(file: TextFile, lines: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Indices of the records that are later than all before them; warns of the others, which are left out."""
    latest = np.maximum.accumulate(time)
    is_later = np.append(True, time[1:] > latest[:-1])
    if not is_later.all():
        first, n_wrong = int(np.argmin(is_later)), np.sum(~is_later)
        where = f"{file.path}: line {file.numbers[lines[first]]}"
        note = f"{where}: {iso(time[first])} is not after {iso(latest[first - 1])}"
        warn_of_input([f"{note}; {n_wrong} of {time.size} records are out of order and left out"])
    return np.flatnonzero(is_later)


class Profile(NamedTuple):
    """Time of a profile [s] since 1970, and the lines of its header and of its levels, bottom first."""

    time: float
    header: int
    levels: range


_OF_AIR = ("air_temperature", "wet_bulb", "dew_point")
"""Temperatures of the air, taken to be in kelvin if above 100, as in GOTM."""


class DatedFiles:
    """Read columns of files over the time of a run, as series or profiles; each file is parsed once.

    Args:
        start_time: of the run, ISO 8601.
        length: of the run [s].
    """

    def __init__(self, start_time: str, length: float):
        self.start_time, self.length = start_time, length
        self._start = start_of_case(start_time).replace(tzinfo=datetime.UTC).timestamp()
        self._series: dict[Path, tuple[TextFile, np.ndarray, np.ndarray]] = {}
        self._profiles: dict[Path, tuple[TextFile, list[Profile]]] = {}

    def _during(self, time: np.ndarray, length: float, column: Column) -> slice:
        """Records from the last one before (or at) the start of the run to the first one at or after its end.

        Raises:
            FileFormatError: records that do not cover the run.
        """
        end = self._start + length
        first, last = np.searchsorted(time, self._start, side="right") - 1, np.searchsorted(time, end)
        if first < 0 or last == time.size:
            expected = f"times from {iso(self._start)} to {iso(np.ceil(end))}, those of the run"
            got = f"{iso(time[0])} to {iso(time[-1])}"
            advice = "extend the file, or change the start or the length of the run"
            raise FileFormatError(column.file, column.quantity, expected, got, advice)
        return slice(int(first), int(max(last, first + 1)) + 1)

    def series(self, column: Column) -> "xr.DataArray":
        """Read a column over the run as a series like that of `times.timed`; missing values are NaN.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a line that is not a record, times that do not
                cover the run, an impossible value, or a missing one in the first or last record needed.
        """
        with reading(column.file, "a series of GOTM"):
            if column.file not in self._series:
                file = read_lines(column.file)
                lines = np.arange(len(file.texts))
                time = read_times(file, lines)
                kept = _later_records(file, lines, time)
                self._series[column.file] = file, lines[kept], time[kept]
            file, lines, time = self._series[column.file]
            part = self._during(time, self.length, column)
            read = read_columns(
                file, lines[part], (column.number - 1,), skip=TIME_WIDTH, names=column.quantity
            )
            values = column.scale_factor * read[:, 0] + column.offset
            if column.quantity in _OF_AIR:
                values = np.where(values > 100.0, values - 273.15, values)
            variable = array(column.file, column.name, ("time",), values, {})
            moments = time[part].astype("M8[s]").astype("M8[us]")
            times = array(column.file, "time", ("time",), moments, {})
            series = timed(variable, times, values, self.start_time)
            series = series.assign_coords(line=("time", file.numbers[lines[part]]))
            check_measured(series, column.quantity, values, series["moment"])
            for end in (0, -1):
                if not np.isfinite(values[end]):
                    expected = "a value at both ends of the run, beyond which no longest_gap reaches"
                    at = end % values.size
                    raise error_at(series, at, expected, f"{values[at]} at {{}}", "extend or shorten the run")
            return series

    def profiles(
        self,
        column: Column,
        z_center: np.ndarray,
        moved: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        whole_period: bool = True,
    ) -> Series:
        """Read the profiles of a column onto cells, `(n_times, n_cells)`; a single one is constant.

        Args:
            column: of profiles.
            z_center: heights of the cells at rest [m].
            moved: function that returns heights of the cells under a moving surface, `(n_times, n_cells)`, at
                times [s] since the start; each profile uses the heights at the time of the previous one.
            whole_period: read everything that the run needs, not only its initial profile.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a wrong number of levels, heights that do not
                increase, times that do not cover the run, a missing or impossible value.
        """
        with reading(column.file, "profiles of GOTM"):
            if column.file not in self._profiles:
                file = read_lines(column.file)
                stored = find_profiles(file)
                headers, time = np.array([p.header for p in stored]), np.array([p.time for p in stored])
                kept = _later_records(file, headers, time)
                self._profiles[column.file] = file, [stored[record] for record in kept]
            file, profiles = self._profiles[column.file]
            time = np.array([each.time for each in profiles])
            part, is_constant = slice(0, 1), time.size == 1
            if not is_constant:
                part = self._during(time, self.length if whole_period else 0.0, column)
            levels = _levels(file, profiles[part], column)
            heights = np.broadcast_to(z_center, (len(levels), z_center.size))
            if moved is not None and not is_constant:
                heights = moved(np.append(0.0, time[:-1] - self._start)[part])
            rows = np.stack([np.interp(z, *each) for z, each in zip(heights, levels, strict=True)])
            if is_constant:
                return Series(np.array([0.0, self.length]), np.repeat(rows, 2, axis=0))
            return Series(time[part] - self._start, rows)


def _levels(file: TextFile, profiles: list[Profile], column: Column) -> list[tuple[np.ndarray, np.ndarray]]:
    """Read heights and values of profiles, bottom first in each."""
    counts = [len(each.levels) for each in profiles]
    indices = np.concatenate([each.levels for each in profiles])
    of_profile = np.repeat(np.arange(len(profiles)), counts)
    names = f"height and {column.quantity} of a level"
    read = read_columns(file, indices, (0, column.number), skip=0, names=names)
    z, values = read[:, 0], column.scale_factor * read[:, 1] + column.offset

    def describe(at: int) -> str:
        return f"{iso(profiles[of_profile[at]].time)} (line {file.numbers[indices[at]]})"

    def check(wrong: np.ndarray, expected: str, advice: str) -> None:
        for at in np.flatnonzero(wrong)[:1].tolist():
            got = f"{z[at]:g} m with {values[at]:g} in the profile of {describe(at)}"
            raise file.error(int(indices[at]), expected, got, advice)

    check(~(np.isfinite(z) & np.isfinite(values)), "a finite height and value", "correct the line")
    falling = np.diff(z, prepend=-np.inf) <= 0.0
    falling &= np.diff(of_profile, prepend=-1) == 0
    expected = "heights [m] that change as the header says (1 upward, 2 downward)"
    check(falling, expected, "correct the order in the header or in the levels")
    # Heights of a tidal elevation above the surface at rest are small: larger ones are depths.
    check(z > 10.0, "heights [m], negative below the surface", "change the sign")
    check_possible(file.path, column.name, column.quantity, values, describe)
    ends = np.cumsum(counts)[:-1]
    return list(zip(np.split(z, ends), np.split(values, ends), strict=True))


_TIME = re.compile(r"\d{4}.{9}:.{5}.")
_HEADER = re.compile(r"\d{4}\D.{8}:.{5}[\s,]*0*([1-9]\d*)[\s,]+([-+]?\d+)(?:[\s,]|$)")


def begins_with_header(line: str) -> bool:
    """Return whether a line is only a time, a number of levels and their order."""
    match = _HEADER.fullmatch(line.rstrip())
    return match is not None and match[2] in ("1", "2")


def find_profiles(file: TextFile) -> list[Profile]:
    """Find the profiles by going from header to header."""
    headers, levels = list[int](), list[range]()
    index, n_lines = 0, len(file.texts)
    advice = "correct the number of levels in the header, or the levels"
    form = "YYYY-MM-DD HH:MM:SS, number of levels, 1 (upward) or 2 (downward)"
    while index < n_lines:
        match = _HEADER.match(file.texts[index])
        if match is None:
            last = (
                f" after the {len(levels[-1])} levels of line {file.numbers[headers[-1]]}" if headers else ""
            )
            got = repr(file.texts[index].strip())
            raise file.error(index, f"the header of a profile{last}: {form}", got, advice)
        count = int(match[1])
        following = range(index + 1, min(index + 1 + count, n_lines))
        early = next((line for line in following if _TIME.match(file.texts[line])), None)
        if early is not None or index + count >= n_lines:
            end = n_lines if early is None else early
            raise file.error(index, f"{count} levels, as the header says", f"{end - index - 1}", advice)
        headers.append(index)
        levels.append(following if int(match[2]) == 1 else following[::-1])
        index += 1 + count
    times = read_times(file, np.asarray(headers, dtype=int))
    return [Profile(*fields) for fields in zip(times.tolist(), headers, levels, strict=True)]
