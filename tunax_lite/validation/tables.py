"""The tables of cross-validation and checks as CSV files."""

import csv
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..io.atomic import replacing
from ..io.errors import names_its_file, read_text
from .checks import CheckRow
from .cross_validation import CrossValidationRow

# What follows from the columns, and is written for those who open the file.
_DERIVED = {CrossValidationRow: ("better",), CheckRow: ("growth", "too_large")}
RowT = TypeVar("RowT", CrossValidationRow, CheckRow)


def write_table(path: str | Path, rows: Sequence[CrossValidationRow] | Sequence[CheckRow]) -> None:
    """Write rows of one kind, at least one, complete or not at all; `nan` where there is no number."""
    kind = type(rows[0])
    columns = [*(field.name for field in dataclasses.fields(kind)), *_DERIVED[kind]]
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_text(getattr(row, column)) for column in columns])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


@names_its_file("a table")
def read_table(path: str | Path, kind: type[RowT]) -> tuple[RowT, ...]:
    """Read what `write_table` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another table.
    """
    names = [field.name for field in dataclasses.fields(kind)]
    lines = list(csv.DictReader(read_text(Path(path), "a table").splitlines()))
    try:
        return tuple(kind(**{name: _value(kind, name, line[name]) for name in names}) for line in lines)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path}: expected a table with the columns {', '.join(names)}, got another one; write it again."
        ) from None


def _value(kind: type, name: str, text: str) -> Any:
    return float(text or math.nan) if kind.__annotations__[name] is float else text
