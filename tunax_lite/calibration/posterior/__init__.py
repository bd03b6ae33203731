"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import estimate_likelihood, infer, start_from
from .predictive import Bands, Influence, influences, predictive_bands, write_influences
from .result import Laplace, Likelihood, Posterior, Sampling, Spectrum, Weighting, spectrum_of
from .samplers import NUTS, ImportanceSampling
