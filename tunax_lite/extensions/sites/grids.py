"""Values of gridded files at a place, linear between the points that have values."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...io.axes import axis_at, is_axis, is_position
from ...io.netcdf import values_in
from ...io.times import read_time, seconds_since
from ...io.variables import error_in, numbers_in, on_axes, variables_of
from .place import Site

if TYPE_CHECKING:
    import xarray as xr

_COORDINATES = {
    "latitude": ("latitude", "lat", "LAT", "LATITUDE", "nav_lat", "gridlat_t", "y"),
    "longitude": ("longitude", "lon", "LON", "LONGITUDE", "nav_lon", "gridlon_t", "x"),
    "depth": ("depth", "DEPTH", "deptht", "lev", "level"),
    "time": ("time", "valid_time", "TIME", "time_counter"),
}
_KINDS = {"depth": "vertical", "time": "time"}


def columns_at(place: Site, stored: "xr.Dataset", name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depths [m], values over (time, depth) and times since the start [s] of a variable at the place.

    Times of climatologies are zero.

    Raises:
        FileFormatError: no coordinates, an additional dimension, bad times, or a position outside the grid.
    """
    file, variable, weights = around(place, stored, name)
    time = _coordinate(file, "time", variable.dims)
    depth = _needed(file, "depth", variable.dims)
    axes = [depth.dims[0]] if time is None else [time.dims[0], depth.dims[0]]
    values = numbers_in(on_axes(variable, [*map(str, axes), *variable.dims[-2:]], "choose one member"))
    values = mean_of_known(values, weights).reshape(-1, depth.values.size)
    # Twelve records, or times in months, are a climatology: files of them count from any date.
    if time is None or len(values) == 12 or "months" in str(time.attrs.get("units")):
        return np.abs(numbers_in(depth)), values, np.zeros(len(values))
    return np.abs(numbers_in(depth)), values, seconds_since(read_time(time), place.start_time)


def around(place: Site, stored: "xr.Dataset", name: str) -> tuple["xr.Dataset", "xr.DataArray", np.ndarray]:
    """Coordinates of a file, a variable at the grid points around the place, and the weights of the points.

    Latitude and longitude are the last two axes of the variable, and the axes of the weights.
    """
    dims = tuple(map(str, stored.variables[name].dims))
    file = values_in(stored, only={*dims, *(each for names in _COORDINATES.values() for each in names)})
    axes = [axis_at(_needed(file, axis, dims), axis, target) for axis, target in place.position.items()]
    at = {axis.dim: axis.points for axis in axes}
    variable = values_in(stored, only=(name,), at=at)[name]
    others = [dim for dim in variable.dims if dim not in at]
    variable = on_axes(variable, [*others, *at], "choose one member")
    return file, variable, np.outer(axes[0].weights, axes[1].weights)


def mean_of_known(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean over the two last axes of the points with values; NaN without any."""
    known = np.isfinite(values)
    total = np.sum(weights * known, axis=(-2, -1))
    total = np.where(total > 0.0, total, np.nan)
    return np.asarray(np.sum(np.where(known, values, 0.0) * weights, axis=(-2, -1)) / total)


def _needed(file: "xr.Dataset", axis: str, dims: Sequence[Hashable]) -> "xr.DataArray":
    coordinate = _coordinate(file, axis, dims)
    if coordinate is None:
        expected = f"a coordinate {axis} of one dimension"
        raise error_in(file, axis, expected, "none", "use the file as published")
    return coordinate


def _coordinate(file: "xr.Dataset", axis: str, dims: Sequence[Hashable]) -> "xr.DataArray | None":
    """Return the coordinate of an axis along one of `dims`, by a usual name or else by its attributes."""
    along = [each for each in variables_of(file) if len(each.dims) == 1 and each.dims[0] in dims]
    usual = _COORDINATES[axis]
    for each in sorted(along, key=lambda each: (each.name not in usual, each.name != each.dims[0])):
        if each.name in usual or (is_axis(each, _KINDS[axis]) if axis in _KINDS else is_position(each, axis)):
            return each
    return None
