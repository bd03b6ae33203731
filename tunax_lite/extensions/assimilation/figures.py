"""Figures of an assimilation: innovations by lead, section of increments, corrections found, ranks."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ...io.netcdf import read_netcdf
from ...io.protection import check_outputs
from ...plotting.style import around_zero, colour_map, label, panels, save_figures

if TYPE_CHECKING:
    import xarray as xr

_DAY = 86400.0


def assimilation_figures(path: Path) -> dict[str, Figure]:
    """Figures of a file of `tunax-lite assimilate`, by name; of several streams the first is shown.

    Raises:
        FileFormatError: a file without innovations.
    """
    results = read_netcdf(path)
    if "stream" in results.dims:
        results = results.isel(stream=0)
    figures = {"innovations": _innovations(results), "increments": _increments(results)}
    if "process" in results.dims:
        figures["corrections"] = _corrections(results)
    if float(results["predicted_spread"].max()) > 0.0:
        figures["ranks"] = _ranks(results)
    return figures


def draw(path: Path, folder: Path, *, overwrite: bool) -> list[Path]:
    """Write the figures into a folder."""
    figures = assimilation_figures(path)
    check_outputs([folder / f"{name}.png" for name in figures], overwrite=overwrite)
    return save_figures(figures, folder)


def _days(results: "xr.Dataset", name: str) -> np.ndarray:
    return np.asarray(results[name], dtype=float) / _DAY


def _innovations(results: "xr.Dataset") -> Figure:
    """Observation minus forecast over time, one panel for each lead, and root mean squares by lead."""
    leads, values = np.asarray(results["lead"]), np.asarray(results["innovation"])
    figure, axes = panels(leads.size + 1, 1, (7.0, 1.6), sharex=False)
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    unit = results["innovation"].attrs["units"]
    for panel, lead, column in zip(axes.flat, leads, values.T, strict=False):
        rms = np.sqrt(np.nanmean(column**2)) if np.isfinite(column).any() else np.nan
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
