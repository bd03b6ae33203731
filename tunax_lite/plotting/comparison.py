"""Figures of a comparison of closures: profiles, sections of errors, and error against cost."""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..comparison import Row, ShownCase
from .style import colour_map, label_profile

_DASHES = ("-", "--", ":")
_MARKERS = ("o", "s", "^")
_ERROR_QUANTILE = 0.995
_N_COLUMNS = 4


def plot_closure_profiles(shown: ShownCase) -> Figure:
    """Profiles of all closures and of the reference at the last time, and the errors of temperature."""
    columns = ("temperature", "u", "v", "error")
    figure = Figure(figsize=(13.0, 5.2), layout="constrained")
    axes = figure.subplots(1, len(columns), sharey=True)
    z = np.asarray(shown.grid.z_center)
    for panel, name in zip(axes[:3], columns, strict=False):
        panel.plot(shown.reference[name][:, -1], z, color="0.15", linewidth=4.0, alpha=0.4, label="LES")
        label_profile(panel, name)
    axes[3].axvline(0.0, color="0.15", linewidth=4.0, alpha=0.4)
    for index, (label, run) in enumerate(shown.runs.items()):
        style = _line(index)
        for panel, name in zip(axes[:3], columns, strict=False):
            panel.plot(run[name][:, -1], z, label=label, **style)
        axes[3].plot((run["temperature"] - shown.reference["temperature"])[:, -1], z, **style)
    axes[3].set_xlabel("error of temperature [K]", fontsize="small")
    axes[3].tick_params(labelsize="small")
    axes[3].grid(alpha=0.25)
    axes[0].set_ylabel("z [m]")
    axes[0].set_ylim(z[0], 0.0)
    for panel in axes:
        panel.xaxis.set_major_locator(MaxNLocator(4))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small")
    figure.suptitle(f"{_words(shown.name)}, {shown.time[-1] / 3600.0:.3g} h", fontsize="medium")
    return figure


def _line(index: int) -> dict[str, object]:
    colours = matplotlib.colormaps["tab10"].colors  # pyright: ignore[reportAttributeAccessIssue]
    dashes = _DASHES[(index // len(colours)) % len(_DASHES)]
    return {"color": colours[index % len(colours)], "linestyle": dashes, "linewidth": 1.3}


def plot_closure_sections(shown: ShownCase) -> Figure:
    """Hovmöller diagrams: the temperature of the reference, and of every closure what it differs by.

    All differences share one range of colours, that of the largest ones but for a share of 0.5 % of them.
    """
    temperature = shown.reference["temperature"]
    errors = {label: run["temperature"] - temperature for label, run in shown.runs.items()}
    n_rows = math.ceil((1 + len(errors)) / _N_COLUMNS)
    figure = Figure(figsize=(3.2 * _N_COLUMNS, 1.8 * n_rows + 1.2), layout="constrained")
    axes = figure.subplots(n_rows, _N_COLUMNS, sharex=True, sharey=True, squeeze=False)
    mesh = _section(axes.flat[0], shown, temperature, "LES", cmap=colour_map("thermal"))
    bars = [(mesh, "temperature of the LES [°C]", "neither")]
    if errors:
        every = np.abs(np.stack(list(errors.values())))
        largest = float(np.quantile(every, _ERROR_QUANTILE)) or 1.0
        colours = {"cmap": colour_map("balance"), "norm": Normalize(-largest, largest)}
        for panel, (label, error) in zip(axes.flat[1:], errors.items(), strict=False):
            mesh = _section(panel, shown, error, label, **colours)
        bars.append((mesh, "error of temperature [K]", "both"))
    for mesh, label, extend in bars:
        bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.5, extend=extend, aspect=50)
        bar.set_label(label, fontsize="small")
        bar.ax.tick_params(labelsize="small")
    for panel in axes.flat[1 + len(errors) :]:
        panel.set_visible(False)
    for panel in axes.flat[max(0, 1 + len(errors) - _N_COLUMNS) : 1 + len(errors)]:
        panel.tick_params(labelbottom=True)
    figure.supxlabel("time [h]", fontsize="small")
    figure.supylabel("z [m]", fontsize="small")
    figure.suptitle(_words(shown.name), fontsize="medium")
    return figure


def _section(panel: Axes, shown: ShownCase, values: np.ndarray, title: str, **colours: Any) -> QuadMesh:
    z = np.asarray(shown.grid.z_center)
    panel.set_title(title, fontsize="small")
    panel.set_ylim(z[0], 0.0)
    panel.tick_params(labelsize="small")
    return panel.pcolormesh(shown.time / 3600.0, z, values, shading="nearest", rasterized=True, **colours)


def plot_cost(rows: Sequence[Row]) -> Figure:
    """Mean error of temperature over the cases against the shortest time per step, closure by closure.

    Args:
        rows: of one resolution and time step; closures with a case that is not finite are left out.
    """
    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    panel = figure.subplots()
    labels = list(dict.fromkeys(row.closure for row in rows))
    for index, label in enumerate(labels):
        own = [row for row in rows if row.closure == label]
        cost = min(row.microseconds_per_step for row in own)
        error = float(np.mean([row.temperature_rms for row in own]))
        if math.isfinite(cost) and math.isfinite(error):
            marker = _MARKERS[(index // 10) % len(_MARKERS)]
            colour = _line(index)["color"]
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


def _words(name: str) -> str:
    return name.replace("_", " ")
