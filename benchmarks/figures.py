"""Figures of a stored report: cost against levels, columns, steps and chunk."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import peers
from .jacobian import fit_memory

COLOURS = {"float64": "tab:blue", "float32": "tab:orange"}
PEER_COLOURS = {
    "GOTM as shipped": "0.7",
    "GOTM stripped": "0.2",
}


def _axes(xlabel: str, ylabel: str, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title, xscale="log", yscale="log")
    axes.grid(True, which="major", alpha=0.3)
    return figure, axes


def _ticks(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xticks(values, labels=[f"{value:g}" for value in values])
    axes.minorticks_off()


def _ours(axes: Axes, rows: Sequence[Mapping[str, Any]], index: str) -> None:
    """Measured times and their limits, a colour for each precision."""
    for precision, colour in COLOURS.items():
        of_it = [row for row in rows if row["precision"] == precision]
        if of_it:
            x, us, least = zip(*sorted((r[index], r["us"], r["least_us"]) for r in of_it), strict=True)
            axes.plot(x, us, "o-", color=colour, label=f"tunax_lite {precision}")
            axes.plot(x, least, ":", color=colour, label=f"limit of the machine, {precision}")


def _theirs(axes: Axes, times: Mapping[str, Mapping[int, float]]) -> None:
    for name, by in times.items():
        axes.plot(list(by), list(by.values()), "s--", color=PEER_COLOURS[name], markersize=4, label=name)


def levels_figure(report: Mapping[str, Any]) -> Figure:
    """Time of a step of one column against levels."""
    axes = _axes("levels", "time of a step of one column [us]", "One column, one core, k-epsilon")
    return _cost_figure(*axes, report["tables"]["levels"], "n_levels", peers.STEP_US)


def columns_figure(report: Mapping[str, Any]) -> Figure:
    """Time of a column-step against columns."""
    axes = _axes("columns", "time of a column-step [us]", "Batches, 64 levels, one core, k-epsilon")
    return _cost_figure(*axes, report["tables"]["columns"], "n_columns", {})


def _cost_figure(figure: Figure, axes: Axes, rows, field: str, theirs) -> Figure:
    _ours(axes, rows, field)
    _theirs(axes, theirs)
    _ticks(axes, sorted({row[field] for row in rows}))
    figure.legend(fontsize="small", loc="outside right upper")
    return figure


def memory_figure(report: Mapping[str, Any]) -> Figure:
    """Temporary memory of the gradient against steps."""
    rows = report["tables"]["memory"]
    figure, axes = _axes(
        "steps", "temporary memory [MB]", "Gradient by 5 parameters, one column of 64 levels, float64"
    )
    for layout in dict.fromkeys(row["layout"] for row in rows):
        points = sorted((r["n_steps"], r["temporary_bytes"] / 1e6) for r in rows if r["layout"] == layout)
        axes.plot(*zip(*points, strict=True), "o-", label=layout)
    steps = sorted({row["n_steps"] for row in rows})
    least = min(row["temporary_bytes"] for row in rows) / 1e6
    for power, style in ((1.0, "-."), (0.5, ":")):
        axes.plot(
            steps,
            [0.5 * least * (n / steps[0]) ** power for n in steps],
            style,
            color="0.6",
            label=f"steps^{power:g}",
        )
    for (name, theirs), marker in zip(peers.GRADIENT.items(), "s^", strict=True):
        axes.plot([2880], [theirs["temporary_bytes"] / 1e6], marker, color="tab:green", label=name)
    figure.legend(fontsize="small", loc="outside right upper")
    return figure


def chunk_figure(report: Mapping[str, Any]) -> Figure:
    """Time and temporary memory of the Jacobian against the size of its chunk."""
    rows = sorted(report["tables"]["chunks"], key=lambda row: row["chunk_size"])
    chunks = [row["chunk_size"] for row in rows]
    figure = Figure(figsize=(8.4, 4.0), layout="constrained")
    of_time, of_memory = figure.subplots(1, 2)
    of_time.plot(chunks, [row["over_forward"] for row in rows], "o-")
    of_time.set(ylabel="time over that of a forward run", ylim=(0.0, None))
    of_memory.plot(chunks, [row["temporary_bytes"] / 1e6 for row in rows], "o", label="compiler's count")
    fit = fit_memory(rows)
    of_memory.plot(chunks, [(fit["m0"] + fit["m1"] * n) / 1e6 for n in chunks], ":", label="m0 + m1 chunk")
    of_memory.set(ylabel="temporary memory [MB]", ylim=(0.0, None))
    of_memory.legend()
    for axes in (of_time, of_memory):
        axes.set(xlabel="parameters per chunk", xticks=chunks)
        axes.grid(True, alpha=0.3)
    n_parameters = rows[0]["n_parameters"]
    figure.suptitle(f"Jacobian of all profiles of 48 h by {n_parameters} parameters, one column, float64")
    return figure


FIGURES = {
    "performance_levels": levels_figure,
    "performance_columns": columns_figure,
    "performance_memory": memory_figure,
    "performance_chunk": chunk_figure,
}


def write_figures(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw all figures of a report into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in FIGURES.items():
        paths.append(folder / f"{name}.png")
        draw(report).savefig(paths[-1], dpi=120)
    return paths
