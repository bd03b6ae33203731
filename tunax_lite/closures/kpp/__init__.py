"""The K-profile parameterisation, part by part."""

from .interior import AbstractInteriorShear as AbstractInteriorShear
from .interior import DoubleDiffusion as DoubleDiffusion
from .interior import InteriorConvection as InteriorConvection
from .interior import LargeShear as LargeShear
from .interior import PacanowskiPhilanderShear as PacanowskiPhilanderShear
from .kpp import KPP as KPP
from .kpp import KPPState as KPPState
from .langmuir import Langmuir as Langmuir
from .velocity_scales import VelocityScales as VelocityScales
