"""Fields of files at the columns of a map: read, remapped around coasts, over time or depth."""

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
from ...io.variables import error_of, in_unit, like, numbers_in, on_axes
from .calendars import RecordTimes, read_times
from .remapping import Matrix, Remapping
from .sections import Gridded, MapSection, SitePoints
from .sources import (
    axis_of,
    header_of,
    joined_sites,
    levels_of,
    middles_of,
    open_source,
    points_of,
    variable_of,
)

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 4_000_000
"""Values that are read at once."""
_MOST_SCANNED = 200_000_000
"""Values of a field up to which all records are looked at for missing values before the run."""
_MOST_MASKS = 40
"""Ways in which records may miss values; beyond, a point that misses one in any of them counts as dry."""
HALF = 0.5 - 1e-9
"""Part of the points around a column that has water where the column does."""
_FIRST = np.zeros(1, dtype=int)
_QUANTITIES = {"wind_speed": "wind_u", "u": "stokes_drift_u", "v": "stokes_drift_v"}
"""Names in the table of quantities of fields that have others."""
_ELEVATIONS = ("altitude", "surface_altitude", "height_above_mean_sea_level", "height_above_geoid")


class FileField:
    """A variable of files in the package's unit, which is remapped to the columns of a map.

    Args:
        quantity: name in the table of quantities; empty for a parameter.
        given: settings by the user.
        files: of the field, one after the other in time.
        epoch, duration: of the run.
        has_levels: whether it is one of the water, over depth.

    Attributes:
        header: the variable without its values.
        points: of the files.
        times: of the records; `None` if there is only one.
        vertical: name of the dimension of depth; `None` without one.

    Raises:
        FileFormatError: no such variable, no latitude and longitude, an additional dimension, bad times, or
            no levels.
    """

    def __init__(
        self,
        quantity: str,
        given: Gridded,
        files: Sequence["xr.Dataset"],
        epoch: datetime.datetime,
        duration: float,
        *,
        has_levels: bool = False,
    ):
        self._quantity, self._given = quantity, given
        self._name = name = variable_of(quantity, given, files)
        files = [file for file in files if name in file.variables]
        first, self.header = files[0], header_of(files[0], name)
        self.points, self._horizontal = points_of(first, name)
        self._time, _ = axis_of(first, name, "time", self._horizontal)
        self.vertical, levels = axis_of(first, name, "vertical", self._horizontal)
        self._files = files if self._time is not None else files[:1]
        others = {dim for dim in map(str, self.header.dims) if first.sizes[dim] > 1}
        if others := sorted(others - {*self._horizontal, self._time, self.vertical}):
            got, advice = f"the dimension {others[0]}", "select one of it, and give the dataset or write it"
            raise error_of(self.header, "latitude, longitude, time and depth alone", got, advice)
        self._lengths = [1 if self._time is None else int(file.sizes[self._time]) for file in self._files]
        self.times: RecordTimes | None = None
        if sum(self._lengths) > 1:
            keys = [axis_of(file, name, "time", self._horizontal)[1] or "" for file in self._files]
            pairs = zip(self._files, keys, strict=True)
            coordinates = [middles_of(file, key, self.header) for file, key in pairs]
            self.times = read_times(coordinates, epoch, duration, given.repeats)
        examine(self.header, quantity, requested=given.build(), is_reversed=self._is_upward)
        self._mask_of, self._matrices = np.zeros(sum(self._lengths), dtype=int), list[Matrix]()
        self._levels: Sequence[int] = ()
        if has_levels:
            if levels is None:
                raise error_of(self.header, "a dimension of depth", self.header.dims, "name a profile")
            self._depth, self._lower_edge, is_downward = levels_of(first, levels)
            n = self._depth.size
            self._levels = range(n) if is_downward else range(n - 1, -1, -1)

    @property
    def _is_upward(self) -> bool:
        return self._given.upward or leaves_water(self.header)

    @property
    def _row(self) -> int:
        """Number of points per value of the outer horizontal dimension."""
        return int(np.prod(self.points.shape)) // int(self._files[0].sizes[self._horizontal[0]])

    def block(self, records: np.ndarray, rows: slice = slice(None), level: int = 0) -> np.ndarray:
        """Records in increasing order, `(n_records, n_points)`, NaN where missing.

        `rows` selects part of the outer horizontal dimension.
        """
        parts, before = [], 0
        for file, length in zip(self._files, self._lengths, strict=True):
            in_file = records[(records >= before) & (records < before + length)] - before
            before += length
            if not in_file.size:
                continue
            at: dict[str, Sequence[int] | slice] = {self._horizontal[0]: rows}
            if self._time is not None:
                in_order = in_file[-1] - in_file[0] + 1 == in_file.size
                at[self._time] = slice(in_file[0], in_file[-1] + 1) if in_order else in_file.tolist()
            if self.vertical is not None:
                at[self.vertical] = slice(level, level + 1)
            variable = read_netcdf(file, only=(self._name,), at=at)[self._name]
            parts.append(self._in_unit(variable, in_file.size))
        return np.concatenate(parts)

    def _in_unit(self, variable: "xr.DataArray", n_records: int) -> np.ndarray:
        kept = [dim for dim in (self._time, *self._horizontal) if dim is not None]
        variable, missing = on_axes(variable, kept, "select one"), self._given.missing
        if missing is not None:
            values = numbers_in(variable)
            is_missing = np.abs(values - missing) <= 1e-6 * abs(missing)
            variable = like(variable, np.where(is_missing, np.nan, values))
        values = in_unit(variable, self._quantity, self._given.build()).reshape(n_records, -1)
        return -values if self._is_upward else values

    def depth(self, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each row of a matrix that is water, and the depth [m] that half of it exceeds.

        Levels are read one after the other.
        """
        share, depth = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
        above = np.ones(matrix.shape[0], dtype=bool)
        for place, level in enumerate(self._levels):
            wet = matrix @ np.isfinite(self.block(_FIRST, level=level)[0]).astype(float)
            share = wet if place == 0 else share
            above &= wet >= HALF * share
            depth = np.where(above & (wet > 0.0), self._lower_edge[place], depth)
        return share, depth

    def locate(self, remapping: Remapping, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the points of the files for each of the chosen target points.

        Returns:
            Which of them take the value of a neighbour in any record, and which have none.
        """
        of_masks = [remapping.around_coasts(self.points, wet, chosen) for wet in self._masks()]
        self._matrices, filled, empty = (list(each) for each in zip(*of_masks, strict=True))
        return np.any(filled, axis=0), np.any(empty, axis=0)

    def keep(self, rows: np.ndarray) -> None:
        """Keep some of the chosen points, which are the columns from now on."""
        self._matrices = [matrix[rows] for matrix in self._matrices]

    def _masks(self) -> list[np.ndarray]:
        """Which points have values, grouping records with the same mask."""
        if self._levels:
            return [np.isfinite(self.block(_FIRST, level=self._levels[0])[0])]
        n, size = self._mask_of.size, int(np.prod(self.points.shape))
        n_scanned, step = n if n * size <= _MOST_SCANNED else 1, max(1, _BLOCK // size)
        parts = [np.arange(first, min(first + step, n_scanned)) for first in range(0, n_scanned, step)]
        packed = np.concatenate([np.packbits(np.isfinite(self.block(each)), axis=1) for each in parts])
        masks, mask_of = np.unique(packed, axis=0, return_inverse=True)
        several = np.unpackbits(masks, axis=1, count=size).astype(bool)
        if len(several) > _MOST_MASKS:
            several, mask_of = np.all(several, axis=0, keepdims=True), np.zeros_like(mask_of)
        if not several.any():
            advice = "check the file, or the missing value (missing)"
            raise error_of(self.header, "values somewhere on the map", "none", advice)
        self._mask_of[:n_scanned] = mask_of.reshape(-1)
        return list(several)

    def over_time(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, linear between records, `(n_times, n_columns)`."""
        if self.times is None:
            return np.broadcast_to(self._records(columns, _FIRST), (time.size, columns.size))
        some = self.times.around(float(time[0]), float(time[-1]))
        known, values = self.times.seconds[some], self._records(columns, self.times.records[some])
        return values if np.array_equal(known, time) else Series(known, values).on(time)

    def _records(self, columns: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Records by number in the files, `(n_records, n_columns)`."""
        unique, back = np.unique(records, return_inverse=True)
        values = np.empty((unique.size, columns.size))
        for mask in np.unique(self._mask_of[unique]):
            matrix, used, rows = self._of_rows(self._matrices[mask][columns])
            of_mask = np.flatnonzero(self._mask_of[unique] == mask)
            step = max(1, _BLOCK // matrix.shape[1])
            for first in range(0, of_mask.size, step):
                some = of_mask[first : first + step]
                block = self.block(unique[some], rows)
                self._check(block, used, unique[some], rows)
                values[some] = (matrix @ block.T).T
        return values[back]

    def over_depth(self, columns: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values at the epoch and at heights [m] of each column, `(n_heights, n_columns)`.

        Linear between levels and records; constant above the uppermost and below the deepest value.
        """
        records, share = _FIRST, np.ones(1)
        if self.times is not None:
            some = self.times.around(0.0, 0.0)
            at, records = self.times.seconds[some], self.times.records[some]
            later = float(np.clip(-at[0] / (at[-1] - at[0]), 0.0, 1.0))
            share = np.array([1.0 - later, later])
        matrix, used, rows = self._of_rows(self._matrices[0][columns])
        of_levels, order = np.empty((self._depth.size, columns.size)), np.argsort(records)
        for place, level in enumerate(self._levels):
            block = np.tensordot(share[order], self.block(records[order], rows, level), 1)
            finite = np.isfinite(block)
            self._check(block[None], used[finite[used]], records[:1], rows)
            weight, total = matrix @ finite.astype(float), matrix @ np.where(finite, block, 0.0)
            above = of_levels[max(place - 1, 0)]
            of_levels[place] = np.where(weight > 0.0, total / np.where(weight > 0.0, weight, 1.0), above)
        after = np.clip(np.searchsorted(self._depth, -z), 1, self._depth.size - 1)
        upper, lower = self._depth[after - 1], self._depth[after]
        fraction = np.clip((-z - upper) / (lower - upper), 0.0, 1.0)
        ends = [np.take_along_axis(of_levels, index, axis=0) for index in (after - 1, after)]
        return ends[0] + fraction * (ends[1] - ends[0])

    def _of_rows(self, matrix: Matrix) -> tuple[Matrix, np.ndarray, slice]:
        """The matrix restricted to the rows of the files that it needs, the points used, and the rows."""
        used, n = np.unique(matrix.indices), self._row
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
            number = used[point] + rows.start * self._row
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
        """The times of the part with the shortest steps."""
        return finest(self.parts)

    def on(self, columns: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Values at times [s] since the epoch, `(n_times, n_columns)`."""
        zero = np.zeros((time.size, columns.size))
        return sum((part.over_time(columns, time) for part in self.parts), zero) + self.constant


def finest(fields: Sequence[FileField] | Sequence[Field]) -> RecordTimes | None:
    """The times with the shortest steps."""
    several = (one.times for one in fields)
    return min((one for one in several if one is not None), key=lambda one: one.step, default=None)


class FieldBuilder:
    """Build the fields of a map from its settings; a file of several fields is opened once.

    Args:
        given: settings of the map.
        sources: files or datasets for fields without their own.
        find: returns the path for a name.
        epoch: time 0.
    """

    def __init__(
        self,
        given: MapSection,
        sources: Sequence[Source],
        find: Callable[[str], Path],
        epoch: datetime.datetime,
    ):
        self._given, self._sources, self._find, self._epoch = given, list(sources), find, epoch
        measure = "relative" if given.weather is None else given.weather.humidity_measure
        self._quantities = _QUANTITIES | {"humidity": HUMIDITY_QUANTITIES[measure]}
        self._opened: dict[Hashable, xr.Dataset] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """Opened files and folders of this machine."""
        named = [Path(str(one.encoding.get("source", ""))) for one in self._opened.values()]
        return tuple(dict.fromkeys(path for path in named if path.name and path.exists()))

    def _datasets(self, paths: Sequence[str]) -> list["xr.Dataset"]:
        """The datasets of these paths, or those for all fields."""
        datasets = []
        for name in paths or self._sources:
            key = name if isinstance(name, str | Path) else id(name)
            if key not in self._opened:
                self._opened[key] = open_source(name, self._find)
            datasets.append(self._opened[key])
        if not datasets:
            raise ValueError("paths: expected the files of the map, got none; name them.")
        return datasets

    def field(self, quantity: str, given: Gridded) -> Field:
        """A quantity over time; the empty name is that of a parameter."""
        if given.constant is not None:
            known = self._quantities.get(quantity, quantity)
            check_possible("map", quantity or "parameters", known, np.array([given.constant]))
            return Field((), given.constant)
        if given.sum_of:
            several = [self.field(quantity, part) for part in given.sum_of]
            parts = tuple(part for each in several for part in each.parts)
            return Field(parts, sum(each.constant for each in several))
        return Field((self._of_files(quantity, given),))

    def profile(self, quantity: str, given: Gridded) -> FileField:
        """A quantity of the water over depth; the empty name is that of a tracer."""
        if given.constant is not None or given.sum_of:
            name = quantity or "tracers"
            raise ValueError(f"{name}: expected a variable of a file over depth, got a number or a sum.")
        return self._of_files(quantity, given, has_levels=True)

    def _of_files(self, quantity: str, given: Gridded, *, has_levels: bool = False) -> FileField:
        """A variable of files; those of single sites are joined."""
        quantity, points = self._quantities.get(quantity, quantity), self._given.points
        files = []
        if not any("{site}" in path for path in given.paths):
            files = self._datasets(given.paths)
        elif not isinstance(points, SitePoints):
            got = "files of single sites for a map"
            raise ValueError(f"paths: expected points of the kind sites with {{site}}, got {got}; list them.")
        else:
            paths = [[path.replace("{site}", site) for path in given.paths] for site in points.places]
            several = [self._datasets(each) for each in paths]
            name = variable_of(quantity, given, several[0])
            files = [joined_sites(each, name, points.of()) for each in zip(*several, strict=True)]
        return FileField(quantity, given, files, self._epoch, self._given.duration, has_levels=has_levels)

    def bathymetry(self, given: Gridded, remapping: Remapping) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each target point that is water, and its depth [m]."""
        if given.constant is not None:
            n = int(np.prod(remapping.target.shape))
            return np.ones(n), np.full(n, given.constant)
        field = self._of_files("height", given)
        header = field.header
        is_up = header.attrs.get("standard_name") in _ELEVATIONS or header.attrs.get("positive") == "up"
        depth = field.block(_FIRST)[0] * (-1.0 if is_up else 1.0)
        wet = np.isfinite(depth) & (depth > 0.0)
        if not wet.any():
            known = depth[np.isfinite(depth)]
            got = f"{known.min():g} to {known.max():g} m" if known.size else "missing values alone"
            advice = "say that it is an elevation (attribute positive: up), or give a factor of -1"
            raise error_of(header, "depths of the sea, positive where there is water", got, advice)
        matrix = remapping.weights(field.points)
        share = matrix @ wet.astype(float)
        return share, (matrix @ np.where(wet, depth, 0.0)) / np.where(share > 0.0, share, 1.0)
