"""Which figures belong to an output file or a run."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import jax
import xarray as xr
from matplotlib.figure import Figure

from ..io.dataset import read_trajectory
from ..io.errors import FileFormatError, names_its_file
from ..io.netcdf import read_netcdf
from ..io.stream import join_parts
from ..plotting import (
    Fit,
    history_figures,
    plot_differences,
    plot_fits,
    plot_profiles,
    plot_sections,
    plot_series,
    posterior_figures,
)
from ..trajectory import Trajectory

_FEWEST_TIMES = 3
"""Of observations that are drawn over time."""


@names_its_file("an output file of the package")
def file_figures(file: Path) -> dict[str, Figure]:
    """Sections and profiles of a trajectory, loss and parameters of a history, or those of a posterior.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a file of another kind, or one that lacks something.
    """
    dataset = read_netcdf(file)
    try:
        return _figures_of(file, dataset)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _other_kind(file, f"one that lacks something ({type(error).__name__}: {error})") from error


def _figures_of(file: Path, dataset: xr.Dataset) -> dict[str, Figure]:
    if "iteration" in dataset.dims and "loss" in dataset:
        return history_figures(dataset)
    if "information" in dataset and "draw" in dataset.dims:
        figures = posterior_figures(dataset).items()
        return {name.removeprefix("posterior_"): figure for name, figure in figures}
    if "closure_state" not in dataset.attrs:
        raise _other_kind(file, "one of another kind")
    with jax.enable_x64(True):  # otherwise double precision would be cut on reading
        trajectory = read_trajectory(file)
        title = str(dataset.attrs.get("tunax_lite_case") or file.stem).replace("_", " ")
        return run_figures(trajectory, title, str(dataset.attrs.get("start_time", "")) or None)


def run_figures(trajectory: Trajectory, title: str, start_time: str | None) -> dict[str, Figure]:
    """Sections and profiles of a run."""
    return {
        "sections": plot_sections(trajectory, title=title, start_time=start_time),
        "profiles": plot_profiles(trajectory, title=title, start_time=start_time),
    }


def fit_figures(fit: Fit) -> dict[str, Figure]:
    """What a run and its observations have: profiles, sections of differences, series."""
    figures: dict[str, Figure] = {}
    observations = fit.observations
    if set(observations.profiles) & {"temperature", "u", "v"}:
        figures["fit"] = plot_fits([fit])
    if observations.time.size >= _FEWEST_TIMES:
        if set(observations.profiles) & {"temperature", "salinity"}:
            figures["differences"] = plot_differences(fit)
        if "temperature" in observations.profiles or observations.series:
            figures["series"] = plot_series(fit)
    return figures


def _other_kind(file: Path, got: str) -> FileFormatError:
    expected = "the results of `tunax-lite run`, the history of `calibrate` or the file of `posterior`"
    return FileFormatError(file, "file", expected, got, "name such a file")


def figures_of_parts(parts: Sequence[Path]) -> dict[str, Figure]:
    """Those of a run that was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder) / "run.nc"
        join_parts(parts, together)
        return file_figures(together)
