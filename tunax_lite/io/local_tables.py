"""Words and numbers in tables of stations: names of times, zones, encodings, commas, missing values."""

import re
from collections.abc import Iterable

import numpy as np

TIMES = ("time", "datetime", "date", "timestamp", "date_time")
"""Names of the column of the times."""
DATE = re.compile(r"\d{4}([-/.]\d{1,2}[-/.]\d{1,2}|\d{4})([T ].*)?")
"""A text that begins with year, month and day, in this order."""
_CODE = re.compile(r"-(9{3,5})(\.(0+|9+))?")
_COMMA = re.compile(r"([-+]?\d+),(\d+([eE][-+]?\d+)?)")
_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_ZONE = re.compile(
    r"(?<![a-z])(local|lt|lst|ces?t|me[sz]z?|ees?t|[ecmpj][sd]t|ak[sd]t|hst|bst|ist|a[ce][sd]t"
    r"|(utc|gmt) ?[+-] ?0*[1-9]\d*)(?![a-z])"
)


def is_other_zone(text: str) -> bool:
    """Return whether a name states a zone other than universal time, as `Time (PST)` does."""
    return _ZONE.search(text.lower()) is not None


def decoded(data: bytes) -> str:
    """Decode text in UTF-8, or else in Windows-1252, as spreadsheets write it.

    Raises:
        UnicodeDecodeError: bytes of neither encoding.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if b"\0" in data:
            raise
        return data.decode("cp1252")


def with_points(rows: list[list[str]]) -> list[list[str]]:
    """Replace decimal commas by points; if a number has a point, commas may separate thousands and stay."""
    if any(_POINT.fullmatch(cell) for row in rows for cell in row):
        return rows
    return [[cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row] for row in rows]


def missing_code(texts: Iterable[str], values: np.ndarray) -> float | None:
    """Code of missing values in a column of numbers, such as -999, or `None` if other values are near it."""
    codes = {float(text) for text in texts if _CODE.fullmatch(text)}
    if len(codes) != 1:
        return None
    (code,) = codes
    return None if np.any((values < 0.5 * code) & (values != code)) else code
