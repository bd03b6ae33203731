"""Figures of an assimilation, and a page: innovations, Taylor diagram, increments, corrections, ranks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ...io.errors import FileFormatError
from ...io.netcdf import read_netcdf
from ...plotting.style import around_zero, colour_map, label, panels, save_figures
from ...plotting.together import labels_of
from ...report import number, write_figures

if TYPE_CHECKING:
    import xarray as xr

_DAY = 86400.0


CAPTIONS = {
    "innovations": "Observation minus forecast by lead, and root mean square",
    "taylor": "Standard deviation of forecasts over that of observations, and correlation, by lead",
    "increments": "Analysis minus background, and spread of the background",
    "corrections": "Autoregressive errors after the analysis, with one standard deviation",
    "months": "The same as means by month",
    "ranks": "Members below the observation, and innovations over their expected size",
}


def assimilation_figures(path: Path) -> dict[str, Figure]:
    """Figures of a file of `tunax-lite assimilate`, by name; of several streams the last is shown.

    Raises:
        FileFormatError: a file without innovations.
    """
    results = _read(path)
    figures = {"innovations": _innovations(_of_one(results)), "taylor": _taylor(results)}
    figures["increments"] = _increments(results)
    if "process" in results.dims:
        figures |= {"corrections": _corrections(results), "months": _months(results)}
    if float(results["predicted_spread"].max()) > 0.0:
        figures["ranks"] = _ranks(_of_one(results))
    return figures


def _read(path: Path) -> "xr.Dataset":
    results = read_netcdf(path)
    if "innovation" not in results:
        got, advice = "one without `innovation`", "name such files alone"
        raise FileFormatError(path, "file", "the results of `tunax-lite assimilate`", got, advice)
    return results


def figures_together(paths: Sequence[Path]) -> dict[str, Figure]:
    """What forecasts of several files are worth, by lead: of methods on the same observations.

    Each counts the observations that it has; errors as in `assimilation_figures`, and of other units.
    """
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes, unit = figure.subplots(), None
    for path, name in zip(paths, labels_of(paths), strict=True):
        results = _read(path)
        found = str(results["innovation"].attrs["units"])
        if unit not in (None, found):
            advice = "draw them apart"
            raise FileFormatError(path, "innovation", f"the unit of the others, {unit}", found, advice)
        unit = found
        values = results["innovation"].transpose("lead", ...).values
        errors = [_rms(each) for each in values]
        axes.plot(results["lead"].values, errors, "o-", label=f"{name} ({results.attrs['method']})")
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize="small")
    label(axes, "lead [days]", f"rms of observation minus forecast [{unit}]")
    return {"leads": figure}


def columns_figures(path: Path) -> dict[str, Figure]:
    """Where forecasts are worth how much, of a file of columns: root mean square by lead, on the map.

    Raises:
        FileFormatError: as in `assimilation_figures`.
    """
    results = _read(path)
    leads, n_leads = results["lead"].values, results.sizes["lead"]
    errors = (results["innovation"] ** 2).mean("time") ** 0.5
    one = errors.isel(lead=0, drop=True)
    north, east = (results[name].broadcast_like(one).transpose(*one.dims) for name in ("lat", "lon"))
    figure, axes = panels(n_leads, 1, (5.0, 2.6), sharex=True, sharey=True)
    most = float(errors.max())
    for place, (panel, lead) in enumerate(zip(axes.flat, leads, strict=False)):
        values = errors.isel(lead=place).transpose(*one.dims).values.ravel()
        drawn = panel.scatter(
            east.values.ravel(), north.values.ravel(), c=values, cmap=colour_map("amp"), vmin=0.0, vmax=most
        )
        figure.colorbar(drawn, ax=panel).set_label("rms [K]", fontsize="small")
        panel.set_title(f"observation minus forecast, {lead:g} days ahead", fontsize="small")
        label(panel, "degrees east" if place == n_leads - 1 else "", "degrees north")
    return {"errors": figure}


def _of_one(results: "xr.Dataset") -> "xr.Dataset":
    return results.isel(stream=-1) if "stream" in results.dims else results


def draw(path: Path, folder: Path) -> list[Path]:
    """Write the figures into a folder."""
    return save_figures(assimilation_figures(path), folder)


def write_page(path: Path, page: Path) -> Path:
    """Write a page about a file of `tunax-lite assimilate`: tables and figures."""
    results = _read(path)
    figures = {name: (CAPTIONS[name], figure) for name, figure in assimilation_figures(path).items()}
    attributes = {str(name): str(value) for name, value in results.attrs.items()}
    title = f"Assimilation: {results.attrs['method']}"
    return write_figures(page, "Assimilated", title, attributes, _tables(results), figures)


def _tables(results: "xr.Dataset") -> dict[str, list[list[str]]]:
    several = results if "stream" in results.dims else results.expand_dims(stream=["all"], axis=-1)
    names = [str(name) for name in several["stream"].values]
    unit = results["innovation"].attrs["units"]
    values = several["innovation"].transpose("time", "lead", "stream").values
    rows = [["lead [days]", *names]]
    for lead, of in zip(several["lead"].values, np.moveaxis(values, 1, 0), strict=True):
        rows.append([f"{lead:g}", *(number(_rms(column), 3) for column in of.T)])
    tables = {f"Root mean square of observation minus forecast [{unit}]": rows}
    kept = [str(name) for name in results if str(name).startswith("consistency_")]
    if kept:
        rows = [["", *names]]
        for name in kept:
            label = name.removeprefix("consistency_").replace("_", " ")
            rows.append([label, *(number(float(each), 3) for each in np.atleast_1d(results[name].values))])
        tables[f"Consistency of errors over the judged observations [{unit}]"] = rows
    return tables


def _rms(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else np.nan


def _days(results: "xr.Dataset", name: str) -> np.ndarray:
    return np.asarray(results[name], dtype=float) / _DAY


def _innovations(results: "xr.Dataset") -> Figure:
    """Observation minus forecast over time, one panel for each lead, and root mean squares by lead."""
    leads, values = np.asarray(results["lead"]), np.asarray(results["innovation"])
    figure, axes = panels(leads.size + 1, 1, (7.0, 1.6), sharex=False)
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    unit = results["innovation"].attrs["units"]
    for panel, lead, column in zip(axes.flat, leads, values.T, strict=False):
        rms = _rms(column)
        panel.plot(_days(results, "time"), column, ".", markersize=2.0)
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_ylim(-most, most)
        panel.set_title(f"{lead:g} days ahead: rms {rms:.2f} {unit}", fontsize="small")
        label(panel, "days since the start" if lead == leads[-1] else "", f"innovation [{unit}]")
    last = axes.flat[leads.size]
    with_any = np.isfinite(values).any(axis=0)
    last.plot(leads[with_any], np.sqrt(np.nanmean(values[:, with_any] ** 2, axis=0)), "o-")
    last.set_ylim(bottom=0.0)
    label(last, "lead [days]", f"rms [{unit}]")
    return figure


def _taylor(results: "xr.Dataset") -> Figure:
    """Taylor diagram: every stream and lead is a point, a perfect forecast lies on the axis at 1."""
    figure = Figure(figsize=(5.0, 4.4), layout="constrained")
    axes = figure.add_subplot(projection="polar")
    observed = np.asarray(results["observation"])
    observed = observed.reshape(observed.shape[0], -1)
    innovation = np.asarray(results["innovation"]).reshape(observed.shape[0], results.sizes["lead"], -1)
    largest = 1.2
    for place, lead in enumerate(np.asarray(results["lead"])):
        points = [_point(*pair) for pair in zip(observed.T, innovation[:, place].T, strict=True)]
        angles, sizes = np.array([each for each in points if each is not None]).reshape(-1, 2).T
        axes.plot(angles, sizes, "o", markersize=5.0, label=f"{lead:g} days", alpha=0.8)
        largest = max(largest, 1.1 * float(np.max(sizes, initial=0.0)))
    axes.plot(0.0, 1.0, "k*", markersize=9.0, label="observations", clip_on=False)
    correlations = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
    axes.set_xticks(np.arccos(correlations), [f"{each:g}" for each in correlations])
    axes.set(thetamin=0.0, thetamax=90.0, rmin=0.0, rmax=largest)
    axes.set_title(
        "angle: correlation; radius: standard deviation of the forecast over that observed", fontsize="small"
    )
    axes.legend(fontsize="small", loc="upper right")
    return figure


def _point(observed: np.ndarray, innovation: np.ndarray) -> tuple[float, float] | None:
    """Angle and radius of one stream; `None` of fewer than three forecasts, or constant ones."""
    known = np.isfinite(observed) & np.isfinite(innovation)
    seen, forecast = observed[known], (observed - innovation)[known]
    if known.sum() < 3 or not np.std(seen) * np.std(forecast) > 0.0:
        return None
    correlation = np.clip(np.corrcoef(seen, forecast)[0, 1], 0.0, 1.0)
    return float(np.arccos(correlation)), float(np.std(forecast) / np.std(seen))


def _months(results: "xr.Dataset") -> Figure:
    """Means of the corrections by month."""
    names = [str(name) for name in np.asarray(results["process"])]
    figure, axes = panels(len(names), 1, (7.0, 1.6), sharex=True)
    begin = np.datetime64(
        results["analysis_time"].attrs["units"].split("since ")[1].strip().replace(" ", "T")
    )
    seconds = np.asarray(results["analysis_time"], dtype=float).round().astype("timedelta64[s]")
    months = (begin + seconds).astype("datetime64[M]")
    each = np.unique(months)
    for place, (panel, name) in enumerate(zip(axes.flat, names, strict=False)):
        values = np.asarray(results["correction"])[:, place]
        panel.bar(np.arange(each.size), [float(np.mean(values[months == month])) for month in each])
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_title(name.replace("_", " "), fontsize="small")
    step = max(1, each.size // 12)
    panel = axes.flat[len(names) - 1]
    panel.set_xticks(
        np.arange(each.size)[::step], [str(month) for month in each[::step]], rotation=45.0, fontsize="small"
    )
    return figure


def _increments(results: "xr.Dataset") -> Figure:
    """Increments and spread of the temperature over time and height."""
    figure, axes = panels(2, 1, (7.0, 2.4), sharex=True, sharey=True)
    time, z = _days(results, "analysis_time"), np.asarray(results["z_center"])
    changed, spread = (np.asarray(results[name]).T for name in ("increment", "background_spread"))
    most = float(np.percentile(np.abs(changed), 99.0))
    colours = around_zero(most), {"cmap": colour_map("amp"), "vmin": 0.0}
    names = "analysis minus background [K]", "spread of the background [K]"
    for panel, values, given, name in zip(axes.flat, (changed, spread), colours, names, strict=True):
        drawn = panel.pcolormesh(time, z, values, shading="nearest", rasterized=True, **given)
        figure.colorbar(drawn, ax=panel).set_label(name, fontsize="small")
        label(panel, "days since the start" if panel is axes.flat[1] else "", "height [m]")
    return figure


def _corrections(results: "xr.Dataset") -> Figure:
    """Autoregressive errors with one standard deviation of the members."""
    names = [str(name) for name in np.asarray(results["process"])]
    figure, axes = panels(len(names), 1, (7.0, 1.8), sharex=True)
    time = _days(results, "analysis_time")
    values, spread = (np.asarray(results[name]) for name in ("correction", "correction_spread"))
    for place, (panel, name) in enumerate(zip(axes.flat, names, strict=False)):
        middle, width = values[:, place], spread[:, place]
        panel.fill_between(time, middle - width, middle + width, alpha=0.3, linewidth=0.0)
        panel.plot(time, middle, linewidth=1.0)
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_title(name.replace("_", " "), fontsize="small")
        label(panel, "days since the start" if place == len(names) - 1 else "")
    return figure


def _ranks(results: "xr.Dataset") -> Figure:
    """How often so many members lie below the observation, and innovations over their expected size."""
    figure, axes = panels(2, 2, (3.4, 2.4))
    left, right = axes.flat
    ranks = np.asarray(results["rank"])
    ranks = ranks[ranks >= 0]
    left.hist(ranks, bins=np.arange(ranks.max() + 2) - 0.5)
    label(left, "members below the observation", "observations")
    departure = np.asarray(results["observation"] - results["predicted"])
    expected = np.hypot(np.asarray(results["predicted_spread"]), np.asarray(results["observation_error"]))
    scaled = departure / expected
    right.hist(scaled[np.isfinite(scaled)], bins=30, density=True)
    x = np.linspace(-4.0, 4.0, 200)
    right.plot(x, np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi), color="0.2")
    label(right, "innovation / expected deviation", "density")
    return figure
