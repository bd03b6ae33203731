"""Which figures belong to an output file or a run."""

from pathlib import Path

import jax
from matplotlib.figure import Figure

from ..io.dataset import read_trajectory
from ..io.netcdf import read_netcdf
from ..plotting import history_figures, plot_profiles, plot_sections, posterior_figures


def file_figures(file: Path) -> dict[str, Figure]:
    """Sections and profiles of a trajectory, loss and parameters of a history, or those of a posterior."""
    dataset = read_netcdf(file)
    if "iteration" in dataset.dims and "loss" in dataset:
        return history_figures(dataset)
    if "information" in dataset and "draw" in dataset.dims:
        figures = posterior_figures(dataset).items()
        return {name.removeprefix("posterior_"): figure for name, figure in figures}
    with jax.enable_x64(True):  # otherwise double precision would be cut on reading
        trajectory = read_trajectory(file)
        title = str(dataset.attrs.get("tunax_lite_case") or file.stem).replace("_", " ")
        return {
            "sections": plot_sections(trajectory, title=title),
            "profiles": plot_profiles(trajectory, title=title),
        }
