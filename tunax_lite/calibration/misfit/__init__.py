"""How far a model is from what was observed: from a target with observations to one number per case.

`target` says what counts and makes arrays of it, a `Comparison`, which `misfit` and `residuals` run the model
against.
"""

from .comparison import AbstractScore as AbstractScore
from .comparison import Comparison as Comparison
from .comparison import ErrorOf as ErrorOf
from .comparison import MeanSquare as MeanSquare
from .comparison import RootMeanSquare as RootMeanSquare
from .comparison import errors_of as errors_of
from .comparison import misfit as misfit
from .comparison import residuals as residuals
from .comparison import root_mean_square_errors as root_mean_square_errors
from .operators import Correlation as Correlation
from .sampled import can_be_observed as can_be_observed
from .sampled import starting_at as starting_at
from .target import Account as Account
from .target import Physical as Physical
from .target import Target as Target
from .target import Uncertainty as Uncertainty
from .target import ZScore as ZScore
from .target import account as account
