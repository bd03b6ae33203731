"""Figures of a calibration and of its posterior."""

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .style import BLUE, RED, Option, in_words

_MOST_BINS = 40
_PREFIX = "parameter "


def parameters_of(dataset: xr.Dataset) -> dict[str, xr.DataArray]:
    """Parameters in the file of a calibration or a posterior, by path."""
    named = {str(each.attrs.get("long_name", "")): each for each in dataset.data_vars.values()}
    return {name.removeprefix(_PREFIX): each for name, each in named.items() if name.startswith(_PREFIX)}


def history_figures(dataset: xr.Dataset) -> dict[str, Figure]:
    """Figures of the history of a calibration, as stored in `history.nc`."""
    values, units, bounds = {}, {}, {}
    for path, each in parameters_of(dataset).items():
        values[path], units[path] = each.values, str(each.attrs.get("units", "1"))
        if "valid_min" in each.attrs:
            bounds[path] = float(each.attrs["valid_min"]), float(each.attrs["valid_max"])
    names = map(str, dataset["case"].values)
    scores = dict(zip(names, dataset["score"].values.T, strict=True))
    loss, rejected = dataset["loss"].values, dataset["rejected"].values
    return {"loss": plot_loss(loss, scores, rejected), "parameters": plot_parameters(values, units, bounds)}


def plot_loss(loss, scores: Mapping[str, np.ndarray], rejected) -> Figure:
    """Loss and score of each case over the iterations of a calibration, all `(n_iterations,)`.

    Args:
        loss: values that are not finite leave a gap.
        scores: by case.
        rejected: whether the step was rejected.
    """
    figure, ((panel,),) = style.panels(1, 1, (8.4, 4.2), (0.0, 0.0))
    loss, rejected = np.asarray(loss, dtype=float), np.asarray(rejected, dtype=bool)
    iteration = 1 + np.arange(loss.size)

    def draw(where: np.ndarray, values: np.ndarray, *marker: str, **line: Option) -> None:
        panel.plot(iteration[where], values[where], *marker, **line)

    if len(scores) > 1:
        shades = style.colour_map("haline")(np.linspace(0.1, 0.85, len(scores)))
        for (name, values), shade in zip(scores.items(), shades, strict=True):
            draw(~np.isnan(values), values, color=shade, linewidth=1.0, label=in_words(name))
    panel.plot(iteration, loss, color="black", linewidth=1.8, label="loss")
    least = np.minimum.accumulate(np.where(np.isfinite(loss), loss, np.inf))
    panel.plot(iteration, least, color="black", linewidth=0.8, linestyle=":", label="lowest so far")
    if rejected[1:].any():
        draw(rejected & np.isfinite(loss) & (iteration > 1), loss, "x", color=RED, label="rejected")
    panel.set_yscale("log")
    panel.set_xlabel("iteration")
    panel.set_ylabel("loss and scores of the cases" if len(scores) > 1 else "loss")
    panel.grid(which="both", alpha=0.25)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    panel.set_title("Loss of the calibration", fontsize="medium")
    return figure


def plot_parameters(
    values: Mapping[str, np.ndarray], units: Mapping[str, str], bounds: Mapping[str, tuple[float, float]]
) -> Figure:
    """Physical values of the free parameters over the iterations of a calibration.

    Args:
        values: by path, `(n_iterations,)`, or `(n_iterations, n_numbers)` for several in one panel.
        units: by path.
        bounds: lower and upper, by path; grey lines if within the axes.
    """
    figure, axes = style.panels(len(values), min(4, len(values)), (3.0, 2.1), sharex=True)
    for panel, (path, series) in zip(axes.flat, values.items(), strict=False):
        series = np.asarray(series, dtype=float)
        iteration = 1 + np.arange(len(series))
        if series.ndim == 1:
            panel.plot(iteration, series, color=BLUE)
            panel.axhline(series[0], color="0.6", linewidth=0.8, linestyle=":")
        else:
            panel.plot(iteration, series, color=BLUE, alpha=0.4, linewidth=0.5)
        if series.min() > 0.0 and series.max() / series.min() > 5.0:
            panel.set_yscale("log")
        limits = panel.get_ylim()
        for bound in filter(math.isfinite, bounds.get(path, ())):
            panel.axhline(bound, color="0.75", linewidth=2.0)
        panel.set_ylim(limits)
        _set_title(panel, path, units.get(path, "1"))
    for panel in style.lowest(axes, len(values)):
        panel.set_xlabel("iteration", fontsize="small")
    figure.suptitle("Parameters (dotted: start; grey: bounds)", fontsize="medium")
    return figure


def _set_title(panel: Axes, path: str, unit: str) -> None:
    panel.set_title(path if unit == "1" else f"{path} [{style.typeset(unit)}]", fontsize="small")
    panel.tick_params(labelsize="small")


def plot_marginals(dataset: xr.Dataset) -> Figure:
    """Histogram of every parameter, with its 90 % interval and that of the prior."""
    parameters = parameters_of(dataset)
    figure, axes = style.panels(len(parameters), min(4, len(parameters)), (3.0, 2.2))
    for panel, (path, variable) in zip(axes.flat, parameters.items(), strict=False):
        values = np.asarray(variable.values, float).ravel()
        n_bins = min(_MOST_BINS, 5 + values.size // 25)
        is_wide = values.min() > 0.0 and values.max() > 20.0 * values.min()
        panel.set_xscale("log" if is_wide else "linear")
        bins = (np.geomspace if is_wide else np.linspace)(values.min(), values.max(), n_bins)
        heights, *_ = panel.hist(values, bins=bins, color=BLUE, alpha=0.5)
        for end in np.quantile(values, (0.05, 0.95)):
            panel.axvline(end, color=BLUE, linewidth=1.2)
        panel.axvline(variable.attrs["most_probable"], color="black", linewidth=1.0, linestyle=":")
        if "prior_5_percent" in variable.attrs:
            ends = variable.attrs["prior_5_percent"], variable.attrs["prior_95_percent"]
            panel.plot(ends, [-0.06 * np.max(heights)] * 2, color=RED, linewidth=3.0, solid_capstyle="butt")
        panel.set_yticks([])
        _set_title(panel, path, str(variable.attrs.get("units", "1")))
    for panel in axes[:, 0]:
        panel.set_ylabel("number of draws", fontsize="small")
    key = "lines: 90 %; dotted: most probable; red: 90 % of the prior"
    figure.suptitle(f"Parameters given the observations ({key})", fontsize="medium")
    return figure


def plot_correlations(dataset: xr.Dataset) -> Figure:
    """Correlation matrix of the unconstrained parameters."""
    covariance, names = dataset["covariance"].values, [str(name) for name in dataset["parameter"].values]
    deviation = np.sqrt(np.diag(covariance))
    size = 2.6 + 0.42 * len(names)
    figure, ((panel,),) = style.panels(1, 1, (size, size), (0.8, 0.0))
    image = panel.imshow(covariance / np.outer(deviation, deviation), **style.around_zero(1.0))
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize="small")
    panel.set_yticks(range(len(names)), names, fontsize="small")
    figure.colorbar(image, ax=panel, shrink=0.7, label="correlation [1]")
    panel.set_title("Correlations of the parameters", fontsize="medium")
    return figure


def posterior_figures(dataset: xr.Dataset) -> dict[str, Figure]:
    """Figures of a posterior, as stored in `posterior.nc`."""
    return {
        "posterior_marginals": plot_marginals(dataset),
        "posterior_correlations": plot_correlations(dataset),
    }
