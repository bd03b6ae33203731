"""Variables of files: finding them, their units, and errors that name file and variable."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import FileFormatError, name_of
from .units import Conversion, as_conversion, is_known, unit_at_end, unit_in_brackets, unit_of

if TYPE_CHECKING:
    import xarray as xr

_MOST_LISTED = 40
_NO_DATA = re.compile(
    "time|lat|lon|latitude|longitude|lev|level|depth|height|altitude|z|.*(qc|flag|quality).*", re.IGNORECASE
)
"""Names of axes, positions and quality flags."""
_REFERENCES = ("bounds", "coordinates", "ancillary_variables", "grid_mapping", "cell_measures")


def array(
    path: object, name: str, dims: Sequence[Hashable], values: np.ndarray, attrs: Mapping[str, Any]
) -> "xr.DataArray":
    """Build a variable; its `encoding` has the path of its file and its name there."""
    import xarray as xr  # takes long

    variable = xr.DataArray(values, dims=tuple(dims), name=name, attrs=dict(attrs))
    variable.encoding |= {"source": str(path), "name": name}
    return variable


def name_in_file(variable: "xr.DataArray") -> str:
    """Name of a variable in its file, or its current name if it comes from no file."""
    return str(variable.encoding.get("name", variable.name))


def like(
    variable: "xr.DataArray", values: np.ndarray, dims: Sequence[Hashable] | None = None
) -> "xr.DataArray":
    """Copy a variable with other values, on the same axes or others."""
    dims = variable.dims if dims is None else dims
    return array(name_of(variable), name_in_file(variable), dims, values, variable.attrs)


def names_of(file: "xr.Dataset") -> list[str]:
    """Names of all variables in the order of the file, coordinates included; xarray moves some to the end."""
    order = [name for name in file.encoding.get("order", ()) if name in file.variables]
    return list(dict.fromkeys([*order, *map(str, file.variables)]))


def variables_of(file: "xr.Dataset") -> list["xr.DataArray"]:
    """All variables of a file in its order, coordinates included."""
    return [file[name] for name in names_of(file)]


def error_of(variable: "xr.DataArray", expected: str, got: object, advice: str) -> FileFormatError:
    """Build an error about a variable."""
    limits = [key for key in ("valid_range", "valid_min", "valid_max") if key in variable.attrs]
    if limits and variable.size and variable.dtype.kind == "f" and np.isnan(variable.values).all():
        got = f"{got} (no value within {' and '.join(limits)} of the file)"
    return FileFormatError(name_of(variable), name_in_file(variable), expected, str(got), advice)


def error_in(file: "xr.Dataset", key: str, expected: str, got: object, advice: str) -> FileFormatError:
    """Build an error about a file."""
    return FileFormatError(name_of(file), key, expected, str(got), advice)


def note_on(variable: "xr.DataArray", note: str) -> str:
    """Text of a warning about a variable."""
    return f"{name_of(variable)}: {variable.name}: {note}."


def listing(file: "xr.Dataset") -> str:
    """List the names of the variables of a file, for messages."""
    return ", ".join(names_of(file)) or "an empty file"


def get_variable(file: "xr.Dataset", name: str) -> "xr.DataArray | None":
    """Find a variable by its name, also if a unit in round brackets follows; `None` if absent."""
    name = name if name in file.variables else unit_in_brackets(name)[0]
    return file[name] if name in file.variables else None


def variable_named(file: "xr.Dataset", name: str, role: str, advice: str) -> "xr.DataArray":
    """Like `get_variable`, but raises `FileFormatError` if there is no such variable."""
    variable = get_variable(file, name)
    if variable is None:
        raise error_in(file, name, f"a variable for {role}", f"only {listing(file)}", advice)
    return variable


def find_variable(
    file: "xr.Dataset", quantity: str, names: Sequence[str], standard_names: Collection[str], advice: str
) -> "xr.DataArray | None":
    """Find a variable by the first of `names` in the file, or else by its CF standard name.

    Raises:
        FileFormatError: several variables with the standard name.
    """
    hits = [name for name in names if name in file.variables][:1] or [
        name for name in names_of(file) if file.variables[name].attrs.get("standard_name") in standard_names
    ]
    if len(hits) > 1:
        raise error_in(file, quantity, "one variable with its CF standard name", " and ".join(hits), advice)
    return file[hits[0]] if hits else None


def squeezed(variable: "xr.DataArray", kept: Collection[Hashable] = ()) -> "xr.DataArray":
    """Drop axes of length 1, except those to keep."""
    return variable.squeeze([d for d, n in variable.sizes.items() if n == 1 and d not in kept], drop=True)


def on_axes(variable: "xr.DataArray", dims: Sequence[Hashable], advice: str) -> "xr.DataArray":
    """Transpose to these axes and drop others of length 1; `FileFormatError` if longer ones remain."""
    reduced = squeezed(variable, dims)
    if set(reduced.dims) != set(dims):
        raise error_of(variable, f"the dimensions {tuple(dims)}", reduced.dims, advice)
    return reduced.transpose(*dims)


def unit_in_file(variable: "xr.DataArray", wanted: str | None, key: str) -> str:
    """Unit of a variable: `wanted` by the user, or else in its attributes or its name.

    Raises:
        FileFormatError: no unit; the message names the quantity, `key`.
    """
    unit = wanted if wanted is not None else variable.attrs.get("units", unit_at_end(str(variable.name))[1])
    if unit is None:
        advice = f"give the unit of {key}: the key `unit` of this input, or `units` of a mapping"
        raise error_of(variable, "a unit in the file, an attribute 'units' or NAME [UNIT]", "none", advice)
    return str(unit)


def numbers_in(variable: "xr.DataArray") -> np.ndarray:
    """Values in double precision; `FileFormatError` if they are not numbers."""
    if variable.dtype.kind not in "fiub":
        raise error_of(variable, "numbers", f"type {variable.dtype}", "choose another variable")
    return variable.values.astype(float)


def texts_in(variable: "xr.DataArray") -> np.ndarray:
    """Values as texts without surrounding blanks; characters along a last axis are joined."""
    values = variable.values
    if values.dtype == "S1" and variable.dims and str(variable.dims[-1]).upper().startswith("STRING"):
        values = np.ascontiguousarray(values).view(f"S{values.shape[-1]}")[..., 0]
    texts = [raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw) for raw in values.flat]
    return np.array([text.strip(" \0") for text in texts], dtype=str).reshape(values.shape)


def in_unit(
    variable: "xr.DataArray", quantity: str, requested: str | Conversion | None = None, **of_water: float
) -> np.ndarray:
    """Convert the values of a quantity to the package's unit.

    `of_water` is the density and heat capacity for kinematic fluxes, as in `conversion`. Tracers keep their
    unit.

    Raises:
        FileFormatError: no unit, or one of another quantity.
    """
    change = as_conversion(requested)
    unit = unit_in_file(variable, change.unit, quantity) if is_known(quantity) else None
    try:
        scale, offset = change.linear(quantity, unit, **of_water)
    except ValueError:
        expected = f"a unit that converts to {unit_of(quantity)}"
        advice = f"correct the unit of {quantity}: the key `unit` of this input, or `units` of a mapping"
        raise error_of(variable, expected, f"'{change.unit or unit}'", advice) from None
    values = numbers_in(variable)
    # The product of a scalar array and a number is a NumPy scalar, not an array.
    return values if (scale, offset) == (1.0, 0.0) else np.asarray(values * scale + offset)


def note_of_unused(file: "xr.Dataset", used: Collection[str]) -> list[str]:
    """Describe the numeric variables that a reader does not use: a list of one note, or an empty list.

    Variables named as axes, positions or quality flags, those with an attribute `axis`, and those that
    attributes refer to are not listed.
    """
    variables = {name: file.variables[name] for name in names_of(file)}
    references = [str(var.attrs.get(key, "")) for var in variables.values() for key in _REFERENCES]
    hidden = {*used, *" ".join(references).split()}
    unused = [
        name
        for name, var in variables.items()
        if name not in hidden and var.dtype.kind in "fiu" and var.dims not in ((), (name,))
        if "axis" not in var.attrs and not _NO_DATA.fullmatch(name)
    ]
    if not unused:
        return []
    others = f" and {len(unused) - _MOST_LISTED} others" if len(unused) > _MOST_LISTED else ""
    return [f"{name_of(file)}: not used: {', '.join(unused[:_MOST_LISTED])}{others}"]
