"""Figures of runs and calibrations: sections over time and depth, profiles, losses, parameters.

Every function returns a new `matplotlib.figure.Figure`, independent of pyplot and its global state:
`save_figures` writes figures into a folder, and notebooks display them.
"""

from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..io.errors import FileFormatError, names_its_file
from ..io.netcdf import read_netcdf
from .calibration import (
    history_figures,
    plot_correlations,
    plot_loss,
    plot_marginals,
    plot_parameters,
    posterior_figures,
)
from .fits import (
    CaseRuns,
    calibration_figures,
    case_runs,
    closure_figures,
    fit_figures,
    plot_differences,
    plot_fits,
    plot_series,
)
from .runs import (
    plot_profiles,
    plot_sections,
    plot_surface,
    surface_of,
)
from .style import in_words, save_figure, save_figures
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
    """Draw a run, the loss and parameters of a calibration, or the distributions of a posterior.

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
    return run_figures(dataset, in_words(str(dataset.attrs.get("tunax_lite_case") or file.stem)))


def run_figures(run: xr.Dataset, title: str) -> dict[str, Figure]:
    """Sections and profiles of a run, from `to_dataset` or a file; ice and level over time, if they vary."""
    figures = {"sections": plot_sections(run, title=title), "profiles": plot_profiles(run, title=title)}
    if any(np.ptp(run[name].values) > 0.0 for name in surface_of(run)):
        figures["surface"] = plot_surface(run, title)
    return figures
