"""Ice models: ice thickness, and the fluxes into the water below."""

from .basal_melt import BasalMelt
from .base import AbstractIce
from .freezing import Lebedev
from .mylake import MyLake
from .winton import Winton

__all__ = [
    "BasalMelt",
    "Lebedev",
    "MyLake",
    "Winton",
]


def __dir__() -> list[str]:
    return __all__
