"""NetCDF files, Zarr stores and xarray datasets as one kind of dataset; damaged files are refused.

Datasets of `opened` are as stored and read their values on use. Those of `read_netcdf` are in memory,
unpacked, with NaN where values are missing; times stay numbers, which `times.read_time` decodes.
`encoding["source"]` of every variable names its file.
"""

import contextlib
import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.machine import needed
from .errors import (
    FileFormatError,
    check_size,
    existing_file,
    is_path,
    is_store,
    name_of,
    reading,
)

if TYPE_CHECKING:
    import xarray as xr

_FILLS = ("fillvalue", "missingvalue")
"""Names of attributes in lower case without underscores: those of WHOI write `FillValue_`."""
_UNWRITTEN = 9.969209968386869e36
"""Default fill value of the NetCDF library for floating-point numbers."""
_Indices = Mapping[str, Sequence[int] | slice]
_ALL: _Indices = MappingProxyType({})


@contextlib.contextmanager
def opened(source) -> Iterator["xr.Dataset"]:
    """Open a NetCDF file, Zarr store or xarray dataset as it is stored; values are read on use.

    Raises:
        FileFormatError: a file that is truncated, damaged or of another format.
    """
    with reading(source, "a NetCDF file"):
        if not is_path(source):
            yield source
        elif is_store(source):
            yield open_store(source)
        else:
            with open_file(existing_file(source)) as file:
                yield file


def open_file(path: Path) -> "xr.Dataset":
    """Open a NetCDF file as it is stored; `encoding["order"]` has the names of its variables in their order.

    xarray refuses a scalar that is named like a dimension: it becomes the coordinate of one of length 1.

    Raises:
        FileFormatError: a file of another format, or a truncated one. Call it within `reading`, which names
            the file when a library finds other damage.
    """
    import netCDF4
    import xarray as xr
    from xarray.backends import CachingFileManager, NetCDF4DataStore

    _check_format(path)
    library: Any = netCDF4.Dataset  # as declared, its `close` is not that of xarray's protocol
    store = NetCDF4DataStore(CachingFileManager(library, str(path), mode="r"))
    header = store.ds
    header.set_auto_maskandscale(False)
    order, lengths = list(header.variables), {name: dim.size for name, dim in header.dimensions.items()}
    scalars = {name: header[name] for name in order if name in lengths and not header[name].ndim}
    coordinates = {
        name: ((name,), np.atleast_1d(scalar[...]), dict(scalar.__dict__))
        for name, scalar in scalars.items()
        if lengths[name] == 1
    }
    dataset = xr.open_dataset(store, decode_cf=False, cache=False, drop_variables=[*scalars])
    for name, coordinate in coordinates.items():
        dataset[name] = coordinate
    dataset.encoding |= {"source": str(path), "order": order}
    return dataset


def read_netcdf(source, *, only: Collection[str] | None = None, at: _Indices = _ALL) -> "xr.Dataset":
    """Read a dataset into memory, with NaN where values are missing, unpacked, and times as numbers.

    Args:
        source: NetCDF file, Zarr store, or xarray dataset, decoded or not.
        only: names of the variables to read.
        at: indices along axes, by axis name.

    Raises:
        FileFormatError: as in `opened`, or a file larger than the memory.
    """
    with opened(source) as file:
        return values_in(file, only=only, at=at)


def values_in(
    file: "xr.Dataset", *, only: Collection[str] | None = None, at: _Indices = _ALL
) -> "xr.Dataset":
    """Read the values of an open dataset; see `read_netcdf`."""
    import xarray as xr

    place, chosen, total = name_of(file), {}, 0
    for name in [str(name) for name in file.variables if only is None or name in only]:
        variable = file.variables[name]
        chosen[name] = variable.isel(at, missing_dims="ignore") if at else variable
        n_chunk = math.prod(variable.encoding.get("chunksizes") or ())  # is unpacked as a whole
        check_size(place, name, variable.dtype.itemsize * max(chosen[name].size, n_chunk))
        total += variable.dtype.itemsize * chosen[name].size
    check_size(place, "file", total)
    variables = {name: _decoded(variable, name, place) for name, variable in chosen.items()}
    dataset = xr.Dataset(variables, attrs=file.attrs)
    dataset.encoding |= {"source": place, "order": file.encoding.get("order", [*chosen])}
    return dataset


def _decoded(variable: "xr.Variable", name: str, place: str) -> "xr.Variable":
    """Read and decode a variable, without the attributes of fills and packing.

    The declared valid range of a coordinate is ignored: some files have times or depths outside of it.
    """
    import xarray as xr

    values, attributes, dims = np.asarray(variable.values), dict(variable.attrs), variable.dims
    if values.dtype == "S1" and dims and dims[-1] == "string1":
        dims, values = dims[:-1], values[..., 0]  # xarray's layout of single characters
    first = next(iter(values.flat), None) if values.dtype == object else None
    if values.dtype.kind == "m":
        values, attributes["units"] = values / np.timedelta64(1, "s"), "s"
    elif values.dtype.kind == "M":
        values = (values.astype("M8[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "s")
        attributes["units"] = "seconds since 1970-01-01"
    elif (calendar := getattr(first, "calendar", None)) is not None:  # dates of cftime
        import cftime  # takes long

        attributes |= {"units": "seconds since 1970-01-01", "calendar": calendar}
        values = np.asarray(cftime.date2num(values, attributes["units"], calendar), dtype=float)
    elif values.dtype.kind in "fiu":
        values = _numbers(values, attributes, is_coordinate=dims == (name,))
    return xr.Variable(dims, values, attributes, {"source": place, "name": name})


def _numbers(values: np.ndarray, attributes: dict[str, Any], *, is_coordinate: bool) -> np.ndarray:
    """Apply fill values, valid range and packing."""
    missing = np.zeros(values.shape, dtype=bool)
    fills = [np.array(_UNWRITTEN)] if values.dtype.kind == "f" else []
    fills += [np.asarray(attributes.pop(n)) for n in [*attributes] if n.replace("_", "").lower() in _FILLS]
    for fill in fills:
        for number in map(float, fill.ravel() if fill.dtype.kind in "fiu" else ()):
            # A fill value in single precision differs from the same number in double precision.
            missing |= np.abs(values - number) <= 1e-6 * abs(number)
    is_unsigned = str(attributes.pop("_Unsigned", "false")).lower() == "true" and values.dtype.kind == "i"
    packed = values.view(f"u{values.dtype.itemsize}") if is_unsigned else values
    if not is_coordinate:
        lowest, highest = (_limit(attributes, name, values.dtype, packed.dtype) for name in _LIMITS)
        missing |= (packed < lowest) if lowest is not None else False
        missing |= (packed > highest) if highest is not None else False
    scale, offset = attributes.pop("scale_factor", None), attributes.pop("add_offset", None)
    values = packed if scale is None else packed * scale
    values = values if offset is None else values + offset
    if not missing.any():
        return values
    return np.where(missing, np.nan, values if values.dtype.kind == "f" else values.astype(float))


def open_store(place: str | Path) -> "xr.Dataset":
    """Open a Zarr store, a local folder or a URL, as it is stored.

    Raises:
        FileFormatError: an incomplete store, or a chunk that exceeds the memory or could run a program.
    """
    import xarray as xr  # takes long

    at = str(place)
    with reading(at, "a Zarr store"):
        needed("zarr", at)
        for path in Path(at).rglob("*"):
            if not (path.is_file() or path.is_dir()):  # a pipe or a device may never end
                raise FileFormatError(path, "file", "a regular file", "another kind", "remove it")
        import zarr  # takes long

        for name, array in zarr.open_group(at, mode="r").arrays():  # before version 3.4, zarr unpickles
            codecs = {key: value for key, value in array.metadata.to_dict().items() if key != "attributes"}
            if re.search(r"'(id|name)': '[\w.]*pickle'", str(codecs)):
                expected, advice = "codecs that only unpack numbers", "store it without pickled objects"
                raise FileFormatError(at, name, expected, "pickle, which can run any program", advice)
        dataset = xr.open_dataset(at, engine="zarr", chunks=None, decode_cf=False, cache=False)
    for name, variable in dataset.variables.items():
        n_values = math.prod(variable.encoding.get("chunks") or variable.shape)
        check_size(at, f"a chunk of {name}", n_values * variable.dtype.itemsize)
    dataset.encoding["source"] = at
    if dataset.attrs.get("tunax_lite_complete", True) is False:
        expected, got = "the complete store of a map", "one that is being written, or was interrupted"
        raise FileFormatError(at, "store", expected, got, "wait, or continue that map (--resume)")
    return dataset


_LIMITS = ("valid_min", "valid_max")


def _limit(attributes: dict[str, Any], name: str, stored: np.dtype, packed: np.dtype) -> np.generic | None:
    """Declared smallest or largest valid number as in the file; `None` where there is none.

    Files may store limits of unsigned numbers as signed ones. A limit outside the range of the variable's
    type is ignored, as in the NetCDF library for Python.
    """
    both = np.ravel(attributes.get("valid_range", ()))
    limit = np.ravel(attributes.get(name, both[_LIMITS.index(name)] if both.size == 2 else ()))
    if limit.size != 1 or limit.dtype.kind not in "fiu":
        return None
    with np.errstate(all="ignore"):
        for kind in (stored, packed):
            if np.allclose(limit.astype(kind), limit, rtol=1e-6, atol=0.0):
                return limit.astype(kind).view(packed)[0]
    return None


_OTHERS = (
    (rb"\x1f\x8b", "a file packed by gzip", "unpack it (gunzip)"),
    (rb"PK\x03\x04", "a zip archive", "unpack it (unzip), and give the files in it"),
    (rb"GRIB", "a GRIB file", "download NetCDF, or convert it (grib_to_netcdf)"),
    (rb"\s*<(!doctype|html|\?xml)", "a web page, such as a login", "look into it, and download it again"),
)
"""First bytes of other formats that users mistake for NetCDF, with the name and the remedy."""


def _check_format(path: Path) -> None:
    """Raise `FileFormatError` for another format, or a cut file, which the NetCDF library reads as zeros."""
    with path.open("rb") as stream:
        first = stream.read(512)
    for start, got, advice in _OTHERS:
        if re.match(start, first, re.IGNORECASE):
            raise FileFormatError(path, "file", "a NetCDF file", got, advice)
    if re.match(rb"CDF[\x01\x02\x05]", first) and _is_truncated(path, is_new=first[3] == 5):
        got = f"{path.stat().st_size} bytes that end before its variables"
        raise FileFormatError(path, "file", "a NetCDF file", got, "it is truncated; copy it again")


def _is_truncated(path: Path, *, is_new: bool) -> bool:
    """Return whether a classic file ends before its variables.

    SciPy cannot map version 5 of the format (`is_new`), or a single record variable whose records are not
    multiples of four bytes. Such files are only compared with the size of their variables.
    """
    import netCDF4  # takes long
    from scipy.io import netcdf_file

    with (
        contextlib.suppress(TypeError, ValueError, IndexError, OverflowError),
        path.open("rb") as content,
        warnings.catch_warnings(action="ignore"),  # about memory maps that an error leaves open
    ):
        netcdf_file(content, mmap=True).close()  # maps all variables, and reads none
        return False
    with contextlib.suppress(OSError), netCDF4.Dataset(path) as file:
        variables = list(file.variables.values())
        unlimited = {name for name, dimension in file.dimensions.items() if dimension.isunlimited()}
        records = [var for var in variables if unlimited & {*var.dimensions}]
        odd = [math.prod(var.shape[1:]) * var.dtype.itemsize % 4 for var in records]
        is_exception = is_new or (len(odd) == 1 and odd[0] > 0)
        n_bytes = sum(var.size * var.dtype.itemsize for var in variables)
        return not is_exception or path.stat().st_size <= n_bytes
    return True
