"""One equation for k, with the length of a parcel against the stratification: Gaspar, NEMO, Veros."""

from .length_bounds import AbstractLengthBounds as AbstractLengthBounds
from .length_bounds import BoundedSlope as BoundedSlope
from .length_bounds import UpAndDown as UpAndDown
from .length_bounds import WithinColumn as WithinColumn
from .length_bounds import WithinSpacing as WithinSpacing
from .surface import AbstractSurfaceEnergy as AbstractSurfaceEnergy
from .surface import LangmuirCells as LangmuirCells
from .surface import Penetration as Penetration
from .surface import SurfaceFlux as SurfaceFlux
from .surface import SurfaceValue as SurfaceValue
from .tke import TKE as TKE
