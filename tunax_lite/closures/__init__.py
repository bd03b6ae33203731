"""Turbulence closures: how turbulence mixes the column. One file per closure, behind one interface."""

from .base import AbstractClosure as AbstractClosure
from .base import CloState as CloState
from .base import ClosureInputs as ClosureInputs
from .constant import Constant as Constant
from .constant import ConstantState as ConstantState
from .convective_adjustment import ConvectiveAdjustment as ConvectiveAdjustment
from .convective_adjustment import ConvectiveAdjustmentState as ConvectiveAdjustmentState
from .k_epsilon import KEpsilon as KEpsilon
from .k_epsilon import KEpsilonState as KEpsilonState
from .pacanowski_philander import PacanowskiPhilander as PacanowskiPhilander
from .pacanowski_philander import PacanowskiPhilanderState as PacanowskiPhilanderState
from .second_moment import SecondMomentClosure as SecondMomentClosure
