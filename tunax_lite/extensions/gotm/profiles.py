"""GOTM's profile files: a header with the time, the number of levels and their order, then the levels."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ...io.errors import reading
from ...io.series import Series
from ...plausibility import in_profiles, leave
from . import files
from .files import TIME_WIDTH, Column, Knots, Period, TextFile, iso, read_text


@dataclasses.dataclass(frozen=True)
class _Profiles:
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
            column: of profiles.
            whole_period: read everything that the run needs, not only its initial profile.

        Raises:
            FileNotFoundError: no such file.
            FileFormatError: with file, line, time and value: a wrong number of levels, heights that do not
                increase, times that do not cover the run, a gap, an impossible value.
        """
        with reading(column.file, "profiles of GOTM"):
            if column.file not in self._files:
                found = _find_profiles(read_text(column.file, column.where))
                files.warn_of_order(found.file, found.headers, found.time, self.warnings)
                self._files[column.file] = found
            return self._read(column, self._files[column.file], whole_period)

    def _read(self, column: Column, found: _Profiles, whole_period: bool) -> Series:
        knots, part = Knots.of_records(found.time), slice(None)
        if found.time.size > 1:
            period = self.period if whole_period else Period(self.period.start, 0.0)
            part = period.within(knots.time, column)
        needed, knots = knots.cut(part)
        z, values, indices, of_profile = self._levels(found, needed, column)
        values = column.scaled(values)
        files.check_plausible(column, found.file, indices, found.time[of_profile], values)
        profiles = np.split(values, np.cumsum(found.counts[needed])[:-1])
        leave(in_profiles(column.quantity, str(column.file), profiles))
        on_cells = self._interpolated(found, needed, z, values)
        if needed.size == 1:
            return Series(np.array([0.0, self.period.length]), np.repeat(on_cells, 2, axis=0))
        return Series((knots.time - self.period.start).astype(float), knots.values(on_cells))

    def _levels(
        self, found: _Profiles, needed: np.ndarray, column: Column
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Heights, values, line indices and profile indices of all levels, bottom first in each profile."""
        spans = []
        for profile in needed:
            begin = int(found.headers[profile]) + 1
            span = np.arange(begin, begin + int(found.counts[profile]))
            spans.append(span if found.upward[profile] else span[::-1])
        indices = np.concatenate(spans)
        of_profile = np.repeat(needed, found.counts[needed])
        table = files.read_columns(
            found.file, indices, (0, column.number), skip=0, names=f"height and {column.quantity} of a level"
        )
        z = table[:, 0]
        unknown = np.flatnonzero(~np.isfinite(z))
        if unknown.size:
            raise found.file.error(
                int(indices[unknown[0]]), "a finite height [m]", f"{z[unknown[0]]:g}", "correct the line"
            )
        stuck = np.flatnonzero((np.diff(z) <= 0.0) & (np.diff(of_profile) == 0))
        if stuck.size:
            at = int(stuck[0])
            raise found.file.error(
                int(indices[at + 1]),
                f"heights [m], negative below the surface, that change as the header at "
                f"{iso(float(found.time[of_profile[at]]))} says (1 upward, 2 downward)",
                f"{z[at + 1]:g} above {z[at]:g}",
                "correct the order in the header or in the levels",
            )
        if np.any(z > 10.0):
            at = int(np.argmax(z > 10.0))
            raise found.file.error(
                int(indices[at]), "heights [m], negative below the surface", f"{z[at]:g}", "change the sign"
            )
        return z, table[:, 1], indices, of_profile

    def _interpolated(
        self, found: _Profiles, needed: np.ndarray, z: np.ndarray, values: np.ndarray
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
        return np.stack(
            [
                np.interp(self.z_center, z[end - count : end], values[end - count : end])
                for end, count in zip(ends, counts, strict=True)
            ]
        )


def _find_profiles(file: TextFile) -> _Profiles:
    """Find the profiles by going from header to header."""
    headers, counts, upward = [], [], []
    index, n_lines = 0, len(file.texts)
    while index < n_lines:
        words = file.texts[index][TIME_WIDTH:].replace(",", " ").split()
        if not _is_header(file.texts[index], words):
            after = ""
            if headers:
                after = f" after the {counts[-1]} levels of line {file.numbers[headers[-1]]}"
            raise file.error(
                index,
                f"the header of a profile{after}: YYYY-MM-DD HH:MM:SS, number of levels, 1 (upward) or 2 "
                "(downward)",
                repr(file.texts[index].strip()),
                "correct the number of levels in the header, or the levels",
            )
        count = int(words[0])
        early = _first_header(file, index + 1, min(index + 1 + count, n_lines))
        if early is not None or index + count >= n_lines:
            n_found = (n_lines if early is None else early) - index - 1
            raise file.error(
                index,
                f"{count} levels, as the header says",
                f"{n_found}",
                "correct the number of levels in the header, or the levels",
            )
        headers.append(index)
        counts.append(count)
        upward.append(int(words[1]) == 1)
        index += 1 + count
    places = np.asarray(headers)
    time = files.read_times(file, places)
    return _Profiles(file, places, np.asarray(counts), np.asarray(upward), time)


def _is_header(text: str, words: list[str]) -> bool:
    looks = len(text) > TIME_WIDTH and text[:4].isdigit() and not text[4].isdigit() and text[13] == ":"
    counts = len(words) >= 2 and words[0].isdigit() and words[1].lstrip("+-").isdigit()
    return looks and counts and int(words[0]) > 0


def _first_header(file: TextFile, begin: int, end: int) -> int | None:
    """Index of the first line that looks like a header."""
    for index in range(begin, end):
        text = file.texts[index]
        if len(text) > TIME_WIDTH and text[13] == ":" and text[:4].isdigit():
            return index
    return None
