"""Figures of a map: scalars at selected times, and sections over time and depth at selected points."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
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
            figures[f"map_{name}"] = _maps(values, places[0])
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


def _maps(values: "xr.DataArray", place: Indices) -> Figure:
    """A scalar at up to four times that have results at a place; cells without values are grey."""
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
            east = (at_time["lon"] + 180.0) % 360.0 - 180.0
            drawn = panel.scatter(east, at_time["lat"], c=at_time, edgecolors="0.3", **colours)
        else:
            panel.set_facecolor("0.8")
            drawn = at_time.plot.pcolormesh(ax=panel, x="lon", y="lat", **_BARE, **colours)
        panel.set_title(f"{at_time['time'].values:.16}".replace("T", " "), fontsize="medium")
    figure.supxlabel("longitude [°E]")
    figure.supylabel("latitude [°N]")
    bar = figure.colorbar(drawn, ax=axes.ravel().tolist(), extend="both", pad=0.02, shrink=0.8)
    if isinstance(colours["norm"], LogNorm):
        style.number_log_axis(bar.ax.yaxis)
    bar.set_label(textwrap.fill(_label(values), _LINE))
    return figure


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
            label = textwrap.fill(str(depth.attrs.get("long_name", layer)), 50)
            style.draw_layer(panel, depth["time"].values, depth.values, label)
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
    chosen = {_LAYER: "deep", "sea_surface_temperature": "thermal", "salinity": "haline"}
    kind = next((colour for start, colour in chosen.items() if name.startswith(start)), "matter")
    is_wide = kind == "deep" and high > _WIDE * low > 0.0
    return {"cmap": style.colour_map(kind), "norm": (LogNorm if is_wide else Normalize)(low, high)}
