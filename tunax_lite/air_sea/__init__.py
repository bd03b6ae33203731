"""Air-sea fluxes from the weather: bulk formulae, radiation, albedo; one variant per module."""

from .air import AbstractBulkFormula
from .bulk_forcing import BulkForcing, Weather, with_mean_light
from .coare import Coare36, Fairall
from .daylight import MeanLight
from .radiation import (
    AbstractAlbedo,
    AbstractLongwave,
    Bignami,
    Clark,
    ClearSky,
    ConstantAlbedo,
    DownwardLongwave,
    HastenrathLamb,
    Payne,
    SolarPosition,
)
from .transfer_coefficients import Kondo, LargeYeager

__all__ = [
    "BulkForcing",
    "Clark",
    "ClearSky",
    "Coare36",
    "Fairall",
    "Kondo",
    "LargeYeager",
    "Payne",
    "SolarPosition",
    "Weather",
]


def __dir__() -> list[str]:
    return __all__
