"""Stability functions: how shear and stratification set c_mu and c_mu'."""

from .base import AbstractStability as AbstractStability
from .base import AbstractStabilityFunctions as AbstractStabilityFunctions
from .base import AbstractWaveFunctions as AbstractWaveFunctions
from .base import Waves as Waves
from .first_order import AbstractFirstOrder as AbstractFirstOrder
from .first_order import Brueggemann as Brueggemann
from .first_order import ConstantStability as ConstantStability
from .first_order import MunkAnderson as MunkAnderson
from .first_order import SchumannGerz as SchumannGerz
from .harcourt import Harcourt as Harcourt
from .harcourt import HarcourtFunctions as HarcourtFunctions
from .second_moment import PUBLISHED_SETS as PUBLISHED_SETS
from .second_moment import SecondMomentClosure as SecondMomentClosure
from .second_moment import StabilityFunctions as StabilityFunctions
