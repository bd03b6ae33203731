"""Figures of one run: sections over time and height, and profiles; the depth of the mixed layer in them."""

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..calibration.misfit.sampled import is_determined, on_centers
from ..grid import Grid
from ..observations import Observations
from ..physics.stratification import mixed_layer_depth
from ..trajectory import Trajectory
from . import style
from .style import LOGARITHMIC_DECADES, STATE, FigureTime

_DIFFERENCE, _REFERENCE_DEPTH = 0.2, 10.0
"""K, and m: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003."""


def plot_sections(
    trajectory: Trajectory,
    variables: Sequence[str] | None = None,
    title: str = "",
    *,
    start_time: str | None = None,
) -> Figure:
    """Variables over time and height (Hovmöller diagrams), with the depth of the mixed layer.

    By default all variables of the state and of the closure that vary; with the ISO 8601 date of its start, a
    case has an axis of dates. A batch of columns, or a variable that the run does not have, is a
    `ValueError`.
    """
    fields = _select(style.fields_of(trajectory), variables)
    n_columns = 1 if len(fields) < 3 else 2
    figure, axes = style.panels(len(fields), n_columns, (6.4, 2.3), (0.0, 0.9), sharex=True, sharey=True)
    seconds = np.asarray(trajectory.time, dtype=float)
    axis = FigureTime(float(seconds[-1]), start_time)
    time, layer = axis.places(seconds), MixedLayer(trajectory)
    depth = layer.of_run(trajectory)
    for panel, (name, (height, values)) in zip(axes.flat, fields.items(), strict=False):
        colours = style.colours_of(name, values)
        if isinstance(norm := colours["norm"], LogNorm):
            values = np.where(values > 0.0, np.maximum(values, norm.vmin or 0.0), np.nan)
        mesh = panel.pcolormesh(time, height, values.T, shading="nearest", rasterized=True, **colours)
        figure.colorbar(mesh, ax=panel, pad=0.02).set_label(style.unit_label(name))
        panel.set_title(style.long_name(name), fontsize="medium")
        if name in STATE:
            panel.plot(time, -depth, color="white", linewidth=2.2, alpha=0.7)
            panel.plot(time, -depth, color="black", linewidth=0.9, label=layer.label)
        panel.set_xlim(time[0], time[-1])
        panel.set_ylim(float(np.min(trajectory.grid.z_face)), 0.0)
    if next(iter(fields)) in STATE:
        axes.flat[0].legend(loc="lower left", fontsize="x-small", framealpha=0.8)
    for panel in style.lowest(axes, len(fields)):
        axis.finish(panel)
    for panel in axes[:, 0]:
        panel.set_ylabel("z [m]")
    figure.suptitle(title)
    return figure


def plot_profiles(
    trajectory: Trajectory,
    variables: Sequence[str] | None = None,
    *,
    n_times: int = 6,
    title: str = "",
    start_time: str | None = None,
) -> Figure:
    """Profiles at so many times spread over a run; variables, dates and errors as for `plot_sections`."""
    fields = _select(style.fields_of(trajectory), variables)
    figure, axes = style.panels(len(fields), min(4, len(fields)), (3.1, 3.9), (0.6, 0.6), sharey=True)
    seconds = np.asarray(trajectory.time, dtype=float)
    axis = FigureTime(float(seconds[-1]), start_time)
    frames = np.unique(np.linspace(0, len(seconds) - 1, min(n_times, len(seconds))).round().astype(int))
    shades = style.colour_map("dense")(np.linspace(0.25, 0.95, len(frames)))
    for panel, (name, (height, values)) in zip(axes.flat, fields.items(), strict=False):
        is_logarithmic = isinstance(style.colours_of(name, values)["norm"], LogNorm)
        if is_logarithmic:
            # A logarithm has no place for the zeros at the ends of the column.
            values = np.where(values > 0.0, values, np.nan)
        for frame, shade in zip(frames, shades, strict=True):
            panel.plot(values[frame], height, color=shade, label=axis.moment(float(seconds[frame])))
        if is_logarithmic and np.isfinite(shown := values[frames]).any():
            top, least = float(np.nanmax(shown)), float(np.nanmin(shown))
            panel.set_xscale("log")
            panel.set_xlim(max(0.5 * least, top * 10.0**-LOGARITHMIC_DECADES), 2.0 * top)
        if not is_logarithmic:
            panel.xaxis.set_major_locator(MaxNLocator(5))
        style.label(panel, style.name_and_unit(name))
    axes.flat[0].legend(fontsize="small")
    for panel in axes[:, 0]:
        panel.set_ylabel("z [m]")
    figure.suptitle(title)
    return figure


def _select(fields: Mapping[str, tuple], variables: Sequence[str] | None) -> dict[str, tuple]:
    if variables is None:
        varying = {
            name: (height, values)
            for name, (height, values) in fields.items()
            if np.ptp(values) > 1e-12 * np.abs(values).max()
        }
        return varying or {"temperature": fields["temperature"]}
    unknown = [name for name in variables if name not in fields]
    if unknown or not variables:
        raise ValueError(
            f"plotting: expected variables among {', '.join(fields)}, got {', '.join(unknown) or 'none'}."
        )
    return {name: fields[name] for name in variables}


class MixedLayer:
    """The depth at which the temperature is first so much below that at 10 m.

    By 0.2 K; by a tenth of what a column, the trajectory, spans from top to bottom where that is less than 2
    K, as in large-eddy simulations, where 0.2 K is far below the layer. In columns of less than 20 m below
    that at half their depth.
    """

    def __init__(self, trajectory: Trajectory):
        self._grid = trajectory.grid
        first = np.asarray(trajectory.state.temperature[0], dtype=float)
        tenth = float(f"{0.1 * np.ptp(first):.0e}")
        self.difference = min(_DIFFERENCE, tenth) if tenth > 0.0 else _DIFFERENCE
        self.label = f"mixed layer ({self.difference:g} K)"

    def of_run(self, trajectory: Trajectory) -> np.ndarray:
        """Depth of each frame [m]; NaN where the column is mixed to the bottom."""
        return self._depths(np.asarray(trajectory.state.temperature), trajectory.grid)

    def observed(self, observations: Observations) -> tuple[np.ndarray, np.ndarray] | None:
        """Times [s] and depths [m]; `None` where the temperature was not observed.

        Linear between the sensors; only where the profile reaches through the base of the layer.
        """
        if "temperature" not in observations.profiles:
            return None
        z, values = np.asarray(observations.z, float), np.asarray(observations.profiles["temperature"], float)
        centers = np.asarray(self._grid.z_center, dtype=float).reshape(-1)
        depths = self._depths(on_centers(z, values, centers), self._grid)
        known = np.isfinite(depths)
        known &= is_determined("mixed_layer_depth", depths, z, values, float(centers[0]))
        return np.asarray(observations.time, dtype=float)[known], depths[known]

    def _depths(self, temperature: np.ndarray, grid: Grid) -> np.ndarray:
        """Of profiles `(n_times, n_centers)`."""
        bottom = -float(np.min(grid.z_center))
        reference = min(_REFERENCE_DEPTH, -0.5 * float(np.min(grid.z_face)))
        options = {"difference": self.difference, "reference_depth": reference}
        of_frame = jax.vmap(lambda profile: mixed_layer_depth(profile, grid, **options))
        depth = np.asarray(of_frame(jnp.asarray(temperature)), dtype=float)
        return np.where(depth < bottom * (1.0 - 1e-9), depth, np.nan)
