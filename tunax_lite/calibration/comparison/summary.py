"""Summary of a comparison: means over the cases, closure by closure, as cells of text."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...io.protection import text_mark
from ...io.writing import replacing, write_csv


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
    """One closure on one case at one resolution and time step; missing numbers are NaN."""

    closure: str
    case: str
    n_cells: int
    time_step: float  # [s]
    temperature_rms: float  # root mean square error of temperature [K]
    velocity_rms: float  # root mean square length of the velocity error [m s-1]
    mixed_layer_depth_rms: float  # root mean square error of the mixed layer depth [m]
    microseconds_per_step: float  # of one column, compiled, without output [us]
    finite: bool  # whether state and closure are finite, and water can be, at all times compared
    note: str = ""  # reason for missing numbers, or unlikely water
    cell_thickness: float = math.nan  # if requested [m]; NaN if n_cells was requested
    group: str = ""  # of cases from one source

    @property
    def resolution(self) -> str:
        """The requested resolution, in words."""
        return resolution_in_words(self.n_cells if math.isnan(self.cell_thickness) else self.cell_thickness)


def resolution_in_words(asked: int | float) -> str:
    """A number of cells, or their thickness [m]."""
    return f"{asked} cells" if isinstance(asked, int) else f"cells of {asked:g} m"


def write_rows(path: str | Path, rows: Sequence[ComparisonRow]) -> None:
    """Write the table as CSV, atomically; numbers with six digits, `nan` where missing."""
    header = [field.name for field in dataclasses.fields(ComparisonRow)]
    write_csv(path, header, [dataclasses.astuple(row) for row in rows], ".6g")


@dataclasses.dataclass(frozen=True)
class Summary:
    """A part of a comparison as rows of text cells."""

    title: str
    explanation: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def summaries(rows: Sequence[ComparisonRow], *, resolution: str, time_step: float) -> tuple[Summary, ...]:
    """By case and group at one resolution and time step; means over cases; failed runs."""
    chosen = [row for row in rows if row.resolution == resolution and row.time_step == time_step]
    parts = [_by_case(chosen, resolution, time_step), _by_resolution(rows)]
    if any(row.group for row in chosen):
        parts.insert(1, _by_group(chosen, resolution, time_step))
    failed = [row for row in rows if not row.finite]
    if failed:
        header = ("closure", "case", "cells", "step [s]", "why")
        cells = [(r.closure, r.case, f"{r.n_cells}", f"{r.time_step:g}", r.note) for r in failed]
        parts.append(Summary("Not finite", "Rows without errors.", header, tuple(cells)))
    if beyond := [row for row in rows if row.finite and row.note]:
        header = ("closure", "case", "cells", "step [s]", "which")
        cells = [(r.closure, r.case, f"{r.n_cells}", f"{r.time_step:g}", r.note) for r in beyond]
        parts.append(Summary("Unlikely water", "Their errors mean little.", header, tuple(cells)))
    return tuple(parts)


def _by_case(chosen: Sequence[ComparisonRow], resolution: str, time_step: float) -> Summary:
    cases = list(dict.fromkeys(row.case for row in chosen))
    lines = []
    for closure in dict.fromkeys(row.closure for row in chosen):
        own = {row.case: row for row in chosen if row.closure == closure}
        temperature = [own[case].temperature_rms if case in own else math.nan for case in cases]
        times = [row.microseconds_per_step for row in own.values()]
        shortest = min(filter(math.isfinite, times), default=math.nan)
        velocity = 1e3 * _mean([row.velocity_rms for row in own.values()])
        depth = _mean([row.mixed_layer_depth_rms for row in own.values()])
        others = _number(velocity, 1), _number(depth, 1), _number(shortest, 2)
        errors = (_number(1e3 * value, 2) for value in (*temperature, _mean(temperature)))
        lines.append((closure, *errors, *others))
    units = ("mean [mK]", "velocity [mm/s]", "mixed layer [m]", "time per step [us]")
    names = [case.replace("_", " ") for case in cases]
    return Summary(
        f"{resolution}, steps of {time_step:g} s",
        "Root mean square errors of temperature by case [mK] and their mean over the cases; means over "
        "the cases of those of velocity and of the depth of the mixed layer; the shortest time per step.",
        ("closure", *names, *units),
        tuple(lines),
    )


def _by_group(chosen: Sequence[ComparisonRow], resolution: str, time_step: float) -> Summary:
    groups, lines = list(dict.fromkeys(row.group for row in chosen)), []
    for closure in dict.fromkeys(row.closure for row in chosen):
        own = [row for row in chosen if row.closure == closure]
        errors = [[row.temperature_rms for row in own if row.group == group] for group in groups]
        everything = [row.temperature_rms for row in own]
        worst = max(everything) if all(map(math.isfinite, everything)) else math.nan
        numbers = (*map(_mean, errors), _mean(everything), worst)
        lines.append((closure, *(_number(1e3 * value, 1) for value in numbers)))
    return Summary(
        f"By source, {resolution}, steps of {time_step:g} s",
        "Mean over the cases of a source, and over all, of the root mean square error of temperature, and "
        "the largest one [mK].",
        ("closure", *(group.replace("_", " ") or "others" for group in groups), "mean", "worst"),
        tuple(lines),
    )


def _by_resolution(rows: Sequence[ComparisonRow]) -> Summary:
    def fineness(row: ComparisonRow) -> float:
        return float(row.n_cells) if math.isnan(row.cell_thickness) else -row.cell_thickness

    ordered = sorted(rows, key=lambda row: (row.time_step, fineness(row)))
    settings = list(dict.fromkeys((row.time_step, row.resolution) for row in ordered))
    lines = []
    for closure in dict.fromkeys(row.closure for row in rows):
        cells = []
        for setting in settings:
            own = [r for r in rows if (r.closure, r.time_step, r.resolution) == (closure, *setting)]
            cells.append(_number(1e3 * _mean([row.temperature_rms for row in own]), 2))
        lines.append((closure, *cells))
    return Summary(
        "Resolution and time step",
        "Mean over the cases of the root mean square error of temperature [mK].",
        ("closure", *(f"{resolution}, {step:g} s" for step, resolution in settings)),
        tuple(lines),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def write_markdown(
    path: str | Path, title: str, parts: Sequence[Summary], figures: Mapping[str, str], command: str
) -> None:
    """Write the summaries of a table as Markdown, with the command that made it and the figures."""
    lines = [f"<!-- {text_mark(path)} -->", "", f"# {title}", "", f"    {command}", ""]
    for part in parts:
        rule = ["---", *("---:" for _ in part.header[1:])]
        table = ["| " + " | ".join(row) + " |" for row in (part.header, rule, *part.rows)]
        lines += [f"## {part.title}", "", part.explanation, "", *table, ""]
    for shown, name in figures.items():
        lines += [f"![{shown}]({name})", ""]
    with replacing(path) as temporary:
        temporary.write_text("\n".join(lines), encoding="utf-8")
