"""Fields from files at the columns of a map, read in blocks of records and rows."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...io.attributes import examine
from ...io.errors import check_possible
from ...io.netcdf import Variable, read_contents
from ...io.units import is_known, unit_of
from .calendars import RecordTimes
from .points import Points
from .remapping import Matrix, around_coasts, weights
from .settings import Gridded
from .sources import Placing

_BLOCK = 4_000_000
"""Values that are read at once."""
_MOST_SCANNED = 200_000_000
"""Values of a field up to which all records are looked at for missing values before the run."""
_MOST_MASKS = 40
"""Ways in which records may miss values; beyond, a point that misses one in any of them counts as dry."""


class Reader:
    """Records of a variable in the package's unit.

    Args:
        quantity: name in the table of quantities; `None` for a parameter.
        given: settings by the user.
        placing: layout of the variable in its files.
        times: of its records; `None` if there is only one.
    """

    def __init__(self, quantity: str, given: Gridded, placing: Placing, times: RecordTimes | None):
        self.quantity, self.given, self.placing, self.times = quantity, given, placing, times
        header = placing.header()
        if quantity is not None:
            examine(header, quantity, given=given, turned=given.upward or _leaves(header))

    def block(self, records: np.ndarray, rows: slice | None = None, level: int = 0) -> np.ndarray:
        """Records in increasing order, `(n_records, n_points)`, NaN where missing.

        `rows` selects part of the outer horizontal dimension.
        """
        placing, parts, before = self.placing, [], 0
        for file, length in zip(placing.files, placing.lengths, strict=True):
            own = records[(records >= before) & (records < before + length)] - before
            before += length
            if not own.size:
                continue
            at: dict[str, Sequence[int] | slice] = {} if rows is None else {placing.horizontal[0]: rows}
            if placing.time is not None:
                in_order = own[-1] - own[0] + 1 == own.size
                at[placing.time] = slice(int(own[0]), int(own[-1]) + 1) if in_order else own.tolist()
            if placing.vertical is not None:
                at[placing.vertical] = slice(level, level + 1)
            variable = read_contents(file, only=(placing.name,), at=at, valid_range=True)[placing.name]
            parts.append(self._in_unit(variable, own.size))
        return np.concatenate(parts)

    def _in_unit(self, variable: Variable, n_records: int) -> np.ndarray:
        placing, given = self.placing, self.given
        kept = [dim for dim in (placing.time, *placing.horizontal) if dim is not None]
        values = variable.without_single(kept).along(kept, "select one").numbers().reshape(n_records, -1)
        if placing.is_place:
            if not np.array_equal(values, np.broadcast_to(values[:, :1], values.shape), equal_nan=True):
                advice = "leave {site} out of the path"
                raise variable.error("the values of one place", "several that differ", advice)
            values = values[:, :1]
        if given.missing is not None:
            values = np.where(np.abs(values - given.missing) <= 1e-6 * abs(given.missing), np.nan, values)
        leaves = given.upward or _leaves(variable)
        scale, offset = self._conversion(variable)
        scale, offset = (-scale, -offset) if leaves else (scale, offset)
        return values if (scale, offset) == (1.0, 0.0) else values * scale + offset

    def _conversion(self, variable: Variable) -> tuple[float, float]:
        given, unit = self.given, variable.attrs.get("units")
        if unit is None and given.unit is None and is_known(self.quantity):
            raise variable.error("an attribute 'units'", "none", "say it in the map (unit)")
        try:
            # A parameter is in its declared unit.
            return given.linear(self.quantity, str(unit) if is_known(self.quantity) else None)
        except ValueError:
            expected, got = f"a unit that converts to {unit_of(self.quantity)}", f"'{given.unit or unit}'"
            raise variable.error(expected, got, "correct it in the map (unit)") from None

    def rows_of(self, matrix: Matrix) -> tuple[Matrix, np.ndarray, slice | None]:
        """The matrix restricted to the rows of the files that it needs, the points used, and the rows."""
        needed = np.unique(matrix.indices)
        if self.placing.is_place or not needed.size:
            return matrix, needed, None
        n = self.placing.row
        rows = slice(int(needed[0]) // n, int(needed[-1]) // n + 1)
        start, shape = rows.start * n, (matrix.shape[0], (rows.stop - rows.start) * n)
        own = sparse.csr_array((matrix.data, matrix.indices - start, matrix.indptr), shape)
        return own, needed - start, rows

    def check(self, block: np.ndarray, used: np.ndarray, records: np.ndarray, rows: slice | None) -> None:
        """Raise `FileFormatError`, with point and time, for a used value that is missing or impossible."""
        values = block[:, used]
        header, points = self.placing.header(), self.placing.points
        start = 0 if rows is None else rows.start * self.placing.row

        def describe(at: int) -> str:
            record, point = divmod(at, used.size)
            latitude, longitude = points.all()
            flat = int(used[point]) + start
            where = "" if self.placing.is_place else place_in_words(latitude[flat], longitude[flat])
            when = None if self.times is None else self.times.describe_record(int(records[record]))
            return ", ".join(part for part in (where, when) if part) or "the place of the file"

        missing = np.flatnonzero(~np.isfinite(values))
        if missing.size:
            got = f"a missing one at {describe(int(missing[0]))}"
            advice = f"fill the {missing.size} missing values in time"
            raise header.error("values at the same points at all times", got, advice)
        check_possible(header.path, header.name, self.quantity, values.ravel(), describe)


def _leaves(variable: Variable) -> bool:
    """Whether the standard name of a flux counts it out of the water."""
    said = str(variable.attrs.get("standard_name"))
    return "upward" in said or "out_of_sea_water" in said


class Field:
    """A quantity at the columns of a map, over time.

    Args:
        reader: for its records.
    """

    def __init__(self, reader: Reader):
        self.reader, self.times = reader, reader.times
        self._mask_of = np.zeros(sum(reader.placing.lengths), dtype=int)
        self._matrices: list[Matrix] = []
        self._together: np.ndarray | None = None
        self._read: tuple[np.ndarray, np.ndarray] | None = None  # records, and their values there

    def locate(
        self, target: Points, chosen: np.ndarray, method: str, reach: float, cache: dict
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the points of the files for each of the selected target points.

        Returns:
            Which of them take the value of a neighbour in any record, and which have none.
        """
        source, place = self.reader.placing.points, tuple(each[chosen] for each in target.all())
        grid = source.fingerprint
        if (grid, "all") not in cache:
            is_place = self.reader.placing.is_place
            matrix = np.ones((chosen.size, 1)) if is_place else weights(source, target, method)[chosen]
            cache[grid, "all"] = sparse.csr_array(matrix)
        filled, empty = np.zeros((2, chosen.size), dtype=bool)
        for wet in self._masks():
            key = grid, wet.tobytes()
            if key not in cache:
                cache[key] = around_coasts(cache[grid, "all"], wet, source, place, reach)
            self._matrices.append(cache[key][0])
            filled, empty = filled | cache[key][1], empty | cache[key][2]
        return filled, empty

    def keep(self, rows: np.ndarray) -> None:
        """Keep a selection of the columns."""
        self._matrices = [matrix[rows] for matrix in self._matrices]

    def _masks(self) -> list[np.ndarray]:
        """Which points have values, grouping records with the same mask."""
        n, size = self._mask_of.size, int(np.prod(self.reader.placing.points.shape))
        n_scanned = n if n * size <= _MOST_SCANNED else 1
        found: dict[bytes, int] = {}
        masks: list[np.ndarray] = []
        step = max(1, _BLOCK // size)
        for first in range(0, n_scanned, step):
            records = np.arange(first, min(first + step, n_scanned))
            for record, values in zip(records, self.reader.block(records), strict=True):
                wet = np.isfinite(values)
                key = np.packbits(wet).tobytes()
                if key not in found:
                    found[key] = len(masks)
                    masks.append(wet)
                self._mask_of[record] = found[key]
        if len(masks) > _MOST_MASKS:
            masks, self._mask_of[:] = [np.all(masks, axis=0)], 0
        if not np.any(masks):
            advice = "check the file, or the missing value (missing)"
            raise self.reader.placing.header().error("values somewhere on the map", "none", advice)
        return masks

    def read_together(self, columns: np.ndarray | None) -> None:
        """As `ColumnMap.read_together`; records that were read last are kept."""
        self._together, self._read = columns, None

    def at(self, columns: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Records by number, `(n_records, n_columns)`."""
        records = numbers if self.times is None else self.times.records(numbers)
        if self._together is None or not is_among(columns, self._together):
            return self._at(columns, records)
        if self._read is None or not np.array_equal(self._read[0], records):
            self._read = None  # before there is the next
            self._read = records, self._at(self._together, records)
        return self._read[1][:, columns - self._together[0]]

    def _at(self, columns: np.ndarray, records: np.ndarray) -> np.ndarray:
        unique, back = np.unique(records, return_inverse=True)
        found = np.empty((unique.size, columns.size))
        for mask in np.unique(self._mask_of[unique]):
            matrix, used, rows = self.reader.rows_of(self._matrices[mask][columns])
            own = np.flatnonzero(self._mask_of[unique] == mask)
            step = max(1, _BLOCK // matrix.shape[1])
            for first in range(0, own.size, step):
                some = own[first : first + step]
                block = self.reader.block(unique[some], rows)
                self.reader.check(block, used, unique[some], rows)
                found[some] = (matrix @ block.T).T
        return found[back]

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, linear between records, `(n_times, n_columns)`."""
        if self.times is None:
            values = self.at(columns, np.zeros(1, dtype=int))
            return np.broadcast_to(values, (time.size, columns.size))
        numbers = self.times.around(time)
        own, found = self.times.at(numbers), self.at(columns, numbers)
        return found if np.array_equal(own, time) else between(own, found, time)


class Constant:
    """A uniform, constant number."""

    times: ClassVar[None] = None

    def __init__(self, value: float):
        self.value = value

    def locate(self, target: Points, chosen: np.ndarray, *_: object) -> tuple[np.ndarray, np.ndarray]:
        """No-op."""
        return np.zeros(chosen.size, dtype=bool), np.zeros(chosen.size, dtype=bool)

    def keep(self, rows: np.ndarray) -> None:
        """No-op."""

    def read_together(self, columns: np.ndarray | None) -> None:
        """Nothing to read."""

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        return np.full((time.size, columns.size), self.value)


class Sum:
    """Sum of several fields."""

    def __init__(self, parts: Sequence["AnyField"]):
        self.parts, self.times = list(parts), finest([part.times for part in parts])

    def locate(self, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:  # of `Field.locate`
        """As in `Field`, for any part."""
        filled, empty = zip(*(part.locate(*arguments) for part in self.parts), strict=True)
        return np.any(filled, axis=0), np.any(empty, axis=0)

    def keep(self, rows: np.ndarray) -> None:
        """Keep a selection of the columns."""
        for part in self.parts:
            part.keep(rows)

    def read_together(self, columns: np.ndarray | None) -> None:
        """As that of `Field`, of every part."""
        for part in self.parts:
            part.read_together(columns)

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        return np.sum([part.on(columns, time) for part in self.parts], axis=0)


class PerSite:
    """A field with one file per column."""

    def __init__(self, parts: Sequence["AnyField"]):
        self.parts, self.times = list(parts), finest([part.times for part in parts])

    # Any: further arguments of `Field.locate`.
    def locate(self, target: Points, chosen: np.ndarray, *others: Any) -> tuple[np.ndarray, np.ndarray]:
        """As in `Field`; each file belongs to one column."""
        self.keep(chosen)
        for part in self.parts:
            part.locate(Points(np.zeros(1), np.zeros(1), False), np.zeros(1, dtype=int), *others)
        return np.zeros(chosen.size, dtype=bool), np.zeros(chosen.size, dtype=bool)

    def keep(self, rows: np.ndarray) -> None:
        """Keep a selection of the columns."""
        self.parts = [self.parts[row] for row in rows]

    def read_together(self, columns: np.ndarray | None) -> None:
        """Nothing to do: no file is that of several columns."""

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        first = np.zeros(1, dtype=int)
        return np.concatenate([self.parts[column].on(first, time) for column in columns], axis=1)


AnyField = Field | Constant | Sum | PerSite


def finest(times: Sequence[RecordTimes | None]) -> RecordTimes | None:
    """The times with the shortest steps."""
    return min((one for one in times if one is not None), key=lambda one: one.step, default=None)


def is_among(columns: np.ndarray, together: np.ndarray) -> bool:
    """Whether columns are some of others, which have no gap."""
    return bool(together[0] <= columns.min() and columns.max() <= together[-1])


def between(time: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Interpolate linearly between times, along the first axis."""
    after = np.clip(np.searchsorted(time, at, side="right"), 1, time.size - 1)
    fraction = np.clip((at - time[after - 1]) / (time[after] - time[after - 1]), 0.0, 1.0)[:, None]
    return values[after - 1] + fraction * (values[after] - values[after - 1])


def place_in_words(latitude: float, longitude: float) -> str:
    """A position, for messages."""
    east = (longitude + 180.0) % 360.0 - 180.0
    return f"{abs(latitude):g} {'NS'[int(latitude < 0)]} {abs(east):g} {'EW'[int(east < 0)]}"
