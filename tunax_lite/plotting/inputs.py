"""What goes into a case: its forcing over time and its first profile."""

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
    for one in inputs:
        if one.z is None and not one.name.startswith("observed "):
            # Rain has the unit of wind.
            is_rain = one.name == "precipitation"
            kind = one.name.rpartition(" ")[0], one.name if is_rain or not one.unit else one.unit
            groups.setdefault(kind, []).append(one)
    groups = dict(list(groups.items())[:_MOST_PANELS])
    first = [one for one in inputs if one.is_first and np.any(one.known != 0.0)]
    n_rows = max(1, len(groups))
    figure = Figure(figsize=(9.0, max(3.2, 1.35 * n_rows + 0.6)), layout="constrained")
    whole = figure.add_gridspec(1, 2, width_ratios=(3.0, max(1, math.ceil(len(first) / 2)) * 0.9))
    over_time = whole[0].subgridspec(n_rows, 1).subplots(sharex=True, squeeze=False)[:, 0]
    latest = max((float(one.time[-1]) for one in inputs if one.time.size > 1), default=1.0)
    axis = style.FigureTime(latest, start_time)
    for panel, several in zip(over_time, groups.values(), strict=False):
        for one in several:
            _draw_series(panel, one, axis, latest)
        panel.set_ylabel(f"[{style.in_math(several[0].unit)}]" if several[0].unit else "", fontsize="small")
        panel.tick_params(labelsize="small")
        panel.legend(fontsize="x-small", loc="upper right", ncols=2, frameon=False)
    axis.finish(over_time[-1], "small")
    figure.align_ylabels(over_time)
    if not groups:
        over_time[0].text(0.5, 0.5, "no forcing", ha="center", transform=over_time[0].transAxes, color="0.5")
    if first:
        _draw_profiles(whole[1].subgridspec(2 if len(first) > 1 else 1, math.ceil(len(first) / 2)), first)
    n = max((one.values[0, :1].size for one in first), default=1)
    of_several = f", median and range of {n} columns" if n > 1 else ""
    figure.suptitle(f"{style.in_words(title)}{of_several}", fontsize="medium")
    return figure


def _draw_series(panel: Axes, one: Samples, axis: style.FigureTime, latest: float) -> None:
    """One input over time; a constant is a line from end to end."""
    values = one.values.reshape(one.values.shape[0], -1)
    time = np.array([0.0, latest]) if one.is_constant else one.time
    values = np.repeat(values, 2, axis=0) if one.is_constant else values
    part = slice(None, None, max(1, time.size // _MOST_POINTS))
    places, values = axis.places(time[part]), values[part]
    (line,) = panel.plot(places, np.nanmedian(values, axis=1), linewidth=0.9, label=style.in_words(one.name))
    if values.shape[1] > 1:
        low, high = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        panel.fill_between(places, low, high, color=line.get_color(), alpha=0.2, linewidth=0.0)


def _draw_profiles(grid, first: Sequence[Samples]) -> None:  # matplotlib's, which has no public type
    """The first profiles, each in a panel."""
    panels = np.ravel(grid.subplots(sharey=True, squeeze=False))
    for panel, one in zip(panels, first, strict=False):
        assert one.z is not None
        values = one.values[0].reshape(one.values.shape[1], -1)
        z = np.asarray(one.z).reshape(one.z.shape[0], -1).mean(axis=1)
        middle = np.nanmedian(values, axis=1)
        panel.plot(middle, z, color=style.BLUE)
        if values.shape[1] > 1:
            panel.fill_betweenx(z, values.min(axis=1), values.max(axis=1), color=style.BLUE, alpha=0.2)
        if np.ptp(values) < 1e-3 * max(np.abs(middle).max(), 1e-6):  # nearly uniform
            room = 0.01 * np.abs(middle).max()
            panel.set_xlim(middle.min() - room, middle.max() + room)
        panel.ticklabel_format(axis="x", useOffset=False)
        name = one.name.removeprefix("initial ")
        style.label(panel, f"{style.in_words(name)} [{style.in_math(one.unit)}]" if one.unit else name)
        panel.tick_params(labelsize="small")
        panel.locator_params(axis="x", nbins=3)
    panels[0].set_ylabel("z [m]", fontsize="small")
    for panel in panels[len(first) :]:
        panel.set_visible(False)
