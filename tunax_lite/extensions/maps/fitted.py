"""Results of a calibration on a map: corrections, and parameters for all commands."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...calibration.parameters import Base
from ...calibration.results import PARAMETERS_NAME, write_values
from ...io.dataset import described, titled, variable_name, write_dataset
from ...io.protection import Provenance
from .calibration import Progress
from .equations import MapFit
from .store import map_dims

if TYPE_CHECKING:
    import xarray as xr

CORRECTIONS_NAME, ITERATIONS_NAME = "corrections.nc", "iterations.eqx"
FILES = ITERATIONS_NAME, CORRECTIONS_NAME, PARAMETERS_NAME
CORRECTION = "heat_flux_correction"


def write_fit(fit: MapFit, progress: Progress, folder: Path, about: Provenance) -> list[Path]:
    """Write corrections and parameters into a folder, and return their paths."""
    origin = {f"tunax_lite_{name}": text for name, text in dataclasses.asdict(about).items()}
    paths = [folder / CORRECTIONS_NAME, folder / PARAMETERS_NAME]
    write_dataset(corrections_dataset(fit, progress).assign_attrs(origin), paths[0])
    write_values(paths[1], *_parameters(fit, progress), origin)
    return paths


def corrections_dataset(fit: MapFit, progress: Progress) -> "xr.Dataset":
    """Corrections and misfits on the map, and the loss of all evaluations."""
    import xarray as xr  # takes long

    columns, dims, used = fit.run.columns, map_dims(fit.run.columns), progress.weight > 0.0
    last = progress.equations.mean_square - (fit.penalty * progress.correction) ** 2
    on_map = {
        CORRECTION: (progress.correction, "heat flux correction", "W m-2"),
        "misfit_before": (np.sqrt(progress.first), "root mean square misfit at the start", "K"),
        "misfit_after": (np.sqrt(np.maximum(last, 0.0)), "root mean square misfit with the correction", "K"),
    }
    variables = {
        name: described(dims, _on_map(fit, np.where(used, values, np.nan)), *told)
        for name, (values, *told) in on_map.items()
    }
    values = np.array([fit.values(x) for x in progress.trials])
    variables |= {
        "loss": described("iteration", np.array(progress.losses), "what misfits and penalty count", "K2"),
        "accepted": described("iteration", np.array(progress.accepted, int), "whether the step was taken"),
    }
    for number, row in zip(fit.free.numbers, values.T, strict=True):
        variables[variable_name(number.path)] = described("iteration", row, number.path, number.unit)
    return xr.Dataset(
        variables, columns.coordinates, titled("Calibration on a map", type(fit.run.model.closure).__name__)
    )


def _on_map(fit: MapFit, values: np.ndarray) -> np.ndarray:
    """Values of the columns at their positions, NaN where there is no water."""
    columns = fit.run.columns
    found = np.full(int(np.prod(columns.shape)), np.nan)
    found[columns.index] = values
    return found.reshape(columns.shape)


def _parameters(fit: MapFit, progress: Progress) -> tuple[Base, dict[str, dict], dict[str, dict]]:
    """The base, the shared parameters, and what is known of the calibration."""
    best = fit.values(progress.x).tolist()
    numbers = {
        number.path: {
            "value": value,
            "unit": number.unit,
            "start": float(number.start),
            "lower": number.lower,
            "upper": number.upper,
        }
        for number, value in zip(fit.free.numbers, best, strict=True)
    }
    calibration = {
        "loss": progress.loss,
        "loss_at_start": progress.losses[0],
        "n_iterations": len(progress.losses),
        "n_columns": int(np.sum(progress.weight > 0.0)),
    }
    return Base.of(fit.run.model.closure, numbers), numbers, {"calibration": calibration}
