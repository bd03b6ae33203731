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
    predictive_bands,
    recommended_members,
    spectrum_of,
    start_from,
)
from .samplers import NUTS
