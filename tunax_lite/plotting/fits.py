"""Figures of runs and observations: profiles and their errors, sections of the differences, time series."""

import dataclasses
import functools
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..calibration import Target
from ..calibration.observed import faces_from_centers, sample
from ..calibration.validation import FEWEST_TIMES, has_series, is_measured_series, run_to_the_end
from ..column.case import Case
from ..column.diagnostics import diagnose
from ..column.model import Model
from ..column.observables import default_mixed_layer
from ..column.observations import Observations
from ..column.trajectory import Trajectory
from ..io.dataset import to_dataset
from ..io.series import Series
from ..numerics.regridding import regrid
from ..physics.equation_of_state import carries_conservative_temperature
from . import style
from .runs import COLOURS, DASHES, mixed_layer
from .style import STATE, FigureTime, Option

_MOST_TIMES = 1500  # of observations in such a figure
_FEW_VALUES = 60  # each has a marker up to this number
_FEW_RUNS = 3  # up to this number their legend has room in a panel
_MOST_COLUMNS = 6
_LEAST = 1e-9  # variations below this are round-off
_ERROR_QUANTILE = 0.99
# Shown where they are observed, besides what was fitted and tracers.
_OF_FITS, _OF_DIFFERENCES = ("temperature", "u", "v"), ("temperature", "salinity")
_OBSERVED: dict[str, Option] = {"color": "0.15", "linewidth": 3.0, "alpha": 0.45}

_Series = tuple[np.ndarray, np.ndarray]  # times, or heights, and values
_Panels = dict[str, tuple[_Series | None, dict[str, _Series]]]
"""By label of the axis: what was observed, and the runs."""


class RunProfiles(NamedTuple):
    """One run as instruments would see it.

    Args:
        time: times of the frames [s].
        z_face: heights of the faces of the cells [m].
        profiles: by name, `(n_times, n_cells)`; the temperature is potential if the run has it.
        layer: function that returns label and depth of the mixed layer [m]; `None` without temperatures.
        series: scalars over time by name.
        attributes: long names and units of the profiles.
    """

    time: np.ndarray
    z_face: np.ndarray
    profiles: Mapping[str, np.ndarray]
    layer: Callable[[], tuple[str, np.ndarray]] | None = None  # compiles a program; few figures need it
    series: Mapping[str, np.ndarray] = MappingProxyType({})
    attributes: style.Attributes = style.NO_ATTRIBUTES

    @property
    def z(self) -> np.ndarray:
        """Heights of the centers of the cells [m]."""
        return 0.5 * (self.z_face[1:] + self.z_face[:-1])

    def at(self, name: str, seconds: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Interpolate a profile linearly to times [s] and their heights [m], `(n_times, n_levels)`."""
        rows = Series(self.time, self.profiles[name]).on(seconds)
        return np.stack([np.interp(row_z, self.z, row) for row_z, row in zip(z, rows, strict=True)])


def profiles_of(run: xr.Dataset) -> RunProfiles:
    """Convert a run of one column from `to_dataset` or a file; raises `ValueError` for a batch."""
    fields = style.fields_of(run)
    fields = {name: fields[name] for name in (*STATE, *str(run.attrs.get("tracers", "")).split())}
    return RunProfiles(
        style.seconds_of(run),
        run["z_face"].values,
        {name: np.asarray(each, dtype=float) for name, each in fields.items()},
        functools.partial(mixed_layer, run),
        {str(name): values.values for name, values in run.items() if values.dims == ("time",)},
        {name: each.attrs for name, each in fields.items()},
    )


def with_potential_temperature(
    observations: Observations, z: np.ndarray | float = 0.0, salinity: np.ndarray | float = 35.0
) -> Observations:
    """Convert observed conservative to potential temperature.

    `salinity` [g kg-1] at heights `z` [m] is used where none was observed.
    """
    if "temperature" not in observations.profiles:
        return observations
    values = np.asarray(observations.profiles["temperature"], float)
    default = np.interp(np.asarray(observations.z), np.atleast_1d(z), np.atleast_1d(salinity))
    default = np.broadcast_to(default, values.shape)
    measured = np.asarray(observations.profiles.get("salinity", default), float)
    potential = style.potential(values, np.where(np.isfinite(measured), measured, default))
    return dataclasses.replace(
        observations, profiles={**observations.profiles, "temperature": jnp.asarray(potential)}
    )


@dataclasses.dataclass(frozen=True)
class CaseRuns:
    """Runs of one case by label, and observations, both with potential temperature; made by `case_runs`.

    `observed_layer` returns times [s] and depths [m] of the mixed layer, or `None` without temperatures;
    `fitted` holds the names of fitted variables.
    """

    name: str
    runs: Mapping[str, RunProfiles]
    observations: Observations | None
    times: FigureTime
    observed_layer: Callable[[], _Series | None] = lambda: None
    fitted: tuple[str, ...] = ()

    @property
    def attributes(self) -> style.Attributes:
        """Long names and units of the profiles of the runs."""
        return {name: each for run in self.runs.values() for name, each in run.attributes.items()}

    @property
    def end(self) -> float:
        """End of the shortest run [s]."""
        return min(float(run.time[-1]) for run in self.runs.values())

    @property
    def source(self) -> str:
        """Kind of the observations, such as `LES`."""
        return "" if self.observations is None else self.observations.source

    @property
    def observed_times(self) -> np.ndarray:
        """Times of the observations [s]."""
        return np.zeros(0) if self.observations is None else np.asarray(self.observations.time, float)

    @property
    def observed(self) -> Mapping[str, np.ndarray]:
        """Observed profiles by name."""
        profiles = {} if self.observations is None else self.observations.profiles
        return {name: np.asarray(values, float) for name, values in profiles.items()}

    @property
    def observed_series(self) -> Mapping[str, np.ndarray]:
        """Observed scalars by name."""
        series = {} if self.observations is None else self.observations.series
        return {name: np.asarray(values, float) for name, values in series.items()}

    def compared(self, defaults: Sequence[str], fewest: int = 1) -> list[str]:
        """Profiles observed `fewest` times or more during all runs: fitted ones, `defaults`, tracers."""
        during = self.observed_times <= self.end * (1.0 + 1e-9)
        modelled = next(iter(self.runs.values())).profiles
        tracers = [name for name in modelled if name not in STATE]
        return [
            name
            for name in dict.fromkeys((*self.fitted, *defaults, *tracers))
            if name in self.observed
            and name in modelled
            and np.isfinite(self.observed[name][during]).any(axis=1).sum() >= fewest
        ]

    def varying(self, defaults: Sequence[str]) -> list[str]:
        """Names of `defaults` and tracers that are observed, or vary in a run."""
        runs = self.runs.values()
        modelled = dict.fromkeys(
            name for run in runs for name in run.profiles if name in defaults or name not in STATE
        )
        return [
            name
            for name in modelled
            if name in self.observed or any(np.ptp(run.profiles.get(name, 0.0)) > _LEAST for run in runs)
        ]

    def is_shown(self, name: str) -> bool:
        """Return whether to show a profile: where every run is at rest, the velocity of an LES is noise."""
        return name not in ("u", "v") or any(
            np.any(run.profiles.get(name, 0.0)) for run in self.runs.values()
        )

    def last_profile(self, name: str) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Time [s], heights [m] and values of the last profile observed during all runs, or of the first."""
        if self.observations is None or name not in self.observed:
            return None
        z, times, values = np.asarray(self.observations.z, float), self.observed_times, self.observed[name]
        rows = np.flatnonzero(np.isfinite(values).any(axis=1))  # without times of other variables
        inside = rows[times[rows] <= self.end * (1.0 + 1e-9)]
        row = int(next(iter((*inside[-1:], *rows[:1])), 0))
        z, values = z[row] if self.observations.moves else z, values[row]
        finite = np.isfinite(z) & np.isfinite(values)
        return float(times[row]), z[finite], values[finite]


def case_runs(
    name: str,
    runs: Mapping[str, Trajectory],
    observations: Observations,
    case: Case | None = None,
    fitted: tuple[str, ...] = (),
) -> CaseRuns:
    """Prepare runs of one case, a single column each, and its observations for figures.

    The case provides the start date, the equation of state, the units of tracers, the observed mixed layer,
    and the runs' values of observed scalars. `fitted` variables come first in figures. Raises `ValueError`
    for a batch of columns.
    """
    times = max(float(np.asarray(run.time)[-1]) for run in runs.values())
    if case is None:
        shown = {label: profiles_of(to_dataset(run, dates=False)) for label, run in runs.items()}
        return CaseRuns(name, shown, observations, FigureTime(times), fitted=fitted)
    names, seen, shown = list(observations.series), observations, {}
    if carries_conservative_temperature(case.equation_of_state):
        z, salinity = np.asarray(case.grid.z_center), np.asarray(case.initial_state.salinity)
        names, seen = [*names, "potential_temperature"], with_potential_temperature(observations, z, salinity)
    for label, run in runs.items():
        diagnostics = diagnose(run, case, names)
        shown[label] = profiles_of(to_dataset(run, case=case, diagnostics=diagnostics, dates=False))
    layer = functools.partial(_observed_layer, case, observations)
    return CaseRuns(name, shown, seen, FigureTime(times, case.start_time), layer, fitted)


def _observed_layer(case: Case, observations: Observations) -> _Series | None:
    """Times [s] and depths [m] of the observed mixed layer; `None` if temperature was not observed."""
    if "temperature" not in observations.profiles:
        return None
    name = default_mixed_layer(case.grid)
    depths = sample(case, observations, name, "points", (-math.inf, 0.0)).observed[:, 0]
    rows = np.isfinite(observations.profiles["temperature"]).any(axis=1)  # without times of other variables
    return np.asarray(observations.time, float)[rows], np.asarray(depths)[rows]


def fit_figures(fit: CaseRuns) -> dict[str, Figure]:
    """Figures of a run and its observations, as far as these suffice: profiles, differences, time series."""
    figures = {"fit": plot_fits([fit])} if fit.compared(_OF_FITS) else {}
    assert fit.observations is not None
    if fit.observations.time.size >= FEWEST_TIMES and fit.compared(_OF_DIFFERENCES, 2):
        figures["differences"] = plot_differences(fit)
    return figures | ({"series": plot_series(fit)} if has_series(fit.observations) else {})


def calibration_figures(
    model: Model, targets: Sequence[Target], calibrated: Sequence[Trajectory]
) -> dict[str, Figure]:
    """Runs before and after a calibration: profiles, and time series of measurements.

    Args:
        model: before the calibration.
        targets: of the calibration.
        calibrated: run of each target with the calibrated parameters.
    """
    fits = []
    for target, after in zip(targets, calibrated, strict=True):
        case, runs = target.case, {"before": run_to_the_end(model, target), "after": after}
        fits.append(case_runs(case.name, runs, target.observations, case, tuple(target.weights)))
    figures = {"profiles": plot_fits(fits)} if any(fit.compared(_OF_FITS) for fit in fits) else {}
    for fit, target in zip(fits, targets, strict=True):
        if is_measured_series(target.observations):
            figures[f"series_{fit.name}" if len(fits) > 1 else "series"] = plot_series(fit)
    return figures


def plot_fits(fits: Sequence[CaseRuns], variables: Sequence[str] | None = None) -> Figure:
    """Draw the last observed profiles, the runs at that time, and the errors of fitted variables.

    Each case has a row, each observed variable a column: by default fitted ones, temperature, velocity and
    tracers. A column of errors follows each fitted variable, or the first if none is fitted. Velocity is left
    out where every run is at rest, unless nothing else is observed. Errors against a large-eddy simulation
    are of means over the coarser cells, so that neither side is penalised for its resolution.
    Raises `ValueError` if there is nothing to show.
    """
    names = variables or list(dict.fromkeys(name for fit in fits for name in fit.compared(_OF_FITS)))
    observed = {name: [fit for fit in fits if name in fit.observed] for name in names}
    shown = [name for name in names if any(fit.is_shown(name) for fit in observed[name])]
    names = shown or [name for name in names if observed[name]]
    if not names:
        expected = ", ".join(variables or _OF_FITS)
        raise ValueError(f"plot_fits: expected at least one fit with profiles of {expected}, got none.")
    of_errors = [name for name in names if any(name in fit.fitted for fit in fits)] or names[:1]
    return _plot_profiles(fits, names, of_errors)


def closure_figures(case: CaseRuns) -> dict[str, Figure]:
    """Figures of closures on a case, named `KIND_CASE`: last profiles, sections of errors, time series.

    A row of profiles shows at most eight closures.
    """
    figures, labels, names = {}, list(case.runs), case.compared(_OF_FITS)
    if names:
        in_row = math.ceil(len(labels) / math.ceil(len(labels) / len(COLOURS)))
        rows = [labels[start : start + in_row] for start in range(0, len(labels), in_row)]
        parts = [{label: case.runs[label] for label in row} for row in rows]
        figures["profiles"] = plot_fits([dataclasses.replace(case, runs=part) for part in parts])
        figures["sections"] = plot_differences(case, names[:1])
    assert case.observations is not None
    if is_measured_series(case.observations):
        figures["series"] = plot_series(case)
    return {f"{kind}_{case.name}": figure for kind, figure in figures.items()}


def plot_profiles_together(shown: CaseRuns) -> Figure:
    """Draw profiles of several runs at the last common time, or that of the last observed profile."""
    names = shown.varying(STATE) or ["temperature"]
    return _plot_profiles([shown], names, [], math.ceil(len(names) / math.ceil(len(names) / _MOST_COLUMNS)))


_Cell = tuple[CaseRuns, str, bool]  # case, variable, and whether its errors are shown


def _plot_profiles(
    rows: Sequence[CaseRuns], names: Sequence[str], of_errors: Sequence[str], n_columns: int | None = None
) -> Figure:
    columns = [(name, is_error) for name in names for is_error in (False, True)[: 1 + (name in of_errors)]]
    cells: list[_Cell] = [(row, *column) for row in rows for column in columns]
    n_columns = n_columns or len(columns)
    figure, axes = style.panels(len(cells), n_columns, (3.2, 3.4), (0.4, 0.7), sharey="row")
    for panel, (shown, name, is_error) in zip(axes.flat, cells, strict=False):
        is_seen = shown.is_shown(name) or not any(map(shown.is_shown, names))
        panel.set_visible(not of_errors or (is_seen and name in shown.observed))
        if panel.get_visible():
            (_draw_errors if is_error else _draw_fit)(panel, shown, name)
            panel.xaxis.set_major_locator(MaxNLocator(4))
    for start in range(0, len(cells), n_columns):
        row = zip(axes.flat[start : start + n_columns], cells[start : start + n_columns], strict=False)
        _finish_row([(panel, cell) for panel, cell in row if panel.get_visible()])
    first, most = next(panel for panel in axes.flat if panel.get_visible()), max(len(r.runs) for r in rows)
    if most <= _FEW_RUNS:
        first.legend(fontsize="small")
    return figure


def _finish_row(row: Sequence[tuple[Axes, _Cell]]) -> None:
    """Write case and time above a row of panels, and other times above the panels that have them."""
    if not row:
        return
    first, (shown, name, _) = row[0]
    common = _time_of(shown, name)
    first.set_ylabel("z [m]")
    first.tick_params(labelleft=True)  # shared axes hide those of all but the first column
    style.vertical_axis(first, min(float(run.z_face[0]) for run in shown.runs.values()))
    heading = f"{style.in_words(shown.name)}, " if shown.name else ""
    first.set_title(f"{heading}{shown.times.moment(common)}", loc="left", fontsize="medium")
    for panel, (_, other, _) in row[1:]:
        if _time_of(shown, other) != common:
            panel.set_title(shown.times.moment(_time_of(shown, other)), fontsize="small")
    if len(shown.runs) > _FEW_RUNS:
        place: dict[str, Option] = {"loc": "center left", "bbox_to_anchor": (1.02, 0.5), "frameon": False}
        row[-1][0].legend(*first.get_legend_handles_labels(), **place, fontsize="small")


def _time_of(shown: CaseRuns, name: str) -> float:
    """Time of the profiles that are shown [s]."""
    return shown.end if (last := shown.last_profile(name)) is None else last[0]


def _lines(shown: CaseRuns) -> Iterator[tuple[str, RunProfiles, dict[str, Option]]]:
    for number, (label, run) in enumerate(shown.runs.items()):
        dashes = DASHES[number // len(COLOURS) % len(DASHES)]
        # A line on another one does not hide it.
        width = 1.4 if len(shown.runs) > _FEW_RUNS else 2.2 - 0.6 * number
        yield label, run, {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "linewidth": width}


def _draw_fit(panel: Axes, shown: CaseRuns, name: str) -> None:
    if (last := shown.last_profile(name)) is not None:
        _, z, seen = last
        source = shown.source
        marker = "o" if source != "LES" and z.size < _FEW_VALUES else None
        panel.plot(seen, z, marker=marker, label=source, **_OBSERVED)
        if len(shown.runs) > _FEW_RUNS and np.ptp(seen) > 0.0:
            # A closure that traps momentum at the surface must not set the scale for the others.
            room = 0.8 * np.ptp(seen)
            panel.set_xlim(seen.min() - room, seen.max() + room)
    for label, run, line in _lines(shown):
        if name in run.profiles:
            values = Series(run.time, run.profiles[name]).on(np.array([_time_of(shown, name)]))[0]
            panel.plot(values, run.z, label=label, **line)
    style.label(panel, style.name_and_unit(name, shown.attributes))


def _draw_errors(panel: Axes, shown: CaseRuns, name: str) -> None:
    """Draw errors: of cell means for the cell centers of an LES, otherwise at the observed heights."""
    panel.axvline(0.0, **_OBSERVED)
    last = shown.last_profile(name)
    assert last is not None
    time, z, seen = last
    observed_faces, errors = _faces_of(shown.observations, z), []
    for _, run, line in _lines(shown):
        values = Series(run.time, run.profiles[name]).on(np.array([time]))[0]
        if observed_faces is None:
            at, error = z, np.interp(z, run.z, values) - seen
        elif observed_faces.size >= run.z_face.size:
            at, error = run.z, values - regrid(seen, observed_faces, run.z_face)
        else:
            at, error = z, regrid(values, run.z_face, observed_faces) - seen
        errors.append((error, at, line))
    factor, unit = style.scaled(
        [error for error, _, _ in errors], style.unit_of_error(name, shown.attributes)
    )
    for error, at, line in errors:
        panel.plot(factor * error, at, **line)
    words = style.long_name(name, shown.attributes)
    style.label(panel, f"error of {words} [{style.typeset(unit)}]")


def _faces_of(observations: Observations | None, z: np.ndarray) -> np.ndarray | None:
    """Heights of the faces of the cells of an LES; `None` for observations, and on a stretched grid."""
    if observations is None or observations.source != "LES":
        return None
    try:
        return faces_from_centers(np.asarray(z, dtype=float), observations.name)
    except ValueError:  # a stretched grid
        return None


def plot_differences(fit: CaseRuns, variables: Sequence[str] | None = None) -> Figure:
    """Draw sections of the observations, and of the errors of every run.

    By default fitted variables, temperature, salinity and tracers have a block of panels each. Runs are
    interpolated linearly to the observed times and heights; the colours of the errors cover 99 % of them.
    Raises `ValueError` if no variable was observed at two times.
    """
    names = fit.compared(_OF_DIFFERENCES, 2) if variables is None else variables
    names = [name for name in names if name in fit.observed and len(fit.observed[name]) > 1]
    if not names:
        expected, got = " or ".join(variables or _OF_DIFFERENCES), ", ".join(fit.observed) or "none"
        raise ValueError(f"plot_differences: expected profiles of {expected} at two times, got {got}.")
    n_panels = 1 + len(fit.runs)
    n_columns = min(4, n_panels)
    n = math.ceil(n_panels / n_columns) * n_columns
    figure, axes = style.panels(len(names) * n, n_columns, (4.2, 2.4), (0.0, 0.9), sharex=True, sharey=True)
    for name, rows in zip(names, np.split(axes, len(names)), strict=True):
        _draw_differences(list(rows.flat[:n_panels]), fit, name)
        for panel in rows.flat[n_panels:]:
            panel.set_visible(False)
        for panel in style.lowest(rows, n_panels):
            fit.times.finish(panel, fontsize="small")
        for panel in rows[:, 0]:
            panel.set_ylabel("z [m]")
    figure.suptitle(style.in_words(fit.name), fontsize="medium")
    return figure


def _draw_differences(panels: Sequence[Axes], fit: CaseRuns, name: str) -> None:
    """Draw the observations in the first panel, and the errors of one run in each of the others."""
    seconds, z, seen = _thinned(fit, name, fit.end)
    errors = {label: run.at(name, seconds, z) - seen for label, run in fit.runs.items()}
    largest = np.asarray(np.nanquantile(np.abs(list(errors.values())), _ERROR_QUANTILE))
    factor, unit = style.scaled([largest], style.unit_of_error(name, fit.attributes))
    words = style.long_name(name, fit.attributes)
    first, *others = panels
    colours = style.colours_of(name, seen[np.isfinite(seen)])
    meshes = [_draw_section(first, fit, seconds, z, seen, **colours)]
    first.set_title(fit.source, fontsize="medium")
    for panel, (label, error) in zip(others, errors.items(), strict=True):
        colours = style.around_zero(float(factor * largest))
        meshes.append(_draw_section(panel, fit, seconds, z, factor * error, **colours))
        panel.set_title(label, fontsize="medium")
    of_first = f"{words} {style.unit_label(name, fit.attributes)}", [first], "neither"
    of_errors = f"error of {words} [{style.typeset(unit)}]", others, "both"
    for mesh, (label, axes, extend) in zip(meshes[:: len(others)], (of_first, of_errors), strict=True):
        bar = first.figure.colorbar(mesh, ax=axes, pad=0.02, extend=extend)
        bar.set_label(textwrap.fill(label, 30), fontsize="small")


def _thinned(shown: CaseRuns, name: str, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s], heights [m] and values of an observed variable until `end` [s], at most 1500 times."""
    observations = shown.observations
    assert observations is not None
    values, seconds = np.asarray(observations.profiles[name], float), np.asarray(observations.time, float)
    rows = np.flatnonzero(np.isfinite(values).any(axis=1) & (seconds <= end * (1.0 + 1e-9)))
    chosen = rows[:: 1 + rows.size // _MOST_TIMES]
    z, values = np.asarray(observations.z, dtype=float), values[chosen]
    if observations.moves:
        return seconds[chosen], z[chosen], values
    levels = np.isfinite(values).any(axis=0)  # without levels of other variables
    levels = levels if levels.sum() > 1 else ~np.isnan(z)
    return seconds[chosen], np.broadcast_to(z[levels], values[:, levels].shape), values[:, levels]


def _draw_section(
    panel: Axes, shown: CaseRuns, seconds: np.ndarray, z: np.ndarray, values: np.ndarray, **colours: Option
):
    """Draw values at fixed heights as cells, with gaps where records are missing, and others as marks."""
    style.vertical_axis(panel, float(np.nanmin(z)) * 1.03)
    panel.tick_params(labelsize="small")
    if shown.observations is not None and not shown.observations.moves and len(z) > 1 and z.shape[1] > 1:
        seconds, values = style.with_gaps(seconds, values)
        time = shown.times.places(seconds)
        return panel.pcolormesh(time, z[0], values.T, shading="nearest", rasterized=True, **colours)
    valid = np.isfinite(values)
    time = np.broadcast_to(shown.times.places(seconds)[:, None], values.shape)
    return panel.scatter(time[valid], z[valid], c=values[valid], s=6.0, marker="s", linewidths=0.0, **colours)


def plot_series(shown: CaseRuns, profiles: Sequence[str] | None = None) -> Figure:
    """Draw profiles near the surface, the mixed layer depth and every observed scalar over time.

    Profiles are by default fitted ones, temperature and tracers that are observed. Each is that of the
    uppermost sensor, and runs are shown at its median height; an observed surface temperature replaces that
    of the sensors. The mixed layer depth is that of temperature. Raises `ValueError` if there is nothing to
    show.
    """
    panels = _near_surface(shown, shown.compared(("temperature",)) if profiles is None else profiles)
    panels |= _layers(shown) | _numbers(shown)
    if not panels:
        raise ValueError("plot_series: expected profiles of temperature or observed numbers, got neither.")
    figure, axes = style.panels(len(panels), 1, (9.0, 2.2), (0.0, 0.8), sharex=True)
    times, first = shown.times, min(float(run.time[0]) for run in shown.runs.values())
    last = max(float(run.time[-1]) for run in shown.runs.values())

    def draw(panel: Axes, series: _Series, label: str, **line: Option) -> None:
        # Records during the runs, and those next to them.
        start, stop = np.searchsorted(series[0], (first, last)) + (-1, 1)
        seconds, values = style.with_gaps(*(each[max(start, 0) : stop] for each in series))
        every = None if np.isfinite(values).sum() < _FEW_VALUES else style.isolated(values)
        marked: dict[str, Option] = {"marker": ".", "markevery": every}
        panel.plot(times.places(seconds), values, label=label, **marked, **line)

    for panel, (label, (observed, runs)) in zip(axes[:, 0], panels.items(), strict=True):
        if observed is not None:
            draw(panel, observed, shown.source, **_OBSERVED)
        for name, _, line in _lines(shown):
            if name in runs:
                draw(panel, runs[name], name, **line)
        style.label(panel, y=label)
        if label.startswith("mixed layer"):
            drawn = [np.asarray(line.get_ydata(), dtype=float) for line in panel.lines]
            style.vertical_axis(
                panel, 1.05 * max(float(np.nanmax(depths, initial=0.0)) for depths in drawn) or 1.0
            )
    if len(shown.runs) > _FEW_RUNS:
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    else:
        axes[0, 0].legend(fontsize="small")
    axes[0, 0].set_xlim(*times.places(np.array([first, last])))
    times.finish(axes[-1, 0])
    figure.suptitle(style.in_words(shown.name), fontsize="medium")
    return figure


def _near_surface(shown: CaseRuns, names: Sequence[str]) -> _Panels:
    panels: _Panels = {}
    for name in names:
        if name == "temperature" and "sea_surface_temperature" in shown.observed_series:
            continue
        observed, height, place = None, 0.0, "of the uppermost cell"
        if name in shown.observed and np.isfinite(shown.observed[name]).any():
            seconds, z, values = _thinned(shown, name, np.inf)
            heights, seen = style.uppermost(z, values)
            height, depth = style.reference_depth(heights)
            observed, place = (seconds, seen), f"at {depth}"
        runs: dict[str, _Series] = {}
        for label, run in shown.runs.items():
            if name in run.profiles:
                runs[label] = run.time, run.at(name, run.time, np.full((run.time.size, 1), height))[:, 0]
        words = textwrap.fill(style.long_name(name, shown.attributes), 24)
        panels[f"{words}\n{place} {style.unit_label(name, shown.attributes)}".strip()] = observed, runs
    return panels


def _layers(shown: CaseRuns) -> _Panels:
    """Mixed layer depths of runs and of observed profiles; none if the depth itself was observed."""
    if "mixed_layer_depth" in shown.observed_series:
        return {}
    labelled = {label: run.layer() for label, run in shown.runs.items() if run.layer is not None}
    runs = {label: (shown.runs[label].time, depths) for label, (_, depths) in labelled.items()}
    observed = shown.observed_layer()
    layers = [*runs.values(), *([] if observed is None else [observed])]
    if not any(np.isfinite(depths).any() for _, depths in layers):
        return {}
    label = next(iter(labelled.values()))[0].replace(" (", "\n(")
    return {f"{label} [m]": (observed, runs)}


def _numbers(shown: CaseRuns) -> _Panels:
    """Observed scalars, and those of the runs."""
    panels: _Panels = {}
    for name, values in shown.observed_series.items():
        finite = np.isfinite(values)
        runs = {
            label: (run.time, run.series[name]) for label, run in shown.runs.items() if name in run.series
        }
        seen = shown.observed_times[finite], values[finite]
        panels[f"{style.in_words(name)} {style.unit_label(name)}"] = seen, runs
    return panels
