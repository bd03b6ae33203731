"""Figures of runs and observations: final profiles, sections of the differences, time series."""

import dataclasses
import functools
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..calibration import Target
from ..calibration.comparison import ObservedComparison
from ..calibration.observed import faces_from_centers
from ..calibration.validation import FEWEST_TIMES, has_series, is_measured_series, run_to_the_end
from ..column.case import Case
from ..column.diagnostics import diagnose
from ..column.model import Model
from ..column.observables import unit_of_difference
from ..column.observations import Observations
from ..column.trajectory import Trajectory
from ..io.dataset import TracerUnits
from ..io.series import Series
from ..numerics.regridding import regrid
from ..physics.equation_of_state import AbstractEquationOfState, carries_conservative_temperature
from . import style
from .runs import MixedLayer
from .style import BLUE, RED, STATE, FigureTime, Option, fields_of

LINES = ((BLUE, "--"), (RED, "-"), ("#5a9e48", "-."))  # colour and dashes of runs
_MOST_TIMES = 1500  # of observations in such a figure
_FEW_VALUES = 60  # each has a marker up to this number
_ERROR_QUANTILE = 0.99
# Shown where they are observed, besides what was fitted and tracers.
_OF_FITS, _OF_DIFFERENCES = ("temperature", "u", "v"), ("temperature", "salinity")
_OF_SERIES = ("temperature",)

_Series = tuple[np.ndarray, np.ndarray]  # times, or heights, and values
_NOTHING: _Series = np.zeros(0), np.zeros(0)
_Panels = dict[str, tuple[_Series | None, dict[str, _Series]]]
"""By label of the axis: what was observed, and the runs."""


@dataclasses.dataclass(frozen=True)
class CaseRuns:
    """Runs of one case, a single column each, by label, and the observations.

    The case provides the start date, the equation of state for derived quantities, and the units of tracers.
    What was `fitted` comes first in figures.
    """

    name: str
    runs: Mapping[str, Trajectory]
    observations: Observations
    case: Case | None = None
    fitted: tuple[str, ...] = ()

    def shown(self, usual: Sequence[str], fewest: int = 1) -> list[str]:
        """Profiles observed at a few times at least that the runs carry: fitted, usual ones, and tracers."""
        run, observed = next(iter(self.runs.values())), self.observations
        during = np.asarray(observed.time) <= float(run.time[-1]) * (1.0 + 1e-9)
        return [
            name
            for name in dict.fromkeys((*self.fitted, *usual, *run.state.tracers))
            if name in observed.profiles
            and (name in STATE or name in run.state.tracers)
            and np.isfinite(np.asarray(observed.profiles[name])[during]).any(axis=1).sum() >= fewest
        ]

    @property
    def tracers(self) -> TracerUnits:
        """Units and long names of tracers, if the case is known."""
        return style.NO_TRACERS if self.case is None else self.case.tracer_units

    @property
    def times(self) -> FigureTime:
        """The time axis of all runs."""
        latest = max(float(run.time[-1]) for run in self.runs.values())
        return FigureTime(latest, None if self.case is None else self.case.start_time)

    @property
    def equation_of_state(self) -> AbstractEquationOfState | None:
        """That of the case, if it is known."""
        return None if self.case is None else self.case.equation_of_state

    @property
    def seen(self) -> "CaseRuns":
        """Runs and observations in potential temperature, if the column carries the conservative one."""
        if self.case is None or not carries_conservative_temperature(self.equation_of_state):
            return self
        convert = functools.partial(style.in_potential_temperature, equation_of_state=self.equation_of_state)
        observed, profiles = self.observations, dict(self.observations.profiles)
        if "temperature" in profiles:
            values = np.asarray(profiles["temperature"], dtype=float)
            # The initial salinity where none was observed.
            start = np.asarray(self.case.grid.z_center, float), np.asarray(self.case.initial_state.salinity)
            initial = np.broadcast_to(np.interp(np.asarray(observed.z), *start), values.shape)
            salinity = np.asarray(profiles.get("salinity", initial), dtype=float)
            salinity = np.where(np.isfinite(salinity), salinity, initial)
            profiles["temperature"] = jnp.asarray(style.potential(values, salinity))
        observed = dataclasses.replace(observed, profiles=profiles)
        runs = {name: convert(run) for name, run in self.runs.items()}
        return dataclasses.replace(self, runs=runs, observations=observed)


def fit_figures(fit: CaseRuns) -> dict[str, Figure]:
    """Figures of a run and its observations: profiles, sections of differences, series."""
    observed = fit.observations
    figures = {"fit": plot_fits([fit])} if fit.shown(_OF_FITS) else {}
    if observed.time.size >= FEWEST_TIMES and fit.shown(_OF_DIFFERENCES, 2):
        figures["differences"] = plot_differences(fit)
    return figures | ({"series": plot_series(fit)} if has_series(observed) else {})


def calibration_figures(
    model: Model, targets: Sequence[Target], calibrated: Sequence[Trajectory]
) -> dict[str, Figure]:
    """Runs before and after a calibration: profiles, and time series of measurements.

    Args:
        model: before the calibration.
        targets: of the calibration.
        calibrated: run of each target, from `calibrated_runs`.
    """
    fits = []
    for target, after in zip(targets, calibrated, strict=True):
        runs = {"before": run_to_the_end(model, target), "after": after}
        fits.append(CaseRuns(target.case.name, runs, target.observations, target.case, tuple(target.weights)))
    figures = {"profiles": plot_fits(fits)} if any(fit.shown(_OF_FITS) for fit in fits) else {}
    for fit, target in zip(fits, targets, strict=True):
        if is_measured_series(target.observations):
            figures[f"series_{fit.name}" if len(fits) > 1 else "series"] = plot_series(fit)
    return figures


def plot_fits(fits: Sequence[CaseRuns], variables: Sequence[str] | None = None) -> Figure:
    """Last observed profiles of each variable and runs at their times, and the errors of what was fitted.

    One row of panels per fit, one column per observed variable, by default what was fitted, temperature,
    velocity and tracers, and beside it the errors of what was fitted, or else of the first. Velocities are
    left out of a row where every run is at rest, unless nothing else is observed. If a large-eddy simulation
    is finer than a run, it is averaged over the cells of the run, and vice versa, so that neither is
    penalised for its resolution.
    Raises `ValueError` if there is nothing to show, or for a batch of columns.
    """
    if variables is None:
        variables = list(dict.fromkeys(name for fit in fits for name in fit.shown(_OF_FITS)))
    has_moving = any(_is_seen(fit, name) for fit in fits for name in variables)
    is_shown = _is_seen if has_moving else _is_observed
    shown = [name for name in variables if any(is_shown(fit, name) for fit in fits)]
    if not shown:
        expected = ", ".join(variables or _OF_FITS)
        raise ValueError(f"plot_fits: expected at least one fit with profiles of {expected}, got none.")
    of_errors = [name for name in shown if any(name in fit.fitted for fit in fits)] or shown[:1]
    columns = [(name, is_error) for name in shown for is_error in (False, True)[: 1 + (name in of_errors)]]
    n_columns = len(columns)
    figure, axes = style.panels(len(fits) * n_columns, n_columns, (3.0, 3.2), (0.4, 0.7), sharey="row")
    for row, fit in zip(axes, [each.seen for each in fits], strict=True):
        about = fit.equation_of_state, fit.tracers
        last = {name: _last_profile(fit, name) for name in shown if is_shown(fit, name)}
        common = next(iter(last.values())).time if last else 0.0
        for panel, (name, is_error) in zip(row, columns, strict=True):
            panel.set_visible(name in last)
            if name not in last:
                continue
            if is_error:
                unit = _draw_errors(panel, fit, name, last[name])
                style.label(panel, f"error of {style.long_name(name, *about)} [{style.in_math(unit)}]")
            else:
                _draw_fit(panel, fit, name, last[name])
                style.label(panel, style.name_and_unit(name, *about))
                if last[name].time != common:
                    panel.set_title(fit.times.moment(last[name].time), fontsize="small")
            panel.xaxis.set_major_locator(MaxNLocator(4))
        first = next((panel for panel in row if panel.get_visible()), row[0])
        first.set_ylabel("z [m]")
        first.tick_params(labelleft=True)  # shared axes hide those of all but the first column
        style.height_axis(first, min(float(np.min(run.grid.z_face)) for run in fit.runs.values()))
        first.set_title(
            f"{style.in_words(fit.name)}, {fit.times.moment(common)}", loc="left", fontsize="medium"
        )
    next((panel for panel in axes.flat if panel.get_visible()), axes[0, 0]).legend(fontsize="small")
    return figure


def _is_seen(fit: CaseRuns, name: str) -> bool:
    """Whether a profile is observed and not at rest in every run: velocities of an LES are then noise."""
    is_at_rest = name in ("u", "v") and not any(np.any(getattr(run.state, name)) for run in fit.runs.values())
    return _is_observed(fit, name) and not is_at_rest


def _is_observed(fit: CaseRuns, name: str) -> bool:
    return name in fit.observations.profiles


class _Profile(NamedTuple):
    time: float
    z: np.ndarray
    values: np.ndarray


def _last_profile(fit: CaseRuns, name: str) -> _Profile:
    """The last observed profile of a variable before a run ends, or else the first."""
    observed, end = fit.observations, min(float(run.time[-1]) for run in fit.runs.values())
    z, values, times = (np.asarray(x, float) for x in (observed.z, observed.profiles[name], observed.time))
    known = np.flatnonzero(np.isfinite(values).any(axis=1))  # other times and heights are of other variables
    inside = known[times[known] <= end * (1.0 + 1e-9)]
    row = int(next(iter((*inside[-1:], *known[:1])), 0))
    z, values = z[row] if observed.moves else z, values[row]
    there = np.isfinite(z) & np.isfinite(values)
    return _Profile(float(times[row]), z[there], values[there])


def _run_profile(run: Trajectory, name: str, time: float) -> _Series:
    height, values = fields_of(run)[name]
    return height, Series(np.asarray(run.time, dtype=float), values).on(np.array([time]))[0]


def _draw_fit(panel: Axes, fit: CaseRuns, name: str, observed: _Profile) -> None:
    source = fit.observations.source
    marker = "o" if source != "LES" and observed.z.size < _FEW_VALUES else None
    panel.plot(
        observed.values, observed.z, color="0.15", linewidth=3.0, alpha=0.45, marker=marker, label=source
    )
    for (label, run), (colour, dashes) in zip(fit.runs.items(), LINES, strict=False):
        height, values = _run_profile(run, name, observed.time)
        panel.plot(values, height, label=label, color=colour, linestyle=dashes)


def _draw_errors(panel: Axes, fit: CaseRuns, name: str, observed: _Profile) -> str:
    """Draw errors of cell means, if the levels are the cell centers of an LES; otherwise at observed heights.

    Returns their unit.
    """
    panel.axvline(0.0, color="0.15", linewidth=3.0, alpha=0.45)
    time, z, seen = observed
    lines: list[_Series] = []
    theirs = _faces_of(fit.observations, z)
    for run in fit.runs.values():
        height, values = _run_profile(run, name, time)
        if theirs is None:
            at, error = z, np.interp(z, height, values) - seen
        else:
            own = np.asarray(run.grid.z_face, dtype=float).reshape(-1)
            if theirs.size >= own.size:
                at, error = height, values - regrid(seen, theirs, own)
            else:
                at, error = z, regrid(values, own, theirs) - seen
        lines.append((error, at))
    factor, unit = style.scaled([error for error, _ in lines], unit_of_difference(name, fit.tracers))
    for (error, at), (colour, dashes) in zip(lines, LINES, strict=False):
        panel.plot(factor * error, at, color=colour, linestyle=dashes)
    return unit


def _faces_of(observations: Observations, z: np.ndarray) -> np.ndarray | None:
    """Faces of the cells of an LES; `None` for observations, and for levels that are not cell centers."""
    if observations.source != "LES":
        return None
    try:
        return faces_from_centers(np.asarray(z, dtype=float), observations.name)
    except ValueError:  # of a stretched grid
        return None


def plot_differences(fit: CaseRuns, variables: Sequence[str] | None = None) -> Figure:
    """Sections of the observations, of the last run, and of model minus observations.

    One row of panels per observed variable, by default temperature, salinity and tracers. The run is
    interpolated linearly to the observed times and heights; the colour range covers 99 % of the differences.
    Raises `ValueError` if no variable was observed at two times or more, or for a batch of columns.
    """
    given = fit.shown(_OF_DIFFERENCES, 2) if variables is None else variables
    shown = [name for name in given if name in fit.observations.profiles]
    if not shown or fit.observations.time.size < 2:
        expected = " or ".join(variables or _OF_DIFFERENCES)
        raise ValueError(
            f"plot_differences: expected profiles of {expected} at two times or more, got "
            f"{', '.join(fit.observations.profiles) or 'none'} at {fit.observations.time.size}."
        )
    fit = fit.seen
    label, run = list(fit.runs.items())[-1]
    figure, axes = style.panels(3 * len(shown), 3, (4.5, 2.6), (0.0, 0.9), sharex=True, sharey="row")
    source = fit.observations.source
    for row, name in zip(axes, shown, strict=True):
        seconds, z, seen = _thinned(fit, name, float(run.time[-1]))
        modelled = np.where(np.isfinite(seen), _at_observations(run, name, seconds, z), np.nan)
        both = np.concatenate([seen[np.isfinite(seen)], modelled[np.isfinite(modelled)]])
        shared = style.colours_of(name, both) | {"norm": Normalize(float(both.min()), float(both.max()))}
        difference = modelled - seen
        apart = style.around_zero(float(np.nanquantile(np.abs(difference), _ERROR_QUANTILE)))
        about = fit.equation_of_state, fit.tracers
        own, apart_label = style.name_and_unit(name, *about), style.difference_label(name, *about)
        for panel, values, title, colours, extend, unit in (
            (row[0], seen, source, shared, "neither", own),
            (row[1], modelled, label, shared, "neither", own),
            (row[2], difference, f"{label} − {source}", apart, "both", apart_label),
        ):
            mesh = _draw_section(panel, fit, seconds, z, values, **colours)
            figure.colorbar(mesh, ax=panel, pad=0.02, extend=extend).set_label(unit, fontsize="small")
            panel.set_title(title, fontsize="medium")
        row[0].set_ylabel("z [m]")
    for panel in axes[-1]:
        fit.times.finish(panel, fontsize="small")
    figure.suptitle(style.in_words(fit.name), fontsize="medium")
    return figure


def _thinned(fit: CaseRuns, name: str, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s], heights [m] and values of a variable, thinned to what a figure can show."""
    observations = fit.observations
    values, seconds = np.asarray(observations.profiles[name], float), np.asarray(observations.time, float)
    known = np.flatnonzero(np.isfinite(values).any(axis=1) & (seconds <= end * (1.0 + 1e-9)))
    chosen = known[:: 1 + known.size // _MOST_TIMES]
    z, values = np.asarray(observations.z, dtype=float), values[chosen]
    if observations.moves:
        return seconds[chosen], z[chosen], values
    own = np.isfinite(values).any(axis=0)  # others belong to other variables
    own = own if own.sum() > 1 else ~np.isnan(z)
    return seconds[chosen], np.broadcast_to(z[own], values[:, own].shape), values[:, own]


def _at_observations(run: Trajectory, name: str, seconds: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Values of a run at given times and heights, bilinear."""
    height, values = fields_of(run)[name]
    rows = Series(np.asarray(run.time, dtype=float), values).on(seconds)
    return np.stack([np.interp(row_z, height, row) for row_z, row in zip(z, rows, strict=True)])


def _draw_section(
    panel: Axes, fit: CaseRuns, seconds: np.ndarray, z: np.ndarray, values: np.ndarray, **colours
):
    places = fit.times.places(seconds)
    lowest = float(np.nanmin(z)) * 1.03
    if not fit.observations.moves and z.shape[1] > 1:
        lowest = 1.5 * float(z[0, 0]) - 0.5 * float(z[0, 1])
    style.height_axis(panel, lowest)
    panel.tick_params(labelsize="small")
    if not fit.observations.moves:
        return _draw_strips(panel, fit, seconds, z[0], values, **colours)
    known = np.isfinite(values)
    where = np.broadcast_to(places[:, None], values.shape)[known], z[known]
    return panel.scatter(*where, c=values[known], s=6.0, marker="s", linewidths=0.0, **colours)


def _draw_strips(
    panel: Axes, fit: CaseRuns, seconds: np.ndarray, z: np.ndarray, values: np.ndarray, **colours
):
    """Each profile at its time, with empty columns where records are further apart than they represent."""
    intervals = style.intervals_of_records(seconds)
    edges, at = [intervals[0, 0]], []
    for row, (start, end) in enumerate(intervals):
        if start > edges[-1]:
            edges.append(start)
            at.append(-1)
        edges.append(end)
        at.append(row)
    padded = np.concatenate([values, np.full((1, values.shape[1]), np.nan)])[at]
    faces = z[0] + np.array([-0.5, 0.5])
    if z.size > 1:
        middle = 0.5 * (z[1:] + z[:-1])
        faces = np.concatenate([[2.0 * z[0] - middle[0]], middle, [2.0 * z[-1] - middle[-1]]])
    return panel.pcolormesh(fit.times.places(np.asarray(edges)), faces, padded.T, rasterized=True, **colours)


def plot_series(fit: CaseRuns) -> Figure:
    """Surface temperature, mixed layer depth and every observed scalar, over time.

    Surface temperature is the observed one, or that of the uppermost sensor, in which case runs are shown at
    its height; so is every other profile that was fitted, and tracers. The mixed layer depth is based on
    temperature for both. Observed scalars require the case. Raises `ValueError` if there is nothing to show,
    or for a batch of columns.
    """
    panels = _near_surface(fit.seen)
    if "mixed_layer_depth" not in fit.observations.series:
        layer = MixedLayer(next(iter(fit.runs.values())))
        runs = {name: (np.asarray(run.time, float), layer.of_run(run)) for name, run in fit.runs.items()}
        panels[f"{layer.label} [m]"] = layer.observed(fit.observations), runs
    panels |= _numbers(fit)
    if not panels:
        raise ValueError("plot_series: expected profiles of temperature or observed numbers, got neither.")
    figure, axes = style.panels(len(panels), 1, (9.0, 2.2), (0.0, 0.8), sharex=True)
    times = fit.times

    def draw(panel: Axes, series: _Series, label: str, **line: Option) -> None:
        seconds, values = style.with_gaps(*series)
        every = None if np.isfinite(values).sum() < _FEW_VALUES else style.alone(values)
        marked: dict[str, Option] = {"marker": ".", "markevery": every}
        panel.plot(times.places(seconds), values, label=label, **marked, **line)

    for panel, (label, (observed, runs)) in zip(axes[:, 0], panels.items(), strict=True):
        if observed is not None:
            draw(panel, observed, fit.observations.source, color="0.15", alpha=0.5, linewidth=2.4)
        for (name, series), (colour, dashes) in zip(runs.items(), LINES, strict=False):
            draw(panel, series, name, color=colour, linestyle=dashes, linewidth=1.1)
        style.label(panel, y=label)
        if "layer" in label:
            both = [values[np.isfinite(values)] for _, values in (*runs.values(), observed or _NOTHING)]
            depths = np.concatenate(both)
            style.depth_axis(panel, 1.05 * float(depths.max()) if depths.size else 1.0)
    axes[0, 0].legend(fontsize="small")
    times.finish(axes[-1, 0])
    figure.suptitle(style.in_words(fit.name), fontsize="medium")
    return figure


def _near_surface(fit: CaseRuns) -> _Panels:
    found: _Panels = {}
    for name in fit.shown(_OF_SERIES):
        if name == "temperature" and "sea_surface_temperature" in fit.observations.series:
            continue
        seconds, z, values = _thinned(fit, name, np.inf)
        heights, seen = style.uppermost(z, values)
        height, depth = style.reference_depth(heights)
        runs: dict[str, _Series] = {}
        for label, run in fit.runs.items():
            times = np.asarray(run.time, dtype=float)
            there = np.full((times.size, 1), height)
            runs[label] = times, _at_observations(run, name, times, there)[:, 0]
        words = textwrap.fill(style.long_name(name, fit.equation_of_state, fit.tracers), 24)
        found[f"{words} at {depth} {style.unit_label(name, fit.tracers)}".strip()] = (seconds, seen), runs
    return found


def _numbers(fit: CaseRuns) -> _Panels:
    found: _Panels = {}
    for name, values in fit.observations.series.items():
        values = np.asarray(values, dtype=float)
        known, runs = np.isfinite(values), {}
        seen = np.asarray(fit.observations.time, dtype=float)[known], values[known]
        if fit.case is not None:
            for label, run in fit.runs.items():
                runs[label] = np.asarray(run.time, float), np.asarray(diagnose(run, fit.case, [name])[name])
        found[f"{style.in_words(name)} {style.unit_label(name)}"] = seen, runs
    return found


def plot_closures_and_cases(found: ObservedComparison) -> Figure:
    """Closures in rows, cases in columns: errors over time and height, or the series themselves.

    A panel shows the first variable of its case: model minus observations where it was observed at heights,
    on one colour scale per case, which covers 99 % of the differences; otherwise both series.
    """
    labels = list(dict.fromkeys(row.closure for row in found.rows))
    n_columns = len(found.targets)
    figure, axes = style.panels(len(labels) * n_columns, n_columns, (4.2, 2.1), (0.6, 0.7), sharex="col")
    errors = {(row.closure, row.case, row.variable): row for row in found.rows}
    for column, target, runs in zip(axes.T, found.targets, found.runs, strict=True):
        name = next(iter(target.weights))
        is_profile = name in target.observations.profiles
        draw = _differences_of if is_profile else _series_of
        meshes = draw(column, target, labels, runs, name) if runs else []
        for panel, label in zip(column, labels, strict=True):
            row = errors[label, target.case.name, name]
            panel.set_title(
                f"{label}: {row.root_mean_square:.3g} {style.in_math(row.unit)}", fontsize="small"
            )
            panel.tick_params(labelsize="small")
            if label not in runs:
                panel.text(
                    0.5, 0.5, row.note[:60], transform=panel.transAxes, ha="center", fontsize="x-small"
                )
        label_of = style.difference_label if is_profile else style.name_and_unit
        unit = label_of(name, tracers=target.case.tracer_units)
        heading = f"{style.in_words(target.case.name)}\n{'error of ' if is_profile else ''}{unit}"
        column[0].set_title(f"{heading}\n{column[0].get_title()}", fontsize="small")
        if meshes:
            figure.colorbar(meshes[-1], ax=list(column), pad=0.02, extend="both", aspect=40)
    return figure


def _fit_of(target: Target, runs: Mapping[str, Trajectory]) -> CaseRuns:
    """Runs and the observations within the time window, as seen by instruments."""
    observed = target.observations
    kept = np.asarray(target.times)
    profiles = {name: values[kept] for name, values in observed.profiles.items()}
    series = {name: values[kept] for name, values in observed.series.items()}
    z = observed.z[kept] if observed.moves else observed.z
    part = dataclasses.replace(observed, time=observed.time[kept], z=z, profiles=profiles, series=series)
    return CaseRuns(target.case.name, runs, part, target.case)


def _differences_of(
    column: np.ndarray, target: Target, labels: Sequence[str], runs: Mapping[str, Trajectory], name: str
) -> list:
    """Sections of model minus observations, below each other."""
    fit = _fit_of(target, runs).seen
    seconds, z, seen = _thinned(fit, name, max(float(run.time[-1]) for run in fit.runs.values()))
    found = {label: _at_observations(run, name, seconds, z) - seen for label, run in fit.runs.items()}
    apart = np.abs(np.concatenate([of.ravel() for of in found.values()]))
    colours = style.around_zero(float(np.nanquantile(apart, _ERROR_QUANTILE)))
    meshes = []
    for panel, label in zip(column, labels, strict=True):
        if label in found:
            meshes.append(_draw_section(panel, fit, seconds, z, found[label], **colours))
            panel.set_ylabel("z [m]", fontsize="small")
    fit.times.finish(column[-1], fontsize="small")
    return meshes


def _series_of(
    column: np.ndarray, target: Target, labels: Sequence[str], runs: Mapping[str, Trajectory], name: str
) -> list:
    """Observed and modelled series, below each other."""
    fit = _fit_of(target, runs)
    seen, modelled = _numbers(fit)[f"{style.in_words(name)} {style.unit_label(name)}"]
    for panel, label in zip(column, labels, strict=True):
        if label in modelled and seen is not None:
            panel.plot(fit.times.places(seen[0]), seen[1], color="0.15", alpha=0.5, linewidth=2.4)
            panel.plot(fit.times.places(modelled[label][0]), modelled[label][1], color=RED, linewidth=1.1)
            style.label(panel, y=style.unit_label(name))
    fit.times.finish(column[-1], fontsize="small")
    return []
