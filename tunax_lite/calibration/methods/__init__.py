"""Ways to better parameters, one per file; each names the kind of evaluation that it needs."""

from .base import AbstractMethod as AbstractMethod
from .base import MethodState as MethodState
from .base import MultiStart as MultiStart
from .gradient import LBFGS as LBFGS
from .gradient import AbstractSchedule as AbstractSchedule
from .gradient import Adam as Adam
from .gradient import ConstantRate as ConstantRate
from .gradient import CosineDecay as CosineDecay
from .gradient import ExponentialDecay as ExponentialDecay
from .least_squares import EnsembleKalman as EnsembleKalman
from .least_squares import LevenbergMarquardt as LevenbergMarquardt
