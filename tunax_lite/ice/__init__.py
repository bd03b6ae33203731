"""Ice on the water: models of its thickness, which give the water its fluxes where it is covered."""

from .basal_melt import BasalMelt, MeltLayer
from .base import AbstractIce, IceStep, UppermostCell
from .freezing import FreezingBound, Lebedev
from .mylake import MyLake
from .winton import Winton

__all__ = [
    "AbstractIce",
    "BasalMelt",
    "FreezingBound",
    "IceStep",
    "Lebedev",
    "MeltLayer",
    "MyLake",
    "UppermostCell",
    "Winton",
]
