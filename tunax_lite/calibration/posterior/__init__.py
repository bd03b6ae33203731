"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import (
    Laplace,
    Likelihood,
    Posterior,
    Sampling,
    Spectrum,
    bands_of_members,
    estimate_likelihood,
    infer,
    members_of_file,
    posterior_dataset,
    predictive_bands,
    recommended_members,
    spectrum_of,
    start_from,
)
from .samplers import NUTS

__all__ = [
    "NUTS",
    "Laplace",
    "Likelihood",
    "Posterior",
    "infer",
    "posterior_dataset",
    "predictive_bands",
]


def __dir__() -> list[str]:
    return __all__
