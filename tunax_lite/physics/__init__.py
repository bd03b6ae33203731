"""Physics of the column outside the closures: sea water, stratification, rotation, shortwave radiation."""

from .absorption import AbstractAbsorption, Optics, TwoBandAbsorption, TwoBandSeries
from .equation_of_state import AbstractEquationOfState, LinearEquationOfState, SpecificVolumeTeos10, Teos10
from .stratification import (
    buoyancy_frequency_squared,
    buoyancy_per_kelvin,
    coriolis_parameter,
    mixed_layer_depth,
    shear_squared,
)
from .teos10 import surface_temperature

__all__ = [
    "LinearEquationOfState",
    "Teos10",
    "TwoBandAbsorption",
    "buoyancy_frequency_squared",
    "coriolis_parameter",
    "mixed_layer_depth",
    "shear_squared",
    "surface_temperature",
]


def __dir__() -> list[str]:
    return __all__
