"""What a calibration may change: numbers by path, those that are free, and those that follow them."""

from .free import FreeParameter as FreeParameter
from .free import FreeParameters as FreeParameters
from .known import in_short as in_short
from .known import known_parameters as known_parameters
from .known import paths_in_short as paths_in_short
from .known import paths_of_other_cases as paths_of_other_cases
from .known import split_path as split_path
from .known import units_in_short as units_in_short
from .known import with_case_parameters as with_case_parameters
from .known import with_parameters as with_parameters
from .resolved import FreeNumber as FreeNumber
from .resolved import ResolvedParameters as ResolvedParameters
from .resolved import UnconstrainedVector as UnconstrainedVector
from .tied import Tied as Tied
