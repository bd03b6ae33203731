"""Figures of runs against observations: profiles at the last time, sections of the differences, series."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..calibration.misfit.operators import faces_from_centers, regrid
from ..case import Case
from ..diagnostics import diagnose
from ..observations import Observations
from ..trajectory import Trajectory
from .runs import MixedLayer
from .style import (
    FigureTime,
    colour_map,
    colours_of,
    difference_label,
    fields_of,
    label_profile,
    long_name,
    unit_label,
)

LINES = (("#3b75af", "--"), ("#c44e30", "-"), ("#5a9e48", "-."))
"""Colour and dashes of the runs of a fit."""


@dataclasses.dataclass(frozen=True)
class CaseRuns:
    """Runs of one case and what they should give.

    Args:
        name: of the case.
        runs: of a single column each, by label.
        observations: of the case.
        case: gives the date of the start, and the equation of state of what is derived; optional.
    """

    name: str
    runs: Mapping[str, Trajectory]
    observations: Observations
    case: Case | None = None

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    def times(self) -> FigureTime:
        """The axis of time of all runs."""
        latest = max(float(run.time[-1]) for run in self.runs.values())
        return FigureTime(latest, None if self.case is None else self.case.start_time)


def plot_fits(fits: Sequence[CaseRuns], variables: Sequence[str] = ("temperature", "u", "v")) -> Figure:
    """Profiles of runs and observations at the last common time, and the errors of temperature.

    A large-eddy simulation that is finer than a run is averaged over the cells of the run, and a run that is
    finer over those of the simulation: neither is blamed for levels that it does not have.

    Args:
        fits: one row of panels each.
        variables: one column of panels each, where observed.

    Raises:
        ValueError: no fit with one of the variables, or a batch of columns.
    """
    shown = [name for name in variables if any(name in fit.observations.profiles for fit in fits)]
    if not shown:
        raise ValueError(
            f"plot_fits: expected at least one fit with profiles of {', '.join(variables)}, got none."
        )
    columns = [*shown, *(f"error of {name}" for name in shown[:1])]
    figure = Figure(figsize=(3.0 * len(columns) + 0.4, 3.2 * len(fits) + 0.7), layout="constrained")
    axes = figure.subplots(len(fits), len(columns), squeeze=False, sharey="row")
    for row, fit in zip(axes, fits, strict=True):
        time = _last_common_time(fit)
        for panel, name in zip(row, shown, strict=False):
            _draw_fit(panel, fit, name, time)
            label_profile(panel, name)
        _draw_errors(row[-1], fit, shown[0], time)
        for panel in row:
            panel.xaxis.set_major_locator(MaxNLocator(4))
        row[0].set_ylabel("z [m]")
        row[0].set_title(f"{fit.title}, {fit.times().moment(time)}", loc="left", fontsize="medium")
    axes[0, 0].legend(fontsize="small")
    return figure


def _last_common_time(fit: CaseRuns) -> float:
    end = min(float(run.time[-1]) for run in fit.runs.values())
    times = np.asarray(fit.observations.time)
    seen = [np.isfinite(np.asarray(values)).any(axis=1) for values in fit.observations.profiles.values()]
    times = times[np.any(seen, axis=0)] if np.any(seen) else times
    inside = times[times <= end * (1.0 + 1e-9)]
    return float(inside[-1] if inside.size else times[0])


def _at_time(times, values, time: float) -> np.ndarray:
    """Linear in time."""
    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    after = int(np.clip(np.searchsorted(times, time), 1, times.size - 1)) if times.size > 1 else 0
    if times.size == 1:
        return values[0]
    fraction = np.clip((time - times[after - 1]) / (times[after] - times[after - 1]), 0.0, 1.0)
    return (1.0 - fraction) * values[after - 1] + fraction * values[after]


def _observed_profile(observations: Observations, name: str, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Heights and values: linear in time where heights are common, else of the nearest profile."""
    if not observations.moves:
        return np.asarray(observations.z), _at_time(observations.time, observations.profiles[name], time)
    nearest = int(np.argmin(np.abs(np.asarray(observations.time) - time)))
    z, values = (np.asarray(array)[nearest] for array in (observations.z, observations.profiles[name]))
    return z[np.isfinite(z)], values[np.isfinite(z)]


def _run_profile(run: Trajectory, name: str, time: float) -> tuple[np.ndarray, np.ndarray]:
    height, values = fields_of(run)[name]
    return height, _at_time(run.time, values, time)


def _draw_fit(panel: Axes, fit: CaseRuns, name: str, time: float) -> None:
    if name not in fit.observations.profiles:
        panel.text(0.5, 0.5, "not observed", transform=panel.transAxes, ha="center", color="0.5")
        return
    z, observed = _observed_profile(fit.observations, name, time)
    panel.plot(observed, z, color="0.15", linewidth=3.0, alpha=0.45, label=fit.observations.source)
    for (label, run), (colour, dashes) in zip(fit.runs.items(), LINES, strict=False):
        height, values = _run_profile(run, name, time)
        panel.plot(values, height, label=label, color=colour, linestyle=dashes)


def _draw_errors(panel: Axes, fit: CaseRuns, name: str, time: float) -> None:
    panel.axvline(0.0, color="0.15", linewidth=3.0, alpha=0.45)
    if name in fit.observations.profiles:
        observed = _observed_profile(fit.observations, name, time)
        for run, (colour, dashes) in zip(fit.runs.values(), LINES, strict=False):
            z, error = _difference(run, _run_profile(run, name, time), observed, fit.observations)
            panel.plot(error, z, color=colour, linestyle=dashes)
    panel.set_xlabel(f"error of {difference_label(name)}", fontsize="small")
    panel.tick_params(labelsize="small")
    panel.grid(alpha=0.25)


def _difference(
    run: Trajectory,
    modelled: tuple[np.ndarray, np.ndarray],
    observed: tuple[np.ndarray, np.ndarray],
    observations: Observations,
) -> tuple[np.ndarray, np.ndarray]:
    """Heights and error of a profile: of cell means beside an LES, else at the observed heights."""
    (height, values), (z, seen) = modelled, observed
    if observations.source != "LES":
        return z, np.interp(z, height, values) - seen
    own = np.asarray(run.grid.z_face, dtype=float).reshape(-1)
    theirs = faces_from_centers(np.asarray(z, dtype=float), observations.name)
    if theirs.size >= own.size:
        return height, values - regrid(seen, theirs, own)
    return z, regrid(values, own, theirs) - seen


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
