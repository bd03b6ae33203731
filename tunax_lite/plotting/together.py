"""Files of several runs and of observations, drawn in the same panels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..io.dataset import SELECTED
from ..io.errors import FileFormatError, names_its_file
from ..io.netcdf import read_netcdf
from ..io.oceansites import read_oceansites
from ..io.series import start_of_case
from ..io.times import is_dated, read_time, seconds_since
from ..io.variables import error_in
from . import style
from .fits import (
    CaseRuns,
    RunProfiles,
    plot_profiles_together,
    plot_series,
    profiles_of,
    with_potential_temperature,
)
from .style import FigureTime

_GOTM = {"temperature": "temp", "u": "u", "v": "v", "salinity": "salt"}
"""Names in results of GOTM."""


def files_figures(files: Sequence[Path]) -> dict[str, Figure]:
    """Draw several files together: runs of this package or of GOTM, and observations of one mooring.

    Times are dates if all runs have a start date, otherwise they count from the start of each run.

    Raises:
        FileFormatError: no run among the files, a run of several columns, or a run without dates among files
            with dates.
    """
    runs, starts, observed = dict[str, RunProfiles](), dict[str, str](), list[Path]()
    for file, label in zip(files, labels_of(files), strict=True):
        if (run := _run_of(file)) is None:
            observed.append(file)
            continue
        runs[label], start = run
        starts |= {label: start} if start else {}
    if not runs:
        advice = "name the results of a run among the files"
        raise FileFormatError(files[0], "file", "at least one file of a run", "observations alone", advice)
    undated = [label for label in runs if label not in starts]
    if undated and (starts or observed):
        expected, advice = "a date, as the other files have", "draw files with dates and files without apart"
        raise FileFormatError(undated[0], "start_time", expected, "none", advice)
    first, observations = min(starts.values(), key=start_of_case, default=None), None
    if first is not None:
        begin = start_of_case(first)
        later = {label: (start_of_case(start) - begin).total_seconds() for label, start in starts.items()}
        runs = {label: run._replace(time=run.time + later[label]) for label, run in runs.items()}
        if observed:
            observations = with_potential_temperature(read_oceansites(observed, start_time=first))
    times = FigureTime(max(float(run.time[-1]) for run in runs.values()), first)
    shown = CaseRuns("", runs, observations, times)
    # Temperature, salinity and tracers near the surface, and the mixed layer depth.
    near_surface = shown.varying(("temperature", "salinity")) or ["temperature"]
    return {"profiles": plot_profiles_together(shown), "series": plot_series(shown, near_surface)}


def labels_of(files: Sequence[Path]) -> list[str]:
    """Names of files, with as many of their folders as are needed to distinguish them."""
    labels = [file.stem for file in files]
    for n in range(2, 1 + max(len(file.parts) for file in files)):
        if len(set(labels)) == len(labels):
            break
        labels = ["/".join((*file.parts[:-1], file.stem)[-n:]) for file in files]
    return labels


@names_its_file("the file of a run")
def _run_of(file: Path) -> tuple[RunProfiles, str | None] | None:
    """Read a run of this package, or of GOTM on a fixed grid, and its start date; `None` for another file."""
    if file.suffix.lower() not in (".nc", ".nc4", ".cdf"):
        return None
    contents = read_netcdf(file, only=("time", "zi", "temperature", *_GOTM.values()))
    if "closure_state" in contents.attrs:
        if SELECTED in contents.attrs:
            got, advice = f"one with {contents.attrs[SELECTED]} alone", "run without output.variables"
            raise error_in(contents, "file", "a file of a run with all variables", got, advice)
        if contents["temperature"].ndim != 2:
            raise error_in(contents, "temperature", "one column", "several", "write the file of one of them")
        return profiles_of(read_netcdf(file)), style.start_of(contents)
    if not {"time", "zi"} <= set(contents.variables):
        return None
    if "temp" not in contents:
        raise error_in(contents, "temp", "a result of GOTM with temp", "one without", "let GOTM write it")
    times, faces = read_time(contents["time"]), np.atleast_2d(contents["zi"].values.squeeze())
    start = str(times.values[0].astype(object)) if is_dated(times) else None
    time = seconds_since(times, start)
    names = {name: gotm for name, gotm in _GOTM.items() if gotm in contents}
    profiles = {name: contents[gotm].values.squeeze() for name, gotm in names.items()}
    shape = (time.size, faces.shape[1] - 1)
    if np.ptp(faces, axis=0).max() > 0.0 or any(each.shape != shape for each in profiles.values()):
        expected = "one column whose faces do not move"
        raise error_in(contents, "zi", expected, f"faces {faces.shape}", "name another file")
    if "conservative" in str(contents["temp"].attrs.get("long_name", "")) and "salinity" in profiles:
        profiles["temperature"] = style.potential(profiles["temperature"], profiles["salinity"])
    return RunProfiles(time - time[0], faces[0] - faces[0, -1], profiles), start
