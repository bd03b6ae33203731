"""Posterior distributions of parameters given observations, and their effect on runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .chains import NUTS
from .infer import infer, start_from
from .likelihood import Likelihood, estimate_likelihood
from .predictive import Bands, Influence, influences, predictive_bands, write_influences
from .result import Laplace, Posterior, Sampling, Spectrum, Weighting, spectrum_of
from .weighting import ImportanceSampling
