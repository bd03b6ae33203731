"""Several runs and observations in the same panels: last profiles, and series near the surface."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..column.case import Case
from ..column.observations import Observations
from ..column.trajectory import Trajectory
from ..io.dataset import TracerUnits
from ..io.errors import FileFormatError
from ..io.netcdf import read_netcdf
from ..io.oceansites import read_oceansites
from ..io.runs import read_stored_run, read_tracer_units, read_trajectory
from ..io.series import Series, start_of_case
from ..io.times import is_dated, read_time
from ..io.variables import error_in
from ..physics import Teos10
from ..physics.equation_of_state import carries_conservative_temperature
from . import style
from .runs import COLOURS, DASHES, MixedLayer
from .style import STATE, FigureTime, Option

_OBSERVED: dict[str, Option] = {"color": "0.15", "linewidth": 3.0, "alpha": 0.45}
_MOST_COLUMNS = 6
_LEAST = 1e-9  # a profile that varies by less is uniform but for rounding


@dataclasses.dataclass(frozen=True)
class Line:
    """One run: times since the common start [s], heights of the cells [m], profiles `(n_times, n_cells)`.

    The depth of the mixed layer [m] is `None` if the run does not give it; `tracers` has their units and long
    names, as in `Case.tracer_units`.
    """

    time: np.ndarray
    z: np.ndarray
    profiles: Mapping[str, np.ndarray]
    layer: tuple[str, np.ndarray] | None = None
    tracers: TracerUnits = dataclasses.field(default_factory=dict)


def files_figures(
    files: Sequence[Path], beside: tuple[Case, Observations] | None = None
) -> dict[str, Figure]:
    """Figures of several files: of runs of this package or of GOTM, and of observations of one mooring.

    Args:
        files: of runs, and of observations.
        beside: a case with its observations, in place of files of observations.

    Runs with dates share their axis by date; runs without count from their own starts.

    Raises:
        FileFormatError: files without a run, runs of several columns, runs of which some alone have dates, or
            observations that runs without dates cannot meet.
    """
    starts, given, observed = dict[str, str | None](), dict[str, Line](), list[Path]()
    for file, label in zip(files, labels_of(files), strict=True):
        found = _run_of(file)
        if found is None:
            observed.append(file)
        else:
            given[label], starts[label] = found
    if not given:
        advice = "name the results of a run among the files"
        raise FileFormatError(files[0], "file", "at least one file of a run", "observations alone", advice)
    dated = [start for start in starts.values() if start]
    if dated and len(dated) < len(starts):
        label = next(name for name, start in starts.items() if not start)
        advice = "draw runs with dates and runs without apart"
        raise FileFormatError(label, "start_time", "a date, as the other runs have", "none", advice)
    if beside is not None and observed:
        expected, advice = "runs alone beside the observations of a configuration", "leave it out"
        raise FileFormatError(observed[0], "file", expected, "another file", advice)
    if beside is not None and bool(dated) != (beside[0].start_time is not None):
        got = "one without" if dated else "one"
        advice = "give the configuration of the run"
        raise FileFormatError(files[0], "start_time", "a date where the configuration has one", got, advice)
    if observed and not dated:
        advice = "run a case with a start_time"
        raise FileFormatError(
            observed[0], "time", "runs with dates beside observations", "runs without", advice
        )
    first = min(dated, key=start_of_case) if dated else None
    if first is not None:
        begin = start_of_case(first)
        later = {
            name: (start_of_case(start or first) - begin).total_seconds() for name, start in starts.items()
        }
        given = {name: dataclasses.replace(run, time=run.time + later[name]) for name, run in given.items()}
    if beside is not None:
        case, seen = beside
        if first is not None and case.start_time is not None:
            later = (start_of_case(case.start_time) - start_of_case(first)).total_seconds()
            seen = dataclasses.replace(seen, time=jnp.asarray(seen.time) + later)
        return together_figures(given, seen, first, carries_conservative_temperature(case.equation_of_state))
    seen = read_oceansites(observed, start_time=first) if observed and first is not None else None
    return together_figures(given, seen, first)


def labels_of(files: Sequence[Path]) -> list[str]:
    """Names of files, with as much of their folders as tells them apart."""
    found = [file.stem for file in files]
    for n in range(2, 1 + max(len(file.parts) for file in files)):
        if len(set(found)) == len(found):
            break
        found = ["/".join((*file.parts[:-1], file.stem)[-n:]) for file in files]
    return found


def _run_of(file: Path) -> tuple[Line, str | None] | None:
    """A run and its start; `None` for another file."""
    if file.suffix.lower() not in (".nc", ".nc4", ".cdf"):
        return None
    contents = read_netcdf(file, only=("time", "zi", "temp"))
    if "closure_state" in contents.attrs:
        trajectory = read_trajectory(file)
        if trajectory.state.temperature.ndim != 2:
            raise error_in(contents, "temperature", "one column", "several", "write the file of one of them")
        is_conservative = "Teos10" in str(contents.attrs.get("equation_of_state", ""))
        start = str(contents.attrs.get("start_time", "")) or None
        return line_of(trajectory, Teos10() if is_conservative else None, read_tracer_units(file)), start
    if "time" not in contents or "zi" not in contents:
        return None
    stored, times = read_stored_run(file), read_time(contents["time"])
    z = 0.5 * (stored.z_face[1:] + stored.z_face[:-1])
    profiles = {name: values.T for name, values in stored.profiles.items()}
    if "conservative" in str(contents["temp"].attrs.get("long_name", "")) and "salinity" in profiles:
        profiles["temperature"] = style.potential(profiles["temperature"], profiles["salinity"])
    return Line(stored.time, z, profiles), str(times.values[0].astype(object)) if is_dated(times) else None


def line_of(
    trajectory: Trajectory, equation_of_state: Teos10 | None = None, tracers: TracerUnits = style.NO_TRACERS
) -> Line:
    """A run of one column, in potential temperature if it carries the conservative one."""
    layer, seen = MixedLayer(trajectory), style.in_potential_temperature(trajectory, equation_of_state)
    fields = style.fields_of(seen)
    profiles = {name: fields[name][1] for name in (*STATE, *trajectory.state.tracers)}
    time = np.asarray(trajectory.time, dtype=float)
    return Line(time, fields["temperature"][0], profiles, (layer.label, layer.of_run(trajectory)), tracers)


def together_figures(
    runs: Mapping[str, Line],
    observations: Observations | None = None,
    start_time: str | None = None,
    is_conservative: bool = True,
) -> dict[str, Figure]:
    """Profiles at the last common time, and series near the surface, of all runs and observations.

    Tracers are shown that are observed, or else all that vary. `is_conservative` tells whether observations
    have the conservative temperature.
    """
    seen = {} if observations is None else _as_instruments(observations, is_conservative)
    observations = observations if seen else None
    times = FigureTime(max(float(run.time[-1]) for run in runs.values()), start_time)
    return {
        "profiles": _profiles(runs, observations, seen, times),
        "series": _series(runs, observations, seen, times),
    }


def _as_instruments(observations: Observations, is_conservative: bool) -> dict[str, np.ndarray]:
    """Observed profiles by name, with potential temperature."""
    found = {name: np.asarray(values, dtype=float) for name, values in observations.profiles.items()}
    if "temperature" in found and is_conservative:
        salinity = found.get("salinity", np.full_like(found["temperature"], 35.0))
        salinity = np.where(np.isfinite(salinity), salinity, 35.0)
        found["temperature"] = style.potential(found["temperature"], salinity)
    return found


def _lines(runs: Mapping[str, Line]) -> Iterator[tuple[str, Line, dict[str, Option]]]:
    for number, (label, run) in enumerate(runs.items()):
        dashes = DASHES[number // len(COLOURS) % len(DASHES)]
        width = max(1.0, 2.2 - 0.6 * number)  # a line on another one does not hide it
        yield label, run, {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "linewidth": width}


def _profiles(
    runs: Mapping[str, Line],
    observations: Observations | None,
    seen: Mapping[str, np.ndarray],
    times: FigureTime,
) -> Figure:
    shown = [name for name in STATE if name in seen or any(_varies(run, name) for run in runs.values())]
    shown = [*shown, *_tracers(runs, seen)] or ["temperature"]
    end = min(float(run.time[-1]) for run in runs.values())
    seconds = np.zeros(0) if observations is None else np.asarray(observations.time, dtype=float)
    during = seconds <= end * (1.0 + 1e-9)
    known = {name: np.isfinite(seen[name]).any(axis=1) & during for name in shown if name in seen}
    last = {name: int(np.flatnonzero(at)[-1]) for name, at in known.items() if at.any()}
    common = max((float(seconds[row]) for row in last.values()), default=end)
    n_columns = math.ceil(len(shown) / math.ceil(len(shown) / _MOST_COLUMNS))
    figure, axes = style.panels(len(shown), n_columns, (3.1, 4.0), (0.6, 0.6), sharey=True)
    for panel, name in zip(axes.flat, shown, strict=False):
        moment = common
        if observations is not None and name in last:
            row, z = last[name], np.asarray(observations.z, dtype=float)
            z, values, moment = (z[row] if observations.moves else z), seen[name][row], float(seconds[row])
            there = np.isfinite(values) & np.isfinite(z)
            panel.plot(values[there], z[there], marker="o", label=observations.source, **_OBSERVED)
        if moment != common:
            panel.set_title(times.moment(moment), fontsize="small")
        for label, run, line in _lines(runs):
            if name in run.profiles:
                panel.plot(
                    Series(run.time, run.profiles[name]).on(np.array([moment]))[0], run.z, label=label, **line
                )
        panel.xaxis.set_major_locator(MaxNLocator(4))
        style.label(panel, _named(name, runs))
        style.height_axis(panel, min(float(run.z[0] + (run.z[0] - run.z[1]) / 2) for run in runs.values()))
    for panel in axes[:, 0]:
        panel.set_ylabel("z [m]")
    axes[0, 0].legend(fontsize="small")
    figure.suptitle(times.moment(common), fontsize="medium")
    return figure


def _varies(run: Line, name: str) -> bool:
    return name in run.profiles and float(np.ptp(run.profiles[name])) > _LEAST


def _tracers(runs: Mapping[str, Line], seen: Mapping[str, np.ndarray]) -> list[str]:
    """Tracers that are observed, or else all that vary."""
    carried = dict.fromkeys(name for run in runs.values() for name in run.profiles if name not in STATE)
    observed = [name for name in carried if name in seen]
    return observed or [name for name in carried if any(_varies(run, name) for run in runs.values())]


def _named(name: str, runs: Mapping[str, Line]) -> str:
    tracers = next((run.tracers for run in runs.values() if name in run.tracers), style.NO_TRACERS)
    return style.name_and_unit(name, Teos10() if name == "temperature" else None, tracers)


def _series(
    runs: Mapping[str, Line],
    observations: Observations | None,
    seen: Mapping[str, np.ndarray],
    times: FigureTime,
) -> Figure:
    names = [name for name in ("temperature", "salinity") if any(_varies(run, name) for run in runs.values())]
    names += _tracers(runs, seen)
    layers = [run.layer for run in runs.values() if run.layer and np.isfinite(run.layer[1]).any()]
    names = names if names or layers else ["temperature"]
    figure, axes = style.panels(len(names) + bool(layers), 1, (9.0, 2.2), (0.0, 0.7), sharex=True)
    for panel, name in zip(axes[:, 0], names, strict=False):
        height, uppermost = 0.0, "of the uppermost cell"
        if observations is not None and name in seen and np.isfinite(seen[name]).any():
            seconds, values, (height, uppermost) = _uppermost(observations, seen[name])
            uppermost = f"at {uppermost}"
            panel.plot(times.places(seconds), values, label=observations.source, **_OBSERVED)
        for label, run, line in _lines(runs):
            if name in run.profiles:
                values = [np.interp(height, run.z, row) for row in run.profiles[name]]
                panel.plot(times.places(run.time), values, label=label, **line)
        style.label(panel, y=f"{_named(name, runs).replace(' [', chr(10) + uppermost + ' [')}")
    if layers:
        _draw_layers(axes[len(names), 0], runs, times, layers[0][0])
    axes[0, 0].legend(fontsize="small")
    end = max(float(run.time[-1]) for run in runs.values())
    axes[0, 0].set_xlim(*times.places(np.array([min(float(run.time[0]) for run in runs.values()), end])))
    times.finish(axes[-1, 0])
    return figure


def _draw_layers(panel: Axes, runs: Mapping[str, Line], times: FigureTime, label: str) -> None:
    """Mixed layer depths of all runs that give them."""
    deepest = 0.0
    for name, run, line in _lines(runs):
        if run.layer is not None:
            panel.plot(times.places(run.time), run.layer[1], label=name, **line)
            deepest = max(deepest, float(np.nanmax(run.layer[1], initial=0.0)))
    style.label(panel, y=f"{label.replace(' (', chr(10) + '(')} [m]")
    style.depth_axis(panel, 1.05 * deepest or 1.0)


def _uppermost(
    observations: Observations, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[float, str]]:
    """Times [s] and values of the uppermost instrument of each time, and its reference depth."""
    z = np.broadcast_to(np.asarray(observations.z, dtype=float), values.shape)
    there = np.isfinite(values).any(axis=1)
    heights, found = style.uppermost(z[there], values[there])
    seconds, found = style.with_gaps(np.asarray(observations.time, dtype=float)[there], found)
    return seconds, found, style.reference_depth(heights)
