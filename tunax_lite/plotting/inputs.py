"""Figure of the inputs of a case: forcing over time and initial profiles."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..column.case import Case
from ..plausibility.inputs import Samples, evidence_of
from . import style

_MOST_PANELS, _MOST_POINTS = 8, 4000


def plot_inputs(case: Case) -> Figure:
    """Draw weather and fluxes over time in at most eight panels, one per unit, and the initial profiles."""
    evidence, groups = evidence_of(case), dict[str, list[Samples]]()
    for samples in (*evidence.weather.values(), *evidence.fluxes.values()):
        # Rain has the unit of wind.
        unit = samples.name if samples.name == "precipitation" else samples.unit
        groups.setdefault(unit, []).append(_during(samples, case.duration))
    groups = dict(list(groups.items())[:_MOST_PANELS])
    first = [each for each in evidence.initial.values() if np.any(each.known != 0.0)]
    n_rows = max(1, len(groups))
    figure = Figure(figsize=(9.0, max(3.2, 1.35 * n_rows + 0.6)), layout="constrained")
    columns = figure.add_gridspec(1, 2, width_ratios=(3.0, max(1, math.ceil(len(first) / 2)) * 0.9))
    over_time = columns[0].subgridspec(n_rows, 1).subplots(sharex=True, squeeze=False)[:, 0]
    series = (samples for group in groups.values() for samples in group)
    latest = max((float(each.time[-1]) for each in series if each.time.size > 1), default=1.0)
    axis = style.FigureTime(latest, case.start_time)
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
    figure.suptitle(style.in_words(case.name), fontsize="medium")
    return figure


def _during(samples: Samples, duration: float) -> Samples:
    """Select the records during a run, with one before and one after."""
    first = max(int(np.searchsorted(samples.time, 0.0, side="right")) - 1, 0)
    last = int(np.searchsorted(samples.time, duration, side="left")) + 1
    part = slice(first, max(last, first + 2))
    return dataclasses.replace(samples, time=samples.time[part], values=samples.values[part])


def _draw_series(panel: Axes, samples: Samples, axis: style.FigureTime, latest: float) -> None:
    """Draw one input over time; a constant is a line from end to end."""
    is_constant, values = samples.time.size == 1, samples.values
    time = np.array([0.0, latest]) if is_constant else samples.time
    values = np.repeat(values, 2) if is_constant else values
    part = slice(None, None, max(1, time.size // _MOST_POINTS))
    label = style.in_words(samples.name)
    panel.plot(axis.places(time[part]), values[part], linewidth=0.9, label=label)


def _draw_profiles(grid, first: Sequence[Samples]) -> None:  # matplotlib's, which has no public type
    """Draw each initial profile in a panel."""
    panels = np.ravel(grid.subplots(sharey=True, squeeze=False))
    for panel, samples in zip(panels, first, strict=False):
        assert samples.z is not None
        values = samples.values[0]
        panel.plot(values, samples.z, color=style.BLUE)
        if np.ptp(values) < 1e-3 * max(np.abs(values).max(), 1e-6):  # nearly uniform
            room = 0.01 * np.abs(values).max()
            panel.set_xlim(values.min() - room, values.max() + room)
        panel.ticklabel_format(axis="x", useOffset=False)
        name, unit = samples.name.removeprefix("initial "), style.typeset(samples.unit)
        style.label(panel, f"{style.in_words(name)} [{unit}]" if unit else name)
        panel.tick_params(labelsize="small")
        panel.locator_params(axis="x", nbins=3)
    panels[0].set_ylabel("z [m]", fontsize="small")
    for panel in panels[len(first) :]:
        panel.set_visible(False)
