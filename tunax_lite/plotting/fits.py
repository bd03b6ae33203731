"""Figures of runs against observations: profiles at the last time, sections of the differences, series."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..calibration.misfit.regridding import faces_from_centers, regrid
from ..case import Case
from ..observations import Observations
from ..trajectory import Trajectory
from .style import FigureTime, difference_label, fields_of, label_profile

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
