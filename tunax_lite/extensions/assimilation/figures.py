"""Figures of an assimilation: innovations and increments."""

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
    label,
    panels,
    typeset,
)

if TYPE_CHECKING:
    import xarray as xr


def assimilation_figures(path: Path) -> dict[str, Figure]:
    """Figures of a file of `tunax-lite assimilate`, by name; innovations only of the last stream.

    Raises:
        FileFormatError: a file without innovations.
    """
    results = read_netcdf(path)
    if "innovation" not in results:
        got, advice = "a file without `innovation`", "plot files of runs without it"
        raise FileFormatError(path, "file", "results of `tunax-lite assimilate`", got, advice)
    stream = results.isel(stream=-1) if "stream" in results.dims else results
    return {"innovations": _innovations(stream), "increments": _increments(results)}


def _judged(results: "xr.Dataset") -> "xr.Dataset":
    """Select the results from `judged_from` on, which scores count."""
    first = float(results.attrs["tunax_lite_judged_from"])
    return results.isel({name: results[name].values >= first for name in ("time", "analysis_time")})


def _dates(results: "xr.Dataset") -> FigureTime:
    """Time axis of figures."""
    start = str(results["time"].attrs["units"]).removeprefix("seconds since ")
    latest = float(results["analysis_time"].max())
    return FigureTime(latest, None if start == IDEALISED_EPOCH else start)


def _rms(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else np.nan


def _innovations(results: "xr.Dataset") -> Figure:
    """Observation minus forecast over time in the judged period, one panel for each lead."""
    judged, time = _judged(results), _dates(results)
    leads, unit = judged["lead"].values, typeset(judged["innovation"].attrs["units"])
    stream = f"{judged['stream'].item()}, " if "stream" in judged.coords else ""
    figure, axes = panels(leads.size, 1, (7.0, 1.6), sharex=True, sharey=True)
    for panel, lead in zip(axes.flat, leads, strict=True):
        values = judged["innovation"].sel(lead=lead).values
        panel.plot(time.places(judged["time"].values), values, ".", markersize=2.0)
        panel.axhline(0.0, color="0.5", linewidth=0.8)
        panel.set_title(f"{stream}lead {lead:g} d: rms {_rms(values):.2g} {unit}", fontsize="small")
        label(panel, y=f"innovation [{unit}]")
    time.finish(axes.flat[-1], "small")
    return figure


def _increments(results: "xr.Dataset") -> Figure:
    """Increments and spread of the temperature over time and height."""
    figure, axes = panels(2, 1, (7.0, 2.4), sharex=True, sharey=True)
    time = _dates(results)
    places, z = time.places(results["analysis_time"].values), np.asarray(results["z_center"])
    changed, spread = (np.asarray(results[name]).T for name in ("increment", "background_spread"))
    most = float(np.percentile(np.abs(changed), 99.0))
    colours = around_zero(most), {"cmap": colour_map("amp"), "vmin": 0.0}
    names = "analysis minus background [K]", "spread of the background [K]"
    for panel, values, colour, name in zip(axes.flat, (changed, spread), colours, names, strict=True):
        mesh = panel.pcolormesh(places, z, values, shading="nearest", rasterized=True, **colour)
        extend = "both" if colour is colours[0] else "neither"
        figure.colorbar(mesh, ax=panel, extend=extend).set_label(name, fontsize="small")
        label(panel, y="height [m]")
    time.finish(axes.flat[1], "small")
    return figure
