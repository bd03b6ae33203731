"""Which figures belong to an output file or a run."""

from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure

from ..io.dataset import read_trajectory
from ..io.netcdf import read_netcdf
from ..plotting import plot_loss, plot_parameters, plot_profiles, plot_sections


def file_figures(file: Path) -> dict[str, Figure]:
    """Sections and profiles of a trajectory, or loss and parameters of a history."""
    dataset = read_netcdf(file)
    if "iteration" in dataset.dims and "loss" in dataset:
        return history_figures(dataset)
    with jax.enable_x64(True):  # otherwise double precision would be cut on reading
        trajectory = read_trajectory(file)
        title = str(dataset.attrs.get("tunax_lite_case") or file.stem).replace("_", " ")
        return {
            "sections": plot_sections(trajectory, title=title),
            "profiles": plot_profiles(trajectory, title=title),
        }


def history_figures(dataset) -> dict[str, Figure]:
    """Figures of the history of a calibration, as `history.nc` holds it."""
    prefix = "parameter "
    free = {
        str(variable.attrs["long_name"]).removeprefix(prefix): variable
        for variable in dataset.data_vars.values()
        if str(variable.attrs.get("long_name", "")).startswith(prefix)
    }
    scores = dataset["score"].values
    return {
        "loss": plot_loss(
            dataset["loss"].values,
            {str(name): scores[:, index] for index, name in enumerate(dataset["case"].values)},
            dataset["rejected"].values.astype(bool),
        ),
        "parameters": plot_parameters(
            {path: np.asarray(variable.values) for path, variable in free.items()},
            {path: str(variable.attrs.get("units", "1")) for path, variable in free.items()},
            {
                path: (float(variable.attrs["valid_min"]), float(variable.attrs["valid_max"]))
                for path, variable in free.items()
                if "valid_min" in variable.attrs
            },
        ),
    }
