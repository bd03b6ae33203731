"""Figures of the course of a calibration."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..validation import CrossValidationRow
from .style import colour_map, in_math, number_log_axis


def plot_loss(
    loss,
    scores: Mapping[str, np.ndarray],
    rejected,
    of_all_cases: ArrayLike = True,
    start: ArrayLike = 0,
) -> Figure:
    """Loss and the score of each case over the iterations of a calibration.

    Args:
        loss: `(n_iterations,)`; values that are not finite leave a gap.
        scores: by case, `(n_iterations,)`.
        rejected: whether the step was taken back, `(n_iterations,)`.
        of_all_cases: whether the loss is that of all cases, `(n_iterations,)`; the others are points.
        start: number of the start, `(n_iterations,)`; a new one begins after a vertical line.
    """
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    panel = figure.subplots()
    loss, rejected = np.asarray(loss, dtype=float), np.asarray(rejected, dtype=bool)
    iteration = 1 + np.arange(loss.size)
    for (name, values), shade in zip(
        scores.items(), colour_map("haline")(np.linspace(0.1, 0.85, max(1, len(scores)))), strict=True
    ):
        if len(scores) > 1:
            known = ~np.isnan(values)
            panel.plot(
                iteration[known], values[known], color=shade, linewidth=1.0, label=name.replace("_", " ")
            )
    of_all_cases = np.broadcast_to(np.asarray(of_all_cases, dtype=bool), loss.shape)
    panel.plot(iteration[of_all_cases], loss[of_all_cases], color="black", linewidth=1.8, label="loss")
    if not of_all_cases.all():
        few = ~of_all_cases
        panel.plot(
            iteration[few], loss[few], ".", color="0.6", markersize=3, zorder=0, label="of a few cases"
        )
    for beginning in np.flatnonzero(np.diff(np.broadcast_to(start, loss.shape))) + 0.5:
        panel.axvline(beginning + 1.0, color="0.6", linewidth=0.8)
    lowest = np.minimum.accumulate(np.where(np.isfinite(loss) & of_all_cases, loss, np.inf))
    panel.plot(iteration, lowest, color="black", linewidth=0.8, linestyle=":", label="lowest so far")
    if rejected[1:].any():
        marked = rejected & np.isfinite(loss) & (iteration > 1)
        panel.plot(iteration[marked], loss[marked], "x", color="#c44e30", label="rejected")
    panel.set_yscale("log")
    panel.set_xlabel("iteration")
    panel.set_ylabel("loss and scores of the cases" if len(scores) > 1 else "loss")
    panel.grid(which="both", alpha=0.25)
    number_log_axis(panel.yaxis)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    panel.set_title("Loss of the calibration", fontsize="medium")
    return figure


def plot_parameters(
    values: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    bounds: Mapping[str, tuple[float, float]],
) -> Figure:
    """Physical values of the free parameters over the iterations of a calibration.

    Args:
        values: by path, `(n_iterations,)`, or `(n_iterations, n_numbers)` for several in one panel.
        units: by path.
        bounds: lower and upper, by path; grey where they are in view.
    """
    n_columns = min(4, len(values))
    n_rows = math.ceil(len(values) / n_columns)
    figure = Figure(figsize=(3.0 * n_columns, 2.1 * n_rows + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    for panel, (path, series) in zip(axes.flat, values.items(), strict=False):
        series = np.asarray(series, dtype=float)
        iteration = 1 + np.arange(len(series))
        if series.ndim == 1:
            panel.plot(iteration, series, color="#3b75af")
            panel.axhline(series[0], color="0.6", linewidth=0.8, linestyle=":")
        else:
            panel.plot(iteration, series, color="#3b75af", alpha=0.4, linewidth=0.5)
        if series.min() > 0.0 and series.max() / series.min() > 5.0:
            panel.set_yscale("log")
        limits = panel.get_ylim()
        for bound in filter(math.isfinite, bounds.get(path, ())):
            panel.axhline(bound, color="0.75", linewidth=2.0)
        panel.set_ylim(limits)
        unit = units.get(path, "1")
        panel.set_title(path if unit == "1" else f"{path} [{in_math(unit)}]", fontsize="small")
        panel.tick_params(labelsize="small")
    for panel in axes.flat[len(values) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("iteration", fontsize="small")
    figure.suptitle("Parameters (dotted: start; grey: bounds)", fontsize="medium")
    return figure


def history_figures(dataset: xr.Dataset) -> dict[str, Figure]:
    """Figures of the history of a calibration, as `history.nc` holds it."""
    prefix = "parameter "
    free = {
        str(variable.attrs["long_name"]).removeprefix(prefix): variable
        for variable in dataset.data_vars.values()
        if str(variable.attrs.get("long_name", "")).startswith(prefix)
    }
    scores = dataset["score"].values
    return {
        "loss": plot_loss(
            dataset["loss"].values,
            {str(name): scores[:, index] for index, name in enumerate(dataset["case"].values)},
            dataset["rejected"].values.astype(bool),
            dataset["of_all_cases"].values.astype(bool),
            dataset["start"].values,
        ),
        "parameters": plot_parameters(
            {path: np.asarray(variable.values) for path, variable in free.items()},
            {path: str(variable.attrs.get("units", "1")) for path, variable in free.items()},
            {
                path: (float(variable.attrs["valid_min"]), float(variable.attrs["valid_max"]))
                for path, variable in free.items()
                if "valid_min" in variable.attrs
            },
        ),
    }


_SHOWN = (
    ("persistence", "initial profile kept", "|", "0.45"),
    ("uncalibrated", "uncalibrated", "o", "#8a8a8a"),
    ("left_out", "calibrated without the case", "D", "#c44e30"),
    ("calibrated", "calibrated on all cases", "s", "#3b75af"),
)
"""Column, label, marker and colour."""


def plot_cross_validation(rows: Sequence[CrossValidationRow]) -> Figure:
    """Errors by case, a panel for each variable: left out of the calibration, in it, and without any.

    Args:
        rows: of the table, at least one.
    """
    variables = list(dict.fromkeys(row.variable for row in rows))
    cases = list(dict.fromkeys(row.case for row in rows))
    figure = Figure(figsize=(3.6 * len(variables) + 2.2, 0.55 * len(cases) + 1.9), layout="constrained")
    axes = figure.subplots(1, len(variables), squeeze=False, sharey=True)[0]
    for panel, variable in zip(axes, variables, strict=True):
        own = [row for row in rows if row.variable == variable]
        places = [cases.index(row.case) for row in own]
        for column, label, marker, colour in _SHOWN:
            values = np.array([getattr(row, column) for row in own])
            values = np.where(values > 0.0, values, np.nan)  # a logarithm has no place for others
            panel.plot(values, places, marker, color=colour, label=label, markersize=7.0)
        panel.hlines(
            places, [row.uncalibrated for row in own], [row.left_out for row in own], color="0.8", zorder=0
        )
        panel.set_xscale("log")
        number_log_axis(panel.xaxis)
        panel.set_xlabel(f"error of {variable} [{in_math(own[0].unit)}]", fontsize="small")
        panel.grid(axis="x", which="both", alpha=0.25)
        panel.tick_params(labelsize="small")
    axes[0].set_yticks(range(len(cases)), [case.replace("_", " ") for case in cases])
    axes[0].set_ylim(len(cases) - 0.5, -0.5)
    labels = axes[0].get_legend_handles_labels()
    n_columns = 2 if len(variables) == 1 else 4
    figure.legend(*labels, loc="outside upper center", ncols=n_columns, fontsize="small")
    return figure
