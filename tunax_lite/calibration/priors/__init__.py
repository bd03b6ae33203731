"""What is known of a parameter before it is calibrated; each prior gives the map of the parameter too."""

from .base import AbstractPrior as AbstractPrior
from .correlated import CorrelatedNormal as CorrelatedNormal
from .interval import Bounded as Bounded
from .interval import LogBounded as LogBounded
from .interval import LogUniform as LogUniform
from .interval import Uniform as Uniform
from .normal import LogNormal as LogNormal
from .normal import Normal as Normal
from .normal import Unbounded as Unbounded
