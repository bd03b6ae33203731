"""The tables in words."""

import math
from collections.abc import Sequence

from .checks import LARGEST_GROWTH, CheckRow
from .cross_validation import CrossValidationRow


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
