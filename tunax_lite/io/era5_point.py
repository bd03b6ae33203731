"""Series at one place from files of ERA5, as they were before 2024 and as they are since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr

from .cf_axes import TimeAxis, read_time, since_start, without_fill
from .errors import FileFormatError
from .netcdf import read_netcdf

_FARTHEST = 3.0
"""Points of the grid on either side of a place are no farther from it than this [degrees]."""
_Weights = list[tuple[int, float]]


@dataclass(frozen=True)
class PointSeries:
    """One parameter over time [s since the start of the case], and the file of each record."""

    name: str
    unit: str | None
    time: np.ndarray
    values: np.ndarray
    paths: tuple[Path, ...]
    axes: tuple[tuple[TimeAxis, int], ...]

    def describe(self, record: int) -> str:
        """The date of a record, for messages."""
        axis, at = self.axes[record]
        return axis.describe(at)

    def replaced(self, values: np.ndarray) -> "PointSeries":
        """The same with other values."""
        return replace(self, values=values)


def read_point(
    paths: list[Path],
    names: Mapping[str, Sequence[str]],
    latitude: float,
    longitude: float,
    start_time: str,
    interpolation: str,
) -> dict[str, PointSeries]:
    """Series at a place, by our name; of several names the first that any file has.

    Args:
        paths: files, in any order; each parameter goes on from one file to the next.
        names: in the files, by ours.
        latitude, longitude: [degrees].
        start_time: ISO 8601.
        interpolation: in the grid.

    Raises:
        FileFormatError: a grid that does not surround the place, times not in order, or dimensions that
            ERA5 does not have.
        ValueError: a place that does not exist, or an unknown interpolation.
    """
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(f"interpolation: expected 'bilinear' or 'nearest', got '{interpolation}'.")
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        raise ValueError(
            f"expected a latitude from -90 to 90 and a longitude from -180 to 360 degrees, got {latitude:g} "
            f"and {longitude:g}."
        )
    pieces: dict[str, list[PointSeries]] = {}
    for path in paths:
        for series in _read_file(path, names, latitude, longitude, start_time, interpolation):
            pieces.setdefault(series.name, []).append(series)
    chosen = {field: [name for name in known if name in pieces] for field, known in names.items()}
    return {field: _joined(pieces[known[0]]) for field, known in chosen.items() if known}


def _joined(pieces: list[PointSeries]) -> PointSeries:
    """One series of those of several files."""
    pieces = sorted(pieces, key=lambda piece: piece.time[0])
    for before, after in zip(pieces[:-1], pieces[1:], strict=True):
        if after.time[0] <= before.time[-1]:
            raise FileFormatError(
                after.paths[0],
                after.name,
                f"records after {before.describe(-1)} in {before.paths[0]}",
                after.describe(0),
                "give each hour of a parameter once",
            )
        if after.unit != before.unit:
            raise FileFormatError(
                after.paths[0],
                after.name,
                f"the unit of {before.paths[0]}, '{before.unit}'",
                f"'{after.unit}'",
                "use the files as they were downloaded",
            )
    return replace(
        pieces[0],
        time=np.concatenate([piece.time for piece in pieces]),
        values=np.concatenate([piece.values for piece in pieces]),
        paths=sum((piece.paths for piece in pieces), ()),
        axes=sum((piece.axes for piece in pieces), ()),
    )


def _read_file(
    path: Path,
    names: Mapping[str, Sequence[str]],
    latitude: float,
    longitude: float,
    start_time: str,
    interpolation: str,
) -> list[PointSeries]:
    wanted = {name for known in names.values() for name in known}
    weights: dict[str, _Weights] = {}

    def at_place(dataset: xr.Dataset) -> xr.Dataset:
        """The points around the place, so that a global file need not fit into memory."""
        there = [str(name) for name in dataset.variables if name in wanted]
        if not there:
            raise FileFormatError(
                path,
                "file",
                f"a variable among {', '.join(sorted(wanted))}",
                ", ".join(map(str, dataset.variables)) or "an empty file",
                "use a NetCDF file of ERA5 on single levels",
            )
        weights["latitude"] = _weights(path, dataset, "latitude", latitude, interpolation)
        weights["longitude"] = _weights(path, dataset, "longitude", longitude, interpolation)
        indices = {axis: [i for i, _ in pairs] for axis, pairs in weights.items()}
        return dataset[[*there, _time_name(path, dataset)]].isel(indices)

    dataset = read_netcdf(path, part=at_place)
    time = dataset[_time_name(path, dataset)]
    axis = read_time(path, time, None)
    seconds = since_start(path, axis, start_time)
    if seconds.size < 2:
        raise FileFormatError(path, axis.name, "at least two records", f"{seconds.size}", "add more hours")
    records = tuple((axis, i) for i in range(seconds.size))
    found = []
    for name in (str(name) for name in dataset.variables if name in wanted):
        variable = _one_version(path, dataset[name], str(time.dims[0]))
        values = np.zeros(seconds.size)
        for row, (_, of_latitude) in enumerate(weights["latitude"]):
            for column, (_, of_longitude) in enumerate(weights["longitude"]):
                values = values + of_latitude * of_longitude * variable.values[:, row, column]
        unit = variable.attrs.get("units")
        found.append(
            PointSeries(
                name, None if unit is None else str(unit), seconds, values, (path,) * seconds.size, records
            )
        )
    return found


def _time_name(path: Path, dataset: xr.Dataset) -> str:
    """Name of the times: `valid_time` since 2024, `time` before."""
    for name in ("valid_time", "time"):
        if name in dataset.variables and dataset[name].ndim == 1:
            return name
    raise FileFormatError(
        path, "valid_time", "a variable valid_time or time over one dimension", "none", "download NetCDF"
    )


def _one_version(path: Path, variable: xr.DataArray, time: str) -> xr.DataArray:
    """Values over time, latitude and longitude; preliminary ones (ERA5T) where there are no final ones."""
    variable = without_fill(variable)
    if "expver" in variable.dims:
        merged = variable.isel(expver=0)
        for i in range(1, variable.sizes["expver"]):
            merged = merged.fillna(variable.isel(expver=i))
        variable = merged.assign_attrs(variable.attrs)
    grid = (time, "latitude", "longitude")
    variable = variable.squeeze([d for d, n in variable.sizes.items() if n == 1 and d not in grid])
    if set(variable.dims) != set(grid):
        raise FileFormatError(
            path, str(variable.name), f"the dimensions {grid}", f"{variable.dims}", "choose one member"
        )
    return variable.transpose(*grid)


def _weights(path: Path, dataset: xr.Dataset, axis: str, target: float, interpolation: str) -> _Weights:
    """Points on either side of the place along one axis and their weights."""
    if axis not in dataset.variables or dataset[axis].ndim != 1:
        raise FileFormatError(path, axis, f"a coordinate {axis}", "none", "use the file as it was downloaded")
    points = dataset[axis].values.astype(float)
    offset = points - target
    if axis == "longitude":
        # Files count from 0 to 360 or from -180 to 180.
        offset = (offset + 180.0) % 360.0 - 180.0
    nearest = int(np.argmin(np.abs(offset)))
    spacing = np.min(np.abs(np.diff(points))) if points.size > 1 else 0.25
    if abs(offset[nearest]) < 1e-6:
        return [(nearest, 1.0)]
    below, above = np.flatnonzero(offset < 0.0), np.flatnonzero(offset > 0.0)
    inside = below.size > 0 and above.size > 0
    low = int(below[np.argmax(offset[below])]) if inside else nearest
    high = int(above[np.argmin(offset[above])]) if inside else nearest
    inside = inside and max(-offset[low], offset[high]) <= _FARTHEST
    # The cell of a point reaches half a spacing to either side.
    if not inside and abs(offset[nearest]) > 0.5 * spacing + 1e-6:
        raise FileFormatError(
            path,
            axis,
            f"a grid around {target:g}",
            f"{points.min():g} to {points.max():g}",
            "download the area around the place",
        )
    if not inside or interpolation == "nearest":
        return [(nearest, 1.0)]
    weight = float(-offset[low] / (offset[high] - offset[low]))
    return [(low, 1.0 - weight), (high, weight)]
