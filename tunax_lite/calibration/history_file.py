"""The file of all iterations of a calibration, `history.nc`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..io.dataset import write_dataset
from ..io.netcdf import described, titled, variable_name
from ..observables import unit_of_difference
from .files import prior_of
from .history import CalibrationResult
from .known import split_path


def write_history(
    path: str | Path, result: CalibrationResult, attributes: Mapping[str, str] | None = None
) -> None:
    """Write all iterations as NetCDF; attributes say where the numbers come from (version, command, ...)."""
    write_dataset(history_dataset(result, attributes), path)


def history_dataset(result: CalibrationResult, attributes: Mapping[str, str] | None = None) -> xr.Dataset:
    """All iterations with units and long names; a dot in a parameter's path becomes an underscore.

    The free numbers of a vector are one variable, with their times or heights as another.
    """
    history, free_parameters = result.history, result.free_parameters
    of_priors = " and half the square of the unconstrained parameters times prior_weight"
    what = "mean of the scores, weighted by case" + (of_priors if result.prior_weight > 0.0 else "")
    columns = {
        "loss": (history.loss, what),
        "gradient_norm": (history.gradient_norm, "norm of the gradient to the unconstrained parameters"),
        "rejected": (history.rejected.astype(np.int8), "whether the method took the step back"),
        "of_all_cases": (history.of_all_cases.astype(np.int8), "whether the loss is that of all cases"),
        "start": (history.start, "number of the start that the iteration follows"),
        "n_failed": (history.n_failed, "members of the ensemble that broke down"),
    }
    data = {name: described("iteration", *both) for name, both in columns.items()}
    by_case = "iteration", "case"
    data["score"] = described(by_case, history.scores, "score of the case")
    for column, name in enumerate(result.variables):
        errors, text = history.errors[:, :, column], f"root mean square error of {name}"
        data[f"{name}_error"] = described(by_case, errors, text, unit_of_difference(name))

    def add(path: str, dims, values, unit: str, lower: float, upper: float, about: Any) -> None:
        about = {"valid_min": lower, "valid_max": upper, **about}
        data[variable_name(path)] = described(dims, values, f"parameter {path}", unit, **about)

    vectors: dict[str, list[int]] = {}
    for column, free in enumerate(free_parameters.numbers):
        field, index = split_path(free.path)
        if index is not None:
            vectors.setdefault(field, []).append(column)
            continue
        values = history.values[:, column]
        add(free.path, "iteration", values, free.unit, free.lower, free.upper, prior_of(free))
    for tied in free_parameters.tied:
        values = tied.value(history.values[:, free_parameters.paths.index(tied.to)])
        bounds = free_parameters.bounds_of(tied)
        add(tied.path, "iteration", values, tied.unit, *bounds, {"tied_to": str(tied)})
    for field, columns in vectors.items():
        name, numbers = variable_name(field), [free_parameters.numbers[column] for column in columns]
        free, number = numbers[0], f"free_number_of_{name}"
        values = history.values[:, columns]
        add(field, ("iteration", number), values, free.unit, free.lower, free.upper, prior_of(free))
        if free.coordinate is not None:
            where = [each.coordinate for each in numbers]
            text = "time [s] or height [m] of the numbers"
            data[f"{name}_coordinate"] = described((number,), where, text)
    of_iterations = {"long_name": "evaluation of the loss, 1 at the start"}
    coords = {
        "iteration": ("iteration", 1 + np.arange(history.n_iterations), of_iterations),
        "case": ("case", np.array(result.case_names, dtype=object), {"long_name": "name of the case"}),
    }
    title = {
        **titled("Calibration", type(result.closure).__name__),
        "best_iteration": result.history.best_iteration + 1,
        "stop_reason": result.stop_reason,
        "prior_weight": result.prior_weight,
    }
    return xr.Dataset(data, coords, {**title, **(attributes or {})})
