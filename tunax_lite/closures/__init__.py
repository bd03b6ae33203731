"""Turbulence closures: how turbulence mixes the column. One file per closure, behind one interface."""

from .base import AbstractClosure as AbstractClosure
from .base import CloState as CloState
from .base import ClosureInputs as ClosureInputs
from .constant import Constant as Constant
from .constant import ConstantState as ConstantState
from .convective_adjustment import ConvectiveAdjustment as ConvectiveAdjustment
from .convective_adjustment import ConvectiveAdjustmentState as ConvectiveAdjustmentState
from .energy import TurbulenceState as TurbulenceState
from .internal_waves import BackgroundMixing as BackgroundMixing
from .internal_waves import WaveShear as WaveShear
from .pacanowski_philander import PacanowskiPhilander as PacanowskiPhilander
from .pacanowski_philander import PacanowskiPhilanderState as PacanowskiPhilanderState
from .stability import PUBLISHED_SETS as PUBLISHED_SETS
from .stability import Brueggemann as Brueggemann
from .stability import ConstantStability as ConstantStability
from .stability import MunkAnderson as MunkAnderson
from .stability import SchumannGerz as SchumannGerz
from .stability import SecondMomentClosure as SecondMomentClosure
from .two_equation import Exponents as Exponents
from .two_equation import GenericLengthScale as GenericLengthScale
from .two_equation import KEpsilon as KEpsilon
from .two_equation import KOmega as KOmega
from .two_equation import MellorYamada as MellorYamada
from .walls import Boundary as Boundary
from .walls import BreakingWaves as BreakingWaves
