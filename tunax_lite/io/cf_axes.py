"""Time and height in a NetCDF file: found by CF attributes, in seconds and metres upward."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..quantities import quantity_of
from ..runtime.memory import MOST_CELLS
from .errors import FileFormatError, check_increasing
from .netcdf import FileContents, FileVariable
from .series import start_of_case
from .units import conversion

if TYPE_CHECKING:
    import xarray as xr

_VERTICAL_NAMES = {
    "depth",
    "altitude",
    "height",
    "height_above_mean_sea_level",
    "height_above_geoid",
    "depth_below_sea_surface",
}


@dataclass(frozen=True)
class TimeAxis:
    """Times [s] since an epoch, or since an unknown moment if that is `None`."""

    name: str
    seconds: np.ndarray
    epoch: datetime.datetime | None

    def describe(self, record: int) -> str:
        """The time of a record, for messages."""
        seconds = float(self.seconds[record])
        if self.epoch is None:
            return f"{seconds:g} s (record {record})"
        moment = self.epoch + datetime.timedelta(seconds=seconds)
        return f"{moment.isoformat(timespec='seconds')} (record {record})"


@dataclass(frozen=True)
class VerticalAxis:
    """Heights of the levels [m], increasing, and the faces between them if the file has bounds.

    `is_reversed` says that the file has the uppermost level first.
    """

    name: str
    z: np.ndarray
    faces: np.ndarray | None
    is_reversed: bool


def unit_of(path, variable: FileVariable, given: str | None, key: str) -> str:
    """The unit of a variable: the one given, or the one in the file.

    Raises:
        FileFormatError: neither.
    """
    unit = given if given is not None else variable.attrs.get("units")
    if unit is None:
        raise FileFormatError(
            path,
            str(variable.name),
            "an attribute 'units'",
            "none",
            f"give the unit of {key} in the mapping (units)",
        )
    return str(unit)


def converted(path, variable: FileVariable, quantity: str, unit: str | None) -> np.ndarray:
    """Values in the unit of the package.

    Raises:
        FileFormatError: no unit, or a unit of something else.
    """
    unit = unit_of(path, variable, unit, quantity)
    try:
        scale, offset = conversion(quantity, unit)
    except ValueError:
        raise FileFormatError(
            path,
            str(variable.name),
            f"a unit that converts to {quantity_of(quantity).unit}",
            f"'{unit}'",
            f"correct the unit of {quantity} in the mapping (units)",
        ) from None
    values = numbers(path, variable)
    return values if (scale, offset) == (1.0, 0.0) else values * scale + offset


def numbers(path, variable: FileVariable) -> np.ndarray:
    """Values in double precision.

    Raises:
        FileFormatError: a variable of text.
    """
    if variable.dtype.kind not in "fiub":
        raise FileFormatError(
            path, str(variable.name), "numbers", f"type {variable.dtype}", "choose another variable"
        )
    return variable.values.astype(float)


def is_time(variable: FileVariable) -> bool:
    """Whether a coordinate is a time by its CF attributes or its name."""
    attributes = variable.attrs
    return (
        attributes.get("axis") == "T"
        or attributes.get("standard_name") == "time"
        or " since " in str(attributes.get("units", ""))
        or str(variable.name).lower() in ("time", "t")
    )


def is_vertical(variable: FileVariable) -> bool:
    """Whether a coordinate is a height or depth by its CF attributes or its name."""
    attributes = variable.attrs
    return (
        attributes.get("axis") == "Z"
        or str(attributes.get("positive", "")).lower() in ("up", "down")
        or attributes.get("standard_name") in _VERTICAL_NAMES
        or str(variable.name).lower() in ("z", "depth", "height", "z_center")
    )


def find_axis(path, dataset: FileContents, variable: FileVariable, given: str | None, kind: str) -> Any:
    """The coordinate of a variable that is its `time` or its `vertical` axis, of the kind of the dataset.

    Raises:
        FileFormatError: none or several, or a given name that does not fit.
    """
    if given is not None:
        if given not in dataset.variables:
            raise FileFormatError(
                path,
                given,
                f"a variable for the {kind} axis",
                f"only {', '.join(map(str, dataset.variables))}",
                f"correct '{kind}' in the mapping",
            )
        coordinate = dataset[given]
        if coordinate.ndim != 1 or coordinate.dims[0] not in variable.dims:
            raise FileFormatError(
                path,
                given,
                f"one of the dimensions {variable.dims} of {variable.name}",
                f"{coordinate.dims}",
                f"correct '{kind}' in the mapping",
            )
        return coordinate
    matches = is_time if kind == "time" else is_vertical
    found = [
        dataset[name]
        for name in dataset.variables
        if dataset[name].ndim == 1 and dataset[name].dims[0] in variable.dims and matches(dataset[name])
    ]
    # The coordinate variable of the dimension itself comes before others on the same dimension.
    own = [coordinate for coordinate in found if coordinate.name == coordinate.dims[0]]
    candidates = own or found
    if len(candidates) != 1:
        raise FileFormatError(
            path,
            str(variable.name),
            f"one {kind} coordinate among the dimensions {variable.dims}",
            " and ".join(str(c.name) for c in candidates) or "none with CF attributes",
            f"name it in the mapping ('{kind}')",
        )
    return candidates[0]


def read_time(path, variable: FileVariable, given_unit: str | None) -> TimeAxis:
    """Times of a coordinate, checked to increase.

    Raises:
        FileFormatError: no unit, an unknown unit, epoch or calendar, or times that do not increase.
    """
    name = str(variable.name)
    unit = unit_of(path, variable, given_unit, "time")
    interval, _, reference = unit.partition(" since ")
    calendar = str(variable.attrs.get("calendar", "standard")).lower()
    epoch: Any = None
    import netCDF4  # takes long

    try:
        scale, _ = conversion("interval", interval)
        if reference:
            epoch = netCDF4.num2date(
                np.zeros(()),
                f"seconds since {reference}",
                calendar,
                only_use_cftime_datetimes=False,
                only_use_python_datetimes=True,
            )
            epoch = epoch.replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise FileFormatError(
            path,
            name,
            "a unit such as 'seconds' or 'days since 2000-01-01' in the standard calendar",
            f"'{unit}' in the calendar '{calendar}'",
            "give the unit of time in the mapping (units)",
        ) from None
    values = numbers(path, variable)
    # Days in double precision since 1950 are good to a microsecond: drop the digits beyond.
    axis = TimeAxis(name, values if scale == 1.0 else np.round(values * scale, 3), epoch)
    try:
        if epoch is not None:
            known = axis.seconds[np.isfinite(axis.seconds)]
            for seconds in (known.min(initial=0.0), known.max(initial=0.0)):
                _ = epoch + datetime.timedelta(seconds=float(seconds))
    except OverflowError:
        raise FileFormatError(
            path,
            name,
            "times between the years 1 and 9999",
            f"{values.min():g} to {values.max():g} in {unit}",
            "correct the unit or the times",
        ) from None
    check_increasing(path, name, values, None if epoch is None else axis.describe)
    return axis


def _is_downward(path, variable: FileVariable, given: str | None, values: np.ndarray) -> bool:
    stated = given or str(variable.attrs.get("positive", "")).lower()
    if stated in ("up", "down"):
        return stated == "down"
    if str(variable.attrs.get("standard_name", "")).startswith("depth"):
        return True
    if np.all(values <= 0.0):
        return False
    raise FileFormatError(
        path,
        str(variable.name),
        "heights of at most 0 m, or an attribute 'positive'",
        f"{np.nanmin(values):g} to {np.nanmax(values):g}",
        "say 'positive: down' in the mapping if these are depths",
    )


def read_vertical(
    path, dataset: FileContents, variable: FileVariable, unit: str | None, positive: str | None
) -> VerticalAxis:
    """Heights of a coordinate, positive upward, checked to lie below the surface and to be sorted.

    Raises:
        FileFormatError: no or another unit, a direction that is not known, levels above the surface or
            not sorted.
    """
    name = str(variable.name)
    values = converted(path, variable, "z", unit)
    sign = -1.0 if _is_downward(path, variable, positive, values) else 1.0
    z = sign * values
    is_reversed = bool(z.size > 1 and z[0] > z[-1])
    z = z[::-1] if is_reversed else z
    check_increasing(path, name, z)
    if z.size < 3:
        raise FileFormatError(path, name, "at least 3 levels", f"{z.size}", "choose another file")
    if z.size > MOST_CELLS:
        raise FileFormatError(path, name, f"at most {MOST_CELLS} levels", f"{z.size}", "choose a part")
    if z[-1] > 0.0:
        raise FileFormatError(
            path,
            name,
            "levels at or below the surface",
            f"{z[-1]:g} m, positive upward",
            "check 'positive' in the mapping",
        )
    faces = None
    bounds = variable.attrs.get("bounds")
    if bounds in dataset.variables and dataset[bounds].shape == (z.size, 2):
        pairs = sign * converted(path, dataset[bounds], "z", unit_of(path, variable, unit, "z"))
        pairs = np.sort(pairs[::-1] if is_reversed else pairs, axis=1)
        if np.array_equal(pairs[1:, 0], pairs[:-1, 1]):
            faces = np.append(pairs[:, 0], pairs[-1, 1])
    return VerticalAxis(name, z + 0.0, faces, is_reversed)


def as_paths(paths) -> list[Path]:
    """One path or several, as a list."""
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not several:
        raise ValueError("paths: expected at least one file, got none.")
    return [Path(path) for path in several]


def without_fill(variable: "xr.DataArray") -> "xr.DataArray":
    """Numbers with NaN for every fill value the variable names, however the attribute is written.

    Files of WHOI write `FillValue_`, which no library knows.
    """
    if variable.dtype.kind not in "fiu":
        return variable
    fills = [
        np.ravel(value)[0]
        for name, value in variable.attrs.items()
        if name.replace("_", "").lower() in ("fillvalue", "missingvalue")
    ]
    values = variable.values.astype(float)
    for fill in fills:
        # A fill value in single precision differs from the same number in double precision.
        values = np.where(np.isclose(values, float(fill), rtol=1e-6, atol=0.0), np.nan, values)
    return variable.copy(data=values)


def has_flag(flags: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Where a quality flag, a number or a character, is one of those wanted."""
    if flags.dtype.kind in "fiu":
        return np.isin(flags, wanted)
    texts = [flag.decode() if isinstance(flag, bytes) else str(flag) for flag in flags.ravel()]
    return np.isin(np.array(texts, dtype=str), [str(flag) for flag in wanted]).reshape(flags.shape)


def since_start(path, axis: TimeAxis, start_time: str) -> np.ndarray:
    """Times [s] since the start of the case.

    Raises:
        FileFormatError: times since no date.
    """
    if axis.epoch is None:
        raise FileFormatError(
            path,
            axis.name,
            "times since a date, such as 'days since 1950-01-01'",
            "no date",
            "give the unit of time (units)",
        )
    return axis.seconds + (axis.epoch - start_of_case(start_time)).total_seconds()


def check_gaps(path, axis: TimeAxis, longest: float) -> None:
    """Raise `FileFormatError` where no record follows another within `longest` [s]."""
    steps = np.diff(axis.seconds)
    late = np.flatnonzero(steps > longest * (1.0 + 1e-6))
    if late.size:
        at = int(late[0])
        raise FileFormatError(
            path,
            axis.name,
            f"a record at least every {longest:g} s",
            f"a gap of {steps[at]:g} s after {axis.describe(at)}",
            "fill the gap, or shorten the series",
        )


def check_salinity_unit(path, key: str, values: np.ndarray) -> None:
    """Raise `FileFormatError` for salinity in kg kg-1 that goes by another unit."""
    if np.any(values > 0.0) and np.nanmax(values) < 0.1:
        raise FileFormatError(
            path,
            key,
            "salinity in g kg-1 or on the practical scale",
            f"at most {np.nanmax(values):g}",
            "it looks like kg kg-1; say so (units)",
        )
