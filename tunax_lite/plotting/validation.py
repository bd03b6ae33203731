"""The figure of a cross-validation."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..validation import CrossValidationRow
from .style import in_math, number_log_axis

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
