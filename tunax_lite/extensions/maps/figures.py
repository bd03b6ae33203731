"""Figures of a map: scalars at selected times, and sections over time and depth at selected points."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ...io.axes import place_in_words
from ...io.errors import FileFormatError
from ...plotting import style
from ...runtime.machine import needed

if TYPE_CHECKING:
    import xarray as xr

Point = tuple[float, float]
"""Latitude and longitude [degrees]."""
Indices = dict[str, int]
"""Indices along the axes of a map, by name."""

_N_TIMES, _N_POINTS, _N_SITES = 4, 4, 8
_LAYER = "mixed_layer_depth"
_WIDE = 3.0
"""Ratio of the ends of a range of mixed layers above which its colours are logarithmic."""


def map_figures(path: Path, points: Sequence[Point] = ()) -> dict[str, Figure]:
    """Maps of every scalar in a store, and sections of every profile, by name.

    Args:
        path: of the store.
        points: of the sections; by default four from south to north, or eight of the sites of a list.

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
    places = [_nearest(is_wet, point) for point in points] or _some_places(is_wet)
    figures = {}
    for name, values in store.items():
        if values.dims == ("time", *dims):
            figures[f"map_{name}"] = _maps(values, places[0])
        elif {"time", *dims} <= {*values.dims}:
            figures[f"sections_{name}"] = _sections(store, str(name), places)
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
    """The first sites of a list, else places from south to north."""
    water = np.argwhere(is_wet.values)
    if is_wet.ndim > 1:  # the first axis is that of latitude
        order = np.argsort(is_wet["lat"].values[water[:, 0]], kind="stable")
        chosen = np.linspace(0, len(water) - 1, 2 * _N_POINTS + 1)[1::2].round().astype(int)
        water = water[order[np.unique(chosen)]]
    return [dict(zip(map(str, is_wet.dims), at, strict=True)) for at in water[:_N_SITES].tolist()]


def _maps(values: "xr.DataArray", place: Indices) -> Figure:
    """A scalar at up to four times that have results at a place, in colours without outliers."""
    computed = np.flatnonzero(values.isel(place).notnull())
    some = computed[np.unique(np.linspace(0, computed.size - 1, _N_TIMES).round().astype(int))]
    values = values.isel(time=some).load()
    figure, axes = style.panels(some.size, min(some.size, 2), (5.4, 3.0), sharex=True, sharey=True)
    low, high = values.quantile([0.02, 0.98]).values.tolist()
    options: dict[str, Any] = {"x": "lon", "y": "lat", "vmin": low, "vmax": high, "extend": "both"}
    if str(values.name).startswith(_LAYER) and high > _WIDE * low > 0.0:
        del options["vmin"], options["vmax"]
        options["norm"] = LogNorm(low, high)
    for panel, at_time in zip(axes.flat, values, strict=False):
        if values.ndim == 2:
            at_time.to_dataset().plot.scatter(ax=panel, hue=values.name, **options)
        else:
            at_time.plot.pcolormesh(ax=panel, **options)
        panel.set_title(f"{at_time['time'].values:.16}".replace("T", " "), fontsize="medium")
    return figure


def _sections(store: "xr.Dataset", name: str, places: Sequence[Indices]) -> Figure:
    """A profile over time and depth at selected places, with the mixed layer depth."""
    figure, axes = style.panels(len(places), min(len(places), 2), (5.4, 2.6))
    layer = next((str(one) for one in store if str(one).startswith(_LAYER)), None)
    for panel, place in zip(axes.flat, places, strict=False):
        values = store[name].isel(place).load()
        height = f"height_{str(values.dims[1])[2:]}"
        known = values.values[np.isfinite(values.values)]
        if known.size:
            colours = style.colours_of(name.removesuffix("_mean"), known)
            values.plot.pcolormesh(ax=panel, x="time", y=height, **colours)
        if name.removesuffix("_mean") in style.STATE and layer is not None:
            depth = store[layer].isel(place)
            style.draw_layer(panel, depth["time"].values, depth.values, layer)
        where = place_in_words(float(values["lat"]), float(values["lon"]))
        site = f"{values['site'].item()}, " if "site" in values.coords else ""
        panel.set_title(f"{site}{where}", fontsize="medium")
        style.height_axis(panel, float(values[height].min()))
    return figure
