"""What files of instruments and of reanalyses share: fill values, flags, times and gaps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from .cf_axes import TimeAxis
from .errors import FileFormatError
from .series import start_of_case


def as_paths(paths) -> list[Path]:
    """One path or several, as a list."""
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not several:
        raise ValueError("paths: expected at least one file, got none.")
    return [Path(path) for path in several]


def without_fill(variable: xr.DataArray) -> xr.DataArray:
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
