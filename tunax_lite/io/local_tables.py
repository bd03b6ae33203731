"""What tables of people have beside the plain form: local dates, decimal commas, units in round brackets.

Each function changes rows of texts to the plain form where what is meant is certain, and leaves the others as
they are, for the errors of `table`.
"""

import re
from collections.abc import Collection, Iterable

from .units import BRACKETS

Rows = list[tuple[int, list[str]]]
"""Numbers of lines with their cells, names first."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?")
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(.*))?")
_YEAR_LAST = re.compile(r"(\d{1,2})([/.])(\d{1,2})[/.](\d{4})(?:[T ]+(.*))?")
_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_CODE = re.compile(r"-(9{3,5})(\.(0+|9+))?")
_ZONE = re.compile(
    r"(?<![a-z])(local|lt|lst|ces?t|me[sz]z?|ees?t|[ecmpj][sd]t|ak[sd]t|hst|bst|ist|a[ce][sd]t"
    r"|(utc|gmt) ?[+-] ?0*[1-9]\d*)(?![a-z])"
)


def is_other_zone(text: str) -> bool:
    """Whether a name of times says a zone other than Universal Time: `local time`, `Time (PST)`."""
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


def with_one_time(rows: Rows) -> Rows:
    """Date and clock of two columns, `Date` and `Time (UTC)`, as one column `time`."""
    names = [BRACKETS.sub(r"\1", name).strip().lower() for name in rows[0][1]]
    if names.count("date") != 1 or names.count("time") != 1 or len(rows) < 2:
        return rows
    date, clock = names.index("date"), names.index("time")
    if len(rows[1][1]) <= clock or not _CLOCK.fullmatch(rows[1][1][clock].strip()):
        return rows

    def merged(cells: list[str], time: str) -> list[str]:
        kept = [time if i == date else cell for i, cell in enumerate(cells)]
        return kept[:clock] + kept[clock + 1 :]

    joined = [(rows[0][0], merged(rows[0][1], "time"))]
    for number, cells in rows[1:]:
        time = " ".join(cells[i].strip() for i in (date, clock) if i < len(cells))
        joined.append((number, merged(cells, time)))
    return joined


def _is_date(text: str) -> bool:
    return _YEAR_FIRST.fullmatch(text) is not None or _YEAR_LAST.fullmatch(text) is not None


def with_named_time(rows: Rows, known: Collection[str]) -> Rows:
    """The first column as `time`, if none has a known name and all of it are dates, as under `Datum`."""
    names = [BRACKETS.sub(r"\1", name).partition("[")[0].strip().lower() for name in rows[0][1]]
    first, *dates = (cells[0].strip() if cells else "" for _, cells in rows)
    if any(name in known for name in names) or _is_date(first) or not all(map(_is_date, dates)):
        return rows
    return [(rows[0][0], ["time", *rows[0][1][1:]]), *rows[1:]]


def with_points(rows: Rows) -> Rows:
    """Decimal commas as points, in rows that commas do not separate and that have no decimal points."""
    cells = [cell.strip() for _, row in rows[1:] for cell in row]
    if not any(map(_COMMA.fullmatch, cells)) or any(map(_POINT.fullmatch, cells)):
        return rows

    def pointed(cell: str) -> str:
        return cell.replace(",", ".") if _COMMA.fullmatch(cell.strip()) else cell

    return [rows[0], *((number, [pointed(cell) for cell in row]) for number, row in rows[1:])]


def iso_times(texts: Iterable[str]) -> list[str]:
    """Dates in ISO 8601: `1.5.2019 7:30` and `5/13/2019`, if the dates of the column say which is the day."""
    texts = list(texts)
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
                return text
            if mark == "/" and is_month_first:
                day, month = month, day
        else:
            return text
        clock = "" if not clock else f"T{clock.strip().zfill(5) if clock[1:2] == ':' else clock.strip()}"
        return f"{year}-{month.zfill(2)}-{day.zfill(2)}{clock}"

    return [iso(text) for text in texts]


def missing_code(texts: Iterable[str], values: Iterable[float]) -> float | None:
    """The code for missing values of a column of numbers, such as -999, if all others are far from it."""
    codes = {float(text) for text in texts if _CODE.fullmatch(text)}
    if len(codes) != 1:
        return None
    (code,) = codes
    return code if all(value == code or not value < 0.5 * code for value in values) else None
