"""Figures of a comparison of closures: profiles, sections of errors, and error against cost."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..comparison import ComparisonRow, ShownCase
from . import style

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#111111", "#8c6d31")
"""Safe for colour-blind readers: Okabe and Ito (2008), with black and brown in place of yellow and grey."""
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v")
_OTHERS: dict[str, Any] = {"color": "0.85", "linewidth": 0.8, "zorder": 1}
_REFERENCE: dict[str, Any] = {"color": "0.15", "linewidth": 4.0, "alpha": 0.4, "zorder": 2}
_ROOM = 0.8
"""Beside the range of the reference, in parts of it."""
_ERROR_QUANTILE = 0.995
_N_COLUMNS = 4


def plot_closure_profiles(shown: ShownCase) -> Figure:
    """Profiles of all closures and of the reference at the last time, and the errors of temperature.

    No row of panels has more than eight closures in colour: the others are there in light grey.
    """
    labels = list(shown.runs)
    n_rows = max(1, math.ceil(len(labels) / len(_COLOURS)))
    in_row = math.ceil(len(labels) / n_rows) if labels else 0
    figure, axes = style.panels(
        _N_COLUMNS * n_rows, _N_COLUMNS, (3.25, 4.4), (0.0, 0.6), sharey=True, sharex="col"
    )
    for number, row in enumerate(axes):
        own = labels[number * in_row : (number + 1) * in_row]
        _draw_closures(row, shown, own, [label for label in labels if label not in own])
        handles, names = row[0].get_legend_handles_labels()
        row[3].legend(
            handles, names, loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize="small", frameon=False
        )
    title = f"{style.in_words(shown.name)}, {shown.time[-1] / 3600.0:.4g} h"
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_closures(row: np.ndarray, shown: ShownCase, own: Sequence[str], others: Sequence[str]) -> None:
    z = np.asarray(shown.grid.z_center)
    profiles = [(label, _OTHERS) for label in others]
    for index, label in enumerate(own):
        line = {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _DASHES[index % len(_DASHES)]}
        profiles.append((label, line | {"label": label, "zorder": 3, "linewidth": 1.4}))
    for panel, name in zip(row[:3], ("temperature", "u", "v"), strict=True):
        reference = shown.reference[name][:, -1]
        panel.plot(reference, z, label="LES", **_REFERENCE)
        for label, line in profiles:
            panel.plot(shown.runs[label][name][:, -1], z, **line)
        style.label(panel, style.name_and_unit(name))
        if np.ptp(reference) > 0.0:
            # A closure that leaves the wind's momentum at the surface must not hide the others.
            room = _ROOM * np.ptp(reference)
            panel.set_xlim(reference.min() - room, reference.max() + room)
    row[3].axvline(0.0, **_REFERENCE)
    for label, line in profiles:
        difference = shown.runs[label]["temperature"] - shown.reference["temperature"]
        row[3].plot(difference[:, -1], z, **line)
    style.label(row[3], "error of temperature [K]")
    row[0].set_ylabel("z [m]")
    row[0].set_ylim(z[0], 0.0)
    for panel in row:
        panel.xaxis.set_major_locator(MaxNLocator(4))


def plot_closure_sections(shown: ShownCase) -> Figure:
    """Hovmöller diagrams: the temperature of the reference, and of every closure what it differs by.

    All differences share one range of colours, that of the largest ones but for a fraction of 0.5 % of them.
    """
    temperature = shown.reference["temperature"]
    errors = {label: run["temperature"] - temperature for label, run in shown.runs.items()}
    n = 1 + len(errors)
    figure, axes = style.panels(n, _N_COLUMNS, (3.2, 1.8), (0.0, 1.2), sharex=True, sharey=True)
    mesh = _section(axes.flat[0], shown, temperature, "LES", cmap=style.colour_map("thermal"))
    bars = [(mesh, "temperature of the LES [°C]", "neither")]
    if errors:
        colours = style.around_zero(float(np.quantile(np.abs(list(errors.values())), _ERROR_QUANTILE)))
        for panel, (label, error) in zip(axes.flat[1:], errors.items(), strict=False):
            mesh = _section(panel, shown, error, label, **colours)
        bars.append((mesh, "error of temperature [K]", "both"))
    for mesh, label, extend in bars:
        bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.5, extend=extend, aspect=50)
        bar.set_label(label, fontsize="small")
        bar.ax.tick_params(labelsize="small")
    for panel in style.lowest(axes, n):
        panel.set_xlabel("time [h]", fontsize="small")
    figure.supylabel("z [m]", fontsize="small")
    figure.suptitle(style.in_words(shown.name), fontsize="medium")
    return figure


def _section(panel: Axes, shown: ShownCase, values: np.ndarray, title: str, **colours: Any) -> QuadMesh:
    z = np.asarray(shown.grid.z_center)
    panel.set_title(title, fontsize="small")
    panel.set_ylim(z[0], 0.0)
    panel.tick_params(labelsize="small")
    return panel.pcolormesh(shown.time / 3600.0, z, values, shading="nearest", rasterized=True, **colours)


def plot_cost(rows: Sequence[ComparisonRow]) -> Figure:
    """Mean error of temperature over the cases against the shortest time per step, closure by closure.

    Rows are of one resolution and time step; closures with a case that is not finite are left out.
    """
    figure, ((panel,),) = style.panels(1, 1, (8.5, 4.6), (0.0, 0.0))
    for index, label in enumerate(dict.fromkeys(row.closure for row in rows)):
        own = [row for row in rows if row.closure == label]
        cost = min(row.microseconds_per_step for row in own)
        error = float(np.mean([row.temperature_rms for row in own]))
        if math.isfinite(cost) and math.isfinite(error):
            marker = _MARKERS[(index // len(_COLOURS)) % len(_MARKERS)]
            colour = _COLOURS[index % len(_COLOURS)]
            panel.plot(cost, 1e3 * error, marker, color=colour, markersize=8, linestyle="none", label=label)
    panel.margins(0.1)
    panel.set_xlim(left=0.0)
    panel.set_ylim(bottom=0.0)
    if panel.lines:
        figure.legend(loc="outside right upper", fontsize="small")
    panel.set_xlabel("time per step [µs]")
    panel.set_ylabel("error of temperature, mean over the cases [mK]")
    panel.grid(alpha=0.25)
    return figure
