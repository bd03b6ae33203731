"""The files of a calibration: `parameters.yaml`, which a run accepts, and `history.nc`."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
import yaml

from ..io.atomic import replacing
from .history import CalibrationResult

PARAMETERS_NAME = "parameters.yaml"
HISTORY_NAME = "history.nc"

# Units of errors; an error of temperature is a difference.
_ERROR_UNITS = {"temperature": "K", "salinity": "g kg-1", "u": "m s-1", "v": "m s-1"}


def write_results(
    result: CalibrationResult, folder: str | Path, attributes: Mapping[str, str] | None = None
) -> tuple[Path, Path]:
    """Write `parameters.yaml` and `history.nc` into a folder and return their paths."""
    paths = Path(folder) / PARAMETERS_NAME, Path(folder) / HISTORY_NAME
    write_history(paths[1], result, attributes)
    write_parameters(paths[0], result, attributes)
    return paths


def write_parameters(
    path: str | Path, result: CalibrationResult, attributes: Mapping[str, str] | None = None
) -> None:
    """Write the best parameters with their units, start values and bounds.

    Args:
        path: replaced when the new file is complete.
        result: of a calibration.
        attributes: where the numbers come from (version, command, ...).
    """
    best, start, units = result.best, result.start, result.units
    content = {
        "closure": type(result.closure).__name__,
        "parameters": {
            free.path: {
                "value": best[free.path],
                "unit": units[free.path],
                "start": start[free.path],
                "lower": free.lower,
                "upper": free.upper,
            }
            for free in result.free_parameters.parameters
        },
        "calibration": {
            "loss": result.best_loss,
            "loss_at_start": float(result.history.loss[0]),
            "best_iteration": result.history.best_iteration,
            "n_iterations": result.history.n_iterations,
            "n_rejected": result.n_rejected,
            "n_non_finite": result.n_non_finite,
            "stop_reason": result.stop_reason,
            "root_mean_square_errors": result.errors(),
        },
        "provenance": dict(attributes or {}),
    }
    with replacing(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def read_parameters(path: str | Path, closure: str | None = None) -> dict[str, float]:
    """Parameter values by path from a file of `write_parameters`; hand them to `with_parameters`.

    Args:
        path: of the file; of an entry only `value` is needed, a bare number will do.
        closure: class name of the closure that the numbers are for; checked if given.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file of another format, for another closure, or with a value that is not a finite
            number.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a parameter file, got none; check the path.")
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected a YAML file, got: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("parameters"), dict):
        raise ValueError(
            f"{path}: parameters: expected a mapping from parameter to value, got none; write the file "
            "with `tunax-lite calibrate` or after its example."
        )
    values = {str(name): _number(path, name, entry) for name, entry in content["parameters"].items()}
    if closure is not None and content.get("closure") != closure:
        raise ValueError(
            f"{path}: closure: expected {closure}, got {content.get('closure')}; use the file with the "
            "closure that it was calibrated for."
        )
    return values


def _number(path: Path, name, entry) -> float:
    value = entry.get("value") if isinstance(entry, dict) else entry
    # YAML 1.1 reads 1e-6 as text.
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            pass
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{path}: parameters.{name}: expected a finite number, got {value!r}.")
    return float(value)


def write_history(
    path: str | Path, result: CalibrationResult, attributes: Mapping[str, str] | None = None
) -> None:
    """Write all iterations as NetCDF.

    Args:
        path: replaced when the new file is complete.
        result: of a calibration.
        attributes: where the numbers come from (version, command, ...).
    """
    with replacing(path) as temporary:
        history_dataset(result, attributes).to_netcdf(temporary, engine="netcdf4")


def history_dataset(result: CalibrationResult, attributes: Mapping[str, str] | None = None) -> xr.Dataset:
    """All iterations with units and long names; a dot in a parameter's path becomes an underscore."""
    history, units = result.history, result.units

    def variable(dims, values, long_name: str, unit: str, **more):
        return (dims, values, {"long_name": long_name, "units": unit, **more})

    data = {
        "loss": variable("iteration", history.loss, "mean of the scores, weighted by case", "1"),
        "gradient_norm": variable(
            "iteration", history.gradient_norm, "norm of the gradient to the unconstrained parameters", "1"
        ),
        "rejected": variable(
            "iteration", history.rejected.astype(np.int8), "whether the optimiser took the step back", "1"
        ),
        "score": variable(("iteration", "case"), history.scores, "score of the case", "1"),
    }
    for column, name in enumerate(result.variables):
        data[f"{name}_error"] = variable(
            ("iteration", "case"),
            history.errors[:, :, column],
            f"root mean square error of {name}",
            _ERROR_UNITS.get(name, "1"),
        )
    for column, free in enumerate(result.free_parameters.parameters):
        data[free.path.replace(".", "_")] = variable(
            "iteration",
            history.values[:, column],
            f"parameter {free.path}",
            units[free.path],
            valid_min=free.lower,
            valid_max=free.upper,
        )
    coords = {
        "iteration": ("iteration", np.arange(history.n_iterations), {"long_name": "evaluation of the loss"}),
        "case": ("case", np.array(result.case_names, dtype=object), {"long_name": "name of the case"}),
    }
    title = {
        "Conventions": "CF-1.11",
        "title": f"Calibration of {type(result.closure).__name__}",
        "closure": type(result.closure).__name__,
        "best_iteration": result.history.best_iteration,
        "stop_reason": result.stop_reason,
    }
    return xr.Dataset(data, coords, {**title, **(attributes or {})})
