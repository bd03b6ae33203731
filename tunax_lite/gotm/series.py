"""Series of GOTM: a date and time and numbers per line."""

import dataclasses

import numpy as np

from ..io.errors import FileFormatError, reading
from ..io.series import Series
from .plausible import check_plausible, without_kelvin
from .settings import Source
from .text_file import TIME_WIDTH, TextFile, iso, read_columns, read_text, read_times

_KELVIN_ALLOWED = ("airt", "wet_bulb", "dew_point")


@dataclasses.dataclass(frozen=True)
class Period:
    """Times that a run needs.

    Args:
        start: [s] since 1970.
        length: [s].
    """

    start: int
    length: float

    def within(self, time: np.ndarray, source: Source, path) -> slice:
        """Records of a series of times [s] since 1970 that the period needs: one before, one after.

        Raises:
            FileFormatError: the series begins too late or ends too early.
        """
        begin, end = self.start, self.start + self.length
        after = np.flatnonzero(time > begin)
        first = (int(after[0]) if after.size else time.size) - 1
        reaches = np.flatnonzero(time >= end)
        if first < 0 or not reaches.size:
            raise FileFormatError(
                path,
                source.path,
                f"times from {iso(begin)} to {iso(np.ceil(end))}, those of the run",
                f"{iso(time[0])} to {iso(time[-1])}",
                f"extend the file ({source.where}), or change time.start and time.stop",
            )
        return slice(first, max(int(reaches[0]), first + 1) + 1)


class SeriesReader:
    """Reads series of the files of a case, each file once.

    Args:
        period: what the run needs.
    """

    def __init__(self, period: Period):
        self.period = period
        self.warnings: list[str] = []
        self._files: dict = {}

    def _file(self, source: Source) -> tuple[TextFile, np.ndarray]:
        if source.file not in self._files:
            file = read_text(source)
            time = read_times(file, np.arange(len(file.texts)))
            _check_order(file, np.arange(time.size), time)
            self._files[source.file] = (file, time)
        return self._files[source.file]

    def read(self, source: Source, kind: str | None = None) -> Series:
        """The series of an input, over the period.

        Args:
            source: of the method `file`.
            kind: what the values are; by default the last part of the input's path.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a line that is no record, times that do not
                increase or do not cover the run, a gap, a value that cannot be.
        """
        with reading(source.file, "a series of GOTM"):
            return self._read(source, kind or source.path.split(".")[-1])

    def _read(self, source: Source, kind: str) -> Series:
        file, time = self._file(source)
        part = self.period.within(time, source, file.path)
        indices = np.arange(time.size)[part]
        raw = read_columns(file, indices, (source.column - 1,), skip=TIME_WIDTH, names=source.path)[:, 0]
        values = source.scale_factor * raw + source.offset
        if kind in _KELVIN_ALLOWED:
            values = without_kelvin(values)
        check_plausible(source, file, indices, time[part], values, kind)
        self._warn_of_gap(file, indices, time[part])
        return Series((time[part] - self.period.start).astype(float), values)

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


def _check_order(file: TextFile, indices: np.ndarray, time: np.ndarray) -> None:
    """Raise `FileFormatError` unless the times increase."""
    stuck = np.flatnonzero(np.diff(time) <= 0)
    if stuck.size:
        at = int(stuck[0])
        same = time[at + 1] == time[at]
        raise file.error(
            int(indices[at + 1]),
            f"a time after {iso(time[at])}, that of line {file.numbers[indices[at]]}",
            f"{iso(time[at + 1])}{' again' if same else ''}",
            "remove one of the two records" if same else "sort the records by time",
        )
