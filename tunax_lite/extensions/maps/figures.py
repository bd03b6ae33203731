"""Figures of a map: scalars at selected times, and sections over time and depth at selected points."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...io.errors import FileFormatError, read_text, reading
from ...plotting import style
from ...plotting.style import STATE, FigureTime, Option
from ...runtime.machine import needed
from .setup import INITIAL

if TYPE_CHECKING:
    import xarray as xr

Point = tuple[float, float]
"""Latitude and longitude [degrees]."""

_N_TIMES, _N_POINTS = 4, 4
_N_SECTIONS = 8  # of a list of sites in one figure
_MOST_NAMES = 60  # of sites beside their points
_LAND = "0.82"
_LAYER, _LINE = "mixed_layer_depth", 60  # letters of a label


def map_figures(path: Path, points: Sequence[Point] = (), coast: Path | None = None) -> dict[str, Figure]:
    """Maps of every scalar in a store, and sections of every profile, by name.

    Missing columns are left blank; by default sections are those of four points from south to north, or of
    all sites of a list, eight in a figure.

    Args:
        path: of the store.
        points: of the sections.
        coast: GeoJSON file with lines or polygons to draw on the maps, such as those of Natural Earth.

    Raises:
        FileFormatError: not the store of a map, or one without any results; no GeoJSON.
        ValueError: a point more than two cells away from the nearest one with water.
    """
    import xarray as xr  # takes long

    try:
        needed("zarr", str(path))
        store = xr.open_zarr(path, decode_times=False, chunks=None)
        if "tunax_lite_map_dims" not in store.attrs:
            raise ValueError("one of another program")
    except (OSError, KeyError, ValueError) as error:
        expected, advice = "the store of a map (`tunax-lite map`)", "name such a store"
        raise FileFormatError(path, "store", expected, str(error), advice) from error
    ocean = _Ocean(store, path, () if coast is None else read_coast(coast))
    numbers = [name for name, each in store.items() if each.dims == ("time", *ocean.dims)]
    profiles = [name for name, each in store.items() if len(each.dims) == 2 + len(ocean.dims)]
    figures = {f"map_{name}": ocean.maps(str(name)) for name in numbers}
    if profiles:
        places = [ocean.nearest(point) for point in points] or ocean.some_points()
        pages = [places[i : i + _N_SECTIONS] for i in range(0, len(places), _N_SECTIONS)]
        for name in profiles:
            for number, page in enumerate(pages, 1):
                suffix = f"_{number}" if len(pages) > 1 else ""
                figures[f"sections_{name}{suffix}"] = ocean.sections(str(name), page)
    return figures


def read_coast(path: Path) -> tuple[np.ndarray, ...]:
    """Lines of a GeoJSON file, `(n, 2)` with longitude and latitude [degrees]; those of polygons are closed.

    Raises:
        FileFormatError: a file without lines and polygons.
    """
    lines: list[np.ndarray] = []

    def visit(geometry: Any) -> None:  # JSON
        inner = [*geometry.get("features", ()), *geometry.get("geometries", ()), geometry.get("geometry")]
        for part in filter(None, inner):
            visit(part)
        depth = {"LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}
        parts = [geometry["coordinates"]] if geometry.get("type") in depth else []
        for _ in range(depth.get(geometry.get("type"), 0)):
            parts = [each for part in parts for each in part]
        lines.extend(np.asarray([place[:2] for place in part], dtype=float) for part in parts)

    with reading(path, "a coast in GeoJSON"):
        visit(json.loads(read_text(path, "text in UTF-8")))
        if not lines:
            raise FileFormatError(path, "file", "lines or polygons", "none", "choose the file of a coast")
    return tuple(lines)


class _Ocean:
    """An open store: its finished points and times, and their positions."""

    def __init__(self, store: "xr.Dataset", path: Path, coast: tuple[np.ndarray, ...] = ()):
        self.store, self.coast = store, coast
        self.sites = [str(name) for name in store["site"].values] if "site" in store.coords else []
        self.dims = tuple(store.attrs["tunax_lite_map_dims"])
        self.time = np.asarray(store["time"], dtype=float)
        start = str(store["time"].attrs["units"]).removeprefix("seconds since ")
        self.axis = FigureTime(float(self.time[-1]), start)
        shape = tuple(store.sizes[dim] for dim in self.dims)
        self.latitude, self.longitude = (self._degrees(name, shape) for name in ("latitude", "longitude"))
        self.is_wet = np.isfinite(np.asarray(store["height_center"].isel(z_center=-1)))
        if not self.is_wet.any():
            raise FileFormatError(
                path, "store", "values at some time", "none yet", "wait for the first results"
            )

    def _degrees(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        found = next(
            (each for each in self.store.coords.values() if each.attrs.get("standard_name") == name),
            self.store.coords.get(name[:3]),
        )
        if found is None:
            raise ValueError(f"map: expected coordinates of latitude and longitude, got no {name}.")
        own = [size if dim in found.dims else 1 for dim, size in zip(self.dims, shape, strict=True)]
        return np.broadcast_to(np.asarray(found, dtype=float).reshape(own), shape)

    def maps(self, name: str) -> Figure:
        """A scalar at up to four times, with common colours."""
        values = self._at_some_times(name)
        known = np.concatenate([each[np.isfinite(each)] for each in values.values()] or [np.zeros(1)])
        known = known if known.size else np.zeros(1)
        colours = _colours(name, *np.percentile(known, [1.0, 99.0]))
        n_columns = 1 if len(values) == 1 else 2
        figure, axes = style.panels(len(values), n_columns, (5.4, 3.0), (1.0, 0.5), sharex=True, sharey=True)
        drawn: Option = None  # of the last panel, for the colour bar
        for panel, (time, each) in zip(axes.flat, values.items(), strict=False):
            drawn = self._draw(panel, each, colours)
            panel.set_title(self.axis.moment(time), fontsize="medium")
        for panel in style.lowest(axes, len(values)):
            panel.set_xlabel("longitude [°E]")
        for panel in axes[:, 0]:
            panel.set_ylabel("latitude [°N]")
        for axis in (axes[0, 0].xaxis, axes[0, 0].yaxis):  # of all panels
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 5, 6, 10]))
        extend = "max" if name.startswith(_LAYER) else "both"
        bar = figure.colorbar(drawn, ax=axes.ravel().tolist(), extend=extend, pad=0.02, shrink=0.8)
        absent = any((self.is_wet & np.isnan(each)).any() for each in values.values())
        mark = "white" if self.is_wet.ndim > 1 else "cross"
        label = _label(self.store[name]) + (f", {mark}: no value" if absent else "")
        bar.set_label(textwrap.fill(label, _LINE))
        if left := [site for site, wet in zip(self.sites, self.is_wet.flat, strict=False) if not wet]:
            figure.suptitle(textwrap.fill(f"without results: {', '.join(left)}", 100), fontsize="small")
        return figure

    def _draw(self, panel: Axes, values: np.ndarray, colours: dict[str, Option]) -> Collection:
        if values.ndim == 1:
            return self._draw_sites(panel, values, colours)
        panel.set_facecolor(_LAND)
        self._draw_coast(panel)
        order = np.argsort(self.longitude[0], kind="stable")  # a map may begin at any longitude
        places = self.longitude[:, order], self.latitude[:, order]
        water = np.where(self.is_wet & np.isnan(values), 1.0, np.nan)[:, order]  # white, not as land
        panel.pcolormesh(
            *places, water, shading="nearest", rasterized=True, cmap="Greys_r", vmin=0.0, vmax=1.0
        )
        return panel.pcolormesh(*places, values[:, order], shading="nearest", rasterized=True, **colours)

    def _draw_sites(self, panel: Axes, values: np.ndarray, colours: dict[str, Option]) -> Collection:
        """Points with names, and a cross where there is no value."""
        east = (self.longitude + 180.0) % 360.0 - 180.0
        known = np.isfinite(values)
        panel.scatter(east[~known], self.latitude[~known], marker="x", s=30, color="0.4")
        drawn = panel.scatter(
            east[known],
            self.latitude[known],
            c=values[known],
            s=36,
            edgecolors="0.3",
            linewidths=0.5,
            **colours,
        )
        panel.margins(0.12, 0.15)
        panel.autoscale_view()
        limits = panel.get_xlim(), panel.get_ylim()
        self._draw_coast(panel)
        panel.set_xlim(max(limits[0][0], -190.0), min(limits[0][1], 190.0))
        panel.set_ylim(max(limits[1][0], -92.0), min(limits[1][1], 92.0))
        places = list(zip(east.tolist(), self.latitude.tolist(), strict=True))
        style.name_points(panel, self.sites[:_MOST_NAMES], places, 7.0)
        return drawn

    def _draw_coast(self, panel: Axes) -> None:
        low, high = float(self.longitude.min()), float(self.longitude.max())
        for line in self.coast:
            x = line[:, 0]
            if self.is_wet.ndim > 1:  # a map may have longitudes up to 360
                x = np.where(x < low - 180.0, x + 360.0, np.where(x > high + 180.0, x - 360.0, x))
            x = np.where(np.abs(np.diff(x, prepend=x[:1])) > 180.0, np.nan, x)
            panel.plot(x, line[:, 1], color="0.55", linewidth=0.6, zorder=1.5, scalex=False, scaley=False)

    def _at_some_times(self, name: str) -> dict[float, np.ndarray]:
        """A scalar by time [s], from those with any results, the start first."""
        time, there = self._series(
            name, dict(zip(self.dims, np.argwhere(self.is_wet)[0].tolist(), strict=True))
        )
        known = np.flatnonzero(np.isfinite(there)) if np.isfinite(there).any() else np.arange(len(time))
        chosen = known[np.unique(np.linspace(0, len(known) - 1, _N_TIMES).round().astype(int))]
        frames = chosen - (len(time) - len(self.time))  # -1: before the first
        arrays = [self.store[name][i] if i >= 0 else self.store[f"{INITIAL}{name}"] for i in frames]
        return {float(time[i]): np.asarray(a, dtype=float) for i, a in zip(chosen, arrays, strict=True)}

    def _series(self, name: str, point: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] and values at a point, from the start on if the store has it."""
        values = np.asarray(self.store[name].isel(point), dtype=float)
        if (first := f"{INITIAL}{name}") not in self.store:  # a mean
            return self.time, values
        start = np.asarray(self.store[first].isel(point), dtype=float)
        return np.append(0.0, self.time), np.concatenate([start[None], values])

    def nearest(self, point: Point) -> tuple[int, ...]:
        """The point with water nearest to a given one."""
        east = (self.longitude - point[1] + 180.0) % 360.0 - 180.0
        east = east * np.cos(np.radians(point[0]))
        distance = np.where(self.is_wet, np.hypot(east, self.latitude - point[0]), np.inf)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmin(distance)), distance.shape))
        spacing = 180.0 if distance.ndim == 1 else float(np.max(np.abs(np.diff(self.latitude[:, 0]))))
        if distance[at] > 2.0 * spacing:
            expected = "a point with water, or a neighbour of one"
            got = f"{point[0]:g} N {point[1]:g} E, {distance[at]:.3g} degrees away from the next one"
            raise ValueError(f"--point: expected {expected}, got {got}; choose another one.")
        return at

    def some_points(self) -> list[tuple[int, ...]]:
        """All sites of a list, else points from south to north."""
        if self.sites:
            return [(int(i),) for i in np.flatnonzero(self.is_wet)]
        wet = np.argwhere(self.is_wet)
        wet = wet[np.argsort(self.latitude[self.is_wet], kind="stable")]
        chosen = np.linspace(0, len(wet) - 1, 2 * _N_POINTS + 1)[1::2].round().astype(int)
        return [tuple(int(i) for i in wet[k]) for k in np.unique(chosen)]

    def sections(self, name: str, places: Sequence[tuple[int, ...]]) -> Figure:
        """A profile over time and depth at selected points, with the mixed layer depth."""
        n_columns = 1 if len(places) == 1 else 2
        figure, axes = style.panels(len(places), n_columns, (5.4, 2.6), (0.6, 0.5))
        vertical, places_of = self.store[name].dims[1], self.axis.places
        for panel, at in zip(axes.flat, places, strict=False):
            point = dict(zip(self.dims, at, strict=True))
            time, values = self._series(name, point)
            height = np.asarray(self.store[f"height_{str(vertical)[2:]}"].isel(point), dtype=float)
            here = np.isfinite(values).all(axis=1)
            if here.any():
                colours = style.colours_of(name, values[here])
                mesh = panel.pcolormesh(
                    places_of(time), height, values.T, shading="nearest", rasterized=True, **colours
                )
                figure.colorbar(mesh, ax=panel, pad=0.02).set_label(style.unit_label(_quantity(name)))
            layers = [str(each) for each in self.store if str(each).startswith(_LAYER)]
            if _quantity(name) in STATE and (layer := next(iter(layers), None)):
                time, depth = self._series(layer, point)
                criterion = str(self.store[layer].attrs.get("long_name", layer))  # in words
                said = f"mixed layer: {criterion.removeprefix('depth where the ')}"
                style.draw_layer(panel, places_of(time), depth, textwrap.fill(said, 50))
            title = _place(self.latitude[at], self.longitude[at])
            panel.set_title(f"{self.sites[at[0]]}, {title}" if self.sites else title, fontsize="medium")
            panel.set_ylabel("z [m]")
            style.height_axis(panel, float(np.nanmin(height)))
            self.axis.finish(panel)
        if axes.flat[0].get_legend_handles_labels()[0]:
            axes.flat[0].legend(loc="lower left", fontsize="x-small", framealpha=0.8)
        figure.suptitle(_label(self.store[name]))
        return figure


def _quantity(name: str) -> str:
    return name.removesuffix("_mean")


def _label(variable: "xr.DataArray") -> str:
    long_name, unit = (str(variable.attrs.get(key, "")) for key in ("long_name", "units"))
    mean = ", mean of the frame" if "cell_methods" in variable.attrs else ""
    return f"{long_name}{mean} [{style.in_math(unit)}]"


def _colours(name: str, low: float, high: float) -> dict[str, Option]:
    """Colour range of a map, without outliers."""
    if low < 0.0 < high and "flux" in name:
        return style.around_zero(max(-low, high))
    if name.startswith(_LAYER):
        # The upper quarter has half of the colours.
        return {"cmap": style.colour_map("deep"), "norm": PowerNorm(0.5, 0.0, max(high, 1.0))}
    chosen = {"sea_surface_temperature": "thermal", "salinity": "haline"}
    kind = next((colour for start, colour in chosen.items() if name.startswith(start)), "matter")
    return {"cmap": style.colour_map(kind), "norm": Normalize(low, high if high > low else low + 1.0)}


def _place(latitude: float, longitude: float) -> str:
    east = (longitude + 180.0) % 360.0 - 180.0
    north, side = "N" if latitude >= 0.0 else "S", "E" if east >= 0.0 else "W"
    return f"{abs(latitude):.4g}°{north} {abs(east):.4g}°{side}"
