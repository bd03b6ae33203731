"""What a reader sees of a comparison: means over the cases, closure by closure, as cells of text."""

import csv
import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..io.protection import text_mark
from ..io.writing import replacing


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
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


_COLUMNS = tuple(field.name for field in dataclasses.fields(ComparisonRow))


def write_rows(path: str | Path, rows: Sequence[ComparisonRow]) -> None:
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


@dataclasses.dataclass(frozen=True)
class Summary:
    """A part of a comparison as text: a title, a sentence, a header and rows of cells."""

    title: str
    explanation: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def summaries(rows: Sequence[ComparisonRow], *, n_cells: int, time_step: float) -> tuple[Summary, ...]:
    """By case at one resolution and time step; means over the cases at all; and what is not finite.

    Args:
        rows: of a comparison.
        n_cells, time_step: of the first part; rows of both must be there.
    """
    parts = [_by_case(rows, n_cells, time_step), _by_resolution(rows)]
    failed = tuple(
        (row.closure, row.case, f"{row.n_cells}", f"{row.time_step:g}", row.note)
        for row in rows
        if not row.finite
    )
    if failed:
        header = ("closure", "case", "cells", "step [s]", "why")
        parts.append(Summary("Not finite", "Rows without errors.", header, failed))
    return tuple(parts)


def _by_case(rows: Sequence[ComparisonRow], n_cells: int, time_step: float) -> Summary:
    chosen = [row for row in rows if row.n_cells == n_cells and row.time_step == time_step]
    cases = _distinct(row.case for row in chosen)
    lines = []
    for closure in _distinct(row.closure for row in chosen):
        own = {row.case: row for row in chosen if row.closure == closure}
        temperature = [own[case].temperature_rms if case in own else math.nan for case in cases]
        means = (
            (1e3, 2, temperature),
            (1e3, 1, [row.velocity_rms for row in own.values()]),
            (1.0, 1, [row.mixed_layer_depth_rms for row in own.values()]),
        )
        times = [row.microseconds_per_step for row in own.values()]
        by_case = [_number(1e3 * value, 2) for value in temperature]
        shortest = _number(min(filter(math.isfinite, times), default=math.nan), 2)
        lines.append((closure, *by_case, *(_number(f * _mean(v), n) for f, n, v in means), shortest))
    units = ("mean [mK]", "velocity [mm/s]", "mixed layer [m]", "time per step [us]")
    names = [case.replace("_", " ") for case in cases]
    return Summary(
        f"{n_cells} cells, steps of {time_step:g} s",
        "Root mean square errors of temperature by case [mK] and their mean over the cases; means over "
        "the cases of those of velocity and of the depth of the mixed layer; the shortest time per step.",
        ("closure", *names, *units),
        tuple(lines),
    )


def _by_resolution(rows: Sequence[ComparisonRow]) -> Summary:
    settings = sorted({(row.time_step, row.n_cells) for row in rows})
    lines = []
    for closure in _distinct(row.closure for row in rows):
        cells = []
        for step, n_cells in settings:
            own = [r for r in rows if (r.closure, r.time_step, r.n_cells) == (closure, step, n_cells)]
            error = _mean([row.temperature_rms for row in own])
            cells.append(_number(1e3 * error, 2))
        lines.append((closure, *cells))
    return Summary(
        "Resolution and time step",
        "Mean over the cases of the root mean square error of temperature [mK].",
        ("closure", *(f"{n_cells} cells, {step:g} s" for step, n_cells in settings)),
        tuple(lines),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def write_markdown(
    path: str | Path, title: str, parts: Sequence[Summary], figures: Mapping[str, str], command: str
) -> None:
    """Write the summaries of a table as Markdown, with links to figures beside it.

    Args:
        path: of the file.
        title: heading.
        parts: from `summaries`.
        figures: file names by what they show.
        command: that made the table.
    """
    lines = [f"<!-- {text_mark(path)} -->", "", f"# {title}", "", f"    {command}", ""]
    for part in parts:
        lines += [f"## {part.title}", "", part.explanation, "", *markdown_table(part), ""]
    for shown, name in figures.items():
        lines += [f"![{shown}]({name})", ""]
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines), encoding="utf-8")


def markdown_table(part: Summary) -> list[str]:
    """Lines of a table in Markdown."""
    rule = ["---", *("---:" for _ in part.header[1:])]
    return ["| " + " | ".join(row) + " |" for row in (part.header, rule, *part.rows)]
