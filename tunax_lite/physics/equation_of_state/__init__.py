"""Sea water: how temperature and salinity set its buoyancy; one equation of state per module."""

from .base import AbstractEquationOfState as AbstractEquationOfState
from .linear import LinearEquationOfState as LinearEquationOfState
from .simplified import SimplifiedEquationOfState as SimplifiedEquationOfState
from .specific_volume import SpecificVolumeTeos10 as SpecificVolumeTeos10
from .teos10 import Teos10 as Teos10
