"""Figures of one run: sections with the mixed layer depth, profiles, and series at the surface."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..column.grid import Grid
from ..column.observables import MIXED_LAYER_DIFFERENCE
from ..io.runs import read_grid
from ..physics.stratification import default_reference_depth, mixed_layer_depth
from . import style
from .style import LOGARITHMIC_DECADES, STATE, FigureTime


def plot_sections(run: xr.Dataset, variables: Sequence[str] | None = None, title: str = "") -> Figure:
    """Draw variables over time and height (Hovmöller diagrams), with the mixed layer depth.

    Args:
        run: of one column, from `to_dataset` or a file; the temperature is potential if the
            diagnostics have it, otherwise that of the state.
        variables: by default all profiles of state and closure that vary, or the temperature.
        title: above the figure.

    Raises:
        ValueError: a batch of columns, or a variable that is not in the run.
    """
    fields = _select(style.fields_of(run), variables)
    n_columns = 1 if len(fields) < 3 else 2
    figure, axes = style.panels(len(fields), n_columns, (6.4, 2.3), (0.0, 0.9), sharex=True, sharey=True)
    seconds = style.seconds_of(run)
    axis = FigureTime(float(seconds[-1]), style.start_of(run))
    time = axis.places(seconds)
    layer, depth = mixed_layer(run) if "temperature" in run else ("", np.full(len(seconds), np.nan))
    attributes = {name: each.attrs for name, each in fields.items()}
    for panel, (name, field) in zip(axes.flat, fields.items(), strict=False):
        height, values = field[field.dims[1]].values, np.asarray(field, dtype=float)
        colours = style.colours_of(name, values)
        if isinstance(norm := colours["norm"], LogNorm):
            values = np.where(values > 0.0, np.maximum(values, norm.vmin or 0.0), np.nan)
        mesh = panel.pcolormesh(time, height, values.T, shading="nearest", rasterized=True, **colours)
        figure.colorbar(mesh, ax=panel, pad=0.02).set_label(style.unit_label(name, attributes))
        panel.set_title(style.long_name(name, attributes), fontsize="medium")
        if name in STATE:
            panel.plot(time, -depth, color="white", linewidth=2.2, alpha=0.7)  # visible on any colours
            panel.plot(time, -depth, color="black", linewidth=0.9, label=layer)
        panel.set_xlim(time[0], time[-1])
        style.vertical_axis(panel, float(run["z_face"].min()))
    if next(iter(fields)) in STATE and np.isfinite(depth).any():
        axes.flat[0].legend(loc="lower left", fontsize="x-small", framealpha=0.8)
    for panel in style.lowest(axes, len(fields)):
        axis.finish(panel)
    for panel in axes[:, 0]:
        panel.set_ylabel("z [m]")
    figure.suptitle(title)
    return figure


def plot_profiles(
    run: xr.Dataset, variables: Sequence[str] | None = None, *, n_times: int = 6, title: str = ""
) -> Figure:
    """Draw profiles at times spread over a run; other arguments and errors are those of `plot_sections`."""
    fields = _select(style.fields_of(run), variables)
    figure, axes = style.panels(len(fields), min(4, len(fields)), (3.1, 3.9), (0.6, 0.6), sharey=True)
    seconds = style.seconds_of(run)
    axis = FigureTime(float(seconds[-1]), style.start_of(run))
    attributes = {name: each.attrs for name, each in fields.items()}
    frames = np.unique(np.linspace(0, len(seconds) - 1, min(n_times, len(seconds))).round().astype(int))
    shades = style.colour_map("dense")(np.linspace(0.25, 0.95, len(frames)))
    for panel, (name, field) in zip(axes.flat, fields.items(), strict=False):
        height, values = field[field.dims[1]].values, np.asarray(field, dtype=float)
        is_logarithmic = isinstance(style.colours_of(name, values)["norm"], LogNorm)
        if is_logarithmic:
            # A logarithmic axis cannot show the zeros at the ends of the column.
            values = np.where(values > 0.0, values, np.nan)
        for frame, shade in zip(frames, shades, strict=True):
            panel.plot(values[frame], height, color=shade, label=axis.moment(float(seconds[frame])))
        if is_logarithmic and np.isfinite(shown := values[frames]).any():
            top, least = float(np.nanmax(shown)), float(np.nanmin(shown))
            panel.set_xscale("log")
            panel.set_xlim(max(0.5 * least, top * 10.0**-LOGARITHMIC_DECADES), 2.0 * top)
        if not is_logarithmic:
            panel.xaxis.set_major_locator(MaxNLocator(5))
        style.label(panel, style.name_and_unit(name, attributes))
        style.vertical_axis(panel, float(run["z_face"].min()))
    axes.flat[0].legend(fontsize="small")
    for panel in axes[:, 0]:
        panel.set_ylabel("z [m]")
    figure.suptitle(title)
    return figure


def plot_surface(run: xr.Dataset, title: str = "") -> Figure:
    """Draw ice and level over time, for a single column; the ice temperature while there is ice."""
    names = surface_of(run)
    attributes = {name: run[name].attrs for name in names}
    surface = {name: np.asarray(run[name], dtype=float) for name in names}
    if (thickness := surface.get("ice_thickness")) is not None:
        of_ice = [name for name in names if style.unit_of(name, attributes) == "degC"]
        surface |= {name: np.where(thickness > 0.0, surface[name], np.nan) for name in of_ice}
    figure, axes = style.panels(len(surface), 1, (6.4, 1.8), (0.0, 0.9), sharex=True)
    seconds = style.seconds_of(run)
    axis = FigureTime(float(seconds[-1]), style.start_of(run))
    for panel, (name, values) in zip(axes.flat, surface.items(), strict=True):
        panel.plot(axis.places(seconds), values, color="black", linewidth=1.2)
        panel.set_title(style.long_name(name, attributes), fontsize="medium")
        style.label(panel, y=style.unit_label(name, attributes))
    axis.finish(axes.flat[-1])
    figure.suptitle(title)
    return figure


def surface_of(run: xr.Dataset) -> list[str]:
    """Names of the prognostic scalars at the surface, such as `ice_thickness`."""
    return str(run.attrs.get("surface", "")).split()


def _select(fields: Mapping[str, xr.DataArray], variables: Sequence[str] | None) -> dict[str, xr.DataArray]:
    if variables is None:
        varying = [name for name, v in fields.items() if np.ptp(v.values) > 1e-12 * np.abs(v.values).max()]
        variables = varying or ["temperature"]
    unknown = [name for name in variables if name not in fields]
    if unknown or not variables:
        raise ValueError(
            f"plotting: expected variables among {', '.join(fields)}, got {', '.join(unknown) or 'none'}."
        )
    return {name: fields[name] for name in variables}


def mixed_layer(run: xr.Dataset) -> tuple[str, np.ndarray]:
    """Label of the mixed layer, and its depth at each frame [m]; NaN if no level meets the criterion."""
    reference, depths = _mixed_layers(run["temperature"].values, read_grid(run))
    label = f"mixed layer ({MIXED_LAYER_DIFFERENCE:g} K from {float(reference):g} m)"
    return label, np.asarray(depths, dtype=float)


@jax.jit  # operation by operation, it would compile forty programs
def _mixed_layers(temperature, grid: Grid):
    of_frame = lambda profile: mixed_layer_depth(profile, grid, difference=MIXED_LAYER_DIFFERENCE)  # noqa: E731
    return default_reference_depth(grid), jax.vmap(of_frame)(temperature)


# Safe for colour-blind readers: Okabe and Ito (2008), with brown instead of yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#111111", "#8c6d31")
DASHES = "-", "--", "-.", ":"
