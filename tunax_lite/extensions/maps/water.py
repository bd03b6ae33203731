"""Profiles from files at the columns of a map, and the water depth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ...io.axes import is_axis, read_vertical
from ...io.netcdf import Variable, read_contents
from .fields import Reader
from .points import Points
from .remapping import Matrix, around_coasts, wet_share

if TYPE_CHECKING:
    import xarray as xr

_HALF = 0.5 - 1e-9
"""Part of the points around a column that has water where the column does."""

_KINDS = {
    "temperature_kind": {
        "sea_water_conservative_temperature": "conservative",
        "sea_water_potential_temperature": "potential",
        "sea_water_temperature": "in_situ",
    },
    "salinity_kind": {
        "sea_water_absolute_salinity": "absolute",
        "sea_water_practical_salinity": "practical",
        "sea_water_salinity": "practical",
    },
}


def kind_of(header: Variable, key: str, said: object) -> str:
    """The given `temperature_kind` or `salinity_kind`, or that of the CF standard name.

    Raises:
        FileFormatError: neither.
    """
    standard_name = str(header.attrs.get("standard_name", "none"))
    kind = getattr(said, key) or _KINDS[key].get(standard_name)
    if kind is None:
        expected = f"a CF standard name that gives its kind, or {key}"
        raise header.error(expected, f"the standard name {standard_name}", f"give {key}")
    return kind


def levels_of(file: "xr.Dataset", dim: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Depths of levels and of their lower edges [m], downward, and whether the file has this order.

    Raises:
        FileFormatError: fewer than three levels, levels above the surface, or unsorted levels.
    """
    near = [str(name) for name, one in file.variables.items() if dim in one.dims and one.ndim < 3]
    contents = read_contents(file, only=near)
    along = [one for one in contents.variables.values() if one.dims == (dim,) and is_axis(one, "vertical")]
    axis = read_vertical(contents, min(along, key=lambda one: one.name != dim), None, None)
    depth = -axis.z[::-1]
    middle = 0.5 * (depth[1:] + depth[:-1])
    lower_edge = np.append(middle, 2.0 * depth[-1] - middle[-1])
    return depth, lower_edge if axis.faces is None else -axis.faces[-2::-1], axis.is_reversed


class Profiles:
    """A quantity over depth, at the columns of a map.

    Args:
        reader: for its records.

    Raises:
        FileFormatError: no levels, or invalid ones.
    """

    def __init__(self, reader: Reader):
        self.reader, placing = reader, reader.placing
        if placing.vertical is None:
            raise placing.header().error("a dimension of depth", placing.header().dims, "name a profile")
        self.depth, self.lower_edge, is_downward = levels_of(placing.files[0], placing.vertical)
        n = self.depth.size
        self._levels = range(n) if is_downward else range(n - 1, -1, -1)
        self._matrix = sparse.csr_array((0, 0))

    def wet_points(self) -> np.ndarray:
        """Which points of the files have water at the surface."""
        return np.isfinite(self.reader.block(np.zeros(1, dtype=int), None, self._levels[0])[0])

    def depth_at(self, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """The fraction of each row of a matrix that is water, and the depth [m] that half of it exceeds.

        Levels are read one after the other.
        """
        share, depth = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
        above = np.ones(matrix.shape[0], dtype=bool)
        for place, level in enumerate(self._levels):
            wet = np.isfinite(self.reader.block(np.zeros(1, dtype=int), None, level)[0])
            own = wet_share(matrix, wet)
            share = own if place == 0 else share
            above &= own >= _HALF * share
            depth = np.where(above & (own > 0.0), self.lower_edge[place], depth)
        return share, depth

    def locate(self, matrix: Matrix, target: Points, chosen: np.ndarray, reach: float) -> tuple:
        """As `Field.locate`, with the matrix to all points; below the surface only wet points are used."""
        place, source = tuple(each[chosen] for each in target.all()), self.reader.placing.points
        self._matrix, *found = around_coasts(matrix[chosen], self.wet_points(), source, place, reach)
        return tuple(found)

    def keep(self, rows: np.ndarray) -> None:
        """Keep a selection of the columns."""
        self._matrix = self._matrix[rows]

    def on(self, columns: np.ndarray, z: np.ndarray, time: float) -> np.ndarray:
        """Values at a time [s] and at heights [m] of each column, `(n_heights, n_columns)`.

        Linear between levels and records; constant above the uppermost and below the deepest value.
        """
        reader, matrix = self.reader, self._matrix[columns]
        records, share = np.zeros(1, dtype=int), np.ones(1)
        if reader.times is not None:
            numbers = reader.times.around(np.array([time]))[:2]
            at = reader.times.at(numbers)
            later = float(np.clip((time - at[0]) / (at[-1] - at[0]), 0.0, 1.0))
            records, share = reader.times.records(numbers), np.array([1.0 - later, later])
        matrix, used, rows = reader.rows_of(matrix)
        found = np.empty((self.depth.size, columns.size))
        for place, level in enumerate(self._levels):
            order = np.argsort(records)
            block = np.tensordot(share[order], reader.block(records[order], rows, level), 1)
            finite = np.isfinite(block)
            reader.check(block[None], used[finite[used]], records[:1], rows)
            weight = matrix @ finite.astype(float)
            total = matrix @ np.where(finite, block, 0.0)
            above = found[max(place - 1, 0)]
            found[place] = np.where(weight > 0.0, total / np.where(weight > 0.0, weight, 1.0), above)
        after = np.clip(np.searchsorted(self.depth, -z), 1, self.depth.size - 1)
        upper, lower = self.depth[after - 1], self.depth[after]
        fraction = np.clip((-z - upper) / (lower - upper), 0.0, 1.0)
        values = [np.take_along_axis(found, index, axis=0) for index in (after - 1, after)]
        return values[0] + fraction * (values[1] - values[0])


class ProfilesPerSite:
    """Profiles with one file per column."""

    def __init__(self, parts: Sequence[Profiles]):
        self.parts = list(parts)

    def depth_at(self, matrix: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """As in `Profiles`, for every column."""
        one = sparse.csr_array(np.ones((1, 1)))
        found = [part.depth_at(one) for part in self.parts]
        share, depth = (np.concatenate(each) for each in zip(*found, strict=True))
        return share, depth

    def locate(self, matrix: Matrix, target: Points, chosen: np.ndarray, reach: float) -> tuple:
        """As in `Profiles`."""
        self.keep(chosen)
        place, one = Points(np.zeros(1), np.zeros(1), False), sparse.csr_array(np.ones((1, 1)))
        for part in self.parts:
            part.locate(one, place, np.zeros(1, dtype=int), reach)
        return np.zeros(chosen.size, dtype=bool), np.zeros(chosen.size, dtype=bool)

    def keep(self, rows: np.ndarray) -> None:
        """Keep a selection of the columns."""
        self.parts = [self.parts[row] for row in rows]

    def on(self, columns: np.ndarray, z: np.ndarray, time: float) -> np.ndarray:
        """As in `Profiles`."""
        first, n = np.zeros(1, dtype=int), z.shape[1]
        each = [
            self.parts[column].on(first, z[:, i : i + 1], time)
            for i, column in zip(range(n), columns, strict=True)
        ]
        return np.concatenate(each, axis=1)


AnyProfiles = Profiles | ProfilesPerSite
