"""Physics of the column that no closure owns: sea water, stratification, rotation, shortwave radiation."""

from .absorption import JERLOV_WATER_TYPES as JERLOV_WATER_TYPES
from .absorption import AbstractAbsorption as AbstractAbsorption
from .absorption import RgbAbsorption as RgbAbsorption
from .absorption import TwoBandAbsorption as TwoBandAbsorption
from .equation_of_state import AbstractEquationOfState as AbstractEquationOfState
from .equation_of_state import LinearEquationOfState as LinearEquationOfState
from .equation_of_state import SimplifiedEquationOfState as SimplifiedEquationOfState
from .equation_of_state import SpecificVolumeTeos10 as SpecificVolumeTeos10
from .equation_of_state import Teos10 as Teos10
from .stratification import buoyancy_frequency_squared as buoyancy_frequency_squared
from .stratification import buoyancy_per_kelvin as buoyancy_per_kelvin
from .stratification import coriolis_parameter as coriolis_parameter
from .stratification import mixed_layer_depth as mixed_layer_depth
from .stratification import rotate as rotate
from .stratification import shear_squared as shear_squared
from .stratification import shear_squared_between_cells as shear_squared_between_cells
from .teos10 import surface_temperature as surface_temperature
