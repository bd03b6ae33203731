"""Series at one place from plain files: CSV with a line per time, or NetCDF with variables over time."""

import csv
import datetime
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from ..observables import OBSERVABLES, is_number, parse
from .cf_axes import (
    TimeAxis,
    check_gaps,
    converted,
    find_axis,
    has_flag,
    read_time,
    since_start,
    without_fill,
)
from .errors import (
    FileFormatError,
    check_possible,
    decimal,
    existing_file,
    names_its_file,
    read_text,
    reading,
)
from .netcdf import read_netcdf
from .series import GOOD_FLAGS, Series

_CSV_ENDINGS = (".csv", ".txt", ".tsv")
_HEADER = re.compile(r"\s*([^\[\]]*?)\s*(?:\[([^\[\]]*)\])?\s*$")
_Rows = list[tuple[int, list[str]]]
_MISSING = ("", "nan", "na", "null", "none")


@names_its_file("a table")
def read_table(path) -> xr.Dataset:
    """The columns of a CSV file, or the variables of a NetCDF file, with their units as attributes.

    The first line of a CSV file names the columns, `wind_u [m s-1]`; one of them is `time`, in ISO 8601, or
    a number with a unit such as `time [days since 2012-01-01]`. Lines that start with # are comments.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file that is no table, with its line.
    """
    path = existing_file(path)
    return _read_csv(path) if path.suffix.lower() in _CSV_ENDINGS else read_netcdf(path)


@names_its_file("a table")
def read_series(
    path,
    dataset: xr.Dataset,
    name: str,
    quantity: str,
    *,
    start_time: str | None,
    unit: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    longest_gap: float | None = None,
    missing: bool = False,
) -> Series:
    """One column of a table in the unit of the package, checked.

    Args:
        path: of the file, for messages.
        dataset: from `read_table`.
        name: of the column.
        quantity: what it is: its name in the table of quantities.
        start_time: ISO 8601 time at which the time of the case is 0, Universal Time; `None` for times that
            count from the start of the case.
        unit: goes before the one in the file.
        time: name of the times, where there are several.
        time_unit: of the times; goes before the one in the file.
        longest_gap: refuse a longer time between two records [s].
        missing: whether values may be missing, which are NaN.

    Raises:
        FileFormatError: no such column, another unit or shape, times that do not increase, a gap, or a value
            that cannot be, with its time.
    """
    if name not in dataset.variables:
        raise FileFormatError(
            path,
            name,
            f"a variable for {quantity}",
            f"only {', '.join(map(str, dataset.variables))}",
            "correct its name (variables)",
        )
    variable = without_fill(dataset[name])
    axis_name = time if time in dataset.variables and dataset[time].dims[0] in variable.dims else None
    coordinate = find_axis(path, dataset, variable, axis_name, "time")
    others = [dim for dim, n in variable.sizes.items() if n == 1 and dim not in coordinate.dims]
    variable = variable.squeeze(others)
    if variable.dims != coordinate.dims:
        raise FileFormatError(
            path, name, "time as its only dimension", f"{variable.dims}", "choose one place and level"
        )
    axis = read_time(path, coordinate, time_unit)
    values = converted(path, variable, quantity, unit)
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size and not missing:
        raise FileFormatError(
            path,
            name,
            "a series without gaps",
            f"{values[gaps[0]]} at {axis.describe(int(gaps[0]))}",
            f"fill the {gaps.size} missing values before the run",
        )
    if values.size < 2 - missing:
        raise FileFormatError(path, axis.name, "at least two records", f"{values.size}", "add more")
    check_possible(path, name, quantity, values, axis.describe)
    if longest_gap is not None:
        check_gaps(path, axis, longest_gap)
    return Series(_seconds(path, axis, start_time), values)


def _seconds(path, axis: TimeAxis, start_time: str | None) -> np.ndarray:
    """Times [s] since the start of the case."""
    if start_time is not None:
        return since_start(path, axis, start_time)
    if axis.epoch is None:
        return axis.seconds
    raise FileFormatError(
        path,
        axis.name,
        "times in seconds, or another unit, since the start of a case without a date",
        f"times since {axis.epoch.isoformat()}",
        "choose a case with `start_time`",
    )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that are no comments, with their number."""
    text = read_text(path, "text in UTF-8", "utf-8-sig")
    lines = [(i, t) for i, t in enumerate(text.splitlines(), 1) if t.strip() and not t.startswith("#")]
    delimiter = next((d for d in (",", ";", "\t") if lines and d in lines[0][1]), ",")
    for number, line in lines:
        yield number, next(csv.reader([line], delimiter=delimiter))


def _read_csv(path: Path) -> xr.Dataset:
    rows = list(_rows(path))
    if len(rows) < 2:
        raise FileFormatError(
            path, "file", "a line of names and lines of values", f"{len(rows)} lines", "add what is missing"
        )
    names, units = _header(path, *rows[0])
    for number, cells in rows[1:]:
        if len(cells) != len(names):
            raise FileFormatError(
                path,
                f"line {number}",
                f"{len(names)} values, as in the line of names",
                f"{len(cells)}",
                "complete the line",
            )
    at = names.index("time")
    time, unit = _times(path, rows[1:], at, units[at])
    variables = {
        name: ("time", _numbers(path, name, rows[1:], i), {} if units[i] is None else {"units": units[i]})
        for i, name in enumerate(names)
        if i != at
    }
    return xr.Dataset(variables, {"time": ("time", time, {"units": unit})})


def _header(path: Path, number: int, cells: list[str]) -> tuple[list[str], list[str | None]]:
    """Names and units of the columns."""
    matches = [_HEADER.match(cell) for cell in cells]
    names = [match[1] if match else cell.strip() for match, cell in zip(matches, cells, strict=True)]
    where = f"line {number}"
    if "time" not in names:
        raise FileFormatError(
            path, where, "names of columns, one of them time", ", ".join(names), "add a line of names"
        )
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise FileFormatError(path, where, "every name once", f"'{twice[0]}' twice", "rename a column")
    return names, [match[2] if match else None for match in matches]


def _times(
    path: Path, rows: list[tuple[int, list[str]]], at: int, unit: str | None
) -> tuple[np.ndarray, str]:
    """Numbers and their unit."""
    if unit is not None:
        return _numbers(path, "time", rows, at), unit
    moments = []
    for number, cells in rows:
        try:
            moment = datetime.datetime.fromisoformat(cells[at].strip())
        except ValueError:
            raise FileFormatError(
                path,
                f"line {number}: time",
                "an ISO 8601 time such as 2012-06-10T00:00:00",
                f"'{cells[at].strip()}'",
                "write it so, or name a unit, time [days since 2012-01-01]",
            ) from None
        aware = moment.tzinfo is not None
        moments.append(moment.astimezone(datetime.UTC).replace(tzinfo=None) if aware else moment)
    seconds = np.array([(moment - moments[0]).total_seconds() for moment in moments])
    return seconds, f"seconds since {moments[0].isoformat(sep=' ')}"


def _numbers(path: Path, name: str, rows: _Rows, at: int) -> np.ndarray:
    values = np.full(len(rows), np.nan)
    for i, (number, cells) in enumerate(rows):
        text = cells[at].strip()
        if text.lower() in _MISSING:
            continue
        try:
            values[i] = decimal(text)
        except ValueError:
            raise FileFormatError(
                path, f"line {number}: {name}", "a number", f"'{text}'", "correct it, or leave it empty"
            ) from None
    return values


def read_numbers(
    path,
    observable: str,
    variable: str,
    *,
    start_time: str | None,
    unit: str | None = None,
    flags: str | None = None,
    good_flags: Sequence[int] = GOOD_FLAGS,
) -> tuple[Series, int]:
    """An observable that is one number at a time, NaN where it is missing or its flag is not good.

    Args:
        path: CSV or NetCDF file.
        observable: its name in the package.
        variable: its name in the file.
        start_time: as in `read_series`.
        unit: goes before the one in the file.
        flags: name in the file of the quality flags, which are numbers.
        good_flags: values with another one are left out.

    Returns:
        The series, and how many values were left out because of their flags.

    Raises:
        ValueError: an observable that is no number of the column.
        FileNotFoundError: no such file.
        FileFormatError: as `read_series`; no flags of that name, or no good value.
    """
    name = parse(observable).name
    if name not in OBSERVABLES or not is_number(observable):
        raise ValueError(
            f"expected a number of the column, such as sea_surface_temperature or mixed_layer_depth, got "
            f"'{observable}'; profiles come from files of moorings or floats."
        )
    with reading(path, "a table"):
        return _read(path, variable, name, start_time, unit, flags, good_flags)


def _read(
    path,
    variable: str,
    quantity: str,
    start_time: str | None,
    unit: str | None,
    flags: str | None,
    good_flags: Sequence[int],
) -> tuple[Series, int]:
    table = read_table(path)
    series = read_series(path, table, variable, quantity, start_time=start_time, unit=unit, missing=True)
    good = np.ones(series.values.shape, dtype=bool)
    if flags is not None:
        if flags not in table.variables or table[flags].shape != series.values.shape:
            raise FileFormatError(
                path,
                flags,
                f"a quality flag for each of the {series.values.size} values of {variable}",
                "none" if flags not in table.variables else f"shape {table[flags].shape}",
                "correct its name (flags)",
            )
        good = has_flag(table[flags].values, good_flags)
    kept = np.where(good, series.values, np.nan)
    if not np.isfinite(kept).any():
        raise FileFormatError(
            path, variable, "a good value", f"none of {kept.size}", "check good_flags and fill values"
        )
    return Series(series.time, kept), int((np.isfinite(series.values) & ~good).sum())
