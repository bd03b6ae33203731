"""Gridded files of a map: opening them, finding variables and axes, and reading records."""

import datetime
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ...io.attributes import examine, leaves_water
from ...io.axes import is_axis, is_position, place_in_words, read_vertical
from ...io.errors import (
    FileFormatError,
    Source,
    check_possible,
    check_size,
    is_path,
    is_store,
    name_of,
    reading,
)
from ...io.named_files import resolve
from ...io.netcdf import open_file, open_store, read_netcdf
from ...io.times import bounds_of_means
from ...io.units import is_known, unit_of
from ...io.variables import array, error_of, like, numbers_in, on_axes
from ...io.yaml_file import NAMES
from ...quantities import quantity_of
from .calendars import read_times
from .remapping import TINY, Matrix, Points
from .sections import Gridded

if TYPE_CHECKING:
    import xarray as xr


def open_source(given: Source, find: Callable[[str], Path]) -> "xr.Dataset":
    """A dataset of a file or Zarr store, or one opened by the user; reads only coordinates."""
    if not isinstance(given, str | Path):
        is_path(given)  # raises an error
        return given
    text = str(given).removeprefix("file://")
    if "://" in text:
        return open_store(text)
    path = find(text)
    if is_store(path):
        return open_store(path)
    with reading(path, "a NetCDF file"):
        return open_file(path)


class Sources:
    """Files by name, opened once.

    Args:
        default: files or datasets for fields without their own.
        find: returns the path for a name.
    """

    def __init__(self, default: Sequence[Source], find: Callable[[str], Path] = resolve):
        self._default, self._find = list(default), find
        self.opened: dict[Hashable, xr.Dataset] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """Opened files and folders of this machine."""
        named = [Path(str(one.encoding.get("source", ""))) for one in self.opened.values()]
        return tuple(dict.fromkeys(path for path in named if path.name and path.exists()))

    def of(self, paths: Sequence[str]) -> list["xr.Dataset"]:
        """The datasets of these paths, or the default ones."""
        found = []
        for name in paths or self._default:
            key = name if isinstance(name, str | Path) else id(name)
            if key not in self.opened:
                self.opened[key] = open_source(name, self._find)
            found.append(self.opened[key])
        if not found:
            raise ValueError("paths: expected the files of the map, got none; name them.")
        return found


def header_of(file: "xr.Dataset", name: str) -> "xr.DataArray":
    """A variable without its values."""
    found = file.variables[name]
    return array(name_of(file), name, found.dims, np.empty((0,) * found.ndim), found.attrs)


def axis_of(
    file: "xr.Dataset", name: str, kind: str, others: Collection[str] = ()
) -> tuple[str, str] | tuple[None, None]:
    """The `time` or `vertical` dimension of a variable, except `others`, and its coordinate."""
    sizes = file.variables[name].sizes
    for dim in sorted(map(str, sizes), key=lambda dim: sizes[dim] == 1):  # the 2 m level of air comes last
        along = [str(key) for key, one in file.variables.items() if one.dims == (dim,) and key != name]
        for key in sorted(along, key=lambda key: key != dim) if dim not in others else ():
            is_dates = kind == "time" and file.variables[key].dtype.kind in "MO"
            if is_dates or is_axis(header_of(file, key), kind):
                return dim, key
    return None, None


def levels_of(file: "xr.Dataset", coordinate: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Depths of levels and of their lower edges [m], downward, and whether the file has this order.

    Raises:
        FileFormatError: fewer than three levels, levels above the surface, or unsorted levels.
    """
    bounds = str(file.variables[coordinate].attrs.get("bounds"))
    contents = read_netcdf(file, only=(coordinate, bounds))
    z = read_vertical(contents, contents[coordinate], None, None)
    is_downward = bool(z[0] > z[-1])
    z = z[np.argsort(-z.values)]
    depth = -z.values
    middle = 0.5 * (depth[1:] + depth[:-1])
    lower_edge = np.append(middle, 2.0 * depth[-1] - middle[-1])
    return depth, -z["z_lower"].values if "z_lower" in z.coords else lower_edge, is_downward


def kind_of(header: "xr.DataArray", quantity: str, said: str | None) -> str:
    """The kind of temperature or salinity that the user said, or that of the CF standard name.

    Raises:
        FileFormatError: neither.
    """
    standard_name, key = str(header.attrs.get("standard_name", "none")), f"{quantity}_kind"
    kind = said or NAMES["oceansites"][quantity]["kinds"].get(standard_name)
    if kind is None:
        expected = f"a CF standard name that gives its kind, or {key}"
        raise error_of(header, expected, f"the standard name {standard_name}", f"give {key}")
    return kind


def variable_of(quantity: str, given: Gridded, files: Sequence["xr.Dataset"]) -> str:
    """Name of the variable of a field: as given, or by common names and CF standard names.

    Raises:
        FileFormatError: no such variable.
    """
    there = {str(name): one for file in files for name, one in file.variables.items()}
    names, standard = [quantity], set()
    for known in (NAMES[section].get(quantity, {}) for section in ("weather", "oceansites", "era5")):
        names += known.get("names", [])
        for key in ("kinds", "standard_names", "downward", "net"):
            standard |= set(known.get(key, ()))
    try:
        standard.add(quantity_of(quantity).standard_name)
    except KeyError:
        pass  # a parameter
    if given.variable is not None:
        names, standard = [given.variable], set()
    found = [name for name in names if name in there]
    found += [name for name, one in there.items() if one.attrs.get("standard_name", "") in standard]
    if found:
        return found[0]
    got = f"only {', '.join(there) or 'an empty file'}"
    source = ", ".join(dict.fromkeys(map(name_of, files)))
    key = given.variable or quantity
    raise FileFormatError(
        source, key, f"a variable for {quantity or 'a parameter'}", got, "name it (variable)"
    )


def joined_sites(files: Sequence["xr.Dataset"], name: str, places: Points) -> "xr.Dataset":
    """Join a variable of files of single sites, which all have the same times and levels.

    Raises:
        FileFormatError: a file of several places that differ, or other times or levels than the first.
    """
    import xarray as xr  # takes long

    parts = []
    for file in files:
        axes = {axis_of(file, name, kind)[0] for kind in ("time", "vertical")}
        file = file[[key for key, one in file.variables.items() if key == name or {*one.dims} <= axes]]
        values = file[name]
        check_size(name_of(file), name, values.nbytes)
        one = file.isel({dim: 0 for dim in values.dims if dim not in axes}, drop=True).load()
        if not ((values == one[name]) | (values.isnull() & one[name].isnull())).all():
            advice = "leave {site} out of the path"
            raise error_of(header_of(file, name), "the values of one place", "several that differ", advice)
        parts.append(one)
    options: Any = {"data_vars": [name], "coords": "minimal", "compat": "override", "join": "exact"}
    try:
        joined = xr.concat(parts, "point", combine_attrs="override", **options)
    except ValueError as error:
        expected, advice = "the same times and levels in the files of all sites", "write them on common axes"
        raise error_of(header_of(files[0], name), expected, "others", advice) from error
    joined.encoding["source"] = name_of(files[0])
    return joined.assign_coords(
        lat=("point", places.latitude, {"units": "degrees_north"}),
        lon=("point", places.longitude, {"units": "degrees_east"}),
    )


class FieldReader:
    """Records of a variable in the package's unit.

    Args:
        quantity: name in the table of quantities; empty for a parameter.
        given: settings by the user.
        files: of the field, one after the other in time.
        epoch, duration: of the run.

    Attributes:
        points: of the files; `time`, `vertical` and `horizontal`: dimensions, the outer one first.
        times: of the records; `None` if there is only one.

    Raises:
        FileFormatError: no such variable, no latitude and longitude, an additional dimension, or bad times.
    """

    def __init__(
        self,
        quantity: str,
        given: Gridded,
        files: Sequence["xr.Dataset"],
        epoch: datetime.datetime,
        duration: float,
    ):
        self.quantity, self.given = quantity, given
        self.name = name = variable_of(quantity, given, files)
        files = [file for file in files if name in file.variables]
        first, self.header = files[0], header_of(files[0], name)
        axes = _horizontal_axes(first, name)
        flat = {str(one.dims[0]) for each in axes.values() for one in each if one.ndim == 1}
        self.time, _ = axis_of(first, name, "time", flat)
        self.vertical, self.levels = axis_of(first, name, "vertical", flat)
        self.files = files if self.time is not None else files[:1]
        rest = tuple(dim for dim in map(str, self.header.dims) if dim not in (self.time, self.vertical))
        self.points, self.horizontal = _points(self.header, axes, rest)
        others = [dim for dim in rest if dim not in self.horizontal and first.sizes[dim] > 1]
        if others:
            got, advice = f"the dimension {others[0]}", "select one of it, and give the dataset or write it"
            raise error_of(self.header, "latitude, longitude, time and depth alone", got, advice)
        self.lengths = [1 if self.time is None else int(file.sizes[self.time]) for file in self.files]
        self.times = None
        if sum(self.lengths) > 1:
            keys = [axis_of(file, name, "time", flat)[1] or "" for file in self.files]
            named = zip(self.files, keys, strict=True)
            coordinates = [_middles(file, key, self.header) for file, key in named]
            self.times = read_times(coordinates, epoch, duration, given.repeats)
        turned = given.upward or leaves_water(self.header)
        examine(self.header, quantity, given=given.conversion, turned=turned)

    @property
    def row(self) -> int:
        """Number of points per value of the outer horizontal dimension."""
        return int(np.prod(self.points.shape)) // int(self.files[0].sizes[self.horizontal[0]])

    def block(self, records: np.ndarray, rows: slice = slice(None), level: int = 0) -> np.ndarray:
        """Records in increasing order, `(n_records, n_points)`, NaN where missing.

        `rows` selects part of the outer horizontal dimension.
        """
        parts, before = [], 0
        for file, length in zip(self.files, self.lengths, strict=True):
            own = records[(records >= before) & (records < before + length)] - before
            before += length
            if not own.size:
                continue
            at: dict[str, Sequence[int] | slice] = {self.horizontal[0]: rows}
            if self.time is not None:
                in_order = own[-1] - own[0] + 1 == own.size
                at[self.time] = slice(int(own[0]), int(own[-1]) + 1) if in_order else own.tolist()
            if self.vertical is not None:
                at[self.vertical] = slice(level, level + 1)
            variable = read_netcdf(file, only=(self.name,), at=at)[self.name]
            parts.append(self._in_unit(variable, own.size))
        return np.concatenate(parts)

    def _in_unit(self, variable: "xr.DataArray", n_records: int) -> np.ndarray:
        given, unit = self.given, variable.attrs.get("units")
        kept = [dim for dim in (self.time, *self.horizontal) if dim is not None]
        values = numbers_in(on_axes(variable, kept, "select one")).reshape(n_records, -1)
        if given.missing is not None:
            values = np.where(np.abs(values - given.missing) <= 1e-6 * abs(given.missing), np.nan, values)
        if unit is None and given.unit is None and is_known(self.quantity):
            raise error_of(variable, "an attribute 'units'", "none", "say it in the map (unit)")
        try:
            # A parameter is in its declared unit.
            unit = str(unit) if is_known(self.quantity) else None
            scale, offset = given.conversion.linear(self.quantity, unit)
        except ValueError:
            expected, got = f"a unit that converts to {unit_of(self.quantity)}", f"'{given.unit or unit}'"
            raise error_of(variable, expected, got, "correct it in the map (unit)") from None
        if given.upward or leaves_water(variable):
            scale, offset = -scale, -offset
        return values if (scale, offset) == (1.0, 0.0) else values * scale + offset

    def rows_of(self, matrix: Matrix) -> tuple[Matrix, np.ndarray, slice]:
        """The matrix restricted to the rows of the files that it needs, the points used, and the rows."""
        used, n = np.unique(matrix.indices), self.row
        if not used.size:
            return matrix, used, slice(0, None)
        rows = slice(int(used[0]) // n, int(used[-1]) // n + 1)
        start, shape = rows.start * n, (matrix.shape[0], (rows.stop - rows.start) * n)
        own = sparse.csr_array((matrix.data, matrix.indices - start, matrix.indptr), shape)
        return own, used - start, rows

    def check(self, block: np.ndarray, used: np.ndarray, records: np.ndarray, rows: slice) -> None:
        """Raise `FileFormatError`, with point and time, for a used value that is missing or impossible."""
        values = block[:, used]

        def describe(at: int) -> str:
            record, point = divmod(at, used.size)
            number = used[point] + rows.start * self.row
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
        check_possible(name_of(self.header), self.name, self.quantity, values.ravel(), describe)


def _middles(file: "xr.Dataset", name: str, header: "xr.DataArray") -> "xr.DataArray":
    """Read the times of records; a mean is placed at the middle of its bounds."""
    contents = read_netcdf(file, only=(name, str(file.variables[name].attrs.get("bounds"))))
    times = contents[name]
    bounds = bounds_of_means(contents, times, header)
    if bounds is None or bounds.attrs.get("units") != times.attrs.get("units"):
        return times
    return like(times, numbers_in(bounds).mean(axis=1))


def _horizontal_axes(file: "xr.Dataset", name: str) -> dict[str, list["xr.DataArray"]]:
    """Coordinates of latitude and longitude on the dimensions of a variable."""
    dims = set(file.variables[name].dims)
    near = [str(key) for key, one in file.variables.items() if key != name and {*one.dims} <= dims]
    near = [key for key in near if file.variables[key].ndim in (1, 2)]
    return {
        axis: [file[key] for key in near if is_position(header_of(file, key), axis)]
        for axis in ("latitude", "longitude")
    }


def _points(
    header: "xr.DataArray", axes: Mapping[str, list["xr.DataArray"]], rest: tuple[str, ...]
) -> tuple[Points, tuple[str, ...]]:
    """Horizontal points of a variable: axes of a grid, or coordinates of each point."""
    own = [[one for one in found if {*map(str, one.dims)} <= {*rest}] for found in axes.values()]
    known = [sorted(found, key=lambda one: one.name != one.dims[0]) for found in own]
    for latitude, longitude in ((one, other) for one in known[0] for other in known[1]):
        both = latitude, longitude
        values = [np.asarray(one.values, dtype=float) for one in both]
        if not all(np.all(np.abs(each) <= 720.0) for each in values):
            continue  # masked
        for one, each in zip(both, values, strict=True):
            _check_places(array(name_of(header), str(one.name), one.dims, each, {}), each, one is latitude)
        dims = [tuple(map(str, one.dims)) for one in both]
        if dims[0] == dims[1]:
            order = tuple(dim for dim in rest if dim in dims[0])
            flat = [np.asarray(one.transpose(*order), dtype=float).ravel() for one in both]
            return Points(flat[0], flat[1], False), order
        if len(dims[0]) == len(dims[1]) == 1:
            return Points(values[0], values[1], True), (*dims[0], *dims[1])
    got = ", ".join(str(one.name) for each in axes.values() for one in each) or "none"
    advice = "give them a CF standard name, or units degrees_north and degrees_east"
    raise error_of(header, "coordinates of latitude and longitude", got, advice)


def _check_places(axis: "xr.DataArray", values: np.ndarray, is_latitude: bool) -> None:
    """Raise `FileFormatError` for invalid latitudes, and an axis with duplicate values."""
    if is_latitude and np.any(np.abs(values) > 90.0 + TINY):
        got = f"{values.ravel()[np.argmax(np.abs(values))]:g}"
        raise error_of(axis, "latitudes from -90 to 90 degrees", got, "repair the file")
    known, counts = np.unique(values, return_counts=True)
    if values.ndim == 1 and axis.name in axis.dims and np.any(counts > 1):
        got = f"{known[counts > 1][0]:g} twice"
        raise error_of(axis, "an axis whose values differ", got, "leave one of the two out")
