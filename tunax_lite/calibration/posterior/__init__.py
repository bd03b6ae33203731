"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import (
    Laplace,
    Likelihood,
    Posterior,
    Sampling,
    Spectrum,
    Weighting,
    estimate_likelihood,
    infer,
    spectrum_of,
    start_from,
)
from .predictive import Bands, Influence, influences, predictive_bands, write_influences
from .samplers import NUTS, ImportanceSampling
