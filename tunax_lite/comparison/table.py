"""The table of a comparison: one row for each closure, case, resolution and time step; its files."""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from ..io.atomic import replacing


@dataclasses.dataclass(frozen=True)
class Row:
    """One closure on one case at one resolution and time step; numbers are NaN where there is none.

    Args:
        closure: label.
        case: name.
        n_cells: of the grid.
        time_step: [s].
        temperature_rms: root mean square error of temperature [K].
        velocity_rms: root mean square of the length of the error of velocity [m s-1].
        mixed_layer_depth_rms: root mean square error of the depth of the mixed layer [m].
        microseconds_per_step: of one column, compiled, without output [us].
        finite: whether all values of state and closure are, at all times compared.
        note: why a row has no numbers.
    """

    closure: str
    case: str
    n_cells: int
    time_step: float
    temperature_rms: float
    velocity_rms: float
    mixed_layer_depth_rms: float
    microseconds_per_step: float
    finite: bool
    note: str = ""


_COLUMNS = tuple(field.name for field in dataclasses.fields(Row))


def write_rows(path: str | Path, rows: Sequence[Row]) -> None:
    """Write the table as CSV, complete or not at all; numbers with six digits, `nan` where there is none."""
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for row in rows:
            writer.writerow([_text(value) for value in dataclasses.astuple(row)])


def _text(value: str | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:.6g}"
