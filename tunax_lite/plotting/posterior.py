"""Figures of a posterior: marginals beside the prior, correlations, what is constrained, bands of runs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..calibration.posterior import Bands, spectrum_of
from ..observations import Observations
from .style import FigureTime, colour_map, in_math, long_name, unit_label

_BLUE, _RED = "#3b75af", "#c44e30"
_MOST_BINS = 40


def posterior_figures(dataset: xr.Dataset) -> dict[str, Figure]:
    """Figures of a posterior, as `posterior.nc` holds it."""
    return {
        "posterior_marginals": plot_marginals(dataset),
        "posterior_correlations": plot_correlations(dataset),
        "posterior_spectrum": plot_spectrum(dataset),
    }


def plot_marginals(dataset: xr.Dataset) -> Figure:
    """Histogram of every parameter, its 90 % interval, and the interval that the prior gave it."""
    found = {
        str(variable.attrs["long_name"]).removeprefix("parameter "): variable
        for variable in dataset.data_vars.values()
        if str(variable.attrs.get("long_name", "")).startswith("parameter ")
    }
    n_columns = min(4, len(found))
    n_rows = math.ceil(len(found) / n_columns)
    figure = Figure(figsize=(3.0 * n_columns, 2.2 * n_rows + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for panel, (path, variable) in zip(axes.flat, found.items(), strict=False):
        values = np.asarray(variable.values, float).ravel()
        n_bins = min(_MOST_BINS, 5 + values.size // 25)
        spread = float(values.max() / values.min()) if values.min() > 0.0 else 1.0
        if spread > 20.0:
            panel.set_xscale("log")
            bins = np.geomspace(values.min(), values.max(), n_bins)
        else:
            bins = np.linspace(values.min(), values.max(), n_bins)
        heights, *_ = panel.hist(values, bins=bins, color=_BLUE, alpha=0.5)  # pyright: ignore[reportArgumentType]
        for end in np.quantile(values, (0.05, 0.95)):
            panel.axvline(end, color=_BLUE, linewidth=1.2)
        panel.axvline(variable.attrs["most_probable"], color="black", linewidth=1.0, linestyle=":")
        if "prior_5_percent" in variable.attrs:
            ends = variable.attrs["prior_5_percent"], variable.attrs["prior_95_percent"]
            panel.plot(ends, [-0.06 * np.max(heights)] * 2, color=_RED, linewidth=3.0, solid_capstyle="butt")
        unit = str(variable.attrs.get("units", "1"))
        panel.set_title(path if unit == "1" else f"{path} [{in_math(unit)}]", fontsize="small")
        panel.set_yticks([])
        panel.tick_params(labelsize="small")
    for panel in axes.flat[len(found) :]:
        panel.set_visible(False)
    figure.suptitle(
        "Parameters given the observations (lines: 90 %; dotted: most probable; red: 90 % of the prior)",
        fontsize="medium",
    )
    return figure


def plot_correlations(dataset: xr.Dataset) -> Figure:
    """Correlation matrix of the unconstrained numbers."""
    covariance, names = dataset["covariance"].values, [str(name) for name in dataset["parameter"].values]
    deviation = np.sqrt(np.diag(covariance))
    size = 2.6 + 0.42 * len(names)
    figure = Figure(figsize=(size + 0.8, size), layout="constrained")
    panel = figure.subplots()
    image = panel.imshow(
        covariance / np.outer(deviation, deviation), vmin=-1.0, vmax=1.0, cmap=colour_map("balance")
    )
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize="small")
    panel.set_yticks(range(len(names)), names, fontsize="small")
    figure.colorbar(image, ax=panel, shrink=0.7)
    panel.set_title("Correlations of the parameters", fontsize="medium")
    return figure


def plot_spectrum(dataset: xr.Dataset) -> Figure:
    """Fisher information of the observations by direction, and what the directions are made of."""
    spectrum, names = spectrum_of(dataset["information"].values), dataset["parameter"].values
    n = len(names)
    figure = Figure(figsize=(max(5.0, 2.6 + 0.45 * n), 3.4 + 0.34 * n), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 0.34 * n + 0.6))
    lowest = 1e-4
    above.bar(range(n), np.maximum(spectrum.information, lowest), bottom=0.0, color=_BLUE)
    above.set_yscale("log")
    above.set_ylim(lowest, max(10.0, 3.0 * float(spectrum.information.max())))
    above.axhline(1.0, color=_RED, linewidth=1.2)
    above.set_ylabel("observations / prior [1]", fontsize="small")
    figure.suptitle("Information in the observations (red: as much as in the prior)", fontsize="medium")
    below.imshow(spectrum.directions, vmin=-1.0, vmax=1.0, cmap=colour_map("balance"), aspect="auto")
    below.set_yticks(range(n), [str(name) for name in names], fontsize="small")
    below.set_xticks(range(n), [str(i + 1) for i in range(n)])
    below.set_xlabel("direction")
    return figure


def plot_bands(bands: Sequence[Bands], observations: Sequence[Observations] | None = None) -> Figure:
    """Temperature at the end, and numbers of the column over time, with the spread of the parameters.

    Args:
        bands: one row of panels each, with quantiles that are symmetric around the median.
        observations: of the same cases; what they have of the profile and of the numbers is drawn.

    Raises:
        ValueError: no bands at all.
    """
    if not bands:
        raise ValueError("plot_bands: expected at least one case, got none.")
    names = tuple(bands[0].series)
    profile = next(iter(bands[0].profiles))
    n_columns = 1 + len(names)
    figure = Figure(figsize=(3.3 * n_columns, 2.9 * len(bands) + 0.5), layout="constrained")
    axes = figure.subplots(len(bands), n_columns, squeeze=False)
    drawn = False
    for number, (row, band) in enumerate(zip(axes, bands, strict=True)):
        axis = FigureTime(float(band.time[-1]), band.start_time)
        last = band.profiles[profile][:, -1]
        _shade(row[0].fill_betweenx, band.z, last)
        row[0].plot(last[len(last) // 2], band.z, color=_BLUE, linewidth=1.2)
        seen = None if observations is None else observations[number]
        if seen is not None:
            drawn |= _draw_observed_profile(row[0], seen, profile, float(band.time[-1]))
        row[0].set_xlabel(f"{long_name(profile)} {unit_label(profile)}", fontsize="small")
        row[0].set_ylabel("z [m]")
        title = f"{band.name.replace('_', ' ')}, {axis.moment(float(band.time[-1]))}"
        row[0].set_title(title, loc="left", fontsize="medium")
        time = axis.places(band.time)
        for panel, name in zip(row[1:], names, strict=True):
            values = band.series[name]
            _shade(panel.fill_between, time, values)
            panel.plot(time, values[len(values) // 2], color=_BLUE, linewidth=1.2)
            if seen is not None:
                drawn |= _draw_observed_series(panel, seen, name, float(band.time[-1]), axis)
            axis.finish(panel, fontsize="small")
            # The name: what it means in words is longer than the panel is high.
            panel.set_ylabel(f"{name.replace('_', ' ')} {unit_label(name)}", fontsize="small")
        for panel in row:
            panel.tick_params(labelsize="small")
            panel.grid(alpha=0.25)
    legend = "shades: quantiles; dotted: observed" if drawn else "shades: quantiles"
    figure.suptitle(f"Runs with parameters drawn from the posterior ({legend})", fontsize="medium")
    return figure


_OBSERVED: dict[str, Any] = {"color": "black", "linewidth": 1.0, "linestyle": ":"}


def _draw_observed_profile(panel: Axes, observations: Observations, name: str, time: float) -> bool:
    """The observed profile nearest to a time [s], if there is one; returns whether there is."""
    if name not in observations.profiles:
        return False
    values, z = np.asarray(observations.profiles[name]), np.asarray(observations.z)
    known = np.flatnonzero(np.isfinite(values).any(axis=1))
    if not known.size:
        return False
    place = known[np.abs(np.asarray(observations.time)[known] - time).argmin()]
    heights = z[place] if z.ndim == 2 else z
    there = np.isfinite(values[place])
    panel.plot(values[place][there], heights[there], **_OBSERVED)
    return True


def _draw_observed_series(
    panel: Axes, observations: Observations, name: str, end: float, axis: FigureTime
) -> bool:
    """Observed numbers up to a time [s], if there are any; returns whether there are."""
    if name not in observations.series:
        return False
    times, values = np.asarray(observations.time), np.asarray(observations.series[name])
    there = np.isfinite(values) & (times <= end * (1.0 + 1e-9))
    panel.plot(axis.places(times[there]), values[there], **_OBSERVED)
    return bool(there.any())


def _shade(fill, along: np.ndarray, values: np.ndarray) -> None:
    """From the outermost pair of quantiles inwards."""
    for i in range(len(values) // 2):
        fill(along, values[i], values[len(values) - 1 - i], color=_BLUE, alpha=0.25, linewidth=0.0)
