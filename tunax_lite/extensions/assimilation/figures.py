"""Figures of an assimilation: innovations, increments, corrections."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ...io.dataset import IDEALISED_EPOCH
from ...io.errors import FileFormatError
from ...io.netcdf import read_netcdf
from ...plotting.style import (
    FigureTime,
    around_zero,
    colour_map,
    in_math,
    in_words,
    label,
    panels,
    save_figures,
)
from ...plotting.together import labels_of

if TYPE_CHECKING:
    import xarray as xr


def assimilation_figures(path: Path) -> dict[str, Figure]:
    """Figures of a file of `tunax-lite assimilate`, by name; of several streams the last is shown.

    Raises:
        FileFormatError: a file without innovations.
    """
    results = _read(path)
    figures = {"innovations": _innovations(_of_one(results)), "increments": _increments(results)}
    if "process" in results.dims:
        figures["corrections"] = _corrections(results)
    return figures


def _read(path: Path) -> "xr.Dataset":
    results = read_netcdf(path)
    if "innovation" not in results:
        got, advice = "one without `innovation`", "name such files alone"
        raise FileFormatError(path, "file", "the results of `tunax-lite assimilate`", got, advice)
    return results


def _judged(results: "xr.Dataset") -> "xr.Dataset":
    """The part of the results that the scores count."""
    first = float(results.attrs["tunax_lite_judged_from"])
    return results.isel({name: results[name].values >= first for name in ("time", "analysis_time")})


def _dates(results: "xr.Dataset") -> FigureTime:
    """Time axis of figures."""
    start = str(results["time"].attrs["units"]).removeprefix("seconds since ")
    latest = float(results["analysis_time"].max())
    return FigureTime(latest, None if start == IDEALISED_EPOCH else start)


def _days_ahead(lead: float) -> str:
    return f"{lead:g} day{'' if lead == 1.0 else 's'} ahead"


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
        values = _judged(results)["innovation"].transpose("lead", ...).values
        errors = [_rms(each) for each in values]
        axes.plot(results["lead"].values, errors, "o-", label=f"{name} ({results.attrs['method']})")
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize="small")
    label(axes, "lead [days]", f"rms of observation minus forecast [{unit}]")
    return {"leads": figure}


def _of_one(results: "xr.Dataset") -> "xr.Dataset":
    return results.isel(stream=-1) if "stream" in results.dims else results


def draw(path: Path, folder: Path) -> list[Path]:
    """Write the figures into a folder."""
    return save_figures(assimilation_figures(path), folder)


def _rms(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else np.nan


def _innovations(results: "xr.Dataset") -> Figure:
    """Observation minus forecast over time, one panel for each lead, and root mean squares by lead.

    The latter, and the points in colour, are those of the judged period.
    """
    leads, judged = np.asarray(results["lead"]), _judged(results)
    values = np.asarray(results["innovation"])
    figure, axes = panels(leads.size + 1, 1, (7.0, 1.6), sharex=False)
    time = _dates(results)
    most = 1.1 * float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) or 1.0
    unit, name = in_math(results["innovation"].attrs["units"]), _stream_of(results)
    errors = [_rms(column) for column in np.asarray(judged["innovation"]).T]
    for panel, lead, rms, column in zip(axes.flat, leads, errors, values.T, strict=False):
        panel.sharex(axes.flat[0])
        panel.plot(time.places(results["time"].values), column, ".", markersize=2.0, color="0.7")
        points = judged["innovation"].sel(lead=lead)
        panel.plot(time.places(judged["time"].values), points, ".", markersize=2.0)
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_ylim(-most, most)
        panel.set_title(f"{name}{_days_ahead(lead)}: rms {rms:.2g} {unit}", fontsize="small")
        label(panel, y=f"innovation [{unit}]")
        if lead == leads[-1]:
            time.finish(panel, "small")
        else:
            panel.tick_params(labelbottom=False)
    last = axes.flat[leads.size]
    last.plot(leads, errors, "o-")
    last.set_ylim(0.0, 1.15 * np.max(errors, initial=0.0, where=np.isfinite(errors)) or 1.0)
    label(last, "lead [days]", f"rms [{unit}]")
    return figure


def _stream_of(results: "xr.Dataset") -> str:
    """The stream that a figure shows, before the rest of its title."""
    if "stream" not in results.coords:
        return ""
    name, _, height = results["stream"].item().partition(" ")
    return f"{in_words(name)} at {height} m, " if height else f"{in_words(name)}, "


def _names_of_processes(results: "xr.Dataset") -> list[str]:
    """Names of the processes with their units; a factor is shown by its logarithm."""
    found = []
    for name, unit in zip(results["process"].values, results["process_unit"].values, strict=True):
        logarithm = "logarithm of the " if name.endswith("_scale") else ""
        found.append(f"{logarithm}{in_words(name)} [{in_math(unit)}]")
    return found


def _increments(results: "xr.Dataset") -> Figure:
    """Increments and spread of the temperature over time and height."""
    figure, axes = panels(2, 1, (7.0, 2.4), sharex=True, sharey=True)
    time = _dates(results)
    places, z = time.places(results["analysis_time"].values), np.asarray(results["z_center"])
    changed, spread = (np.asarray(results[name]).T for name in ("increment", "background_spread"))
    most = float(np.percentile(np.abs(changed), 99.0))
    colours = around_zero(most), {"cmap": colour_map("amp"), "vmin": 0.0}
    names = "analysis minus background [K]", "spread of the background [K]"
    for panel, values, given, name in zip(axes.flat, (changed, spread), colours, names, strict=True):
        drawn = panel.pcolormesh(places, z, values, shading="nearest", rasterized=True, **given)
        extend = "both" if given is colours[0] else "neither"
        figure.colorbar(drawn, ax=panel, extend=extend).set_label(name, fontsize="small")
        label(panel, y="height [m]")
    time.finish(axes.flat[1], "small")
    return figure


def _corrections(results: "xr.Dataset") -> Figure:
    """Autoregressive errors with one standard deviation of the members."""
    names = _names_of_processes(results)
    figure, axes = panels(len(names), 1, (7.0, 1.8), sharex=True)
    time = _dates(results)
    places = time.places(results["analysis_time"].values)
    values, spread = (np.asarray(results[name]) for name in ("correction", "correction_spread"))
    for panel, name, middle, width in zip(axes.flat, names, values.T, spread.T, strict=False):
        panel.fill_between(places, middle - width, middle + width, alpha=0.3, linewidth=0.0)
        panel.plot(places, middle, linewidth=1.0)
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_title(name, fontsize="small")
        label(panel)
    time.finish(axes.flat[len(names) - 1], "small")
    return figure
