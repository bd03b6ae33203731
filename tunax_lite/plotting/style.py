"""What figures share: names, units, colour maps, and the variables of a run as arrays."""

import dataclasses
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..io.protection import product_of
from ..io.series import start_of_case
from ..io.writing import replacing
from ..observables import unit_of_difference
from ..quantities import QUANTITIES
from ..trajectory import Trajectory

_STATE = ("temperature", "salinity", "u", "v")
_VELOCITIES = ("u", "v")
LOGARITHMIC_DECADES = 7.0
"""How far below its largest value a variable on a logarithmic axis is shown."""
_UNITS_IN_MATH = {"degC": "°C"}


def colour_map(name: str) -> Colormap:
    """A colour map of cmocean."""
    with warnings.catch_warnings():
        # cmocean makes its maps in a way that newer versions of Matplotlib deprecate.
        warnings.simplefilter("ignore", DeprecationWarning)
        import cmocean
    return cmocean.cm.cmap_d[name]


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure: complete, or not at all; the ending of the name decides on the format.

    Raises:
        OSError: a path that cannot be written.
        ValueError: an ending that is no format of figures.
    """
    path = Path(path)
    ending = path.suffix.lstrip(".") or "png"
    # Which file of this package it is, so that it may be drawn anew.
    origin = {"Software": "tunax_lite", "Source": product_of(path)} if ending == "png" else None
    with replacing(path) as temporary:
        figure.savefig(temporary, format=ending, dpi=130, metadata=origin)


def fields_of(trajectory: Trajectory) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Heights [m] and values `(time, level)` of everything in a run, by name."""
    if np.ndim(trajectory.state.temperature) != 2:
        raise ValueError(
            "plotting: expected a single column, got a batch; take one column of it with "
            "jax.tree.map(lambda leaf: leaf[..., 0], ...)."
        )
    center, face = np.asarray(trajectory.grid.z_center), np.asarray(trajectory.grid.z_face)
    center, face = center.reshape(-1), face.reshape(-1)
    found = {name: getattr(trajectory.state, name) for name in _STATE} | dict(trajectory.state.tracers)
    for field in dataclasses.fields(trajectory.clo_state):
        values = getattr(trajectory.clo_state, field.name)
        if values is not None and np.ndim(values) == 2:
            found[field.name] = values
    heights = {center.size: center, face.size: face}
    return {name: (heights[np.shape(v)[1]], np.asarray(v, dtype=float)) for name, v in found.items()}


def colours_of(name: str, values: np.ndarray) -> tuple[Colormap, Normalize]:
    if name in _VELOCITIES:
        largest = float(np.abs(values).max()) or 1.0
        return colour_map("balance"), Normalize(-largest, largest)
    if name == "temperature":
        return colour_map("thermal"), Normalize()
    if name == "salinity":
        return colour_map("haline"), Normalize()
    variable = QUANTITIES.get(name)
    if variable is not None and variable.location == "face" and values.min() >= 0.0 and values.max() > 0.0:
        top = float(values.max())
        lowest = max(float(values[values > 0.0].min()), top * 10.0**-LOGARITHMIC_DECADES)
        if top > 10.0 * lowest:
            return colour_map("dense"), LogNorm(lowest, top)
    return colour_map("matter"), Normalize()


def long_name(name: str) -> str:
    variable = QUANTITIES.get(name)
    return variable.long_name if variable is not None else name.replace("_", " ")


def unit_label(name: str) -> str:
    variable = QUANTITIES.get(name)
    return f"[{in_math(variable.unit)}]" if variable is not None else ""


def difference_label(name: str) -> str:
    """Name and unit of a difference between two values of a variable."""
    return f"{long_name(name)} [{in_math(unit_of_difference(name))}]"


def in_math(unit: str) -> str:
    """Exponents of a unit as superscripts."""
    if unit in _UNITS_IN_MATH:
        return _UNITS_IN_MATH[unit]
    parts = []
    for part in unit.split():
        letters = part.rstrip("-0123456789")
        exponent = part[len(letters) :]
        parts.append(f"{letters}$^{{{exponent}}}$" if letters and exponent else part)
    return " ".join(parts)


def label_profile(panel: Axes, name: str) -> None:
    panel.set_xlabel(f"{long_name(name)} {unit_label(name)}".strip(), fontsize="small")
    panel.tick_params(labelsize="small")
    panel.grid(alpha=0.25)


def number_log_axis(axis: Axis) -> None:
    """Plain numbers at 1, 2 and 5 on a logarithmic axis of few decades; powers of ten stay on others."""
    lowest, highest = sorted(axis.get_view_interval())
    if highest < 1e3 * lowest:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


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
