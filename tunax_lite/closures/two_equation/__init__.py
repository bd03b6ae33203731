"""Two-equation closures: k, and a second quantity that holds the length scale. One file per quantity."""

from .base import AbstractTwoEquation as AbstractTwoEquation
from .equation import Exponents as Exponents
from .generic_length_scale import GenericLengthScale as GenericLengthScale
from .generic_length_scale import KOmega as KOmega
from .k_epsilon import KEpsilon as KEpsilon
from .k_epsilon_theta import KEpsilonTheta as KEpsilonTheta
from .k_epsilon_theta import TemperatureVarianceState as TemperatureVarianceState
from .mellor_yamada import MellorYamada as MellorYamada
