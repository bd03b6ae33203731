"""Calibration: free parameters, targets, methods, and the loop that brings them together."""

from typing import TYPE_CHECKING, Any

from .account import Account as Account
from .account import account as account
from .calibrate import Iteration as Iteration
from .calibrate import calibrate as calibrate
from .calibrate import calibrate_weighted as calibrate_weighted
from .checkpoint import OtherCalibrationError as OtherCalibrationError
from .correlation import Correlation as Correlation
from .files import read_parameters as read_parameters
from .files import write_parameters as write_parameters
from .files import write_results as write_results
from .history import CalibrationResult as CalibrationResult
from .history import History as History
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
from .misfit import Comparison as Comparison
from .misfit import MeanSquare as MeanSquare
from .misfit import RootMeanSquare as RootMeanSquare
from .misfit import misfit as misfit
from .misfit import residuals as residuals
from .parameters import FreeParameter as FreeParameter
from .parameters import FreeParameters as FreeParameters
from .priors import AbstractPrior as AbstractPrior
from .priors import Bounded as Bounded
from .priors import CorrelatedNormal as CorrelatedNormal
from .priors import LogBounded as LogBounded
from .priors import LogNormal as LogNormal
from .priors import LogUniform as LogUniform
from .priors import Normal as Normal
from .priors import Uniform as Uniform
from .scales import Physical as Physical
from .scales import Uncertainty as Uncertainty
from .scales import ZScore as ZScore
from .targets import Target as Target
from .targets import prepare as prepare
from .tied import Tied as Tied

if TYPE_CHECKING:
    from .history_file import write_history as write_history


def __getattr__(name: str) -> Any:
    if name != "write_history":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .history_file import write_history  # needs xarray, which takes long to import

    return write_history
