"""Calibration: free parameters, targets, methods, and the loop that runs them."""

from .calibrate import Iteration, calibrate, calibrate_weighted
from .checks import CheckRow, EntrainmentLaw, ObservedCase, persistence_errors, run_checks
from .cross_validation import (
    CrossValidation,
    CrossValidationRow,
    checks_in_words,
    cross_validate,
    cross_validation_in_words,
    read_table,
    write_table,
)
from .files import OtherCalibrationError, read_parameters, write_history, write_parameters, write_results
from .history import CalibrationResult, History, remarks, remarks_in_short
from .known import Tied, in_short, known_parameters, with_case_parameters, with_parameters
from .methods.gradient import LBFGS, Adam, ConstantRate, CosineDecay, ExponentialDecay
from .methods.least_squares import EnsembleKalman, LevenbergMarquardt
from .methods.starts import MultiStart
from .misfit.comparison import (
    Comparison,
    MeanSquare,
    RootMeanSquare,
    errors_of,
    misfit,
    residuals,
    root_mean_square_errors,
)
from .misfit.operators import Correlation
from .misfit.target import Account, Physical, Target, Uncertainty, ZScore, account
from .parameters import FreeParameter, FreeParameters, ResolvedParameters
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
