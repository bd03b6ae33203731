"""Calibration: free parameters, targets, methods, and the loop that brings them together."""

from typing import TYPE_CHECKING, Any

from .calibrate import Iteration as Iteration
from .calibrate import calibrate as calibrate
from .calibrate import calibrate_weighted as calibrate_weighted
from .checks import CheckRow as CheckRow
from .checks import EntrainmentLaw as EntrainmentLaw
from .checks import ObservedCase as ObservedCase
from .checks import persistence_errors as persistence_errors
from .checks import run_checks as run_checks
from .cross_validation import CrossValidation as CrossValidation
from .cross_validation import CrossValidationRow as CrossValidationRow
from .cross_validation import checks_in_words as checks_in_words
from .cross_validation import cross_validate as cross_validate
from .cross_validation import cross_validation_in_words as cross_validation_in_words
from .cross_validation import read_table as read_table
from .cross_validation import write_table as write_table
from .files import OtherCalibrationError as OtherCalibrationError
from .files import read_parameters as read_parameters
from .files import write_parameters as write_parameters
from .files import write_results as write_results
from .history import CalibrationResult as CalibrationResult
from .history import History as History
from .history import remarks as remarks
from .history import remarks_in_short as remarks_in_short
from .known import Tied as Tied
from .known import in_short as in_short
from .known import known_parameters as known_parameters
from .known import with_case_parameters as with_case_parameters
from .known import with_parameters as with_parameters
from .methods import LBFGS as LBFGS
from .methods import Adam as Adam
from .methods import ConstantRate as ConstantRate
from .methods import CosineDecay as CosineDecay
from .methods import EnsembleKalman as EnsembleKalman
from .methods import ExponentialDecay as ExponentialDecay
from .methods import LevenbergMarquardt as LevenbergMarquardt
from .methods import MultiStart as MultiStart
from .misfit import Account as Account
from .misfit import Comparison as Comparison
from .misfit import Correlation as Correlation
from .misfit import MeanSquare as MeanSquare
from .misfit import Physical as Physical
from .misfit import RootMeanSquare as RootMeanSquare
from .misfit import Target as Target
from .misfit import Uncertainty as Uncertainty
from .misfit import ZScore as ZScore
from .misfit import account as account
from .misfit import errors_of as errors_of
from .misfit import misfit as misfit
from .misfit import residuals as residuals
from .misfit import root_mean_square_errors as root_mean_square_errors
from .parameters import FreeParameter as FreeParameter
from .parameters import FreeParameters as FreeParameters
from .parameters import ResolvedParameters as ResolvedParameters
from .priors import AbstractPrior as AbstractPrior
from .priors import Bounded as Bounded
from .priors import CorrelatedNormal as CorrelatedNormal
from .priors import LogBounded as LogBounded
from .priors import LogNormal as LogNormal
from .priors import LogUniform as LogUniform
from .priors import Normal as Normal
from .priors import Uniform as Uniform

if TYPE_CHECKING:
    from .history_file import write_history as write_history


def __getattr__(name: str) -> Any:
    if name != "write_history":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .history_file import write_history  # needs xarray, which takes long to import

    return write_history
