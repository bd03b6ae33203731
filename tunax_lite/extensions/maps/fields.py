"""Fields of files at the columns of a map: remapped, around coasts, over time or depth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...io.series import Series
from ...io.variables import error_of
from .calendars import RecordTimes
from .remapping import Matrix, Remapping
from .sources import FieldReader, levels_of

_BLOCK = 4_000_000
"""Values that are read at once."""
_MOST_SCANNED = 200_000_000
"""Values of a field up to which all records are looked at for missing values before the run."""
_MOST_MASKS = 40
"""Ways in which records may miss values; beyond, a point that misses one in any of them counts as dry."""
HALF = 0.5 - 1e-9
"""Part of the points around a column that has water where the column does."""


class Remapped:
    """A variable of files at the columns of a map, over time; of the water, over depth.

    Args:
        reader: for its records.

    Raises:
        FileFormatError: a variable of the water without levels, or with invalid ones.
    """

    def __init__(self, reader: FieldReader, *, has_levels: bool = False):
        self.reader, self.times = reader, reader.times
        self._mask_of = np.zeros(sum(reader.lengths), dtype=int)
        self._matrices: list[Matrix] = []
        self._levels: Sequence[int] = ()
        if has_levels:
            if reader.levels is None:
                header = reader.header
                raise error_of(header, "a dimension of depth", header.dims, "name a profile")
            self._depth, self._lower_edge, is_downward = levels_of(reader.files[0], reader.levels)
            n = self._depth.size
            self._levels = range(n) if is_downward else range(n - 1, -1, -1)

    def depth(self, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each row of a matrix that is water, and the depth [m] that half of it exceeds.

        Levels are read one after the other.
        """
        share, depth = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
        above = np.ones(matrix.shape[0], dtype=bool)
        for place, level in enumerate(self._levels):
            own = matrix @ np.isfinite(self._first(level)).astype(float)
            share = own if place == 0 else share
            above &= own >= HALF * share
            depth = np.where(above & (own > 0.0), self._lower_edge[place], depth)
        return share, depth

    def _first(self, level: int) -> np.ndarray:
        return self.reader.block(np.zeros(1, dtype=int), level=level)[0]

    def locate(self, remapping: Remapping, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the points of the files for each of the chosen target points.

        Returns:
            Which of them take the value of a neighbour in any record, and which have none.
        """
        masks = [np.isfinite(self._first(self._levels[0]))] if self._levels else self._masks()
        found = [remapping.around_coasts(self.reader.points, wet, chosen) for wet in masks]
        self._matrices, filled, empty = (list(each) for each in zip(*found, strict=True))
        return np.any(filled, axis=0), np.any(empty, axis=0)

    def keep(self, rows: np.ndarray) -> None:
        """Keep some of the chosen points, which are the columns from now on."""
        self._matrices = [matrix[rows] for matrix in self._matrices]

    def _masks(self) -> list[np.ndarray]:
        """Which points have values, grouping records with the same mask."""
        n, size = self._mask_of.size, int(np.prod(self.reader.points.shape))
        n_scanned = n if n * size <= _MOST_SCANNED else 1
        masks: dict[bytes, tuple[int, np.ndarray]] = {}
        step = max(1, _BLOCK // size)
        for first in range(0, n_scanned, step):
            records = np.arange(first, min(first + step, n_scanned))
            for record, values in zip(records, self.reader.block(records), strict=True):
                wet = np.isfinite(values)
                self._mask_of[record], _ = masks.setdefault(np.packbits(wet).tobytes(), (len(masks), wet))
        several = [wet for _, wet in masks.values()]
        if len(several) > _MOST_MASKS:
            several, self._mask_of[:] = [np.all(several, axis=0)], 0
        if not np.any(several):
            advice = "check the file, or the missing value (missing)"
            raise error_of(self.reader.header, "values somewhere on the map", "none", advice)
        return several

    def over_time(self, rows: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, linear between records, `(n_times, n_rows)`."""
        if self.times is None:
            return np.broadcast_to(self._records(rows, np.zeros(1, dtype=int)), (time.size, rows.size))
        some = self.times.around(float(time[0]), float(time[-1]))
        known, found = self.times.seconds[some], self._records(rows, self.times.records[some])
        return found if np.array_equal(known, time) else Series(known, found).on(time)

    def _records(self, rows: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Records by number in the files, `(n_records, n_rows)`."""
        unique, back = np.unique(records, return_inverse=True)
        found = np.empty((unique.size, rows.size))
        for mask in np.unique(self._mask_of[unique]):
            matrix, used, lines = self.reader.rows_of(self._matrices[mask][rows])
            own = np.flatnonzero(self._mask_of[unique] == mask)
            step = max(1, _BLOCK // matrix.shape[1])
            for first in range(0, own.size, step):
                some = own[first : first + step]
                block = self.reader.block(unique[some], lines)
                self.reader.check(block, used, unique[some], lines)
                found[some] = (matrix @ block.T).T
        return found[back]

    def over_depth(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values at the epoch and at heights [m] of each column, `(n_heights, n_rows)`.

        Linear between levels and records; constant above the uppermost and below the deepest value.
        """
        reader, records, share = self.reader, np.zeros(1, dtype=int), np.ones(1)
        if self.times is not None:
            some = self.times.around(0.0, 0.0)
            at, records = self.times.seconds[some], self.times.records[some]
            later = float(np.clip(-at[0] / (at[-1] - at[0]), 0.0, 1.0))
            share = np.array([1.0 - later, later])
        matrix, used, lines = reader.rows_of(self._matrices[0][rows])
        found, order = np.empty((self._depth.size, rows.size)), np.argsort(records)
        for place, level in enumerate(self._levels):
            block = np.tensordot(share[order], reader.block(records[order], lines, level), 1)
            finite = np.isfinite(block)
            reader.check(block[None], used[finite[used]], records[:1], lines)
            weight, total = matrix @ finite.astype(float), matrix @ np.where(finite, block, 0.0)
            above = found[max(place - 1, 0)]
            found[place] = np.where(weight > 0.0, total / np.where(weight > 0.0, weight, 1.0), above)
        after = np.clip(np.searchsorted(self._depth, -z), 1, self._depth.size - 1)
        upper, lower = self._depth[after - 1], self._depth[after]
        fraction = np.clip((-z - upper) / (lower - upper), 0.0, 1.0)
        values = [np.take_along_axis(found, index, axis=0) for index in (after - 1, after)]
        return values[0] + fraction * (values[1] - values[0])


@dataclass(frozen=True)
class Field:
    """The sum of variables and a number, in the unit of the package."""

    parts: tuple[Remapped, ...]
    constant: float = 0.0

    @property
    def times(self) -> RecordTimes | None:
        """The times of the part with the shortest steps."""
        return finest(self.parts)

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, `(n_times, n_columns)`."""
        total = sum(
            (part.over_time(columns, time) for part in self.parts), np.zeros((time.size, columns.size))
        )
        return total + self.constant

    def at_start(self, columns: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values at the epoch and at heights [m] of each column, `(n_heights, n_columns)`."""
        return self.parts[0].over_depth(columns, z)  # not a sum


def finest(fields: Sequence[Remapped] | Sequence[Field]) -> RecordTimes | None:
    """The times with the shortest steps."""
    several = (one.times for one in fields)
    return min((one for one in several if one is not None), key=lambda one: one.step, default=None)
