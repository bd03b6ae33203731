"""The variables of a NetCDF file as plain arrays, where xarray would take longer to import than to read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import netCDF4
import numpy as np

from .errors import check_size, existing_file, names_its_file
from .netcdf import check_complete


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
    path = existing_file(path)
    check_complete(path)
    with netCDF4.Dataset(path) as file:
        file.set_always_mask(False)
        _check_sizes(path, file)
        variables = {name: _read(variable) for name, variable in file.variables.items()}
        return Contents(variables, {name: file.getncattr(name) for name in file.ncattrs()})


def _check_sizes(path, file: netCDF4.Dataset) -> None:
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


def _read(variable: netCDF4.Variable) -> Variable:
    attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
    values = variable[...]
    # A mask comes only with values that are missing, which integers have no room for.
    if np.ma.isMaskedArray(values):
        kept = values.dtype if values.dtype.kind == "f" else np.dtype("float64")
        values = np.ma.filled(values.astype(kept), np.nan)
    return Variable(variable.name, tuple(variable.dimensions), np.asarray(values), attributes)
