"""Where files are: the position that one says, and values of a grid at a place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .axes import TimeAxis, find_axis, read_time
from .netcdf import Contents, Variable, read_contents

_FARTHEST = 3.0
"""Points of the grid on either side of a place are no farther from it than this [degrees]."""
_AXES = ("latitude", "longitude")
POSITIONS = ("latitude", "longitude", "lat", "lon", "nav_lat", "nav_lon")
"""Names of axes of positions."""


@dataclass(frozen=True)
class Place:
    """A place on the grid of a file: the points around it along both axes, and their weights.

    `at` is what `read_contents` takes, so that only these points are read: a global file need not fit.
    """

    source: object
    names: tuple[str, str]  # of the dimensions
    points: tuple[np.ndarray, np.ndarray]
    weights: tuple[list[tuple[int, float]], list[tuple[int, float]]]
    target: tuple[float, float]

    @property
    def at(self) -> dict[str, list[int]]:
        return {
            name: sorted(at for at, _ in pairs) for name, pairs in zip(self.names, self.weights, strict=True)
        }

    def values(self, variable: Variable, time: str, axis: TimeAxis) -> np.ndarray:
        """Values over time at the place, of a variable that was read `at` the points around it."""
        absent = tuple(name for name in self.names if name not in variable.dims)
        whole = variable.values.reshape(*variable.shape, *(1 for _ in absent))
        variable = replace(variable, dims=(*variable.dims, *absent), values=whole)
        grid = variable.along((time, *self.names), "choose one member").numbers()
        around = [self.at[name] for name in self.names]
        values = np.zeros(grid.shape[0])
        for i, of_latitude in self.weights[0]:
            for j, of_longitude in self.weights[1]:
                at = around[0].index(i), around[1].index(j)
                values = values + of_latitude * of_longitude * grid[:, at[0], at[1]]
        missing = np.flatnonzero(~np.isfinite(values))
        if missing.size:
            advice = self._nearest(variable.name, time, int(missing[0]))
            got = f"{values[missing[0]]} at {axis.describe(int(missing[0]))}"
            if advice:
                land = np.argwhere(~np.isfinite(grid[missing[0]]))[0]
                got += " at the point " + self._named(
                    *(kept[n] for kept, n in zip(around, land, strict=True))
                )
            raise variable.error("a value", got, advice or "download it again")
        return values

    def _named(self, i: int, j: int) -> str:
        latitude, longitude = self.points[0][i], (self.points[1][j] + 180.0) % 360.0 - 180.0
        return f"{abs(latitude):g} {'NS'[int(latitude < 0)]} {abs(longitude):g} {'EW'[int(longitude < 0)]}"

    def _nearest(self, name: str, time: str, record: int) -> str:
        """What to do about land: the nearest points that have values at that time."""
        file = read_contents(self.source, only=(name,), at={time: [record]})
        field = one_version(file[name]).along((time, *self.names), "choose one member").numbers()[0]
        i, j = np.nonzero(np.isfinite(field))
        east = (self.points[1][j] - self.target[1] + 180.0) % 360.0 - 180.0
        distance = 111.2 * np.hypot(
            self.points[0][i] - self.target[0], east * np.cos(np.deg2rad(self.target[0]))
        )
        nearest = [
            f"{self._named(int(i[n]), int(j[n]))} ({distance[n]:.0f} km)" for n in np.argsort(distance)[:3]
        ]
        return f"take one of the nearest points with values: {', '.join(nearest)}" if nearest else ""


def place_on(source, file: Contents, place: Mapping[str, float], interpolation: str) -> Place:
    """A place [degrees] on the grid of a file of which the axes were read."""
    found = [
        next((one for one in file.variables.values() if _is_position(one, axis)), None) for axis in _AXES
    ]
    axes = []
    for axis, variable in zip(_AXES, found, strict=True):
        if variable is None or len(variable.dims) > 1:
            raise file.error(axis, f"a coordinate {axis}", "none", "use the file as it was downloaded")
        axes.append(variable)
    points = [variable.numbers().reshape(-1) for variable in axes]
    weights = [
        _weights(file, axis, values, place[axis], interpolation)
        for axis, values in zip(_AXES, points, strict=True)
    ]
    names = tuple(one.dims[0] if one.dims else one.name for one in axes)
    target = (place["latitude"], place["longitude"])
    return Place(source, (names[0], names[1]), (points[0], points[1]), (weights[0], weights[1]), target)


def at_position(source, file: Contents, name: str, position: tuple[float, float]) -> Contents:
    """The file with a variable at a longitude and latitude, where it has a grid of several points."""
    variable = file.variables.get(name)
    if variable is None or not set(variable.without_single().dims) & set(POSITIONS):
        return file
    place = place_on(source, file, {"latitude": position[1], "longitude": position[0]}, "bilinear")
    time = find_axis(file, variable, None, "time")
    part = one_version(read_contents(source, only=(name,), at=place.at)[name])
    values = place.values(part, time.dims[0], read_time(time))
    return replace(file, variables=file.variables | {name: replace(part, dims=time.dims, values=values)})


def one_version(variable: Variable) -> Variable:
    """Values of ERA5 without the dimension `expver`: preliminary ones (ERA5T) where none is final."""
    if "expver" in variable.dims:
        versions = np.moveaxis(variable.numbers(), variable.dims.index("expver"), 0)
        merged = versions[0]
        for later in versions[1:]:
            merged = np.where(np.isnan(merged), later, merged)
        dims = tuple(dim for dim in variable.dims if dim != "expver")
        variable = replace(variable, dims=dims, values=merged)
    return variable


def _weights(
    file: Contents, axis: str, points: np.ndarray, target: float, interpolation: str
) -> list[tuple[int, float]]:
    """Points on either side of the place along one axis and their weights."""
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
        got = f"{points.min():g} to {points.max():g}"
        raise file.error(axis, f"a grid around {target:g}", got, "download the area around the place")
    if not inside or interpolation == "nearest":
        return [(nearest, 1.0)]
    weight = float(-offset[low] / (offset[high] - offset[low]))
    return [(low, 1.0 - weight), (high, weight)]


def position_of(file: Contents) -> tuple[float, float] | None:
    """Longitude and latitude [degrees] of a file, the first that are there; `None` without both."""
    found = []
    for name, attribute in (("longitude", "geospatial_lon_min"), ("latitude", "geospatial_lat_min")):
        of_name = (one for one in file.variables.values() if _is_position(one, name))
        numbers = [one.numbers().ravel() for one in of_name if one.values.dtype.kind in "fiu"]
        known = [one[np.isfinite(one)] for one in numbers if np.isfinite(one).any()]
        stated = number_of(file.attrs.get(attribute))
        found += [float(known[0][0])] if known else [] if stated is None else [stated]
    return (found[0], found[1]) if len(found) == 2 else None


def _is_position(variable: Variable, name: str) -> bool:
    short, said = name[:3], str(variable.attrs.get("standard_name", "")).lower()
    return said == name or variable.name.lower() in (name, short, f"nav_{short}")


def number_of(value: object) -> float | None:
    """A number that an attribute may say in words; `None` without one."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if np.isfinite(number) else None
