"""Figures of a map: scalars at selected times, and sections over time and depth at selected points."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from ...io.axes import place_in_words
from ...io.errors import FileFormatError
from ...plotting import style
from ...plotting.style import STATE, Option
from ...runtime.machine import needed

if TYPE_CHECKING:
    import xarray as xr

Point = tuple[float, float]
"""Latitude and longitude [degrees]."""
Indices = dict[str, int]
"""Indices along the axes of a map, by name."""

_N_TIMES, _N_POINTS = 4, 4
_N_SECTIONS = 8  # of a list of sites in one figure
_MOST_NAMES = 60  # of sites beside their points
_LAND: dict[str, Option] = {"cmap": "Greys", "vmin": -0.25, "vmax": 0.75}
_LAYER, _LINE = "mixed_layer_depth", 60  # letters of a label
_BARE: dict[str, Option] = {"add_colorbar": False, "add_labels": False}
_WIDE = 3.0
"""Ratio of the ends of a range of mixed layers above which its colours are logarithmic."""


def map_figures(path: Path, points: Sequence[Point] = ()) -> dict[str, Figure]:
    """Maps of every scalar in a store, and sections of every profile, by name.

    Missing columns are left blank; by default sections are those of four points from south to north, or of
    all sites of a list, eight in a figure.

    Args:
        path: of the store.
        points: of the sections.

    Raises:
        FileFormatError: not the store of a map, or one without any results.
        ValueError: a point more than two cells away from the nearest one with water.
    """
    import xarray as xr  # takes long

    try:
        needed("zarr", str(path))
        store = xr.open_zarr(path, chunks=None)
        dims = tuple(store.attrs["tunax_lite_map_dims"])
    except (OSError, KeyError, ValueError) as error:
        expected, advice = "the store of a map (`tunax-lite map`)", "name such a store"
        raise FileFormatError(path, "store", expected, str(error), advice) from error
    if "lon" in dims:
        store = store.sortby("lon")  # a map may begin at any longitude
    is_wet = store["height_center"].isel(z_center=-1).notnull()
    if not is_wet.any():
        raise FileFormatError(path, "store", "values at some time", "none yet", "wait for the first results")
    figures, places = {}, [_nearest(is_wet, point) for point in points] or _some_places(is_wet)
    pages = [places[i : i + _N_SECTIONS] for i in range(0, len(places), _N_SECTIONS)]
    for name, values in store.items():
        if values.dims == ("time", *dims):
            figures[f"map_{name}"] = _maps(values, is_wet, places[0])
        elif {"time", *dims} <= {*values.dims}:
            for number, page in enumerate(pages, 1):
                suffix = f"_{number}" if len(pages) > 1 else ""
                figures[f"sections_{name}{suffix}"] = _sections(store, str(name), page)
    return figures


def _nearest(is_wet: "xr.DataArray", point: Point) -> Indices:
    """The place with water nearest to a point."""
    east = (is_wet["lon"] - point[1] + 180.0) % 360.0 - 180.0
    east = east * np.cos(np.radians(point[0]))
    distance = ((east**2 + (is_wet["lat"] - point[0]) ** 2) ** 0.5).where(is_wet)
    spacing = 180.0 if distance.ndim == 1 else float(np.abs(np.diff(is_wet["lat"])).max())
    if distance.min() > 2.0 * spacing:
        expected = "a point with water, or a neighbour of one"
        got = f"{point[0]:g} N {point[1]:g} E, {float(distance.min()):.3g} degrees away from the next one"
        raise ValueError(f"--point: expected {expected}, got {got}; choose another one.")
    return {str(dim): int(number) for dim, number in distance.argmin(is_wet.dims).items()}


def _some_places(is_wet: "xr.DataArray") -> list[Indices]:
    """All sites of a list, else places from south to north."""
    water = np.argwhere(is_wet.values)
    if is_wet.ndim > 1:  # the first axis is that of latitude
        order = np.argsort(is_wet["lat"].values[water[:, 0]], kind="stable")
        chosen = np.linspace(0, len(water) - 1, 2 * _N_POINTS + 1)[1::2].round().astype(int)
        water = water[order[np.unique(chosen)]]
    return [dict(zip(map(str, is_wet.dims), at, strict=True)) for at in water.tolist()]


def _maps(values: "xr.DataArray", is_wet: "xr.DataArray", place: Indices) -> Figure:
    """A scalar at up to four times that have results at a place, with common colours; land is grey."""
    finished = np.flatnonzero(values.isel(place).notnull())
    finished = finished if finished.size else np.arange(values.sizes["time"])
    some = finished[np.unique(np.linspace(0, finished.size - 1, _N_TIMES).round().astype(int))]
    values = values.isel(time=some).load()
    n = values.sizes["time"]
    figure, axes = style.panels(n, min(n, 2), (5.4, 3.0), (1.0, 0.5), sharex=True, sharey=True)
    colours = _colours(values)
    drawn: Option = None  # of the last panel, for the colour bar
    for panel, at_time in zip(axes.flat, values, strict=False):
        if values.ndim == 2:
            drawn = _draw_sites(panel, at_time, colours)
        else:
            land = is_wet.astype(float).where(~is_wet)
            land.plot.pcolormesh(ax=panel, x="lon", y="lat", **_BARE, **_LAND)
            drawn = at_time.plot.pcolormesh(ax=panel, x="lon", y="lat", **_BARE, **colours)
        panel.set_title(f"{at_time['time'].values:.16}".replace("T", " "), fontsize="medium")
    for panel in style.lowest(axes, n):
        panel.set_xlabel("longitude [°E]")
    for panel in axes[:, 0]:
        panel.set_ylabel("latitude [°N]")
    bar = figure.colorbar(drawn, ax=axes.ravel().tolist(), extend="both", pad=0.02, shrink=0.8)
    if isinstance(colours["norm"], LogNorm):
        style.number_log_axis(bar.ax.yaxis)
    absent = ", white: no value" if is_wet.ndim > 1 and (is_wet & values.isnull()).any() else ""
    bar.set_label(textwrap.fill(_label(values) + absent, _LINE))
    return figure


def _draw_sites(panel: Axes, values: "xr.DataArray", colours: dict[str, Option]) -> Option:
    """Points with names."""
    east = (values["lon"].values + 180.0) % 360.0 - 180.0
    panel.margins(0.12, 0.15)
    drawn = panel.scatter(east, values["lat"], c=values, s=36, edgecolors="0.3", linewidths=0.5, **colours)
    if "site" in values.coords:
        places = list(zip(east.tolist(), values["lat"].values.tolist(), strict=True))
        style.name_points(panel, values["site"].values.tolist()[:_MOST_NAMES], places, 7.0)
    return drawn


def _sections(store: "xr.Dataset", name: str, places: Sequence[Indices]) -> Figure:
    """A profile over time and depth at selected places, with the mixed layer depth."""
    figure, axes = style.panels(len(places), min(len(places), 2), (5.4, 2.6), (0.6, 0.5))
    quantity = name.removesuffix("_mean")
    layer = next((str(one) for one in store if str(one).startswith(_LAYER)), None)
    for panel, place in zip(axes.flat, places, strict=False):
        values = store[name].isel(place).load()
        height = f"height_{str(values.dims[1])[2:]}"
        if (known := values.values[np.isfinite(values.values)]).size:
            colours = style.colours_of(quantity, known)
            drawn = values.plot.pcolormesh(ax=panel, x="time", y=height, **_BARE, **colours)
            figure.colorbar(drawn, ax=panel, pad=0.02).set_label(style.unit_label(quantity))
        if quantity in STATE and layer is not None:
            depth = store[layer].isel(place)
            criterion = str(depth.attrs.get("long_name", layer)).removeprefix("depth where the ")
            said = f"mixed layer: {criterion}"
            style.draw_layer(panel, depth["time"].values, depth.values, textwrap.fill(said, 50))
        where = place_in_words(float(values["lat"]), float(values["lon"]))
        panel.set_title(
            f"{values['site'].item()}, {where}" if "site" in values.coords else where, fontsize="medium"
        )
        panel.set_ylabel("z [m]")
        style.height_axis(panel, float(values[height].min()))
    if axes.flat[0].get_legend_handles_labels()[0]:
        axes.flat[0].legend(loc="lower left", fontsize="x-small", framealpha=0.8)
    figure.suptitle(_label(store[name]))
    return figure


def _label(variable: "xr.DataArray") -> str:
    long_name, unit = (str(variable.attrs.get(key, "")) for key in ("long_name", "units"))
    mean = ", mean of the frame" if "cell_methods" in variable.attrs else ""
    return f"{long_name}{mean} [{style.in_math(unit)}]"


def _colours(values: "xr.DataArray") -> dict[str, Option]:
    """Colour range of a map, without outliers; a few deep mixed layers would hide the others."""
    name, known = str(values.name), values.values[np.isfinite(values.values)]
    low, high = np.percentile(known, [2.0, 98.0]).tolist() if known.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    if low < 0.0 < high and "flux" in name:
        return style.around_zero(max(-low, high))
    if name.startswith(_LAYER):
        norm = LogNorm(low, high) if high > _WIDE * low > 0.0 else Normalize(low, high)
        return {"cmap": style.colour_map("deep"), "norm": norm}
    chosen = {"sea_surface_temperature": "thermal", "salinity": "haline"}
    kind = next((colour for start, colour in chosen.items() if name.startswith(start)), "matter")
    return {"cmap": style.colour_map(kind), "norm": Normalize(low, high)}
