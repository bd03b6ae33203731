"""What the observations say about the parameters: posterior densities, and what follows from them for runs.

Import it as `tunax_lite.calibration.posterior`.
"""

from .infer import infer as infer
from .influence import Influence as Influence
from .influence import influences as influences
from .influence import write_influences as write_influences
from .laplace import Laplace as Laplace
from .laplace import Spectrum as Spectrum
from .laplace import spectrum_of as spectrum_of
from .likelihood import Likelihood as Likelihood
from .likelihood import estimate_likelihood as estimate_likelihood
from .mode import start_from as start_from
from .nuts import NUTS as NUTS
from .predictive import Bands as Bands
from .predictive import predictive_bands as predictive_bands
from .result import Posterior as Posterior
from .result import Sampling as Sampling
