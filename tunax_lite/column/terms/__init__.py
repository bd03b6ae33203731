"""Terms that act on the column between two calls of the closure; `transport` sums them."""

from .advection import AdvectionScheme, VelocityAndLevel, VerticalVelocity, advect
from .base import AbstractTerm, Column, Tendency
from .interior import BottomHeat, Interior, Relaxation, RelaxationTarget, layered_rate
from .level import ELEVATION, LakeLevel
from .pressure import (
    BottomFriction,
    BuoyancyGradient,
    HorizontalGradient,
    LidFriction,
    MeanVelocity,
    PlumeOnSlope,
    SurfaceSlope,
    VelocityAndHeight,
    VelocityAtHeight,
)
from .restoring import SurfaceRestoring
from .seagrass import Seagrass
from .stokes_drift import DriftProfiles, DriftVector, DriftVectors, StokesDrift, WindSeaDrift, WindVector
from .streams import Stream, Streams, StreamWater

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
