"""Turbulence closures: how turbulence mixes the column. One file per family, behind one interface."""

from .base import (
    AbstractCloState,
    AbstractClosure,
    AbstractDiagnosticClosure,
    AbstractPlainClosure,
    AbstractStepper,
    BottomFlow,
    CloState,
    ClosureInputs,
    EddyCoefficients,
)
from .bulk_layer import KrausTurner, PriceWellerPinkel
from .catke import CATKE
from .energy import BackgroundMixing
from .epbl import EPBL, EnergyVelocity, OM4WindEnergy, ReichlHallbergWindEnergy
from .harcourt import Harcourt
from .k_epsilon_theta import KEpsilonTheta
from .kpp import KPP, BottomLayer, LargeShear, VelocityScales
from .langmuir import Langmuir, LangmuirCells
from .length_equation import Exponents
from .mass_flux import MassFluxConvection
from .neural import NeuralCorrection
from .one_equation import Blackadar, OneEquation, Parabolic, Triangular
from .recommended import ValidRange, recommended_sets
from .second_moment import SecondMomentClosure
from .simple import (
    ConstantDiffusivity,
    ConvectiveAdjustment,
    MunkAndersonMixing,
    PacanowskiPhilander,
    RiBased,
)
from .stability import ConstantStability, MunkAndersonStability, SchumannGerz
from .tke import TKE, BoundedSlope, Penetration, SurfaceFlux, WithinColumn
from .two_equation import GenericLengthScale, KEpsilon, KOmega, MellorYamada
from .walls import Boundary, BreakingWaves

__all__ = [
    "CATKE",
    "EPBL",
    "KPP",
    "TKE",
    "AbstractClosure",
    "AbstractDiagnosticClosure",
    "AbstractPlainClosure",
    "AbstractStepper",
    "BottomLayer",
    "Boundary",
    "BoundedSlope",
    "BreakingWaves",
    "CloState",
    "ClosureInputs",
    "ConstantDiffusivity",
    "ConvectiveAdjustment",
    "EddyCoefficients",
    "GenericLengthScale",
    "Harcourt",
    "KEpsilon",
    "KEpsilonTheta",
    "KOmega",
    "KrausTurner",
    "Langmuir",
    "MassFluxConvection",
    "MellorYamada",
    "MunkAndersonMixing",
    "NeuralCorrection",
    "OneEquation",
    "PacanowskiPhilander",
    "Penetration",
    "PriceWellerPinkel",
    "RiBased",
    "SecondMomentClosure",
    "recommended_sets",
]


def __dir__() -> list[str]:
    return __all__
