"""Physics of the column outside the closures: sea water, stratification, rotation, shortwave radiation."""

from .absorption import (
    JERLOV_WATER_TYPES,
    AbstractAbsorption,
    Optics,
    RgbAbsorption,
    TwoBandAbsorption,
    TwoBandSeries,
)
from .equation_of_state import (
    AbstractEquationOfState,
    LinearEquationOfState,
    SimplifiedEquationOfState,
    SpecificVolumeTeos10,
    Teos10,
)
from .stratification import (
    buoyancy_frequency_squared,
    buoyancy_per_kelvin,
    coriolis_parameter,
    mixed_layer_depth,
    rotate,
    shear_squared,
    shear_squared_between_cells,
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
