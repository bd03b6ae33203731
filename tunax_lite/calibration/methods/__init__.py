"""Ways to better parameters, one per file; each names the kind of evaluation that it needs."""

from .adam import Adam as Adam
from .base import AbstractMethod as AbstractMethod
from .base import MethodState as MethodState
from .ensemble_kalman import EnsembleKalman as EnsembleKalman
from .lbfgs import LBFGS as LBFGS
from .levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
from .multi_start import MultiStart as MultiStart
from .schedules import AbstractSchedule as AbstractSchedule
from .schedules import ConstantRate as ConstantRate
from .schedules import CosineDecay as CosineDecay
from .schedules import ExponentialDecay as ExponentialDecay
