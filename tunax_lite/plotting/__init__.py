"""Figures of runs and calibrations: sections over time and depth, profiles, losses, parameters.

Every function returns a new `matplotlib.figure.Figure`, independent of pyplot and its global state:
`save_figures` writes figures into a folder, and notebooks display them.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure

from ..column.trajectory import Trajectory
from ..io.dataset import TracerUnits
from ..io.errors import FileFormatError, names_its_file
from ..io.netcdf import read_netcdf
from ..io.runs import read_tracer_units, read_trajectory
from ..physics import Teos10
from ..physics.equation_of_state import AbstractEquationOfState
from .calibration import (
    history_figures,
    plot_bands,
    plot_correlations,
    plot_loss,
    plot_marginals,
    plot_parameters,
    plot_spectrum,
    posterior_figures,
)
from .fits import (
    CaseRuns,
    calibration_figures,
    case_runs,
    closure_figures,
    closures_of,
    fit_figures,
    plot_differences,
    plot_fits,
    plot_series,
)
from .runs import (
    plot_profiles,
    plot_sections,
    plot_surface,
)
from .style import NO_TRACERS, in_words, save_figure, save_figures
from .together import files_figures

__all__ = [
    "file_figures",
    "files_figures",
    "plot_loss",
    "plot_parameters",
    "plot_profiles",
    "plot_sections",
    "run_figures",
    "save_figures",
]


def __dir__() -> list[str]:
    return __all__


_KINDS = "the results of `tunax-lite run`, the history of `calibrate` or the file of `posterior`"


@names_its_file(_KINDS)
def file_figures(file: Path) -> dict[str, Figure]:
    """Sections and profiles of a trajectory, loss and parameters of a history, or those of a posterior.

    Raises `FileNotFoundError`, or `FileFormatError` for a file of another kind, or with missing variables.
    """
    dataset = read_netcdf(file)
    if "iteration" in dataset.dims and "loss" in dataset:
        return history_figures(dataset)
    if "information" in dataset and "draw" in dataset.dims:
        figures = posterior_figures(dataset)
        return {name.removeprefix("posterior_"): figure for name, figure in figures.items()}
    if "closure_state" not in dataset.attrs:
        raise FileFormatError(file, "file", _KINDS, "one of another kind", "name such a file")
    with jax.enable_x64(True):  # otherwise double precision would be lost on reading
        title = in_words(str(dataset.attrs.get("tunax_lite_case") or file.stem))
        start_time = str(dataset.attrs.get("start_time", "")) or None
        is_conservative = "Teos10" in str(dataset.attrs.get("equation_of_state", ""))
        equation_of_state = Teos10() if is_conservative else None
        tracers = read_tracer_units(file)
        return run_figures(read_trajectory(file), title, start_time, equation_of_state, tracers)


def run_figures(
    trajectory: Trajectory,
    title: str,
    start_time: str | None,
    equation_of_state: AbstractEquationOfState | None = None,
    tracers: TracerUnits = NO_TRACERS,
) -> dict[str, Figure]:
    """Sections and profiles of a run, and series at its surface; `tracers` as in `Case.tracer_units`."""
    drawn: dict[str, Callable[..., Figure]] = {
        "sections": functools.partial(plot_sections, equation_of_state=equation_of_state),
        "profiles": functools.partial(plot_profiles, equation_of_state=equation_of_state),
    }
    if any(np.ptp(values) > 0.0 for values in trajectory.state.surface.values()):
        drawn["surface"] = plot_surface
    told = {"title": title, "start_time": start_time, "tracers": tracers}
    return {name: draw(trajectory, **told) for name, draw in drawn.items()}
