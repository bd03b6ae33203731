"""Files of several runs and of observations, drawn in the same panels."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ..io.dataset import TracerUnits
from ..io.errors import FileFormatError
from ..io.netcdf import read_netcdf
from ..io.oceansites import read_oceansites
from ..io.runs import read_stored_run, read_tracer_units, read_trajectory
from ..io.series import start_of_case
from ..io.times import is_dated, read_time
from ..io.variables import error_in
from ..physics import Teos10
from . import style
from .fits import (
    CaseRuns,
    RunProfiles,
    as_instruments,
    plot_profiles_together,
    plot_series_together,
    profiles_of,
)
from .style import FigureTime


def files_figures(files: Sequence[Path]) -> dict[str, Figure]:
    """Figures of several files: of runs of this package or of GOTM, and of observations of one mooring.

    Runs with dates share their axis by date; runs without count from their own starts.

    Raises:
        FileFormatError: files without a run, runs of several columns, runs of which some alone have dates, or
            observations that runs without dates cannot meet.
    """
    starts, given, observed = dict[str, str | None](), dict[str, RunProfiles](), list[Path]()
    tracers = dict[str, tuple[str, str]]()
    for file, label in zip(files, labels_of(files), strict=True):
        found = _run_of(file)
        if found is None:
            observed.append(file)
            continue
        given[label], starts[label], described = found
        tracers |= described
    if not given:
        advice = "name the results of a run among the files"
        raise FileFormatError(files[0], "file", "at least one file of a run", "observations alone", advice)
    dated = [start for start in starts.values() if start]
    if dated and len(dated) < len(starts):
        label = next(name for name, start in starts.items() if not start)
        advice = "draw runs with dates and runs without apart"
        raise FileFormatError(label, "start_time", "a date, as the other runs have", "none", advice)
    if observed and not dated:
        advice = "run a case with a start_time"
        raise FileFormatError(
            observed[0], "time", "runs with dates beside observations", "runs without", advice
        )
    first = min(dated, key=start_of_case) if dated else None
    if first is not None:
        given = {
            name: run._replace(time=run.time + _seconds_between(first, starts[name]))
            for name, run in given.items()
        }
    seen = None
    if observed and first is not None:
        seen = as_instruments(read_oceansites(observed, start_time=first))
    times = FigureTime(max(float(run.time[-1]) for run in given.values()), first)
    shown = CaseRuns("", given, seen, times, tracers=tracers, equation_of_state=Teos10())
    return {"profiles": plot_profiles_together(shown), "series": plot_series_together(shown)}


def _seconds_between(first: str, start: str | None) -> float:
    return (start_of_case(start or first) - start_of_case(first)).total_seconds()


def labels_of(files: Sequence[Path]) -> list[str]:
    """Names of files, with as much of their folders as tells them apart."""
    found = [file.stem for file in files]
    for n in range(2, 1 + max(len(file.parts) for file in files)):
        if len(set(found)) == len(found):
            break
        found = ["/".join((*file.parts[:-1], file.stem)[-n:]) for file in files]
    return found


def _run_of(file: Path) -> tuple[RunProfiles, str | None, TracerUnits] | None:
    """A run, its start, and units and long names of its tracers; `None` for another file."""
    if file.suffix.lower() not in (".nc", ".nc4", ".cdf"):
        return None
    contents = read_netcdf(file, only=("time", "zi", "temp"))
    if "closure_state" in contents.attrs:
        trajectory = read_trajectory(file)
        if trajectory.state.temperature.ndim != 2:
            raise error_in(contents, "temperature", "one column", "several", "write the file of one of them")
        is_conservative = "Teos10" in str(contents.attrs.get("equation_of_state", ""))
        run = profiles_of(trajectory, Teos10() if is_conservative else None)
        return run, str(contents.attrs.get("start_time", "")) or None, read_tracer_units(file)
    if "time" not in contents or "zi" not in contents:
        return None
    stored, times = read_stored_run(file), read_time(contents["time"])
    profiles = {name: values.T for name, values in stored.profiles.items()}
    if "conservative" in str(contents["temp"].attrs.get("long_name", "")) and "salinity" in profiles:
        profiles["temperature"] = style.potential(profiles["temperature"], profiles["salinity"])
    start = str(times.values[0].astype(object)) if is_dated(times) else None
    return RunProfiles(stored.time, stored.z_face, profiles), start, {}
