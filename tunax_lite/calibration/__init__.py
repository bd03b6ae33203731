"""Calibration: free parameters, targets, optimisers, and the loop that brings them together."""

from typing import TYPE_CHECKING, Any

from .calibrate import calibrate as calibrate
from .checkpoint import OtherCalibrationError as OtherCalibrationError
from .files import read_parameters as read_parameters
from .files import write_parameters as write_parameters
from .files import write_results as write_results
from .history import CalibrationResult as CalibrationResult
from .history import History as History
from .misfit import Comparison as Comparison
from .misfit import MeanSquare as MeanSquare
from .misfit import RootMeanSquare as RootMeanSquare
from .misfit import misfit as misfit
from .optimisers import LBFGS as LBFGS
from .optimisers import Adam as Adam
from .optimisers import ConstantRate as ConstantRate
from .optimisers import CosineDecay as CosineDecay
from .optimisers import ExponentialDecay as ExponentialDecay
from .parameters import FreeParameter as FreeParameter
from .parameters import FreeParameters as FreeParameters
from .parameters import in_short as in_short
from .parameters import with_parameters as with_parameters
from .targets import Physical as Physical
from .targets import Target as Target
from .targets import Uncertainty as Uncertainty
from .targets import ZScore as ZScore
from .targets import prepare as prepare

if TYPE_CHECKING:
    from .history_file import write_history as write_history


def __getattr__(name: str) -> Any:
    if name != "write_history":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .history_file import write_history  # needs xarray, which takes long to import

    return write_history
