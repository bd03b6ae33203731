"""Figure of the inputs of a case: forcing over time and first profiles."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plausibility.inputs import Samples
from . import style

_MOST_PANELS, _MOST_POINTS = 8, 4000


def plot_inputs(inputs: Sequence[Samples], title: str = "", start_time: str | None = None) -> Figure:
    """Inputs over time, those of one unit in one panel, and the first profile; of many columns their range.

    Args:
        inputs: of one case.
        title: above the figure.
        start_time: ISO 8601 time at which the time is 0; by default the axis counts hours or days.
    """
    groups: dict[tuple[str, str], list[Samples]] = {}
    for samples in inputs:
        if samples.z is None and not samples.name.startswith("observed "):
            # Rain has the unit of wind.
            is_rain = samples.name == "precipitation"
            unit = samples.name if is_rain or not samples.unit else samples.unit
            groups.setdefault((samples.name.rpartition(" ")[0], unit), []).append(samples)
    groups = dict(list(groups.items())[:_MOST_PANELS])
    first = [each for each in inputs if each.is_first and np.any(each.known != 0.0)]
    n_rows = max(1, len(groups))
    figure = Figure(figsize=(9.0, max(3.2, 1.35 * n_rows + 0.6)), layout="constrained")
    columns = figure.add_gridspec(1, 2, width_ratios=(3.0, max(1, math.ceil(len(first) / 2)) * 0.9))
    over_time = columns[0].subgridspec(n_rows, 1).subplots(sharex=True, squeeze=False)[:, 0]
    latest = max((float(each.time[-1]) for each in inputs if each.time.size > 1), default=1.0)
    axis = style.FigureTime(latest, start_time)
    for panel, group in zip(over_time, groups.values(), strict=False):
        for samples in group:
            _draw_series(panel, samples, axis, latest)
        panel.set_ylabel(f"[{style.typeset(group[0].unit)}]" if group[0].unit else "", fontsize="small")
        panel.tick_params(labelsize="small")
        panel.legend(fontsize="x-small", loc="upper right", ncols=2, frameon=False)
    axis.finish(over_time[-1], "small")
    figure.align_ylabels(over_time)
    if not groups:
        over_time[0].text(0.5, 0.5, "no forcing", ha="center", transform=over_time[0].transAxes, color="0.5")
    if first:
        _draw_profiles(columns[1].subgridspec(2 if len(first) > 1 else 1, math.ceil(len(first) / 2)), first)
    n = max((each.values[0, :1].size for each in first), default=1)
    columns_in_words = f", median and range of {n} columns" if n > 1 else ""
    figure.suptitle(f"{style.in_words(title)}{columns_in_words}", fontsize="medium")
    return figure


def _draw_series(panel: Axes, samples: Samples, axis: style.FigureTime, latest: float) -> None:
    """One input over time; a constant is a line from end to end."""
    values = samples.values.reshape(samples.values.shape[0], -1)
    time = np.array([0.0, latest]) if samples.is_constant else samples.time
    values = np.repeat(values, 2, axis=0) if samples.is_constant else values
    part = slice(None, None, max(1, time.size // _MOST_POINTS))
    places, values, label = axis.places(time[part]), values[part], style.in_words(samples.name)
    (line,) = panel.plot(places, np.nanmedian(values, axis=1), linewidth=0.9, label=label)
    if values.shape[1] > 1:
        low, high = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        panel.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0.0)


def _draw_profiles(grid, first: Sequence[Samples]) -> None:  # matplotlib's, which has no public type
    """The first profiles, each in a panel."""
    panels = np.ravel(grid.subplots(sharey=True, squeeze=False))
    for panel, samples in zip(panels, first, strict=False):
        assert samples.z is not None
        values = samples.values[0].reshape(samples.values.shape[1], -1)
        z = np.asarray(samples.z).reshape(samples.z.shape[0], -1).mean(axis=1)
        middle = np.nanmedian(values, axis=1)
        panel.plot(middle, z, color=style.BLUE)
        if values.shape[1] > 1:
            panel.fill_betweenx(z, values.min(axis=1), values.max(axis=1), color=style.BLUE, alpha=0.2)
        if np.ptp(values) < 1e-3 * max(np.abs(middle).max(), 1e-6):  # nearly uniform
            room = 0.01 * np.abs(middle).max()
            panel.set_xlim(middle.min() - room, middle.max() + room)
        panel.ticklabel_format(axis="x", useOffset=False)
        name, unit = samples.name.removeprefix("initial "), style.typeset(samples.unit)
        style.label(panel, f"{style.in_words(name)} [{unit}]" if unit else name)
        panel.tick_params(labelsize="small")
        panel.locator_params(axis="x", nbins=3)
    panels[0].set_ylabel("z [m]", fontsize="small")
    for panel in panels[len(first) :]:
        panel.set_visible(False)
