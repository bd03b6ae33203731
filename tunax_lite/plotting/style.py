"""Common parts of figures: panels, names, units, colour maps, and the variables of a run as arrays."""

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import (
    FixedLocator,
    NullLocator,
    StrMethodFormatter,
)

from ..io.dataset import attributes_of
from ..io.series import start_of_case
from ..io.writing import replacing
from ..physics.teos10 import surface_temperature
from ..quantities import QUANTITIES

if TYPE_CHECKING:
    import xarray as xr

STATE = ("temperature", "salinity", "u", "v")
BLUE, RED = "#3b75af", "#c44e30"
LOGARITHMIC_DECADES = 7.0  # decades shown below the largest value on a logarithmic axis


def colour_map(name: str) -> Colormap:
    """Return a colour map of cmocean."""
    with warnings.catch_warnings():
        # Matplotlib deprecates the way in which cmocean creates its maps.
        warnings.simplefilter("ignore", DeprecationWarning)
        import cmocean
    return cmocean.cm.cmap_d[name]


Option = Any  # a keyword argument of matplotlib


def around_zero(largest: float) -> dict[str, Option]:
    """Colour map and scale of differences and velocities, symmetric about zero."""
    return {"cmap": colour_map("balance"), "norm": Normalize(-(largest or 1.0), largest or 1.0)}


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure atomically; the suffix determines the format."""
    path = Path(path)
    ending = path.suffix.lstrip(".") or "png"
    show_names_as_they_are(figure)
    with replacing(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a name in another script
        figure.savefig(temporary, format=ending, dpi=130)


def save_figures(figures: Mapping[str, Figure], folder: Path, prefix: str = "") -> list[Path]:
    """Write figures by name into a folder, and return their paths."""
    paths = [folder / f"{prefix}{name}.png" for name in figures]
    for path, figure in zip(paths, figures.values(), strict=True):
        save_figure(figure, path)
    return paths


def panels(
    n: int,
    n_columns: int,
    size: tuple[float, float],
    margin: tuple[float, float] = (0.0, 0.5),
    **shared: Option,
) -> tuple[Figure, np.ndarray]:
    """Create a figure of `n` panels of a size [inches], row by row; its axes are `(n_rows, n_columns)`."""
    n_rows = math.ceil(n / n_columns)
    figsize = size[0] * n_columns + margin[0], size[1] * n_rows + margin[1]
    figure = Figure(figsize=figsize, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **shared)
    for panel in axes.flat[n:]:
        panel.set_visible(False)
    return figure, axes


def potential(temperature: np.ndarray, salinity: np.ndarray) -> np.ndarray:
    """Potential temperature [degC] from the conservative one and absolute salinity [g kg-1]."""
    return np.asarray(surface_temperature(jnp.asarray(temperature), jnp.asarray(salinity)))


def lowest(axes: np.ndarray, n: int) -> list[Axes]:
    """Return the lowest of `n` panels in each column, and show the tick labels of a shared axis there."""
    lowest_panels = list(axes.flat[max(0, n - axes.shape[1]) : n])
    for panel in lowest_panels:
        panel.tick_params(labelbottom=True)
    return lowest_panels


def label(panel: Axes, x: str = "", y: str = "") -> None:
    """Label the axes of a small panel, and draw a grid."""
    panel.set_xlabel(x, fontsize="small")
    if y:
        panel.set_ylabel(y, fontsize="small")
    panel.tick_params(labelsize="small")
    panel.grid(alpha=0.25)


def fields_of(run: "xr.Dataset") -> dict[str, "xr.DataArray"]:
    """Profiles of one column over time, without diagnostics and means.

    Temperature is potential if that is among the diagnostics. Raises `ValueError` for a batch.
    """
    if "temperature" in run and run["temperature"].ndim != 2:
        raise ValueError(
            "plotting: expected a single column, got a batch; take one column of it with `isel`."
        )
    fields = {
        str(name): values
        for name, values in run.data_vars.items()
        if values.dims in (("time", "z_center"), ("time", "z_face"))
        and values.attrs.get("role") != "diagnostic"
        and "cell_methods" not in values.attrs  # means between frames
    }
    if "temperature" in fields and "potential_temperature" in run:
        fields["temperature"] = run["potential_temperature"]
    return fields


def seconds_of(run: "xr.Dataset") -> np.ndarray:
    """Times of the dataset of a run [s] since its start."""
    time = run["time"].values
    if time.dtype.kind != "M":
        return time
    return (time - np.datetime64(start_of_case(run.attrs["start_time"]))) / np.timedelta64(1, "s")


def start_of(run: "xr.Dataset") -> str | None:
    """Date of the start of a run, if it has one."""
    return str(run.attrs.get("start_time") or "") or None


def colours_of(name: str, values: np.ndarray) -> dict[str, Option]:
    """Colour map and scale: diverging for velocities, logarithmic for values on faces over a decade."""
    if name in ("u", "v"):
        return around_zero(float(np.abs(values).max()))
    variable = QUANTITIES.get(name)
    if variable is not None and variable.location == "face" and values.min() >= 0.0 and values.max() > 0.0:
        top = float(values.max())
        least = max(float(values[values > 0.0].min()), top * 10.0**-LOGARITHMIC_DECADES)
        if top > 10.0 * least:
            return {"cmap": colour_map("dense"), "norm": LogNorm(least, top)}
    chosen = {"temperature": "thermal", "salinity": "haline"}.get(name, "matter")
    return {"cmap": colour_map(chosen), "norm": Normalize()}


_UPPER = 100.0  # [m]; in a deep column the panel is linear to this depth, and logarithmic below
_MARKS = (0, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


def vertical_axis(panel: Axes, end: float) -> None:
    """Scale the axis to heights from `end` [m] to the surface if it is negative, otherwise to depths.

    In water deeper than 200 m the axis is logarithmic below 100 m.
    """
    panel.set_ylim(end, 0.0)
    deepest, sign = abs(end), 1 if end > 0.0 else -1
    if deepest <= 2.0 * _UPPER:
        return
    # As much room for the upper 100 m as for all below.
    decades = math.log10(deepest / _UPPER)
    panel.set_yscale("symlog", linthresh=_UPPER, linscale=0.9 * decades)
    panel.yaxis.set_major_locator(FixedLocator([sign * mark for mark in _MARKS if mark <= deepest]))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    # Mark the depth at which the scale changes.
    panel.axhline(sign * _UPPER, color="0.35", linewidth=0.7, linestyle=(0, (4, 3)), zorder=3)
    place: dict[str, Option] = {"transform": panel.get_yaxis_transform(), "ha": "left", "va": "top"}
    panel.text(
        0.01, sign * 1.04 * _UPPER, "logarithmic below", fontsize="xx-small", zorder=4, **place,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0},
    )  # fmt: skip


def with_gaps(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Insert NaN into gaps of more than 2.5 median intervals of the times [s]; return times and values.

    A line then ends where months are missing, and a section is empty.
    """
    intervals = np.diff(time)
    median = float(np.median(intervals)) if intervals.size else 0.0
    wide = np.flatnonzero(intervals > 2.5 * median) + 1
    ends = np.concatenate([time[wide - 1] + median, time[wide] - median])
    return np.insert(time, np.tile(wide, 2), ends), np.insert(values, np.tile(wide, 2), np.nan, axis=0)


def isolated(values: np.ndarray) -> list[int]:
    """Indices of values without neighbours, which a line alone does not show."""
    finite = np.pad(np.isfinite(values), 1)
    return np.flatnonzero(finite[1:-1] & ~finite[:-2] & ~finite[2:]).tolist()


def uppermost(z: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights and values of the uppermost known value of each profile, both `(n_times, n_levels)`."""
    top = np.argmax(np.where(np.isfinite(values), z, -np.inf), axis=1)
    rows = np.arange(top.size)
    return z[rows, top], values[rows, top]


def reference_depth(heights: np.ndarray) -> tuple[float, str]:
    """Median height [m] of the instruments, and the depth in words, with the range if they move."""
    middle = float(np.median(heights))
    deepest, uppermost = -float(np.min(heights)), -float(np.max(heights))
    words = f"{abs(middle):.3g} m"
    if deepest - uppermost > max(0.5, 0.05 * abs(middle)):
        words += f"\n(measured at {abs(uppermost):.3g} to {abs(deepest):.3g} m)"
    return middle, words


def in_words(name: str) -> str:
    """Return a name with spaces instead of underscores."""
    return name.replace("_", " ")


Attributes = Mapping[str, Mapping[str, str]]
"""Attributes `long_name` and `units` of variables by name; those of the package where there are none."""
NO_ATTRIBUTES: Attributes = MappingProxyType({})


def long_name(name: str, attributes: Attributes = NO_ATTRIBUTES) -> str:
    """Long name of a variable without "conservative"; with the name added if others share it."""
    words = (attributes[name] if name in attributes else attributes_of(name))["long_name"]
    is_shared = sum(each["long_name"] == words for each in attributes.values()) > 1
    return f"{words} ({name})" if is_shared else words.removeprefix("conservative ")


def unit_of(name: str, attributes: Attributes = NO_ATTRIBUTES) -> str:
    """Unit of a variable; empty if it has none."""
    return (attributes[name] if name in attributes else attributes_of(name)).get("units", "")


def unit_label(name: str, attributes: Attributes = NO_ATTRIBUTES) -> str:
    """Unit in brackets; empty if the variable has none."""
    unit = unit_of(name, attributes)
    return f"[{typeset(unit)}]" if unit else ""


def name_and_unit(name: str, attributes: Attributes = NO_ATTRIBUTES) -> str:
    """Label of an axis: long name and unit."""
    return f"{long_name(name, attributes)} {unit_label(name, attributes)}".strip()


def unit_of_error(name: str, attributes: Attributes = NO_ATTRIBUTES) -> str:
    """Unit of the difference between two values of a variable."""
    unit = unit_of(name, attributes)
    return "K" if unit == "degC" else unit or "1"


def scaled(errors: Sequence[np.ndarray], unit: str) -> tuple[float, str]:
    """Factor and unit with which errors are shown: temperatures of less than 0.1 K in mK."""
    largest = max((float(np.nanmax(np.abs(each), initial=0.0)) for each in errors), default=0.0)
    return (1e3, "mK") if unit == "K" and largest < 0.1 else (1.0, unit)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def typeset(unit: str) -> str:
    """Write a unit with superscripts and the degree sign."""
    if unit == "degC":
        return "°C"
    raised = lambda match: match[0].translate(_RAISED)  # noqa: E731
    return re.sub(r"(?<=\S)(?<![-0-9])([-0-9]+)(?!\S)", raised, unit)


def show_names_as_they_are(figure: Figure) -> None:
    """Show dollar signs in names literally; only numbers on a logarithmic axis are mathematics."""
    for text in figure.findobj(Text):
        if "$" in text.get_text() and "mathdefault" not in text.get_text():
            text.set_parse_math(False)


class FigureTime:
    """Time axis of a figure: dates if the case has a start date, otherwise hours up to five days, or days."""

    def __init__(self, latest: float, start_time: str | None = None):
        self._start = np.datetime64(start_of_case(start_time), "ms") if start_time else None
        self._unit, self._length = ("h", 3600.0) if latest <= 5.0 * 86400.0 else ("d", 86400.0)

    def places(self, seconds: np.ndarray) -> np.ndarray:
        """Positions on the axis: dates, or hours or days since the start."""
        if self._start is None:
            return seconds / self._length
        return np.asarray(self._start + np.round(1e3 * seconds).astype("timedelta64[ms]"))

    def moment(self, seconds: float) -> str:
        """One time in words."""
        if self._start is not None:
            return str(self.places(np.asarray(seconds)).astype("datetime64[m]")).replace("T", " ")
        return f"{seconds / self._length:.4g} {self._unit}"

    def finish(self, panel: Axes, fontsize: str = "medium") -> None:
        """Label the horizontal axis of a panel; dates have the common part of the ticks at their end."""
        if self._start is None:
            panel.set_xlabel(f"time [{self._unit}]", fontsize=fontsize)
        else:
            locator = AutoDateLocator(minticks=3, maxticks=7)
            panel.xaxis.set_major_locator(locator)
            panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))
