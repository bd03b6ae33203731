"""Calibration: free parameters, targets, methods, and the loop that runs them."""

from .calibrate import Iteration, calibrate, solve
from .methods import (
    LBFGS,
    Adam,
    ConstantRate,
    CosineDecay,
    EnsembleKalman,
    LevenbergMarquardt,
    MultiStart,
)
from .parameters import (
    FreeParameter,
    FreeParameters,
    ParameterTable,
    Tied,
    in_short,
    known_parameters,
    with_case_parameters,
    with_parameters,
)
from .priors import (
    AbstractPrior,
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
    read_parameters,
    remarks,
    remarks_in_short,
    write_history,
    write_parameters,
    write_results,
)
from .target import (
    Account,
    Comparison,
    MeanSquare,
    Physical,
    RootMeanSquare,
    Target,
    Uncertainty,
    ZScore,
    account,
    errors_of,
    misfit,
    residuals,
)
from .validation import (
    CheckRow,
    CrossValidation,
    CrossValidationRow,
    EntrainmentLaw,
    ObservedCase,
    checks_in_words,
    cross_validate,
    cross_validation_in_words,
    persistence_errors,
    read_table,
    run_checks,
    write_table,
)

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
    "MultiStart",
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
