"""Figures of budgets: what every term does over time, and what is left."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..io.budgets import Budget
from . import style
from .runs import COLOURS, DASHES
from .style import A_FEW_DAYS, FigureTime, Option

_CHANGE: dict[str, Option] = {
    "color": "0.15",
    "linewidth": 4.0,
    "alpha": 0.35,
    "label": "change of the content",
}

_LEAST = 1e-6
"""Of the largest rate: a term below is zero but for rounding, or not visible."""
_DAY = 86400.0


def plot_budgets(budgets: Sequence[Budget], title: str = "", *, start_time: str | None = None) -> Figure:
    """Terms of each budget over time, with the change of the content, one row of panels per budget.

    Means over the output interval are steps; if a run takes more than a few days, they are means over days
    from its start, without an incomplete last day. Terms that no line could show are left out. Raises
    `ValueError` without a budget.
    """
    if not budgets:
        raise ValueError("plot_budgets: expected at least one budget, got none.")
    figure, axes = style.panels(len(budgets), 1, (8.4, 2.5), (0.0, 0.8), sharex=True)
    axis = FigureTime(float(budgets[0].until[-1]), start_time)
    for panel, budget in zip(axes[:, 0], budgets, strict=True):
        ends = np.append(budget.since, budget.until[-1])
        are_daily = ends[-1] - ends[0] > A_FEW_DAYS and np.median(np.diff(ends)) < _DAY
        bounds = np.arange(ends[0], ends[-1] + 1.0, _DAY) if are_daily else ends
        change, *means = (_means(values, ends, bounds) for values in (budget.change, *budget.terms.values()))
        seen = _LEAST * max(np.max(np.abs(values)) for values in (change, *means))
        terms = zip(budget.terms, means, strict=True)
        shown = {name: values for name, values in terms if np.max(np.abs(values)) > seen}
        edges = axis.places(bounds)
        panel.stairs(change, edges, baseline=None, **_CHANGE)
        for number, (name, values) in enumerate(shown.items()):
            line = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % 4]}
            panel.stairs(values, edges, baseline=None, label=style.in_words(name), linewidth=1.3, **line)
        largest = float(np.max(np.abs(budget.residual)))
        state = "closed" if budget.is_closed else "not closed"
        unit = style.in_math(budget.unit)
        heading = f"{budget.label}: {state}, residual of at most {largest:.1e} {unit}"
        panel.set_title(heading, fontsize="small", loc="left")
        panel.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
        panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="x-small", frameon=False)
        panel.set_xlim(edges[0], edges[-1])
        averaged = "\ndaily means" if are_daily else ""
        style.label(panel, y=f"into the column{averaged}\n[{unit}]")
    axis.finish(axes[-1, 0])
    figure.suptitle(title, fontsize="medium")
    return figure


def _means(values: np.ndarray, ends: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Means between `bounds` of values that are constant between `ends`."""
    total = np.append(0.0, np.cumsum(values * np.diff(ends)))
    return np.diff(np.interp(bounds, ends, total)) / np.diff(bounds)
