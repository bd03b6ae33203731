"""The tables of cross-validation and checks, as CSV files and in words."""

import csv
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..io.errors import names_its_file, read_text
from ..io.writing import replacing
from .checks import LARGEST_GROWTH, CheckRow
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


def cross_validation_in_words(rows: Sequence[CrossValidationRow]) -> list[str]:
    """A sentence for each variable: in how many cases left out the error falls, and where it does not."""
    sentences = []
    for variable in dict.fromkeys(row.variable for row in rows):
        own = [row for row in rows if row.variable == variable]
        worse = [row for row in own if not row.better]
        sentence = (
            f"{_plain(variable)}: calibrated without the case, the error on it is below the uncalibrated one "
            f"in {len(own) - len(worse)} of {len(own)} cases"
        )
        if worse:
            sentence += "; not in " + ", ".join(
                f"{_plain(row.case)} ({_number(row.uncalibrated)} to {_number(row.left_out)} {row.unit})"
                for row in worse
            )
        lost = [_plain(row.case) for row in own if not row.left_out < row.persistence]
        if lost:
            sentence += f"; not below that of the initial profile kept in {', '.join(lost)}"
        sentences.append(sentence + ".")
    return sentences


def checks_in_words(rows: Sequence[CheckRow]) -> list[str]:
    """A warning for each error that grew by more than is allowed; one sentence if none did."""
    limit = f"{100.0 * LARGEST_GROWTH:.0f} %"
    bad = [row for row in rows if row.too_large]
    if not bad:
        return [f"No error of the checks grows by more than {limit}."]
    return [
        f"WARNING: with the calibrated parameters the error of {_plain(row.variable)} in {_plain(row.check)} "
        f"{_growth(row)}, from {_number(row.uncalibrated)} to {_number(row.calibrated)} {row.unit}; "
        f"at most {limit} more is allowed."
        for row in bad
    ]


def _growth(row: CheckRow) -> str:
    if not math.isfinite(row.growth):
        return "is no number or was zero"
    return f"grows by {100.0 * row.growth:.0f} %"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "no number"
