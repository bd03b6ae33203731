"""The figures of a report: cost against levels, columns and steps, and losses against seconds."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from .ceilings import PRECISIONS
from .harness import Row
from .report import heading, markdown

GOTM_US = {"as shipped": {64: 54.0, 128: 113.0, 256: 222.0}, "stripped": {64: 15.2, 128: 29.7, 256: 58.0}}
"""GOTM's time of a step by levels [us]: docs/performance.md says of which machine."""


def forward_figure(rows: Sequence[Row]) -> Figure:
    """Time of a column-step against levels and against columns."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, key, other, fixed in zip(
        panels, ("n_levels", "n_columns"), ("n_columns", "n_levels"), (1, 64), strict=True
    ):
        of_panel = sorted((row for row in rows if row[other] == fixed), key=lambda row: row[key])
        for precision, colour in zip(PRECISIONS, ("tab:blue", "tab:orange"), strict=True):
            points = [(row[key], row["us"]) for row in of_panel if row["precision"] == precision]
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=precision)
        ticks = sorted({row[key] for row in of_panel})
        axes.set(xscale="log", yscale="log", xlabel=heading(key), ylabel="time of a column-step [us]")
        axes.set_xticks(ticks, labels=[str(tick) for tick in ticks])
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    for (name, times), grey in zip(GOTM_US.items(), ("0.7", "0.2"), strict=True):
        panels[0].plot(*zip(*times.items(), strict=True), "s--", color=grey, label=f"GOTM {name}")
    panels[0].set_title("one column", fontsize="medium")
    panels[1].set_title("batches of 64 levels", fontsize="medium")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small"
    )
    return figure


def memory_figure(rows: Sequence[Row]) -> Figure:
    """Temporary memory of the gradient against steps."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    steps = np.array([row["n_steps"] for row in rows])
    for key in (key for key in rows[0] if key != "n_steps"):
        axes.plot(steps, [row[key] / 1e6 for row in rows], "o-", label=heading(key))
    least = min(value for key, value in rows[0].items() if key != "n_steps") / 2e6
    for power, style in ((1.0, "-."), (0.5, ":")):
        axes.plot(steps, least * (steps / steps[0]) ** power, style, color="0.6", label=f"steps^{power:g}")
    axes.set(xscale="log", yscale="log", xlabel="steps", ylabel="temporary memory [MB]")
    axes.set_title("gradient by 5 parameters, one column of 64 levels, float64", fontsize="medium")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", fontsize="small")
    return figure


def calibration_figure(rows: Sequence[Row]) -> Figure:
    """Lowest loss so far against seconds."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        axes.step(
            row["seconds"], np.fmin.accumulate(np.array(row["losses"])), where="post", label=row["method"]
        )
    axes.axhline(np.nanmin(rows[0]["losses"]), color="0.6", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="seconds, compiling included", ylabel="lowest loss so far")
    axes.set_title("k-epsilon on four large-eddy simulations", fontsize="medium")
    axes.grid(which="both", alpha=0.25)
    axes.legend(fontsize="small")
    return figure


DRAWINGS: dict[str, tuple[str, Callable[[Sequence[Row]], Figure]]] = {
    "forward": ("performance_forward.png", forward_figure),
    "memory": ("performance_memory.png", memory_figure),
    "calibration": ("calibration_methods.png", calibration_figure),
}


def draw(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Figures and tables of a report."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (file, make) in DRAWINGS.items():
        if rows := report["tables"].get(name):
            paths.append(folder / file)
            make(rows).savefig(paths[-1], dpi=110)
    paths.append(folder / "performance_tables.md")
    paths[-1].write_text(markdown(report))
    return paths
