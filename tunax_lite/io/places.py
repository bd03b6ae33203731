"""Positions in files, and gridded values at a position."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .axes import TimeAxis, read_time
from .netcdf import Contents, Reader, Variable, opened

_FARTHEST = 3.0
"""Points of the grid on either side of a place are no farther from it than this [degrees]."""
_AXES = ("latitude", "longitude")
TIMES = ("valid_time", "time")
POSITIONS = ("latitude", "longitude", "lat", "lon", "nav_lat", "nav_lon")
"""Names of axes of grids."""


def read_at(
    source, wanted: Collection[str], place: Mapping[str, float], interpolation: str = "bilinear"
) -> list[tuple[Variable, TimeAxis]]:
    """Read the variables present in a file, over time at a position [degrees] on its grid, and their times.

    Only the surrounding grid points are read: a global file need not fit into memory.
    """
    with opened(source) as read:
        file = read(only=(*TIMES, *POSITIONS))
        if not set(wanted).intersection(file.names):
            return []
        axes = [_axis_of(file, axis, place[axis], interpolation) for axis in _AXES]
        time = next((file[n] for n in TIMES if n in file and len(file[n].dims) == 1), None)
        if time is None:
            expected = "a variable valid_time or time over one dimension"
            raise file.error("valid_time", expected, "none", "download NetCDF")
        times = read_time(time)
        found = read(only=wanted, at={axis.name: axis.at for axis in axes}).variables.values()
        return [(_at_place(read, one, time.dims[0], times, axes, place), times) for one in found]


@dataclass(frozen=True)
class _Axis:
    """An axis of a grid: its dimension, its points [degrees], and the weights of those around a position."""

    name: str
    points: np.ndarray
    weights: list[tuple[int, float]]

    @property
    def at(self) -> list[int]:
        return sorted(at for at, _ in self.weights)


def _axis_of(file: Contents, axis: str, target: float, interpolation: str) -> _Axis:
    known = [one for one in file.variables.values() if _is_position(one, axis) and len(one.dims) < 2]
    if not known:
        raise file.error(axis, f"a coordinate {axis}", "none", "use the file as it was downloaded")
    name, points = known[0].dims[0] if known[0].dims else known[0].name, known[0].numbers().reshape(-1)
    return _Axis(name, points, _weights(file, axis, points, target, interpolation))


def _at_place(
    read: Reader,
    variable: Variable,
    time: str,
    times: TimeAxis,
    axes: list[_Axis],
    place: Mapping[str, float],
) -> Variable:
    """Interpolate a variable read around a position to the position."""
    grid = _on_axes(variable, time, axes)
    values = np.zeros(grid.shape[0])
    for i, of_latitude in axes[0].weights:
        for j, of_longitude in axes[1].weights:
            values = values + of_latitude * of_longitude * grid[:, axes[0].at.index(i), axes[1].at.index(j)]
    missing = np.flatnonzero(~np.isfinite(values))
    if not missing.size:
        return replace(variable, dims=(time,), values=values)
    first, advice = int(missing[0]), "download it again"
    got = f"{values[first]} at {times.describe(first)}"
    i, j = np.argwhere(~np.isfinite(grid[first]))[0].tolist()
    land = _named(axes, axes[0].at[i], axes[1].at[j])
    # The nearest points with values at that time.
    field = _on_axes(read(only=(variable.name,), at={time: [first]})[variable.name], time, axes)[0]
    i, j = np.nonzero(np.isfinite(field))
    east = (axes[1].points[j] - place["longitude"] + 180.0) % 360.0 - 180.0
    east = east * np.cos(np.deg2rad(place["latitude"]))
    distance = 111.2 * np.hypot(axes[0].points[i] - place["latitude"], east)
    nearest = [f"{_named(axes, i[n], j[n])} ({distance[n]:.0f} km)" for n in np.argsort(distance)[:3]]
    if nearest:
        got += f" at the point {land}"
        advice = f"take one of the nearest points with values: {', '.join(nearest)}"
    raise variable.error("a value", got, advice)


def _on_axes(variable: Variable, time: str, axes: list[_Axis]) -> np.ndarray:
    """Values over time, latitude and longitude; preliminary data (ERA5T) where there are no final ones."""
    if "expver" in variable.dims:
        versions = np.moveaxis(variable.numbers(), variable.dims.index("expver"), 0)
        merged = versions[0]
        for later in versions[1:]:
            merged = np.where(np.isnan(merged), later, merged)
        variable = replace(variable, dims=tuple(d for d in variable.dims if d != "expver"), values=merged)
    names = tuple(axis.name for axis in axes)
    absent = tuple(name for name in names if name not in variable.dims)
    whole = variable.values.reshape(*variable.shape, *(1 for _ in absent))
    variable = replace(variable, dims=(*variable.dims, *absent), values=whole)
    return variable.along((time, *names), "choose one member").numbers()


def _named(axes: list[_Axis], i, j) -> str:
    latitude, longitude = axes[0].points[i], (axes[1].points[j] + 180.0) % 360.0 - 180.0
    return f"{abs(latitude):g} {'NS'[int(latitude < 0)]} {abs(longitude):g} {'EW'[int(longitude < 0)]}"


def at_position(source, file: Contents, name: str, position: tuple[float, float]) -> Contents:
    """Reduce a file with a grid of several points to a longitude and latitude."""
    variable = file.variables.get(name)
    if variable is None or not set(variable.without_single().dims) & set(POSITIONS):
        return file
    ((found, _),) = read_at(source, (name,), {"latitude": position[1], "longitude": position[0]})
    return replace(file, variables=file.variables | {name: found})


def _weights(
    file: Contents, axis: str, points: np.ndarray, target: float, interpolation: str
) -> list[tuple[int, float]]:
    """Points on either side of the position along one axis, and their weights."""
    offset = points - target
    if axis == "longitude":
        # Longitudes in files run from 0 to 360 or from -180 to 180.
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
    # A grid cell reaches half a spacing to either side of its point.
    if not inside and abs(offset[nearest]) > 0.5 * spacing + 1e-6:
        got = f"{points.min():g} to {points.max():g}"
        raise file.error(axis, f"a grid around {target:g}", got, "download the area around the place")
    if not inside or interpolation == "nearest":
        return [(nearest, 1.0)]
    weight = float(-offset[low] / (offset[high] - offset[low]))
    return [(low, 1.0 - weight), (high, weight)]


def position_of(file: Contents) -> tuple[float, float] | None:
    """Longitude and latitude [degrees] of a file; `None` unless it has both."""
    longitude, latitude = (degrees_of(file, axis) for axis in ("longitude", "latitude"))
    return None if longitude is None or latitude is None else (longitude, latitude)


def degrees_of(file: Contents, axis: str) -> float | None:
    """The first latitude or longitude of a file, from a variable or else an attribute; `None` if absent."""
    for one in file.variables.values():
        if _is_position(one, axis) and one.values.dtype.kind in "fiu":
            numbers = one.numbers().ravel()
            if (known := np.abs(numbers) <= 360.0).any():
                return float(numbers[known][0])
    stated = (number_of(file.attrs.get(name)) for name in (axis, f"geospatial_{axis[:3]}_min"))
    return next((number for number in stated if number is not None), None)


def _is_position(variable: Variable, name: str) -> bool:
    short, said = name[:3], str(variable.attrs.get("standard_name", "")).lower()
    return said == name or variable.name.lower() in (name, short, f"nav_{short}")


def number_of(value: object) -> float | None:
    """A number from an attribute that may be text; `None` if absent."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if np.isfinite(number) else None
