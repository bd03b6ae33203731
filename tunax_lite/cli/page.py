"""The page of `tunax-lite check`: what goes into a case, and whether profiles and fluxes agree."""

import datetime
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ..io.protection import check_outputs
from ..io.series import start_of_case
from ..plausibility.inputs import Budget, Input
from .application import Answer
from .terminal import echo, printable

_COLUMNS = ("input", "unit", "lowest", "mean", "highest", "every", "gaps")
_NARROW_GAPS, _WIDE = 9, 100  # characters, of the column of gaps and of the terminal that needs it
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def say_inputs(inputs: Sequence[Input], start_time: str | None) -> list[Answer]:
    """Print the table of inputs, and return its rows for JSON."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in _COLUMNS:
        is_text = name in ("input", "unit", "gaps")
        # Numbers never wrap: names give way in a narrow terminal.
        side = "left" if is_text else "right"
        most = _NARROW_GAPS if name == "gaps" and console.width < _WIDE else None
        table.add_column(name, justify=side, no_wrap=not is_text, overflow="fold", max_width=most)
    rows = []
    for one in inputs:
        known, (n_gaps, longest), every = one.known(), one.gaps(), one.interval()
        row: Answer = {"name": one.name, "unit": one.unit, "n_values": int(one.values.size)}
        row |= {"lowest": None, "mean": None, "highest": None}
        if known.size:
            row |= {"lowest": float(known.min()), "mean": float(known.mean()), "highest": float(known.max())}
        row |= {"interval": every, "n_gaps": n_gaps, "longest_gap": longest, "n_missing": one.n_missing}
        row |= _period(one, start_time)
        rows.append(row)
        numbers = ["-" if row[key] is None else _short(row[key]) for key in ("lowest", "mean", "highest")]
        when = "first" if one.time is None else "constant" if one.is_constant else "-"
        when = when if every is None else duration(every)
        table.add_row(printable(one.name), one.unit, *numbers, when, _gaps(row))
    console.print(table, markup=False)
    return rows


def _short(value: float) -> str:
    """A number in at most nine characters."""
    return f"{0.0 if abs(value) < 1e-300 else value:.4g}"


def _gaps(row: Answer) -> str:
    said = []
    if row["n_gaps"]:
        said.append(f"{row['n_gaps']} ({duration(row['longest_gap'])})")
    if row["n_missing"]:
        share = 100.0 * row["n_missing"] / row["n_values"]
        said.append(f"{share:.2g} % missing")
    return "; ".join(said)


def duration(seconds: float) -> str:
    """A time in its largest common unit."""
    size, unit = next(((size, unit) for size, unit in _UNITS if abs(seconds) >= size), (1.0, "s"))
    return f"{seconds / size:.3g} {unit}"


def _period(one: Input, start_time: str | None) -> Answer:
    """First and last record, as dates where the case has some."""
    if one.time is None or not one.time.size:
        return {}
    ends = [float(one.time[0]), float(one.time[-1])]
    if start_time is None:
        return {"from": ends[0], "to": ends[1]}
    start = start_of_case(start_time)
    try:
        dates = [(start + datetime.timedelta(seconds=end)).isoformat() for end in ends]
    except OverflowError:
        return {"from": ends[0], "to": ends[1]}
    return {"from": dates[0], "to": dates[1]}


def say_budgets(budgets: Sequence[Budget]) -> list[Answer]:
    """Print what profiles gain and fluxes add, and return it for JSON."""
    for one in budgets:
        when = f"{duration(one.start)} to {duration(one.stop)}, down to {one.depth:g} m"
        echo(
            f"budget of {one.quantity}, {when}: profiles gain {one.gained:.4g} {one.unit}, "
            f"fluxes add {one.added:.4g} {one.unit}"
        )
    return [dict(one._asdict()) for one in budgets]


def draw_inputs(
    inputs: Sequence[Input], path: Path, title: str, start_time: str | None, *, overwrite: bool
) -> Path:
    """Write the figure of inputs."""
    from ..plotting.inputs import plot_inputs  # takes long
    from ..plotting.style import save_figure

    check_outputs([path], overwrite=overwrite)
    with np.errstate(all="ignore"):
        figure = plot_inputs(inputs, title, start_time)
    save_figure(figure, path)
    return path
