"""What acts on the column between two calls of the closure: terms, which `transport` sums."""

from .base import AbstractTerm as AbstractTerm
from .base import Column as Column
from .base import Tendency as Tendency
from .base import accelerating as accelerating
from .turbulence import CounterGradientHeat as CounterGradientHeat
from .turbulence import NonlocalTransport as NonlocalTransport
from .turbulence import StokesMixing as StokesMixing
