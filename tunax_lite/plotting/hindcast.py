"""Figures of a run beside measurements over time: sections with their differences, and series of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ..diagnostics import diagnose
from ..trajectory import Trajectory
from .fits import LINES, CaseRuns
from .mixed_layer import MixedLayer
from .style import colour_map, colours_of, difference_label, fields_of, long_name, unit_label

_MOST_TIMES = 1500
_FEW_VALUES = 60
"""Values up to which each has a marker."""
_ERROR_QUANTILE = 0.99
_OBSERVED = {"color": "0.15", "alpha": 0.5, "linewidth": 2.4}

_Series = tuple[np.ndarray, np.ndarray]
_Panels = dict[str, tuple[_Series | None, dict[str, _Series]]]
"""By label of the axis: what was observed, and the runs."""


def plot_differences(fit: CaseRuns, variables: Sequence[str] = ("temperature", "salinity")) -> Figure:
    """Sections of what was observed, of the last of the runs there, and of model minus observations.

    The run is interpolated linearly to the observed times and heights. The colours of the difference reach
    to its quantile of 99 %.

    Args:
        fit: of one case.
        variables: one row of panels each, where observed.

    Raises:
        ValueError: none of the variables observed at two times or more, or a batch of columns.
    """
    shown = [name for name in variables if name in fit.observations.profiles]
    if not shown or fit.observations.time.size < 2:
        raise ValueError(
            f"plot_differences: expected profiles of {' or '.join(variables)} at two times or more, got "
            f"{', '.join(fit.observations.profiles) or 'none'} at {fit.observations.time.size}."
        )
    label, run = list(fit.runs.items())[-1]
    figure = Figure(figsize=(13.5, 2.6 * len(shown) + 0.9), layout="constrained")
    axes = figure.subplots(len(shown), 3, squeeze=False, sharex=True, sharey=True)
    source = fit.observations.source
    for row, name in zip(axes, shown, strict=True):
        seconds, z, seen = _thinned(fit, name, float(run.time[-1]))
        modelled = np.where(np.isfinite(seen), _at_observations(run, name, seconds, z), np.nan)
        both = np.concatenate([seen[np.isfinite(seen)], modelled[np.isfinite(modelled)]])
        colours, _ = colours_of(name, both)
        shared = Normalize(float(both.min()), float(both.max()))
        difference = modelled - seen
        largest = float(np.nanquantile(np.abs(difference), _ERROR_QUANTILE)) or 1.0
        for panel, values, title, cmap, norm in (
            (row[0], seen, source, colours, shared),
            (row[1], modelled, label, colours, shared),
            (row[2], difference, f"{label} − {source}", colour_map("balance"), Normalize(-largest, largest)),
        ):
            mesh = _draw_section(panel, fit, seconds, z, values, cmap=cmap, norm=norm)
            extend = "both" if panel is row[2] else "neither"
            unit = difference_label(name) if panel is row[2] else f"{long_name(name)} {unit_label(name)}"
            figure.colorbar(mesh, ax=panel, pad=0.02, extend=extend).set_label(unit, fontsize="small")
            panel.set_title(title, fontsize="medium")
        row[0].set_ylabel("z [m]")
    for panel in axes[-1]:
        fit.times().finish(panel, fontsize="small")
    figure.suptitle(fit.title, fontsize="medium")
    return figure


def _thinned(fit: CaseRuns, name: str, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s], heights [m] and values of a variable, at most so many times as a figure can show."""
    observations = fit.observations
    values, seconds = np.asarray(observations.profiles[name], float), np.asarray(observations.time, float)
    known = np.flatnonzero(np.isfinite(values).any(axis=1) & (seconds <= end * (1.0 + 1e-9)))
    chosen = known[:: 1 + known.size // _MOST_TIMES]
    z = np.asarray(observations.z, dtype=float)
    heights = z[chosen] if observations.moves else np.broadcast_to(z, values[chosen].shape)
    return seconds[chosen], heights, values[chosen]


def _at_observations(run: Trajectory, name: str, seconds: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Values of a run at times and heights, linear in both."""
    height, values = fields_of(run)[name]
    times = np.asarray(run.time, dtype=float)
    after = np.clip(np.searchsorted(times, seconds), 1, times.size - 1)
    weight = np.clip((seconds - times[after - 1]) / (times[after] - times[after - 1]), 0.0, 1.0)[:, None]
    at_times = (1.0 - weight) * values[after - 1] + weight * values[after]
    return np.stack([np.interp(row_z, height, row) for row_z, row in zip(z, at_times, strict=True)])


def _draw_section(
    panel: Axes, fit: CaseRuns, seconds: np.ndarray, z: np.ndarray, values: np.ndarray, **colours
):
    places = fit.times().places(seconds)
    panel.set_ylim(np.nanmin(z) * 1.03, 0.0)
    panel.tick_params(labelsize="small")
    if not fit.observations.moves:
        if z.shape[1] > 1:
            panel.set_ylim(1.5 * z[0, 0] - 0.5 * z[0, 1], 0.0)
        return panel.pcolormesh(places, z[0], values.T, shading="nearest", rasterized=True, **colours)
    known = np.isfinite(values)
    where = np.broadcast_to(places[:, None], values.shape)[known], z[known]
    return panel.scatter(*where, c=values[known], s=6.0, marker="s", linewidths=0.0, **colours)


def plot_series(fit: CaseRuns) -> Figure:
    """Temperature at the surface, depth of the mixed layer and every observed number, over time.

    The temperature at the surface is the observed one, or that of the uppermost sensor, where the runs are
    shown at its height. The mixed layer is that of the temperature, of both.

    Args:
        fit: of one case; with its `case` where numbers were observed.

    Raises:
        ValueError: nothing that can be shown, or a batch of columns.
    """
    panels = _near_surface(fit) | _mixed_layers(fit) | _numbers(fit)
    if not panels:
        raise ValueError("plot_series: expected profiles of temperature or observed numbers, got neither.")
    figure = Figure(figsize=(9.0, 2.2 * len(panels) + 0.8), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
    times = fit.times()
    for panel, (label, (observed, runs)) in zip(axes, panels.items(), strict=True):
        if observed is not None:
            _draw_series(panel, fit, observed, fit.observations.source, **_OBSERVED)
        for (name, series), (colour, dashes) in zip(runs.items(), LINES, strict=False):
            _draw_series(panel, fit, series, name, color=colour, linestyle=dashes, linewidth=1.1)
        panel.set_ylabel(label, fontsize="small")
        panel.tick_params(labelsize="small")
        panel.grid(alpha=0.25)
        if "layer" in label:
            panel.invert_yaxis()
    axes[0].legend(fontsize="small")
    times.finish(axes[-1])
    figure.suptitle(fit.title, fontsize="medium")
    return figure


def _draw_series(panel: Axes, fit: CaseRuns, series: _Series, label: str, **style: Any) -> None:
    seconds, values = series
    marker = "." if np.isfinite(values).sum() < _FEW_VALUES else None
    panel.plot(fit.times().places(seconds), values, label=label, marker=marker, **style)


def _near_surface(fit: CaseRuns) -> _Panels:
    observations = fit.observations
    if "temperature" not in observations.profiles or "sea_surface_temperature" in observations.series:
        return {}
    seconds, z, values = _thinned(fit, "temperature", np.inf)
    top = np.argmax(np.where(np.isfinite(values), z, -np.inf), axis=1)[:, None]
    heights = np.take_along_axis(z, top, axis=1)
    seen = np.take_along_axis(values, top, axis=1)[:, 0]
    height = float(np.median(heights))
    runs = {}
    for name, run in fit.runs.items():
        times = np.asarray(run.time, dtype=float)
        at = np.full((times.size, 1), height)
        runs[name] = times, _at_observations(run, "temperature", times, at)[:, 0]
    return {f"temperature at {-height:.3g} m [°C]": ((seconds, seen), runs)}


def _mixed_layers(fit: CaseRuns) -> _Panels:
    if "mixed_layer_depth" in fit.observations.series:
        return {}
    layer = MixedLayer(next(iter(fit.runs.values())))
    runs = {name: (np.asarray(run.time, float), layer.of_run(run)) for name, run in fit.runs.items()}
    return {f"{layer.label} [m]": (layer.observed(fit.observations), runs)}


def _numbers(fit: CaseRuns) -> _Panels:
    found: _Panels = {}
    for name, values in fit.observations.series.items():
        values = np.asarray(values, dtype=float)
        known = np.isfinite(values)
        seen = np.asarray(fit.observations.time, dtype=float)[known], values[known]
        runs = {}
        if fit.case is not None:
            for label, run in fit.runs.items():
                runs[label] = np.asarray(run.time, float), np.asarray(diagnose(run, fit.case, [name])[name])
        found[f"{name.replace('_', ' ')} {unit_label(name)}"] = seen, runs
    return found
