"""Opening NetCDF files so that a damaged one is refused, and what written ones share."""

import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .errors import FileFormatError, check_size, existing_file, names_its_file
from .writing import replacing

if TYPE_CHECKING:
    import netCDF4
    import xarray as xr

_TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}


class _ClassicHeader:
    """A cursor in the header of a classic NetCDF file, version 1, 2 (long offsets) or 5 (long counts)."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 4
        self._count = ">q" if data[3] == 5 else ">i"
        self._offset = ">i" if data[3] == 1 else ">q"

    def _take(self, code: str) -> int:
        (value,) = struct.unpack_from(code, self._data, self._at)
        self._at += struct.calcsize(code)
        return value

    def _skip(self, n_bytes: int) -> None:
        self._at += -(-n_bytes // 4) * 4

    def _n_members(self) -> int:
        self._take(">i")
        return self._take(self._count)

    def _skip_attributes(self) -> None:
        for _ in range(self._n_members()):
            self._skip(self._take(self._count))
            size = _TYPE_SIZES[self._take(">i")]
            self._skip(size * self._take(self._count))

    def end_of_data(self) -> int:
        """Number of bytes that a complete file has at least."""
        n_records = self._take(self._count)
        lengths = []
        for _ in range(self._n_members()):
            self._skip(self._take(self._count))
            lengths.append(self._take(self._count))
        self._skip_attributes()
        end, records = self._at, []
        for _ in range(self._n_members()):
            self._skip(self._take(self._count))
            dimensions = [self._take(self._count) for _ in range(self._take(self._count))]
            self._skip_attributes()
            size = _TYPE_SIZES[self._take(">i")]
            self._take(self._count)
            begin = self._take(self._offset)
            n_bytes = size * math.prod(lengths[i] for i in dimensions if lengths[i])
            if dimensions and lengths[dimensions[0]] == 0:
                records.append((begin, n_bytes))
            else:
                end = max(end, begin + n_bytes)
        if records and n_records > 0:
            # Records are padded to four bytes, except those of a single record variable.
            padded = [-(-n_bytes // 4) * 4 for _, n_bytes in records]
            stride = sum(padded) if len(records) > 1 else records[0][1]
            end = max(end, max(sum(record) for record in records) + (n_records - 1) * stride)
        return end


def check_complete(path: Path) -> None:
    """Raise `FileFormatError` for a classic NetCDF file that was cut off: libraries read it as zeros."""
    with path.open("rb") as stream:
        data = stream.read(1 << 20)
    if data[:3] != b"CDF" or len(data) < 8 or data[3] not in (1, 2, 5):
        return
    try:
        expected = _ClassicHeader(data).end_of_data()
    except (struct.error, KeyError, IndexError):
        expected = len(data) + 1
    size = path.stat().st_size
    if size < expected:
        raise FileFormatError(
            path, "file", f"at least {expected} bytes", f"{size}", "it is truncated; copy it again"
        )


@names_its_file("a NetCDF file")
def read_netcdf(
    path,
    *,
    mask: bool = True,
    every: int = 1,
    join_characters: bool = True,
    part: "Callable[[xr.Dataset], xr.Dataset] | None" = None,
) -> "xr.Dataset":
    """Read a NetCDF file into memory, times as plain numbers.

    Args:
        path: the file.
        mask: replace fill values by NaN, and apply scale factors.
        every: keep the first of so many times.
        join_characters: make texts of arrays of characters along their last dimension.
        part: chooses what is read, before anything is.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file that is truncated, damaged or of another format.
    """
    import xarray as xr  # takes long, and some readers do without it

    path = existing_file(path)
    check_complete(path)
    with xr.open_dataset(
        path,
        engine="netcdf4",
        decode_times=False,
        mask_and_scale=mask,
        concat_characters=join_characters,
    ) as dataset:
        kept = dataset.isel(time=slice(None, None, every)) if every > 1 else dataset
        wanted = kept if part is None else part(kept)
        _check_sizes(path, wanted)
        return wanted.load()


def _check_sizes(path: Path, dataset: "xr.Dataset") -> None:
    """Refuse what the memory cannot hold: the variables, or the blocks in which the file keeps them."""
    for name, variable in dataset.variables.items():
        block = math.prod(variable.encoding.get("chunksizes") or ()) * variable.dtype.itemsize
        check_size(path, str(name), max(variable.nbytes, block))
    check_size(path, "file", dataset.nbytes)


def check_variable(path, dataset: "xr.Dataset", name: str, dims: tuple[str, ...], kind: str) -> None:
    """Raise `FileFormatError` unless a trajectory has a variable of a kind of numbers along these axes."""
    if name not in dataset.variables:
        raise FileFormatError(
            path,
            name,
            "a variable of a trajectory",
            f"only {', '.join(map(str, dataset.variables))}",
            "only files of write_trajectory can be read back",
        )
    found = dataset[name]
    if found.dims[: len(dims)] != dims or found.dtype.kind != kind:
        raise FileFormatError(
            path,
            name,
            f"{'whole numbers' if kind == 'i' else 'numbers'} along {', '.join(dims) or 'any axis'}",
            f"type {found.dtype} along {', '.join(map(str, found.dims)) or 'none'}",
            "the file was changed or is damaged",
        )


def described(dims, values, long_name: str, unit: str = "1", **more) -> tuple:
    """A variable as xarray takes it, with its name in words, its unit and further attributes."""
    return (dims, values, {"long_name": long_name, "units": unit, **more})


def titled(kind: str, closure: str) -> dict[str, str]:
    """The first attributes of a file about the parameters of a closure."""
    return {"Conventions": "CF-1.11", "title": f"{kind} of {closure}", "closure": closure}


def variable_name(path: str) -> str:
    """A parameter's path as the name of a variable: a case may be called anything."""
    return re.sub(r"[^A-Za-z0-9]+", "_", path).strip("_")


def write_dataset(path, dataset: "xr.Dataset") -> None:
    """Write NetCDF that replaces an older file when it is complete."""
    with replacing(path) as temporary:
        dataset.to_netcdf(temporary, engine="netcdf4")


@runtime_checkable
class FileVariable(Protocol):
    """What axes and units are read from: a `Variable`, or one of xarray."""

    @property
    def name(self) -> Any: ...
    @property
    def dims(self) -> tuple[Any, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def attrs(self) -> dict[Any, Any]: ...
    @property
    def values(self) -> Any: ...


@runtime_checkable
class FileContents(Protocol):
    """A `Contents`, or a dataset of xarray."""

    @property
    def variables(self) -> Any: ...
    @property
    def attrs(self) -> dict[Any, Any]: ...
    def __getitem__(self, name: Any, /) -> Any: ...


@dataclass(frozen=True)
class Variable:
    """Values with names for their axes; missing ones are NaN."""

    name: str
    dims: tuple[str, ...]
    values: np.ndarray
    attrs: dict[str, Any]

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.dims, self.shape, strict=True))

    def squeeze(self, dims: Sequence[str]) -> "Variable":
        """Without these axes of length 1."""
        at = tuple(self.dims.index(dim) for dim in dims)
        kept = tuple(dim for dim in self.dims if dim not in dims)
        return replace(self, dims=kept, values=self.values.squeeze(at))

    def transpose(self, *dims: str) -> "Variable":
        """With the axes in this order."""
        order = [self.dims.index(dim) for dim in dims]
        return replace(self, dims=dims, values=self.values.transpose(order))


@dataclass(frozen=True)
class Contents:
    """All variables of a file by name, and its global attributes."""

    variables: dict[str, Variable]
    attrs: dict[str, Any]

    def __getitem__(self, name: str) -> Variable:
        return self.variables[name]


@names_its_file("a NetCDF file")
def read_contents(path) -> Contents:
    """Read a NetCDF file into memory, fill values as NaN, times as plain numbers.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file that is truncated, damaged or of another format.
    """
    import netCDF4  # takes long

    path = existing_file(path)
    check_complete(path)
    with netCDF4.Dataset(path) as file:
        file.set_always_mask(False)
        _check_sizes_of_file(path, file)
        variables = {name: _read(variable) for name, variable in file.variables.items()}
        return Contents(variables, {name: file.getncattr(name) for name in file.ncattrs()})


def _check_sizes_of_file(path, file: "netCDF4.Dataset") -> None:
    """Refuse what the memory cannot hold: the variables, or the blocks in which the file keeps them."""
    total = 0
    for name, variable in file.variables.items():
        item = np.dtype(variable.dtype).itemsize
        blocks = variable.chunking()
        block = math.prod(blocks) * item if isinstance(blocks, list) else 0
        n_bytes = math.prod(variable.shape) * item
        check_size(path, name, max(n_bytes, block))
        total += n_bytes
    check_size(path, "file", total)


def _read(variable: "netCDF4.Variable") -> Variable:
    attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
    values = variable[...]
    # A mask comes only with values that are missing, which integers have no room for.
    if np.ma.isMaskedArray(values):
        kept = values.dtype if values.dtype.kind == "f" else np.dtype("float64")
        values = np.ma.filled(values.astype(kept), np.nan)
    return Variable(variable.name, tuple(variable.dimensions), np.asarray(values), attributes)
