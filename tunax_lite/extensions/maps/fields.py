"""Fields of files at the columns of a map: read, remap around coasts, interpolate in time or depth."""

import datetime
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ...air_sea.bulk_forcing import HUMIDITY_QUANTITIES
from ...io.attributes import examine, leaves_water
from ...io.axes import place_in_words
from ...io.errors import Source, check_possible, name_of
from ...io.netcdf import read_netcdf
from ...io.series import Series
from ...io.variables import error_of, in_unit, on_axes
from .calendars import RecordTimes, read_times
from .remapping import Matrix, Remapping
from .sections import Gridded, MapSection
from .sources import (
    axis_of,
    header_of,
    levels_of,
    middles_of,
    open_source,
    points_of,
    variable_of,
)

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 4_000_000
"""Approximate number of values that are read at once."""
_MOST_SCANNED = 200_000_000
"""Fields with more values are scanned for missing values in their first record alone; a point that lacks a
value only in a later record is then an error."""
_MOST_MASKS = 40
"""Most masks of missing values of a field; if there are more, points missing in any record count as dry."""
HALF = 0.5 - 1e-9
"""Least fraction of water around a column, with a margin for round-off."""
_FIRST = np.zeros(1, dtype=int)
_QUANTITIES = {"wind_speed": "wind_u", "u": "stokes_drift_u", "v": "stokes_drift_v"}
"""Quantity of each field that is not named after it."""
_ELEVATIONS = ("altitude", "surface_altitude", "height_above_mean_sea_level", "height_above_geoid")


class FileField:
    """A variable of files, remapped to the columns of a map, in the package's unit.

    Args:
        quantity: name in the table of quantities; empty for a tracer.
        settings: section of the field in the configuration.
        files: files of the field, consecutive in time.
        epoch, duration: time 0 and duration [s] of the run.
        has_levels: whether it is a profile over depth.

    Attributes:
        header: the variable without its values.
        points: horizontal points of the files.
        times: times of the records; `None` if there is only one record.
        vertical: name of the dimension of depth; `None` without one.

    Raises:
        FileFormatError: no such variable, no latitude and longitude, an additional dimension, bad times, or
            no levels.
    """

    def __init__(
        self,
        quantity: str,
        settings: Gridded,
        files: Sequence["xr.Dataset"],
        epoch: datetime.datetime,
        duration: float,
        *,
        has_levels: bool = False,
    ):
        self._quantity = quantity
        self._name = name = variable_of(quantity, settings, files)
        files = [file for file in files if name in file.variables]
        first, self.header = files[0], header_of(files[0], name)
        self.points, self._horizontal = points_of(first, name)
        self._time, _ = axis_of(first, name, "time", self._horizontal)
        self.vertical, level_coordinate = axis_of(first, name, "vertical", self._horizontal)
        self._files = files if self._time is not None else files[:1]
        others = {dim for dim in map(str, self.header.dims) if first.sizes[dim] > 1}
        if others := sorted(others - {*self._horizontal, self._time, self.vertical}):
            got, advice = f"the dimension {others[0]}", "select one index of it and write a new file"
            raise error_of(self.header, "only latitude, longitude, time and depth", got, advice)
        self._lengths = [1 if self._time is None else int(file.sizes[self._time]) for file in self._files]
        self.times: RecordTimes | None = None
        if sum(self._lengths) > 1:
            keys = [axis_of(file, name, "time", self._horizontal)[1] or "" for file in self._files]
            pairs = zip(self._files, keys, strict=True)
            coordinates = [middles_of(file, key, self.header) for file, key in pairs]
            self.times = read_times(coordinates, epoch, duration, settings.repeats)
        self._conversion, self._is_upward = settings.build(), leaves_water(self.header)
        examine(self.header, quantity, requested=self._conversion, is_reversed=self._is_upward)
        # The number of the mask of missing values of each record, and one matrix per mask.
        self._mask_of, self._matrices = np.zeros(sum(self._lengths), dtype=int), list[Matrix]()
        self._levels: Sequence[int] = ()
        if has_levels:
            if level_coordinate is None:
                advice = "name a variable over depth"
                raise error_of(self.header, "a dimension of depth", self.header.dims, advice)
            self._depth, self._lower_edge, is_downward = levels_of(first, level_coordinate)
            n = self._depth.size
            self._levels = range(n) if is_downward else range(n - 1, -1, -1)  # from the surface down

    @property
    def _row_length(self) -> int:
        """Number of points in a row of the files (a value of the outer horizontal dimension)."""
        return int(np.prod(self.points.shape)) // int(self._files[0].sizes[self._horizontal[0]])

    def block(self, records: np.ndarray, rows: slice = slice(None), level: int = 0) -> np.ndarray:
        """Read some rows of records in increasing order, `(n_records, n_points)`, NaN where missing.

        `level` is the index in the file; it has no effect without a dimension of depth.
        """
        parts, before = [], 0
        for file, length in zip(self._files, self._lengths, strict=True):
            in_file = records[(records >= before) & (records < before + length)] - before
            before += length
            if not in_file.size:
                continue
            at: dict[str, Sequence[int] | slice] = {self._horizontal[0]: rows}
            if self._time is not None:
                is_contiguous = in_file[-1] - in_file[0] + 1 == in_file.size
                at[self._time] = slice(in_file[0], in_file[-1] + 1) if is_contiguous else in_file.tolist()
            if self.vertical is not None:
                at[self.vertical] = slice(level, level + 1)
            variable = read_netcdf(file, only=(self._name,), at=at)[self._name]
            parts.append(self._in_unit(variable, in_file.size))
        return np.concatenate(parts)

    def _in_unit(self, variable: "xr.DataArray", n_records: int) -> np.ndarray:
        kept = [dim for dim in (self._time, *self._horizontal) if dim is not None]
        variable = on_axes(variable, kept, "select one")
        values = in_unit(variable, self._quantity, self._conversion).reshape(n_records, -1)
        return -values if self._is_upward else values

    def depth(self, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Fraction of water at each target point, and the depth [m] that at least half of this water has.

        `matrix` remaps the points of the files. Levels are read one after the other, to save memory.
        """
        share, depth = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
        is_deeper = np.ones(matrix.shape[0], dtype=bool)
        for number, level in enumerate(self._levels):
            wet = matrix @ np.isfinite(self.block(_FIRST, level=level)[0]).astype(float)
            share = wet if number == 0 else share
            is_deeper &= wet >= HALF * share
            depth = np.where(is_deeper & (wet > 0.0), self._lower_edge[number], depth)
        return share, depth

    def locate(self, remapping: Remapping, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prepare the matrices from the points of the files to the chosen target points.

        Returns:
            Masks of the chosen points: those filled from the nearest wet point in some record, and those
            without a value in some record.
        """
        of_masks = [remapping.around_coasts(self.points, wet, chosen) for wet in self._masks()]
        self._matrices, filled, empty = (list(each) for each in zip(*of_masks, strict=True))
        return np.any(filled, axis=0), np.any(empty, axis=0)

    def keep(self, rows: np.ndarray) -> None:
        """Keep some of the chosen points: these are the columns of the map."""
        self._matrices = [matrix[rows] for matrix in self._matrices]

    def _masks(self) -> list[np.ndarray]:
        """Return the different masks of points with values, and note which one each record has."""
        if self._levels:
            records, _ = self._around_epoch()
            return [np.all(np.isfinite(self.block(records, level=self._levels[0])), axis=0)]
        n, size = self._mask_of.size, int(np.prod(self.points.shape))
        n_scanned, step = n if n * size <= _MOST_SCANNED else 1, max(1, _BLOCK // size)
        parts = [np.arange(first, min(first + step, n_scanned)) for first in range(0, n_scanned, step)]
        packed = np.concatenate([np.packbits(np.isfinite(self.block(each)), axis=1) for each in parts])
        masks, mask_of = np.unique(packed, axis=0, return_inverse=True)
        masks = np.unpackbits(masks, axis=1, count=size).astype(bool)
        if len(masks) > _MOST_MASKS:
            masks, mask_of = np.all(masks, axis=0, keepdims=True), np.zeros_like(mask_of)
        if not masks.any():
            advice = "check the file and its valid range"
            raise error_of(self.header, "values somewhere on the map", "none", advice)
        self._mask_of[:n_scanned] = mask_of.reshape(-1)
        return list(masks)

    def over_time(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, linear between records, `(n_times, n_columns)`."""
        if self.times is None:
            return np.broadcast_to(self._records(columns, _FIRST), (time.size, columns.size))
        needed = self.times.around(float(time[0]), float(time[-1]))
        knots, values = self.times.seconds[needed], self._records(columns, self.times.records[needed])
        return values if np.array_equal(knots, time) else Series(knots, values).on(time)

    def _records(self, columns: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Values of records at columns, `(n_records, n_columns)`."""
        unique, inverse = np.unique(records, return_inverse=True)
        values = np.empty((unique.size, columns.size))
        for mask in np.unique(self._mask_of[unique]):
            matrix, used, rows = self._on_needed_rows(self._matrices[mask][columns])
            of_mask = np.flatnonzero(self._mask_of[unique] == mask)
            step = max(1, _BLOCK // matrix.shape[1])
            for first in range(0, of_mask.size, step):
                part = of_mask[first : first + step]
                block = self.block(unique[part], rows)
                self._check(block, used, unique[part], rows)
                values[part] = (matrix @ block.T).T
        return values[inverse]

    def over_depth(self, columns: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values at the epoch and at heights [m] of each column, `(n_heights, n_columns)`.

        Linear between levels and records; constant above the uppermost and below the deepest value.
        """
        records, share = self._around_epoch()
        matrix, used, rows = self._on_needed_rows(self._matrices[0][columns])
        of_levels = np.empty((self._depth.size, columns.size))
        for number, level in enumerate(self._levels):
            block = np.tensordot(share, self.block(records, rows, level), 1)
            finite = np.isfinite(block)
            self._check(block[None], used[finite[used]], records[:1], rows)
            weight, total = matrix @ finite.astype(float), matrix @ np.where(finite, block, 0.0)
            above = of_levels[max(number - 1, 0)]
            of_levels[number] = np.where(weight > 0.0, total / np.where(weight > 0.0, weight, 1.0), above)
        after = np.clip(np.searchsorted(self._depth, -z), 1, self._depth.size - 1)
        upper, lower = self._depth[after - 1], self._depth[after]
        fraction = np.clip((-z - upper) / (lower - upper), 0.0, 1.0)
        ends = [np.take_along_axis(of_levels, index, axis=0) for index in (after - 1, after)]
        return ends[0] + fraction * (ends[1] - ends[0])

    def _around_epoch(self) -> tuple[np.ndarray, np.ndarray]:
        """Records on either side of the epoch, in the order of the files, and their weights at the epoch."""
        if self.times is None:
            return _FIRST, np.ones(1)
        both = self.times.around(0.0, 0.0)
        knots, records = self.times.seconds[both], self.times.records[both]
        later = float(np.clip(-knots[0] / (knots[-1] - knots[0]), 0.0, 1.0))
        order = np.argsort(records)
        return records[order], np.array([1.0 - later, later])[order]

    def _on_needed_rows(self, matrix: Matrix) -> tuple[Matrix, np.ndarray, slice]:
        """Restrict a matrix to the rows of the files that it needs; return it, the used points and rows."""
        used, n = np.unique(matrix.indices), self._row_length
        if not used.size:
            return matrix, used, slice(0, None)
        rows = slice(int(used[0]) // n, int(used[-1]) // n + 1)
        start, shape = rows.start * n, (matrix.shape[0], (rows.stop - rows.start) * n)
        return (
            sparse.csr_array((matrix.data, matrix.indices - start, matrix.indptr), shape),
            used - start,
            rows,
        )

    def _check(self, block: np.ndarray, used: np.ndarray, records: np.ndarray, rows: slice) -> None:
        """Raise `FileFormatError`, with point and time, for a used value that is missing or impossible."""
        values = block[:, used]

        def describe(at: int) -> str:
            record, point = divmod(at, used.size)
            number = used[point] + rows.start * self._row_length
            where = place_in_words(*(float(each[number]) for each in self.points.all()))
            if self.times is None:
                return where
            first = int(np.flatnonzero(self.times.records == records[record])[0])
            return f"{where}, {self.times.describe(first)}"

        missing = np.flatnonzero(~np.isfinite(values))
        if missing.size:
            got = f"a missing one at {describe(int(missing[0]))}"
            advice = f"fill the {missing.size} missing values in time"
            raise error_of(self.header, "values at the same points at all times", got, advice)
        check_possible(name_of(self.header), self._name, self._quantity, values.ravel(), describe)


@dataclass(frozen=True)
class Field:
    """The sum of variables and a number, in the unit of the package."""

    parts: tuple[FileField, ...]
    constant: float = 0.0

    @property
    def times(self) -> RecordTimes | None:
        """Times of the part with the shortest interval between records; `None` if all are constant."""
        return finest(self.parts)

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, `(n_times, n_columns)`."""
        zero = np.zeros((time.size, columns.size))
        return sum((part.over_time(columns, time) for part in self.parts), zero) + self.constant


def finest(fields: Sequence[FileField] | Sequence[Field]) -> RecordTimes | None:
    """Times of the field with the shortest interval between records; `None` if all are constant."""
    all_times = (field.times for field in fields if field.times is not None)
    return min(all_times, key=lambda times: times.interval, default=None)


class FieldBuilder:
    """Build the fields of a map from its settings; a file of several fields is opened once.

    Args:
        section: section `map` of the configuration.
        sources: files or datasets for fields without their own.
        find: returns the path for a name.
        epoch: time 0.
    """

    def __init__(
        self,
        section: MapSection,
        sources: Sequence[Source],
        find: Callable[[str], Path],
        epoch: datetime.datetime,
    ):
        self._duration, self._epoch = section.duration, epoch
        self._sources, self._find = list(sources), find
        measure = "relative" if section.weather is None else section.weather.humidity_measure
        self._quantities = _QUANTITIES | {"humidity": HUMIDITY_QUANTITIES[measure]}
        self._opened: dict[Hashable, xr.Dataset] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """Local files and folders that have been opened."""
        paths = [Path(str(file.encoding.get("source", ""))) for file in self._opened.values()]
        return tuple(dict.fromkeys(path for path in paths if path.name and path.exists()))

    def _datasets(self, paths: Sequence[str]) -> list["xr.Dataset"]:
        """Open these paths; without any, the files of the map."""
        datasets = []
        for name in paths or self._sources:
            key = name if isinstance(name, str | Path) else id(name)
            if key not in self._opened:
                self._opened[key] = open_source(name, self._find)
            datasets.append(self._opened[key])
        if not datasets:
            raise ValueError("paths: expected the files of the map, got none; name them.")
        return datasets

    def field(self, quantity: str, settings: Gridded) -> Field:
        """Build a field over time."""
        if settings.constant is not None:
            name = self._quantities.get(quantity, quantity)
            check_possible("map", quantity, name, np.array([settings.constant]))
            return Field((), settings.constant)
        if settings.sum_of:
            terms = [self.field(quantity, part) for part in settings.sum_of]
            parts = tuple(part for term in terms for part in term.parts)
            return Field(parts, sum(term.constant for term in terms))
        return Field((self._of_files(quantity, settings),))

    def profile(self, quantity: str, settings: Gridded) -> FileField:
        """Build a field over depth; `quantity` is empty for a tracer."""
        if settings.constant is not None or settings.sum_of:
            name = quantity or "tracers"
            raise ValueError(f"{name}: expected a variable of a file over depth, got a number or a sum.")
        return self._of_files(quantity, settings, has_levels=True)

    def _of_files(self, quantity: str, settings: Gridded, *, has_levels: bool = False) -> FileField:
        """Build a field from its files."""
        quantity, files = self._quantities.get(quantity, quantity), self._datasets(settings.paths)
        return FileField(quantity, settings, files, self._epoch, self._duration, has_levels=has_levels)

    def bathymetry(self, settings: Gridded, remapping: Remapping) -> tuple[np.ndarray, np.ndarray]:
        """Fraction of water at each target point, and the mean depth of this water [m]."""
        if settings.constant is not None:
            n = int(np.prod(remapping.target.shape))
            return np.ones(n), np.full(n, settings.constant)
        field = self._of_files("height", settings)
        header = field.header
        is_up = header.attrs.get("standard_name") in _ELEVATIONS or header.attrs.get("positive") == "up"
        depth = field.block(_FIRST)[0] * (-1.0 if is_up else 1.0)
        wet = np.isfinite(depth) & (depth > 0.0)
        if not wet.any():
            finite = depth[np.isfinite(depth)]
            got = f"{finite.min():g} to {finite.max():g} m" if finite.size else "only missing values"
            advice = "for elevations set the attribute `positive: up` in the file, or `factor: -1`"
            raise error_of(header, "depths that are positive where there is water", got, advice)
        matrix = remapping.weights(field.points)
        share = matrix @ wet.astype(float)
        return share, (matrix @ np.where(wet, depth, 0.0)) / np.where(share > 0.0, share, 1.0)
