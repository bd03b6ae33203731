"""Variants of text tables: local dates, decimal commas, units in round brackets.

Each function converts unambiguous texts to the standard form and leaves others unchanged, so that `table`
raises its errors about them.
"""

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from .units import BRACKETS

if TYPE_CHECKING:
    import pandas as pd

TIMES = ("time", "datetime", "date", "timestamp", "date_time")
"""Names of the column of the times."""
Rows = list[tuple[int, list[str]]]
"""Numbers of lines with their cells, names first."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?")
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(.*))?")
_YEAR_LAST = re.compile(r"(\d{1,2})([/.])(\d{1,2})[/.](\d{4})(?:[T ]+(.*))?")
_COMPACT = re.compile(r"\d{8}([T ]\d.*)?")
_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_CODE = re.compile(r"-(9{3,5})(\.(0+|9+))?")
_ZONE = re.compile(
    r"(?<![a-z])(local|lt|lst|ces?t|me[sz]z?|ees?t|[ecmpj][sd]t|ak[sd]t|hst|bst|ist|a[ce][sd]t"
    r"|(utc|gmt) ?[+-] ?0*[1-9]\d*)(?![a-z])"
)


def is_other_zone(text: str) -> bool:
    """Whether the name of a time column states a zone other than universal time, as `Time (PST)` does."""
    return _ZONE.search(text.lower()) is not None


def decoded(data: bytes) -> str:
    """The text of a file in UTF-8, or else in UTF-16 or Windows-1252, as spreadsheets write it.

    Raises:
        UnicodeDecodeError: bytes of none of these.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data:
            raise
        return data.decode("cp1252")


def _is_date(text: str) -> bool:
    return _YEAR_FIRST.fullmatch(text) is not None or _YEAR_LAST.fullmatch(text) is not None


def with_time(frame: "pd.DataFrame") -> tuple["pd.DataFrame", str | None]:
    """Rename the column of times to `time`, and return its name in the file; `None` for dates without a unit.

    It is the column named as in `TIMES`, or a column `date` joined to the clock in a column `time`, or else
    the first column, such as `Datum`, if it contains only dates.
    """
    plain = {BRACKETS.sub(r"\1", name).strip().lower(): name for name in frame}
    columns = {name: plain[name] for name in plain if name in TIMES}
    if {"date", "time"} <= columns.keys() and _CLOCK.fullmatch(frame[columns["time"]].iloc[0]):
        date_and_clock = frame[columns["date"]] + " " + frame[columns["time"]]
        others = frame.drop(columns=[columns["date"], columns["time"]])
        return others.assign(time=date_and_clock), None
    first = str(frame.columns[0])
    if not columns and not _is_date(first) and all(map(_is_date, frame[first])):
        return frame.rename(columns={first: "time"}), None
    if "time" in frame or len(columns) != 1:
        return frame, "time"
    (name,) = columns.values()
    return frame.rename(columns={name: "time"}), name


def with_points(rows: Rows) -> Rows:
    """Replace decimal commas by points, unless a cell has a decimal point; commas must not separate cells."""
    cells = [cell for _, row in rows[1:] for cell in row]
    if not any(map(_COMMA.fullmatch, cells)) or any(map(_POINT.fullmatch, cells)):
        return rows

    def pointed(cell: str) -> str:
        return cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell

    return [rows[0], *((number, [pointed(cell) for cell in row]) for number, row in rows[1:])]


def iso_times(texts: Collection[str]) -> list[str]:
    """Convert dates such as `1.5.2019 7:30` to ISO 8601; other texts become empty.

    Dates with slashes, as `5/13/2019`, need one in the column that shows whether day or month comes first.
    """
    last = [match for text in texts if (match := _YEAR_LAST.fullmatch(text)) is not None]
    slashed = [match for match in last if match[2] == "/"]
    is_day_first = any(int(match[1]) > 12 for match in slashed)
    is_month_first = any(int(match[3]) > 12 for match in slashed)

    def iso(text: str) -> str:
        if match := _YEAR_FIRST.fullmatch(text):
            year, month, day, clock = match.groups()
        elif match := _YEAR_LAST.fullmatch(text):
            day, mark, month, year, clock = match.groups()
            if mark == "/" and is_day_first == is_month_first:
                return ""
            if mark == "/" and is_month_first:
                day, month = month, day
        else:
            return text if _COMPACT.fullmatch(text) else ""
        clock = (clock or "").strip().replace(",", ".")
        clock = clock and f"T{clock.zfill(5) if clock[1:2] == ':' else clock}"
        return f"{year}-{month.zfill(2)}-{day.zfill(2)}{clock}"

    return [iso(text) for text in texts]


def missing_code(texts: Iterable[str], values: np.ndarray) -> float | None:
    """The code for missing values of a column of numbers, such as -999, if all others are far from it."""
    codes = {float(text) for text in texts if _CODE.fullmatch(text)}
    if len(codes) != 1:
        return None
    (code,) = codes
    return None if np.any((values < 0.5 * code) & (values != code)) else code
