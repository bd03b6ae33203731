"""A boundary layer whose diffusivity is as large as the energy of wind and convection allows."""

from .epbl import EPBL as EPBL
from .epbl import EPBLState as EPBLState
from .march import EnergyVelocity as EnergyVelocity
from .wind_energy import ConstantWindEnergy as ConstantWindEnergy
from .wind_energy import OM4WindEnergy as OM4WindEnergy
from .wind_energy import ReichlHallbergWindEnergy as ReichlHallbergWindEnergy
