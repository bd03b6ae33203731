"""Figures of a calibration and of its posterior."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..calibration.cross_validation import CrossValidationRow
from ..calibration.posterior import Bands, spectrum_of
from ..observations import Observations
from .style import FigureTime, colour_map, in_math, long_name, number_log_axis, unit_label


def plot_loss(
    loss,
    scores: Mapping[str, np.ndarray],
    rejected,
    of_all_cases: ArrayLike = True,
    start: ArrayLike = 0,
) -> Figure:
    """Loss and the score of each case over the iterations of a calibration.

    Args:
        loss: `(n_iterations,)`; values that are not finite leave a gap.
        scores: by case, `(n_iterations,)`.
        rejected: whether the step was taken back, `(n_iterations,)`.
        of_all_cases: whether the loss is that of all cases, `(n_iterations,)`; the others are points.
        start: number of the start, `(n_iterations,)`; a new one begins after a vertical line.
    """
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    panel = figure.subplots()
    loss, rejected = np.asarray(loss, dtype=float), np.asarray(rejected, dtype=bool)
    iteration = 1 + np.arange(loss.size)
    for (name, values), shade in zip(
        scores.items(), colour_map("haline")(np.linspace(0.1, 0.85, max(1, len(scores)))), strict=True
    ):
        if len(scores) > 1:
            known = ~np.isnan(values)
            panel.plot(
                iteration[known], values[known], color=shade, linewidth=1.0, label=name.replace("_", " ")
            )
    of_all_cases = np.broadcast_to(np.asarray(of_all_cases, dtype=bool), loss.shape)
    panel.plot(iteration[of_all_cases], loss[of_all_cases], color="black", linewidth=1.8, label="loss")
    if not of_all_cases.all():
        few = ~of_all_cases
        panel.plot(
            iteration[few], loss[few], ".", color="0.6", markersize=3, zorder=0, label="of a few cases"
        )
    for beginning in np.flatnonzero(np.diff(np.broadcast_to(start, loss.shape))) + 0.5:
        panel.axvline(beginning + 1.0, color="0.6", linewidth=0.8)
    lowest = np.minimum.accumulate(np.where(np.isfinite(loss) & of_all_cases, loss, np.inf))
    panel.plot(iteration, lowest, color="black", linewidth=0.8, linestyle=":", label="lowest so far")
    if rejected[1:].any():
        marked = rejected & np.isfinite(loss) & (iteration > 1)
        panel.plot(iteration[marked], loss[marked], "x", color="#c44e30", label="rejected")
    panel.set_yscale("log")
    panel.set_xlabel("iteration")
    panel.set_ylabel("loss and scores of the cases" if len(scores) > 1 else "loss")
    panel.grid(which="both", alpha=0.25)
    number_log_axis(panel.yaxis)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    panel.set_title("Loss of the calibration", fontsize="medium")
    return figure


def plot_parameters(
    values: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    bounds: Mapping[str, tuple[float, float]],
) -> Figure:
    """Physical values of the free parameters over the iterations of a calibration.

    Args:
        values: by path, `(n_iterations,)`, or `(n_iterations, n_numbers)` for several in one panel.
        units: by path.
        bounds: lower and upper, by path; grey where they are in view.
    """
    n_columns = min(4, len(values))
    n_rows = math.ceil(len(values) / n_columns)
    figure = Figure(figsize=(3.0 * n_columns, 2.1 * n_rows + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    for panel, (path, series) in zip(axes.flat, values.items(), strict=False):
        series = np.asarray(series, dtype=float)
        iteration = 1 + np.arange(len(series))
        if series.ndim == 1:
            panel.plot(iteration, series, color="#3b75af")
            panel.axhline(series[0], color="0.6", linewidth=0.8, linestyle=":")
        else:
            panel.plot(iteration, series, color="#3b75af", alpha=0.4, linewidth=0.5)
        if series.min() > 0.0 and series.max() / series.min() > 5.0:
            panel.set_yscale("log")
        limits = panel.get_ylim()
        for bound in filter(math.isfinite, bounds.get(path, ())):
            panel.axhline(bound, color="0.75", linewidth=2.0)
        panel.set_ylim(limits)
        unit = units.get(path, "1")
        panel.set_title(path if unit == "1" else f"{path} [{in_math(unit)}]", fontsize="small")
        panel.tick_params(labelsize="small")
    for panel in axes.flat[len(values) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("iteration", fontsize="small")
    figure.suptitle("Parameters (dotted: start; grey: bounds)", fontsize="medium")
    return figure


def history_figures(dataset: xr.Dataset) -> dict[str, Figure]:
    """Figures of the history of a calibration, as `history.nc` holds it."""
    prefix = "parameter "
    free = {
        str(variable.attrs["long_name"]).removeprefix(prefix): variable
        for variable in dataset.data_vars.values()
        if str(variable.attrs.get("long_name", "")).startswith(prefix)
    }
    scores = dataset["score"].values
    return {
        "loss": plot_loss(
            dataset["loss"].values,
            {str(name): scores[:, index] for index, name in enumerate(dataset["case"].values)},
            dataset["rejected"].values.astype(bool),
            dataset["of_all_cases"].values.astype(bool),
            dataset["start"].values,
        ),
        "parameters": plot_parameters(
            {path: np.asarray(variable.values) for path, variable in free.items()},
            {path: str(variable.attrs.get("units", "1")) for path, variable in free.items()},
            {
                path: (float(variable.attrs["valid_min"]), float(variable.attrs["valid_max"]))
                for path, variable in free.items()
                if "valid_min" in variable.attrs
            },
        ),
    }


_SHOWN = (
    ("persistence", "initial profile kept", "|", "0.45"),
    ("uncalibrated", "uncalibrated", "o", "#8a8a8a"),
    ("left_out", "calibrated without the case", "D", "#c44e30"),
    ("calibrated", "calibrated on all cases", "s", "#3b75af"),
)
"""Column, label, marker and colour."""


def plot_cross_validation(rows: Sequence[CrossValidationRow]) -> Figure:
    """Errors by case, a panel for each variable: left out of the calibration, in it, and without any.

    Args:
        rows: of the table, at least one.
    """
    variables = list(dict.fromkeys(row.variable for row in rows))
    cases = list(dict.fromkeys(row.case for row in rows))
    figure = Figure(figsize=(3.6 * len(variables) + 2.2, 0.55 * len(cases) + 1.9), layout="constrained")
    axes = figure.subplots(1, len(variables), squeeze=False, sharey=True)[0]
    for panel, variable in zip(axes, variables, strict=True):
        own = [row for row in rows if row.variable == variable]
        places = [cases.index(row.case) for row in own]
        for column, label, marker, colour in _SHOWN:
            values = np.array([getattr(row, column) for row in own])
            values = np.where(values > 0.0, values, np.nan)  # a logarithm has no place for others
            panel.plot(values, places, marker, color=colour, label=label, markersize=7.0)
        panel.hlines(
            places, [row.uncalibrated for row in own], [row.left_out for row in own], color="0.8", zorder=0
        )
        panel.set_xscale("log")
        number_log_axis(panel.xaxis)
        panel.set_xlabel(f"error of {variable} [{in_math(own[0].unit)}]", fontsize="small")
        panel.grid(axis="x", which="both", alpha=0.25)
        panel.tick_params(labelsize="small")
    axes[0].set_yticks(range(len(cases)), [case.replace("_", " ") for case in cases])
    axes[0].set_ylim(len(cases) - 0.5, -0.5)
    labels = axes[0].get_legend_handles_labels()
    n_columns = 2 if len(variables) == 1 else 4
    figure.legend(*labels, loc="outside upper center", ncols=n_columns, fontsize="small")
    return figure


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
