"""Series at one place from plain files: CSV with a line per time, or NetCDF with variables over time."""

import csv
import datetime
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..observables import OBSERVABLES, is_number, parse
from .axes import Record, find_axis, has_flag, measured, read_time
from .errors import FileFormatError, decimal, existing_file, names_its_file, read_text, reading
from .netcdf import Contents, Variable, read_contents
from .series import GOOD_FLAGS, Series

_CSV_ENDINGS = (".csv", ".txt", ".tsv")
_HEADER = re.compile(r"\s*([^\[\]]*?)\s*(?:\[([^\[\]]*)\])?\s*$")
_MISSING = ("", "nan", "na", "null", "none")
_Cells = list[tuple[int, str]]
"""Texts of a column, each with the number of its line."""


@names_its_file("a table")
def read_table(path) -> Contents:
    """The columns of a CSV file, or the variables of a NetCDF file, with their units as attributes.

    The first line of a CSV file names the columns, `wind_u [m s-1]`; one of them is `time`, in ISO 8601, or
    a number with a unit such as `time [days since 2012-01-01]`. Lines that start with # are comments.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file that is no table, with its line.
    """
    path = existing_file(path)
    return _read_csv(path) if path.suffix.lower() in _CSV_ENDINGS else read_contents(path)


def read_series(path, name: str, quantity: str, *, start_time: str | None, unit: str | None = None) -> Series:
    """One column of a table in the unit of the package, checked.

    Args:
        path: CSV or NetCDF file.
        name: of the column.
        quantity: what it is: its name in the table of quantities.
        start_time: ISO 8601 time at which the time of the case is 0, Universal Time; `None` for times that
            count from the start of the case.
        unit: goes before the one in the file.

    Raises:
        FileFormatError: no such column, another unit or shape, times that do not increase, a gap, or a value
            that cannot be, with its time.
    """
    with reading(path, "a table"):
        record = record_of(read_table(path), name, quantity, start_time=start_time, unit=unit)
    return Series(record.time, record.values)


def record_of(
    table: Contents,
    name: str,
    quantity: str,
    *,
    start_time: str | None,
    unit: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    longest_gap: float | None = None,
    missing: bool = False,
) -> Record:
    """One column of a table."""
    variable = table.named(name, quantity, "correct its name (variables)")
    given = time if time in table and table[time].dims[0] in variable.dims else None
    coordinate = find_axis(table, variable, given, "time")
    advice, expected = "choose one place and level", "time as its only dimension"
    variable = variable.along(coordinate.dims, advice, expected)
    axis = read_time(coordinate, time_unit)
    values = variable.converted(quantity, unit)
    if not missing:
        axis.check_complete(variable, values, "a series without gaps")
    if values.size < 2 - missing:
        raise coordinate.error("at least two records", values.size, "add more")
    values = measured(variable, quantity, axis, unit)
    axis.check_gaps(longest_gap)
    return Record(variable, axis, axis.since(start_time), values)


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
    quantity = parse(observable).name
    if quantity not in OBSERVABLES or not is_number(observable):
        raise ValueError(
            f"expected a number of the column, such as sea_surface_temperature or mixed_layer_depth, got "
            f"'{observable}'; profiles come from files of moorings or floats."
        )
    with reading(path, "a table"):
        table = read_table(path)
        record = record_of(table, variable, quantity, start_time=start_time, unit=unit, missing=True)
        good = np.ones(record.values.shape, dtype=bool)
        if flags is not None:
            what = f"the quality flags of {variable}"
            flagged = table.named(flags, what, "correct its name (flags)")
            good = has_flag(
                flagged.along(record.variable.dims, "correct its name (flags)").values, good_flags
            )
        kept = np.where(good, record.values, np.nan)
        if not np.isfinite(kept).any():
            advice = "check good_flags and fill values"
            raise record.variable.error("a good value", f"none of {kept.size}", advice)
    return Series(record.time, kept), int((np.isfinite(record.values) & ~good).sum())


def _read_csv(path: Path) -> Contents:
    text = read_text(path, "text in UTF-8", "utf-8-sig")
    lines = [(i, t) for i, t in enumerate(text.splitlines(), 1) if t.strip() and not t.startswith("#")]
    delimiter = next((d for d in (",", ";", "\t") if lines and d in lines[0][1]), ",")
    rows = [(number, next(csv.reader([line], delimiter=delimiter))) for number, line in lines]
    if len(rows) < 2:
        expected = "a line of names and lines of values"
        raise FileFormatError(path, "file", expected, f"{len(rows)} lines", "add what is missing")
    names, units = _header(path, *rows.pop(0))
    for number, cells in rows:
        if len(cells) != len(names):
            expected = f"{len(names)} values, as in the line of names"
            raise FileFormatError(path, f"line {number}", expected, f"{len(cells)}", "complete the line")
    variables = {}
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        column = [(number, cells[i].strip()) for number, cells in rows]
        if name == "time" and unit is None:
            values, unit = _moments(path, column)
        else:
            values = _numbers(path, name, column)
        attributes = {} if unit is None else {"units": unit}
        variables[name] = Variable(path, name, ("time",), values, attributes)
    variables["time"] = variables.pop("time")  # messages list what was measured first
    return Contents(path, variables, {})


def _header(path: Path, number: int, cells: list[str]) -> tuple[list[str], list[str | None]]:
    """Names and units of the columns."""
    matches = [_HEADER.match(cell) for cell in cells]
    names = [match[1] if match else cell.strip() for match, cell in zip(matches, cells, strict=True)]
    where = f"line {number}"
    if "time" not in names:
        expected = "names of columns, one of them time"
        raise FileFormatError(path, where, expected, ", ".join(names), "add a line of names")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise FileFormatError(path, where, "every name once", f"'{twice[0]}' twice", "rename a column")
    return names, [match[2] if match else None for match in matches]


def _moments(path: Path, column: _Cells) -> tuple[np.ndarray, str]:
    """Dates as numbers, and their unit."""
    moments = []
    for number, text in column:
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise FileFormatError(
                path,
                f"line {number}: time",
                "an ISO 8601 time such as 2012-06-10T00:00:00",
                f"'{text}'",
                "write it so, or name a unit, time [days since 2012-01-01]",
            ) from None
        aware = moment.tzinfo is not None
        moments.append(moment.astimezone(datetime.UTC).replace(tzinfo=None) if aware else moment)
    seconds = np.array([(moment - moments[0]).total_seconds() for moment in moments])
    return seconds, f"seconds since {moments[0].isoformat(sep=' ')}"


def _numbers(path: Path, name: str, column: _Cells) -> np.ndarray:
    values = np.full(len(column), np.nan)
    for i, (number, text) in enumerate(column):
        try:
            values[i] = np.nan if text.lower() in _MISSING else decimal(text)
        except ValueError:
            advice = "correct it, or leave it empty"
            raise FileFormatError(path, f"line {number}: {name}", "a number", f"'{text}'", advice) from None
    return values
