"""The variables of a NetCDF file as plain arrays, where xarray would take longer to import than to read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import netCDF4
import numpy as np

from .errors import FileFormatError, existing_file
from .netcdf import check_complete

_FILL_VALUES = ("_FillValue", "missing_value")


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


def read_contents(path) -> Contents:
    """Read a NetCDF file into memory, fill values as NaN, times as plain numbers.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file that is truncated, damaged or of another format.
    """
    path = existing_file(path)
    check_complete(path)
    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            variables = {name: _read(variable) for name, variable in file.variables.items()}
            return Contents(variables, {name: file.getncattr(name) for name in file.ncattrs()})
    except (OSError, RuntimeError, ValueError, UnicodeDecodeError) as error:
        raise FileFormatError(
            path, "file", "a NetCDF file", f"'{error}'", "it is damaged or of another format"
        ) from error


def _read(variable: Any) -> Variable:
    attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
    values = np.asarray(variable[...])
    if values.dtype.kind in "fiu":
        values = _decoded(values, attributes)
    return Variable(variable.name, tuple(variable.dimensions), values, attributes)


def _decoded(values: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    """Numbers as they were before they were packed."""
    if values.dtype.kind == "i" and str(attributes.pop("_Unsigned", "false")).lower() == "true":
        values = values.view(f"u{values.dtype.itemsize}")
    fills = [np.ravel(attributes.pop(name))[0] for name in _FILL_VALUES if name in attributes]
    scale, offset = (attributes.pop(name, None) for name in ("scale_factor", "add_offset"))
    if not fills and scale is None and offset is None:
        return values
    missing = np.isin(values, np.array(fills).astype(values.dtype))
    # Integers of two bytes at most, and numbers in single precision, are exact in single precision.
    is_short = values.dtype.itemsize <= (2 if values.dtype.kind in "iu" else 4)
    numbers = values.astype("float32" if is_short and scale is None and offset is None else "float64")
    numbers = numbers * (1.0 if scale is None else scale) + (0.0 if offset is None else offset)
    return np.where(missing, np.nan, numbers)
