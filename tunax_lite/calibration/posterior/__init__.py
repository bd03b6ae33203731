"""What the observations say about the parameters: posterior densities, and what follows from them for runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .chains import NUTS as NUTS
from .infer import infer as infer
from .infer import start_from as start_from
from .likelihood import Likelihood as Likelihood
from .likelihood import estimate_likelihood as estimate_likelihood
from .predictive import Bands as Bands
from .predictive import Influence as Influence
from .predictive import influences as influences
from .predictive import predictive_bands as predictive_bands
from .predictive import write_influences as write_influences
from .result import Laplace as Laplace
from .result import Posterior as Posterior
from .result import Sampling as Sampling
from .result import Spectrum as Spectrum
from .result import spectrum_of as spectrum_of
