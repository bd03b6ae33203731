"""Calibration: free parameters, targets, methods, and the loop that runs them."""

from .calibrate import Iteration, calibrate
from .methods import (
    LBFGS,
    Adam,
    EnsembleKalman,
    LevenbergMarquardt,
)
from .parameters import (
    FreeParameter,
    FreeParameters,
    ParameterTable,
    with_case_parameters,
    with_parameters,
)
from .priors import (
    Bounded,
    CorrelatedNormal,
    LogBounded,
    LogNormal,
    LogUniform,
    Normal,
    Uniform,
)
from .results import (
    CalibrationResult,
    History,
    OtherCalibrationError,
    parameter_rows,
    read_parameters,
    remarks,
    write_results,
)
from .target import (
    MeanSquare,
    Physical,
    RootMeanSquare,
    Target,
    Uncertainty,
    ZScore,
    errors_and_run,
    misfit,
    residuals,
)
from .validation import cross_validate

__all__ = [
    "LBFGS",
    "Adam",
    "Bounded",
    "CalibrationResult",
    "CorrelatedNormal",
    "EnsembleKalman",
    "FreeParameter",
    "FreeParameters",
    "LevenbergMarquardt",
    "LogBounded",
    "LogNormal",
    "LogUniform",
    "MeanSquare",
    "Normal",
    "Physical",
    "Target",
    "Uncertainty",
    "Uniform",
    "ZScore",
    "calibrate",
    "cross_validate",
    "read_parameters",
    "residuals",
    "with_parameters",
]


def __dir__() -> list[str]:
    return __all__
