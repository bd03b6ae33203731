"""Gridded files of a map: open them, and find their variables and axes."""

import itertools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...io.axes import is_axis, is_position, read_vertical
from ...io.errors import (
    FileFormatError,
    Source,
    is_path,
    is_store,
    name_of,
    reading,
)
from ...io.netcdf import open_file, open_store, read_netcdf
from ...io.times import bounds_of_means
from ...io.units import is_known
from ...io.variables import array, error_in, error_of, like, numbers_in
from ...io.yaml_file import NAMES
from ...quantities import quantity_of
from .remapping import TINY, Points
from .sections import Gridded

if TYPE_CHECKING:
    import xarray as xr


def open_source(source: Source, find: Callable[[str], Path]) -> "xr.Dataset":
    """Open a file or Zarr store, reading only coordinates; a dataset is returned as it is."""
    if not isinstance(source, str | Path):
        is_path(source)  # raises an error for anything but a dataset
        return source
    text = str(source).removeprefix("file://")
    if "://" in text:
        return open_store(text)
    path = find(text)
    if is_store(path):
        return open_store(path)
    with reading(path, "a NetCDF file"):
        return open_file(path)


def header_of(file: "xr.Dataset", name: str) -> "xr.DataArray":
    """A variable without its values."""
    variable = file.variables[name]
    return array(name_of(file), name, variable.dims, np.empty((0,) * variable.ndim), variable.attrs)


def axis_of(
    file: "xr.Dataset", name: str, kind: str, others: Collection[str] = ()
) -> tuple[str, str] | tuple[None, None]:
    """Names of the `time` or `vertical` dimension of a variable and of its coordinate; `None` without one.

    Dimensions in `others` are not considered.
    """
    sizes = file.variables[name].sizes
    dims = [dim for dim in map(str, sizes) if dim not in others]
    for dim in sorted(dims, key=lambda dim: sizes[dim] == 1):  # the 2 m level of air comes last
        along = [str(key) for key, each in file.variables.items() if each.dims == (dim,) and key != name]
        for key in sorted(along, key=lambda key: key != dim):  # coordinate variables of CF come first
            is_dates = kind == "time" and file.variables[key].dtype.kind in "MO"
            if is_dates or is_axis(header_of(file, key), kind):
                return dim, key
    return None, None


def levels_of(file: "xr.Dataset", coordinate: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Depths of levels and of their lower edges [m], downward, and whether the file has this order.

    Raises:
        FileFormatError: fewer than three levels, unsorted levels, or levels above the surface.
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


def variable_of(quantity: str, settings: Gridded, files: Sequence["xr.Dataset"]) -> str:
    """Name of the variable of a field: that of its settings, or the first with a common or CF standard name.

    Raises:
        FileFormatError: no such variable.
    """
    variables = {str(name): variable for file in files for name, variable in file.variables.items()}
    names, standard = [settings.variable or quantity], set()
    sections = ("weather", "oceansites", "era5") if settings.variable is None else ()
    for known in (NAMES[section].get(quantity, {}) for section in sections):
        names += known.get("names", [])
        for key in ("kinds", "standard_names", "downward", "net"):
            standard |= set(known.get(key, ()))
    if settings.variable is None and is_known(quantity):
        standard.add(quantity_of(quantity).standard_name)
    matches = [name for name in names if name in variables]
    matches += [name for name in variables if variables[name].attrs.get("standard_name", "") in standard]
    if matches:
        return matches[0]
    got = f"only {', '.join(variables) or 'an empty file'}"
    source = ", ".join(dict.fromkeys(map(name_of, files)))
    key = settings.variable or quantity
    raise FileFormatError(source, key, f"a variable for {quantity or 'a tracer'}", got, "name it (variable)")


def middles_of(file: "xr.Dataset", name: str, header: "xr.DataArray") -> "xr.DataArray":
    """Read the times of records; means of a variable, by its `header`, lie at the middle of their bounds."""
    contents = read_netcdf(file, only=(name, str(file.variables[name].attrs.get("bounds"))))
    times = contents[name]
    bounds = bounds_of_means(contents, times, header)
    if bounds is None or bounds.attrs.get("units") != times.attrs.get("units"):
        return times
    return like(times, numbers_in(bounds).mean(axis=1))


def points_of(file: "xr.Dataset", name: str) -> tuple[Points, tuple[str, ...]]:
    """Horizontal points of a variable, and their dimensions: axes of a grid, or coordinates of each point.

    Raises:
        FileFormatError: no coordinates, latitudes beyond the poles, or equal values on an axis.
    """
    dims = tuple(map(str, file.variables[name].dims))
    names = [key for key, each in file.variables.items() if key != name and {*each.dims} <= {*dims}]
    others = [file[key] for key in names if file.variables[key].ndim in (1, 2)]
    others.sort(key=lambda variable: variable.name != variable.dims[0])  # axes come first
    by_axis = [[other for other in others if is_position(other, axis)] for axis in ("latitude", "longitude")]
    for both in itertools.product(*by_axis):
        values = [np.asarray(axis.values, dtype=float) for axis in both]
        if not all(np.all(np.abs(each) <= 720.0) for each in values):
            continue  # fill values, as in coordinates that are masked on land
        if (highest := np.max(np.abs(values[0]))) > 90.0 + TINY:
            expected = "latitudes from -90 to 90 degrees"
            raise error_in(file, str(both[0].name), expected, f"{highest:g}", "repair the file")
        for axis, numbers in zip(both, values, strict=True):
            unique, counts = np.unique(numbers, return_counts=True)
            if axis.name == axis.dims[0] and np.any(counts > 1):
                expected, got = "an axis whose values differ", f"{unique[counts > 1][0]:g} twice"
                raise error_in(file, str(axis.name), expected, got, "leave one of the two out")
        of_latitude, of_longitude = (tuple(map(str, axis.dims)) for axis in both)
        if of_latitude == of_longitude:
            order = tuple(dim for dim in dims if dim in of_latitude)
            flat = [np.asarray(axis.transpose(*order), dtype=float).ravel() for axis in both]
            return Points(flat[0], flat[1], False), order
        if len(of_latitude) == len(of_longitude) == 1:
            return Points(values[0], values[1], True), (*of_latitude, *of_longitude)
    got = ", ".join(str(axis.name) for axes in by_axis for axis in axes) or "none"
    advice = "give them a CF standard name, or units degrees_north and degrees_east"
    raise error_of(header_of(file, name), "coordinates of latitude and longitude", got, advice)
