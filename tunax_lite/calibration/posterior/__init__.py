"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import (
    Bands,
    Influence,
    Laplace,
    Likelihood,
    Posterior,
    Sampling,
    Spectrum,
    Weighting,
    bands_of_members,
    estimate_likelihood,
    infer,
    members_of_file,
    influences,
    predictive_bands,
    recommended_members,
    spectrum_of,
    start_from,
    write_bands,
    write_influences,
)
from .samplers import NUTS, ImportanceSampling
