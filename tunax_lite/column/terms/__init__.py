"""Terms that act on the column between two calls of the closure; `transport` sums them."""

from .advection import AdvectionScheme, VelocityAndLevel, VerticalVelocity, advect
from .base import AbstractTerm, Column, Tendency, accelerating
from .interior import BottomHeat, Interior, Relaxation, RelaxationTarget, layered_rate
from .level import ELEVATION, LakeLevel
from .pressure import (
    AbstractPressureGradient,
    BottomFriction,
    BuoyancyGradient,
    HorizontalGradient,
    LidFriction,
    MeanVelocity,
    PlumeOnSlope,
    SurfaceSlope,
    Vector,
    VelocityAndHeight,
    VelocityAtHeight,
)
from .rain import RainContent
from .restoring import SurfaceRestoring
from .seagrass import Seagrass
from .stokes_drift import (
    AbstractStokesDrift,
    DriftProfiles,
    DriftVector,
    DriftVectors,
    StokesDrift,
    WindSeaDrift,
    WindVector,
)
from .streams import Stream, StreamPlace, Streams, StreamWater
from .turbulence import CounterGradientHeat, NonlocalTransport, StokesMixing

__all__ = [
    "AbstractTerm",
    "BottomFriction",
    "BottomHeat",
    "BuoyancyGradient",
    "Column",
    "Interior",
    "LakeLevel",
    "Relaxation",
    "Seagrass",
    "StokesDrift",
    "Streams",
    "SurfaceRestoring",
    "Tendency",
    "VerticalVelocity",
]


def __dir__() -> list[str]:
    return __all__
