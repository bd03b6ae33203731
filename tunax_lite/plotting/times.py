"""The time axis of a figure: dates where the case has one, hours or days since its start elsewhere."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ..io.dates import start_of_case

_HOUR, _DAY = 3600.0, 86400.0
_LONGEST_IN_HOURS = 5.0 * _DAY


class FigureTime:
    """Where the times of a run stand in a figure, and how they are written.

    Args:
        latest: of the times that are shown [s] since the start of the case; decides between hours and days.
        start_time: ISO 8601 date of the start; `None` for an idealised case.

    Raises:
        ValueError: a start that is no ISO 8601 time.
    """

    def __init__(self, latest: float, start_time: str | None = None):
        self._start = np.datetime64(start_of_case(start_time), "ms") if start_time else None
        self._latest = latest
        in_hours = latest <= _LONGEST_IN_HOURS
        self._unit, self._length = ("h", _HOUR) if in_hours else ("d", _DAY)

    @property
    def label(self) -> str:
        if self._start is None:
            return f"time [{self._unit}]"
        years = np.unique(self.places(np.array([0.0, self._latest])).astype("datetime64[Y]"))
        return " to ".join(str(year) for year in years)

    def places(self, seconds: np.ndarray) -> np.ndarray:
        """Dates, or hours or days since the start."""
        if self._start is None:
            return seconds / self._length
        return np.asarray(self._start + np.round(1e3 * seconds).astype("timedelta64[ms]"))

    def moment(self, seconds: float) -> str:
        """One time in words."""
        if self._start is not None:
            return str(self.places(np.asarray(seconds)).astype("datetime64[m]")).replace("T", " ")
        return f"{seconds / self._length:.4g} {self._unit}"

    def finish(self, panel: Axes, fontsize: str = "medium") -> None:
        """Label the horizontal axis of a panel."""
        panel.set_xlabel(self.label, fontsize=fontsize)
        if self._start is not None:
            locator = AutoDateLocator(minticks=3, maxticks=7)
            panel.xaxis.set_major_locator(locator)
            panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))
