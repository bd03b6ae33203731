"""Files of a map: opening them, and finding variables."""

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...io.axes import is_axis
from ...io.checksums import files_below
from ...io.errors import FileFormatError, Source, check_size, is_path, name_of, reading
from ...io.netcdf import Variable, read_contents
from ...io.registry import resolve
from ...io.yaml_file import NAMES
from ...quantities import quantity_of
from ...runtime.extras import needed
from .points import TINY, Points
from .settings import Gridded

if TYPE_CHECKING:
    import xarray as xr

_HORIZONTAL = {"latitude": ("Y", "lat", "n(orth)?"), "longitude": ("X", "lon", "e(ast)?")}
"""Letters of CF, short names, and what the unit says."""


def open_source(given: Source, find: Callable[[str], Path]) -> "xr.Dataset":
    """A dataset of a file or Zarr store, or one opened by the user; reads only coordinates."""
    import xarray as xr  # takes long

    if not isinstance(given, str | Path):
        is_path(given)  # raises an error
        return given
    text = str(given).removeprefix("file://")
    options: dict[str, Any] = {"decode_cf": False, "cache": False}  # of `xarray.open_dataset`
    if "://" in text or text.rstrip("/").endswith(".zarr"):
        at = text if "://" in text else str(_store(text, find))
        with reading(text, "a Zarr store"):
            needed("zarr", text)
            _check_codecs(text, at)
            found = xr.open_dataset(at, engine="zarr", chunks=None, **options)
        for name, variable in found.variables.items():
            n_values = math.prod(variable.encoding.get("chunks") or variable.shape)
            check_size(text, f"a chunk of {name}", n_values * variable.dtype.itemsize)
        found.encoding["source"] = at
        if found.attrs.get("tunax_lite_complete", True) is False:
            expected, got = "the complete store of a map", "one that is being written, or was interrupted"
            raise FileFormatError(text, "store", expected, got, "wait, or continue that map (--resume)")
        return found
    path = find(text)
    read_contents(path, only=())  # rejects damaged files and other formats
    with reading(path, "a NetCDF file"):
        return xr.open_dataset(path, engine="netcdf4", **options)


def _check_codecs(text: str, at: str) -> None:
    """Refuse a store with a codec that runs what the chunks say, before any of them is read."""
    import zarr  # takes long

    for name, array in zarr.open_group(at, mode="r").arrays():
        told = str({key: value for key, value in array.metadata.to_dict().items() if key != "attributes"})
        if re.search(r"'(id|name)': '[\w.]*pickle'", told):
            expected, advice = "codecs that only unpack numbers", "store it without pickled objects"
            raise FileFormatError(text, name, expected, "pickle, which can run any program", advice)


def _store(text: str, find: Callable[[str], Path]) -> Path:
    """Folder of a Zarr store of version 3 or 2, in which all files are regular and fit into memory."""
    try:
        folder = find(f"{text}/zarr.json").parent
    except FileNotFoundError as error:
        try:
            folder = find(f"{text}/.zgroup").parent  # version 2
        except FileNotFoundError:
            raise error from None
    for path, found in files_below(folder):
        check_size(path, "file", found.st_size)
    return folder


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

    def of(self, given: Gridded, site: str = "{site}") -> list["xr.Dataset"]:
        """The datasets of a field."""
        found = []
        for name in given.paths or self._default:
            name = name.replace("{site}", site) if isinstance(name, str) else name
            key = name if isinstance(name, str | Path) else id(name)
            if key not in self.opened:
                self.opened[key] = open_source(name, self._find)
            found.append(self.opened[key])
        if not found:
            raise ValueError("paths: expected the files of the map, got none; name them.")
        return found


@dataclasses.dataclass(frozen=True)
class Placing:
    """Layout of a variable in its files.

    Args:
        name: of the variable.
        files: that contain it, in order of time.
        points: horizontal points.
        horizontal: dimensions of the points, the outer one first.
        time, vertical: dimensions, if present.
        is_place: whether the files hold one position, whatever their axes.
    """

    name: str
    files: tuple["xr.Dataset", ...]
    points: Points
    horizontal: tuple[str, ...]
    time: str | None
    vertical: str | None
    is_place: bool = False

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of records of each file."""
        return tuple(1 if self.time is None else int(file.sizes[self.time]) for file in self.files)

    @property
    def row(self) -> int:
        """Number of points per value of the outer horizontal dimension."""
        if self.points.is_grid:
            return self.points.longitude.size
        return self.points.latitude.size // int(self.files[0].sizes[self.horizontal[0]])

    def header(self) -> Variable:
        """The variable without its values."""
        return header_of(self.files[0], self.name)

    def coordinate(self, file: "xr.Dataset", dim: str, kind: str) -> Variable:
        """The `time` or `vertical` coordinate along a dimension of a file."""
        along = [str(name) for name, one in file.variables.items() if one.dims == (dim,)]
        along.sort(key=lambda name: name != dim)
        name = next(name for name in along if _is_kind(file, name, kind))
        return read_contents(file, only=(name,))[name]


def header_of(file: "xr.Dataset", name: str) -> Variable:
    """A variable without its values."""
    found = file.variables[name]
    return Variable(Path(name_of(file)), name, tuple(map(str, found.dims)), np.empty(0), dict(found.attrs))


def _is_kind(file: "xr.Dataset", name: str, kind: str) -> bool:
    dates = kind == "time" and file.variables[name].dtype.kind in "MO"
    return dates or is_axis(header_of(file, name), kind)


def is_position(variable: "xr.DataArray", axis: str) -> bool:
    """Whether a coordinate is the `latitude` or `longitude`, by CF attributes or name."""
    letter, short, unit = _HORIZONTAL[axis]
    said = str(variable.attrs.get("standard_name", "")).lower()
    named = str(variable.name).lower() in (axis, short, f"nav_{short}")
    of_unit = re.fullmatch(f"degrees?_?{unit}", str(variable.attrs.get("units", "")).lower())
    return said == axis or variable.attrs.get("axis") == letter or named or of_unit is not None


def placing_of(name: str, files: Sequence["xr.Dataset"], *, is_place: bool = False) -> Placing:
    """Find the axes of a variable by CF attributes, units and common names.

    Args:
        name: of the variable.
        files: some of which contain it.
        is_place: whether they hold one position, whatever their axes.

    Raises:
        FileFormatError: no latitude and longitude, or an additional dimension.
    """
    own = tuple(file for file in files if name in file.variables)
    first = own[0]
    found, header = first.variables[name], header_of(first, name)
    dims = tuple(map(str, found.dims))
    near = [str(key) for key, one in first.variables.items() if key != name and set(one.dims) <= set(dims)]
    near = [key for key in near if first.variables[key].ndim in (1, 2)]
    axes = {axis: [first[key] for key in near if is_position(first[key], axis)] for axis in _HORIZONTAL}
    flat = {str(one.dims[0]) for each in axes.values() for one in each if one.ndim == 1}
    time, vertical = (dimension_of(first, name, kind, flat) for kind in ("time", "vertical"))
    own = own if time is not None else own[:1]
    rest = tuple(dim for dim in dims if dim not in (time, vertical))
    if is_place:
        return Placing(name, own, Points(np.zeros(1), np.zeros(1), False), rest, time, vertical, True)
    points, horizontal = _points(header, axes, rest)
    others = [dim for dim in rest if dim not in horizontal and found.sizes[dim] > 1]
    if others:
        got, advice = f"the dimension {others[0]}", "select one of it, and give the dataset or write it"
        raise header.error("latitude, longitude, time and depth alone", got, advice)
    return Placing(name, own, points, horizontal, time, vertical)


def dimension_of(file: "xr.Dataset", name: str, kind: str, others: Collection[str] = ()) -> str | None:
    """The `time` or `vertical` dimension of a variable, except `others`."""
    sizes = file.variables[name].sizes
    for dim in sorted(map(str, sizes), key=lambda dim: sizes[dim] == 1):  # the 2 m level of air comes last
        along = [str(key) for key, one in file.variables.items() if one.dims == (dim,) and key != name]
        if dim not in others and any(_is_kind(file, key, kind) for key in along):
            return dim
    return None


def _points(
    header: Variable, axes: Mapping[str, list["xr.DataArray"]], rest: tuple[str, ...]
) -> tuple[Points, tuple[str, ...]]:
    """Horizontal points of a variable: axes of a grid, or coordinates of each point."""
    known = {}
    for axis, found in axes.items():
        own = [one for one in found if set(map(str, one.dims)) <= set(rest)]
        known[axis] = sorted(own, key=lambda one: one.name != one.dims[0])
    for latitude in known["latitude"]:
        for longitude in known["longitude"]:
            values = [np.asarray(one.values, dtype=float) for one in (latitude, longitude)]
            if not all(np.all(np.abs(each) <= 720.0) for each in values):
                continue  # masked
            for one, axis in zip(values, (latitude, longitude), strict=True):
                _check_places(header, str(axis.name), one, axis is latitude)
            own, other = (tuple(map(str, one.dims)) for one in (latitude, longitude))
            if own == other:
                order = tuple(dim for dim in rest if dim in own)
                flat = [
                    np.asarray(one.transpose(*order), dtype=float).ravel() for one in (latitude, longitude)
                ]
                return Points(flat[0], flat[1], False), order
            if len(own) == len(other) == 1:
                edges = _edges(latitude), _edges(longitude)
                return Points(values[0], values[1], True, *edges), (*own, *other)
    got = ", ".join(str(one.name) for each in axes.values() for one in each) or "none"
    advice = "give them a CF standard name, or units degrees_north and degrees_east"
    raise header.error("coordinates of latitude and longitude", got, advice)


def _check_places(header: Variable, name: str, values: np.ndarray, is_latitude: bool) -> None:
    """Raise `FileFormatError` for invalid latitudes, and an axis with duplicate values."""
    own = dataclasses.replace(header, name=name)
    if is_latitude and np.any(np.abs(values) > 90.0 + TINY):
        got = f"{values.ravel()[np.argmax(np.abs(values))]:g}"
        raise own.error("latitudes from -90 to 90 degrees", got, "repair the file")
    known, counts = np.unique(values, return_counts=True)
    if values.ndim == 1 and name in header.dims and np.any(counts > 1):
        got = f"{known[counts > 1][0]:g} twice"
        raise own.error("an axis whose values differ", got, "leave one of the two out")


def _edges(axis: "xr.DataArray") -> np.ndarray | None:
    """Edges of the cells along an axis, if the file has CF bounds."""
    found = axis.coords.get(axis.attrs.get("bounds", axis.encoding.get("bounds")))
    if found is None or found.shape != (axis.size, 2):
        return None
    pairs = np.asarray(found.values, dtype=float)
    return np.append(pairs[:, 0], pairs[-1, 1]) if np.allclose(pairs[1:, 0], pairs[:-1, 1]) else None


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
