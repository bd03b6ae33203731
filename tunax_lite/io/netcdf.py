"""NetCDF files: one function reads all of them and rejects damaged ones.

Files are read into plain arrays with named axes: importing xarray would take longer than reading most files.
xarray datasets take the same path, with their times converted back to numbers.
"""

import contextlib
import functools
import math
import re
import struct
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.machine import needed
from .errors import (
    FileFormatError,
    check_size,
    existing_file,
    first_bytes,
    is_path,
    is_store,
    name_of,
    reading,
    what_is_at,
)
from .units import Conversion, as_conversion, is_known, unit_at_end, unit_in_brackets, unit_of

if TYPE_CHECKING:
    import netCDF4
    import xarray as xr

Attributes = dict[str, Any]  # texts, numbers or arrays, as in the file
_FILLS = ("fillvalue", "missingvalue")
"""Names of attributes, without what files add to them: those of WHOI write `FillValue_`."""
_UNWRITTEN = 9.969209968386869e36
"""What the NetCDF library puts where nothing was written."""

_Places = Mapping[str, Sequence[int] | slice]
_EVERYWHERE: _Places = MappingProxyType({})


@dataclass(frozen=True)
class Variable:
    """Values with named axes, NaN where missing; its errors name file and variable."""

    path: Path
    name: str
    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Attributes

    def error(self, expected: str, got: object, advice: str) -> FileFormatError:
        """The error to raise."""
        limits = [key for key in ("valid_range", "valid_min", "valid_max") if key in self.attrs]
        if limits and self.values.dtype.kind == "f" and np.isnan(self.values).all():
            got = f"{got} (no value within {' and '.join(limits)} of the file)"
        return FileFormatError(self.path, self.name, expected, str(got), advice)

    def with_values(self, values: np.ndarray) -> "Variable":
        """The same with other values on the same axes."""
        return replace(self, values=values)

    def without_single(self, kept: Collection[str] = ()) -> "Variable":
        """Drop axes of length 1, except those to keep."""
        at = [i for i, dim in enumerate(self.dims) if self.values.shape[i] > 1 or dim in kept]
        dims, shape = tuple(self.dims[i] for i in at), [self.values.shape[i] for i in at]
        return replace(self, dims=dims, values=self.values.reshape(shape))

    def along(self, dims: Sequence[str], advice: str, expected: str | None = None) -> "Variable":
        """Transpose to these axes; others of length 1 are dropped."""
        one = self.without_single(dims)
        if set(one.dims) != set(dims):
            raise self.error(expected or f"the dimensions {tuple(dims)}", one.dims, advice)
        order = [one.dims.index(dim) for dim in dims]
        return replace(one, dims=tuple(dims), values=one.values.transpose(order))

    def unit(self, given: str | None, key: str) -> str:
        """The unit given, or the one in the file; `key` is the package's name of the variable."""
        unit = given if given is not None else self.attrs.get("units", unit_at_end(self.name)[1])
        if unit is None:
            advice = f"give the unit of {key}: the key `unit` of this input, or `units` of a mapping"
            raise self.error("a unit in the file, an attribute 'units' or NAME [UNIT]", "none", advice)
        return str(unit)

    def numbers(self) -> np.ndarray:
        """Values in double precision."""
        if self.values.dtype.kind not in "fiub":
            raise self.error("numbers", f"type {self.values.dtype}", "choose another variable")
        return self.values.astype(float)

    def texts(self) -> np.ndarray:
        """Values as texts without surrounding blanks; characters along a last axis are joined."""
        values = self.values
        if values.dtype == "S1" and self.dims and self.dims[-1].upper().startswith("STRING"):
            values = np.ascontiguousarray(values).view(f"S{values.shape[-1]}")[..., 0]
        texts = [
            one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in values.flat
        ]
        return np.array([one.strip(" \0") for one in texts], dtype=str).reshape(values.shape)

    def converted(
        self, quantity: str, given: str | Conversion | None = None, **of_water: float
    ) -> np.ndarray:
        """Values of a quantity in the package's unit; `density` and `heat_capacity` for kinematic fluxes."""
        how = as_conversion(given)
        unit = self.unit(how.unit, quantity) if is_known(quantity) else None
        try:
            scale, offset = how.linear(quantity, unit, **of_water)
        except ValueError:
            expected = f"a unit that converts to {unit_of(quantity)}"
            advice = f"correct the unit of {quantity}: the key `unit` of this input, or `units` of a mapping"
            raise self.error(expected, f"'{how.unit or unit}'", advice) from None
        values = self.numbers()
        # A single number times another one is no array.
        return values if (scale, offset) == (1.0, 0.0) else np.asarray(values * scale + offset)


@dataclass(frozen=True)
class Contents:
    """Variables of a file by name, and its global attributes."""

    path: Path
    variables: dict[str, Variable]
    attrs: Attributes
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of all variables by name, where some are left out."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading it."""

    def __getitem__(self, name: str) -> Variable:
        return self.variables[name]

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    @property
    def listing(self) -> str:
        """List the names of the variables, for messages."""
        return ", ".join(self.dims or self.variables) or "an empty file"

    def error(self, key: str, expected: str, got: object, advice: str) -> FileFormatError:
        """The error to raise."""
        return FileFormatError(self.path, key, expected, str(got), advice)

    def named(self, name: str, what: str, advice: str) -> Variable:
        """Get a variable by name."""
        found = self.get(name)
        if found is None:
            raise self.error(name, f"a variable for {what}", f"only {self.listing}", advice)
        return found

    def get(self, name: str) -> Variable | None:
        """The variable of a name, which may have its unit behind it in round brackets."""
        return self.variables.get(name if name in self.variables else unit_in_brackets(name)[0])

    def find(
        self, quantity: str, names: Sequence[str], standard_names: Collection[str], advice: str
    ) -> Variable | None:
        """The first variable found by name, or else by CF standard name."""
        there = [name for name in names if name in self.variables][:1] or [
            name
            for name, variable in self.variables.items()
            if variable.attrs.get("standard_name") in standard_names
        ]
        if len(there) > 1:
            raise self.error(quantity, "one variable with its CF standard name", " and ".join(there), advice)
        return self.variables[there[0]] if there else None


_MOST_LISTED = 40
_REFERENCES = ("bounds", "coordinates", "ancillary_variables", "grid_mapping", "cell_measures")
_PLACES = ("time", "latitude", "longitude", "depth", "height", "altitude")
"""Standard names of coordinates."""


def note_of_unused(file: Contents, used: Collection[str]) -> list[str]:
    """Return a note on the variables with numbers that a reader does not use, if there are some.

    Coordinates, bounds, quality flags and other variables that attributes refer to are not listed.
    """
    referred = " ".join(
        str(one.attrs.get(key, "")) for one in file.variables.values() for key in _REFERENCES
    ).split()
    left = [
        name
        for name, one in file.variables.items()
        if name not in {*used, *referred}
        and one.dims not in ((), (name,))
        and one.values.dtype.kind in "fiu"
        and not _is_about_others(one)
    ]
    if not left:
        return []
    others = f" and {len(left) - _MOST_LISTED} others" if len(left) > _MOST_LISTED else ""
    return [f"{file.path}: not used: {', '.join(left[:_MOST_LISTED])}{others}"]


def _is_about_others(variable: Variable) -> bool:
    """Whether a variable is a place, a time or a quality flag."""
    attrs = variable.attrs
    words = f"{variable.name} {attrs.get('standard_name', '')}".lower()
    places = r"(time|lat|lon|latitude|longitude|lev|level|depth|height|altitude|z)"
    is_place = re.fullmatch(places, variable.name.lower()) or str(attrs.get("standard_name")) in _PLACES
    return (
        bool(is_place)
        or "axis" in attrs
        or "flag_values" in attrs
        or bool(re.search("qc|flag|quality", words))
    )


Reader = Callable[..., Contents]
"""Reads from an open file, with the keyword arguments of `read_contents`."""


@contextlib.contextmanager
def opened(source) -> Iterator[Reader]:
    """Open a NetCDF file, Zarr store or xarray dataset to read it in steps.

    Errors are those of `read_contents`.
    """
    import netCDF4  # takes long

    with reading(source, "a NetCDF file"):
        if not is_path(source):
            yield functools.partial(_of_dataset, source)
            return
        if is_store(source):
            yield functools.partial(_of_dataset, open_store(source))
            return
        path = existing_file(source)
        _check_format(path)
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            yield functools.partial(_of_file, path, file)


def open_store(place: str | Path) -> "xr.Dataset":
    """A Zarr store, not decoded, of which only coordinates are read; a folder of this machine or a URL.

    Raises:
        FileFormatError: an incomplete store, or a chunk that exceeds the memory or could run a program.
    """
    import xarray as xr  # takes long

    at = str(place)
    with reading(at, "a Zarr store"):
        if "://" not in at:
            for path in Path(at).rglob("*"):
                if what_is_at(path) not in ("a file", "a folder"):  # a pipe or a device may never end
                    raise FileFormatError(path, "file", "a regular file", what_is_at(path), "remove it")
                check_size(path, "file", path.stat().st_size)
        needed("zarr", at)
        _check_codecs(at)
        found = xr.open_dataset(at, engine="zarr", chunks=None, decode_cf=False, cache=False)
    for name, variable in found.variables.items():
        n_values = math.prod(variable.encoding.get("chunks") or variable.shape)
        check_size(at, f"a chunk of {name}", n_values * variable.dtype.itemsize)
    found.encoding["source"] = at
    if found.attrs.get("tunax_lite_complete", True) is False:
        expected, got = "the complete store of a map", "one that is being written, or was interrupted"
        raise FileFormatError(at, "store", expected, got, "wait, or continue that map (--resume)")
    return found


def _check_codecs(at: str) -> None:
    """Refuse a store with a codec that runs what the chunks say, before any of them is read."""
    import zarr  # takes long

    for name, array in zarr.open_group(at, mode="r").arrays():
        told = str({key: value for key, value in array.metadata.to_dict().items() if key != "attributes"})
        if re.search(r"'(id|name)': '[\w.]*pickle'", told):
            expected, advice = "codecs that only unpack numbers", "store it without pickled objects"
            raise FileFormatError(at, name, expected, "pickle, which can run any program", advice)


def read_contents(
    source,
    *,
    only: Collection[str] | None = None,
    at: _Places = _EVERYWHERE,
) -> Contents:
    """Read a NetCDF file into memory, with fill values as NaN, packed values unpacked, and times as numbers.

    Args:
        source: the file, a Zarr store, or an xarray dataset, decoded or not.
        only: names of the variables to read.
        at: indices along axes, by axis name.

    Raises:
        FileFormatError: a file that is truncated, damaged, of another format, or larger than the memory.
    """
    with opened(source) as read:
        return read(only=only, at=at)


def _of_file(
    path: Path,
    file: "netCDF4.Dataset",
    only: Collection[str] | None = None,
    at: _Places = _EVERYWHERE,
) -> Contents:
    chosen, total = [], 0
    for name in [name for name in file.variables if only is None or name in only]:
        variable = file.variables[name]
        index = tuple(at.get(dim, slice(None)) for dim in variable.dimensions)
        lengths = [
            len(range(*part.indices(n))) if isinstance(part, slice) else len(part)
            for n, part in zip(variable.shape, index, strict=True)
        ]
        item, blocks = np.dtype(variable.dtype).itemsize, variable.chunking()
        n_chunk = math.prod(blocks) if isinstance(blocks, list) else 0  # is unpacked as a whole
        check_size(path, name, item * max(math.prod(lengths), n_chunk))
        total += item * math.prod(lengths)
        chosen.append((variable, index))
    check_size(path, "file", total)
    variables = {}
    for variable, index in chosen:
        attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
        dims, values = tuple(variable.dimensions), np.asarray(variable[index or ...])
        if values.dtype == "S1" and dims and dims[-1] == "string1":
            dims, values = dims[:-1], values[..., 0]  # xarray's layout of single characters
        values = _decoded(values, attributes, is_coordinate=dims == (variable.name,))
        variables[variable.name] = Variable(path, variable.name, dims, values, attributes)
    attributes = {name: file.getncattr(name) for name in file.ncattrs()}
    dims = {name: tuple(variable.dimensions) for name, variable in file.variables.items()}
    return Contents(path, variables, attributes, dims)


def read_netcdf(path) -> "xr.Dataset":
    """Read a NetCDF file as an xarray dataset; see `read_contents`."""
    import xarray as xr

    file = read_contents(path)
    variables = {name: (v.dims, v.values, v.attrs) for name, v in file.variables.items()}
    return xr.Dataset(variables, attrs=file.attrs)


def _of_dataset(
    source: "xr.Dataset",
    only: Collection[str] | None = None,
    at: _Places = _EVERYWHERE,
) -> Contents:
    """Contents of a dataset that xarray may have decoded; the original encoding is in `encoding`."""
    path, variables = Path(name_of(source)), {}
    dims = {str(name): tuple(map(str, one.dims)) for name, one in source.variables.items()}
    for name in [name for name in dims if only is None or name in only]:
        variable = source.variables[name]
        variable = variable[{dim: at[str(dim)] for dim in variable.dims if dim in at}]
        values, attributes = np.asarray(variable.values), dict(variable.attrs)
        first = next(iter(values.flat), None) if values.dtype == object else None
        if values.dtype.kind in "mM":
            attributes["units"] = "s" if values.dtype.kind == "m" else "seconds since 1970-01-01"
            milliseconds = values.astype(f"{values.dtype.kind}8[ms]")
            values = np.where(np.isnat(milliseconds), np.nan, milliseconds.astype(float) / 1e3)
        elif (calendar := getattr(first, "calendar", None)) is not None:  # a date of cftime
            import netCDF4  # takes long

            attributes |= {"units": "seconds since 1970-01-01", "calendar": calendar}
            values = np.asarray(netCDF4.date2num(values, attributes["units"], calendar), dtype=float)
        else:
            values = _decoded(values, attributes, is_coordinate=dims[name] == (name,))
        variables[name] = Variable(path, name, dims[name], values, attributes)
    return Contents(path, variables, dict(source.attrs), dims)


def _decoded(values: np.ndarray, attributes: Attributes, *, is_coordinate: bool) -> np.ndarray:
    """Apply fill values, valid range and packing to numbers, and remove attributes of fills and packing.

    A coordinate has no missing values (CF): files with times or depths outside of their declared range exist.
    """
    if values.dtype.kind not in "fiu":
        return values
    missing = np.zeros(values.shape, dtype=bool)
    fills = [np.array(_UNWRITTEN)] if values.dtype.kind == "f" else []
    fills += [np.asarray(attributes.pop(n)) for n in [*attributes] if n.replace("_", "").lower() in _FILLS]
    for fill in fills:
        for one in map(float, fill.ravel() if fill.dtype.kind in "fiu" else ()):
            # A fill value in single precision differs from the same number in double precision.
            missing |= np.abs(values - one) <= 1e-6 * abs(one)
    is_unsigned = str(attributes.pop("_Unsigned", "false")).lower() == "true" and values.dtype.kind == "i"
    packed = values.view(f"u{values.dtype.itemsize}") if is_unsigned else values
    limits = {} if is_coordinate else attributes
    lowest, highest = _valid_range(limits, values.dtype, packed.dtype)
    missing |= (packed < lowest) if lowest is not None else False
    missing |= (packed > highest) if highest is not None else False
    scale, offset = attributes.pop("scale_factor", None), attributes.pop("add_offset", None)
    values = packed if scale is None else packed * scale
    values = values if offset is None else values + offset
    if not missing.any():
        return values
    return np.where(missing, np.nan, values if values.dtype.kind == "f" else values.astype(float))


def _valid_range(
    attributes: Attributes, stored: np.dtype, packed: np.dtype
) -> tuple[np.generic | None, np.generic | None]:
    """Declared smallest and largest valid number as stored in the file; `None` where there is none.

    Limits of unsigned numbers are stored as signed, too. A limit that the type of the variable cannot hold
    says nothing about it, as in the NetCDF library for Python.
    """
    both = np.ravel(attributes.get("valid_range", ()))
    limits = dict(zip(("valid_min", "valid_max"), both, strict=False)) if both.size == 2 else {}
    limits |= {name: attributes[name] for name in ("valid_min", "valid_max") if name in attributes}
    found = []
    for name in ("valid_min", "valid_max"):
        limit = np.asarray(limits.get(name, "none"))
        limit = limit.reshape(()) if limit.size == 1 and limit.dtype.kind in "fiu" else None
        cast = None
        if limit is not None:
            with np.errstate(all="ignore"):
                cast = limit.astype(stored)
            if not np.allclose(cast, limit, rtol=1e-6, atol=0.0):
                cast = limit.astype(packed) if np.array_equal(limit.astype(packed), limit) else None
        found.append(None if cast is None else cast.view(packed)[()] if cast.dtype != packed else cast[()])
    return found[0], found[1]


_TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}


def _end_of_classic(data: bytes) -> int:
    """Smallest size in bytes that the header implies: classic NetCDF version 1, 2 (64-bit offset) or 5."""
    at, count, offset = 4, ">q" if data[3] == 5 else ">i", ">i" if data[3] == 1 else ">q"

    def take(code: str = count) -> int:
        nonlocal at
        at += struct.calcsize(code)
        return struct.unpack_from(code, data, at - struct.calcsize(code))[0]

    def skip(n_bytes: int) -> None:
        nonlocal at
        at += -(-n_bytes // 4) * 4

    def members() -> range:
        take(">i")
        return range(take())

    def skip_attributes() -> None:
        for _ in members():
            skip(take())
            size = _TYPE_SIZES[take(">i")]
            skip(size * take())

    n_records, lengths, records = take(), [], []
    for _ in members():
        skip(take())
        lengths.append(take())
    skip_attributes()
    end = at
    for _ in members():
        skip(take())
        dimensions = [take() for _ in range(take())]
        skip_attributes()
        size = _TYPE_SIZES[take(">i")]
        take()
        begin, n_bytes = take(offset), size * math.prod(lengths[i] for i in dimensions if lengths[i])
        if dimensions and lengths[dimensions[0]] == 0:
            records.append((begin, n_bytes))
        else:
            end = max(end, begin + n_bytes)
    if records and n_records > 0:
        # Records are padded to four bytes, except those of a single record variable.
        stride = sum(-(-n // 4) * 4 for _, n in records) if len(records) > 1 else records[0][1]
        end = max(end, max(map(sum, records)) + (n_records - 1) * stride)
    return end


def _check_format(path: Path) -> None:
    """Raise `FileFormatError` for a file of another format, or cut, which libraries read as zeros."""
    first, expected, got, advice = first_bytes(path, 1 << 20), "a NetCDF file", "", ""
    if first.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            got = f"a zip archive with {', '.join(archive.namelist())}"
        advice = "unpack it (unzip), and give the files in it"
    elif first.startswith(b"\x1f\x8b"):
        got, advice = "a file packed by gzip", "unpack it (gunzip)"
    elif first.startswith(b"GRIB"):
        got, advice = "a GRIB file", "use read_era5, or convert it (grib_to_netcdf)"
    elif re.match(rb"\s*<(!doctype|html|\?xml)", first[:512], re.IGNORECASE):
        got, advice = "a web page", "look into it: most often a login or an error; download it again"
    elif path.suffix.lower() in (".yaml", ".yml"):
        got, advice = (
            "a YAML file",
            "`tunax-lite run` writes the results of a configuration, and `output: {budgets: true}` budgets",
        )
    elif first[:3] == b"CDF" and len(first) >= 8 and first[3] in (1, 2, 5):
        size = path.stat().st_size
        try:
            end = _end_of_classic(first)
        except (struct.error, KeyError, IndexError):
            end = len(first) + 1
        if size < end:
            expected, got, advice = f"at least {end} bytes", f"{size}", "it is truncated; copy it again"
    if got:
        raise FileFormatError(path, "file", expected, got, advice)
