"""How deep shortwave radiation goes; one kind of optics per module."""

from .base import AbstractAbsorption as AbstractAbsorption
from .rgb import RgbAbsorption as RgbAbsorption
from .two_band import JERLOV_WATER_TYPES as JERLOV_WATER_TYPES
from .two_band import TwoBandAbsorption as TwoBandAbsorption
