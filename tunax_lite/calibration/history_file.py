"""The file of all iterations of a calibration, `history.nc`."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from ..io.dataset import write_dataset
from ..io.netcdf import described, titled, variable_name
from ..observables import unit_of_difference
from .history import CalibrationResult
from .known import split_path


def write_history(
    path: str | Path, result: CalibrationResult, attributes: Mapping[str, str] | None = None
) -> None:
    """Write all iterations as NetCDF.

    Args:
        path: replaced when the new file is complete.
        result: of a calibration.
        attributes: where the numbers come from (version, command, ...).
    """
    write_dataset(history_dataset(result, attributes), path)


def history_dataset(result: CalibrationResult, attributes: Mapping[str, str] | None = None) -> xr.Dataset:
    """All iterations with units and long names; a dot in a parameter's path becomes an underscore.

    The free numbers of a vector are one variable, with their times or heights as another.
    """
    history, units = result.history, result.units

    of_priors = " and half the square of the unconstrained parameters times prior_weight"
    what = "mean of the scores, weighted by case" + (of_priors if result.prior_weight > 0.0 else "")
    data = {
        "loss": described("iteration", history.loss, what, "1"),
        "gradient_norm": described(
            "iteration", history.gradient_norm, "norm of the gradient to the unconstrained parameters", "1"
        ),
        "rejected": described(
            "iteration", history.rejected.astype(np.int8), "whether the method took the step back", "1"
        ),
        "of_all_cases": described(
            "iteration", history.of_all_cases.astype(np.int8), "whether the loss is that of all cases", "1"
        ),
        "start": described("iteration", history.start, "number of the start that the iteration follows", "1"),
        "n_failed": described("iteration", history.n_failed, "members of the ensemble that broke down", "1"),
        "score": described(("iteration", "case"), history.scores, "score of the case", "1"),
    }
    for column, name in enumerate(result.variables):
        data[f"{name}_error"] = described(
            ("iteration", "case"),
            history.errors[:, :, column],
            f"root mean square error of {name}",
            unit_of_difference(name),
        )
    vectors: dict[str, list[int]] = {}
    for column, free in enumerate(result.free_parameters.numbers):
        field, index = split_path(free.path)
        if index is not None:
            vectors.setdefault(field, []).append(column)
            continue
        data[variable_name(free.path)] = described(
            "iteration",
            history.values[:, column],
            f"parameter {free.path}",
            units[free.path],
            valid_min=free.lower,
            valid_max=free.upper,
            **({} if free.prior is None else {"prior": repr(free.prior)}),
        )
    for tied in result.free_parameters.tied:
        least, largest = result.free_parameters.bounds_of(tied)
        data[variable_name(tied.path)] = described(
            "iteration",
            tied.value(history.values[:, result.free_parameters.paths.index(tied.to)]),
            f"parameter {tied.path}",
            units[tied.path],
            valid_min=least,
            valid_max=largest,
            tied_to=str(tied),
        )
    for field, columns in vectors.items():
        name, free = variable_name(field), result.free_parameters.numbers[columns[0]]
        number = f"free_number_of_{name}"
        values, unit = history.values[:, columns], units[free.path]
        about = {} if free.prior is None else {"prior": repr(free.prior)}
        about |= {"valid_min": free.lower, "valid_max": free.upper}
        data[name] = described(("iteration", number), values, f"parameter {field}", unit, **about)
        if free.coordinate is not None:
            where = [result.free_parameters.numbers[column].coordinate for column in columns]
            long_name = "time [s] or height [m] of the numbers"
            data[f"{name}_coordinate"] = described((number,), where, long_name, "1")
    coords = {
        "iteration": (
            "iteration",
            1 + np.arange(history.n_iterations),
            {"long_name": "evaluation of the loss, 1 at the start"},
        ),
        "case": ("case", np.array(result.case_names, dtype=object), {"long_name": "name of the case"}),
    }
    title = {
        **titled("Calibration", type(result.closure).__name__),
        "best_iteration": result.history.best_iteration + 1,
        "stop_reason": result.stop_reason,
        "prior_weight": result.prior_weight,
    }
    return xr.Dataset(data, coords, {**title, **(attributes or {})})
