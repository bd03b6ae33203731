"""Two-equation closures: k, and a second quantity that holds the length scale. One file per quantity."""

from .base import AbstractTwoEquation as AbstractTwoEquation
from .base import Exponents as Exponents
from .generic_length_scale import GenericLengthScale as GenericLengthScale
from .k_epsilon import KEpsilon as KEpsilon
from .k_epsilon_theta import KEpsilonTheta as KEpsilonTheta
from .k_epsilon_theta import TemperatureVarianceState as TemperatureVarianceState
from .k_omega import KOmega as KOmega
from .mellor_yamada import MellorYamada as MellorYamada
