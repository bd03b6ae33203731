"""The one-equation closure: k, and a length that follows from the column."""

from .bougeault_andre import BougeaultAndre as BougeaultAndre
from .lengths import AbstractLength as AbstractLength
from .lengths import Blackadar as Blackadar
from .lengths import Parabolic as Parabolic
from .lengths import RobertOuellet as RobertOuellet
from .lengths import Triangular as Triangular
from .lengths import XingDavies as XingDavies
from .one_equation import OneEquation as OneEquation
