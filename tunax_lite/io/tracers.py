"""Tracers in files of profiles: pools of biogeochemistry and others outside the table of quantities.

A tracer has the unit of the term that carries it. Files give concentrations per volume or per mass of water
(`umol kg-1`, as floats do); these differ by the potential density.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import constants
from .._types import warn_of_input
from .errors import name_of
from .table import is_text
from .units import Conversion, concentration
from .variables import error_of, note_on, numbers_in, unit_in_file

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Tracer:
    """Variable and unit of a tracer in a file.

    Args:
        variable: its name in the file.
        unit: unit in the package; `None` keeps the unit of the file.
        conversion: factor, offset and sign, and a unit that replaces that of the file.
    """

    variable: str
    unit: str | None = None
    conversion: Conversion = Conversion()

    def converted(self, variable: "xr.DataArray", key: str) -> tuple[np.ndarray, dict[str, float]]:
        """Convert values to the unit of the package; also return attributes of values per mass of water.

        Values per mass are converted with the reference density; `of_density`, the power of the density, and
        `offset` let `observations_from_dataset` use the potential density instead. Values in text without a
        unit are taken to be in that of the package, with a warning.

        Args:
            variable: of the file, with its unit.
            key: name of the tracer.

        Raises:
            FileFormatError: a unit that is missing, or does not convert to that of the package.
        """
        scale, power, change = 1.0, 0, self.conversion
        is_bare = change.unit is None and "units" not in variable.attrs and is_text(name_of(variable))
        if self.unit is not None and is_bare and change.factor == 1.0:
            note = f"no unit, taken to be in that of {key}, {self.unit}; if it is another, give `unit`"
            warn_of_input([note_on(variable, note)])
        if self.unit is not None and not is_bare:
            unit = unit_in_file(variable, change.unit, key)
            try:
                scale, power = concentration(unit, self.unit)
            except ValueError as error:
                expected, _, advice = str(error).removeprefix("expected ").removesuffix(".").partition("; ")
                advice = advice or f"give the unit of {key} (unit), or a factor with the unit {self.unit}"
                raise error_of(variable, expected.partition(", got")[0], f"'{unit}'", advice) from None
        scale, offset = change.sign * change.factor * scale, change.sign * change.offset
        values = numbers_in(variable) * scale * constants.REFERENCE_DENSITY**power + offset
        return values, {"of_density": float(power), "offset": offset} if power else {}


Tracers = Mapping[str, str | Tracer]
"""Tracers to read, by name; a text is the name of a variable, which keeps its unit."""


def as_tracers(tracers: Tracers | None) -> dict[str, Tracer]:
    """Convert names of variables to instances of `Tracer`."""
    listed = (tracers or {}).items()
    return {key: each if isinstance(each, Tracer) else Tracer(variable=each) for key, each in listed}
