"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import (
    Laplace,
    Likelihood,
    bands_of_members,
    draws_of,
    estimate_likelihood,
    infer,
    intervals,
    members_of_file,
    start_from,
)
from .samplers import NUTS, TemperedSMC

__all__ = [
    "NUTS",
    "Laplace",
    "Likelihood",
    "TemperedSMC",
    "infer",
    "intervals",
]


def __dir__() -> list[str]:
    return __all__
