"""Parameters that follow a free one: `p = factor * (the free parameter) + offset`."""

import dataclasses
import math

from .known import Known


@dataclasses.dataclass(frozen=True)
class Tied:
    """A parameter that a calibration changes together with a free one.

    Args:
        path: in the closure or in a case, with dots.
        to: path of the free parameter.
        factor: times the free parameter, not 0.
        offset: in the unit of the tied parameter.
        unit: of the tied parameter; `FreeParameters.resolve` fills it in.

    Raises:
        ValueError: a factor or offset that is not finite, or a factor of 0.
    """

    path: str
    to: str
    factor: float = 1.0
    offset: float = 0.0
    unit: str = ""

    def __post_init__(self):
        if not (math.isfinite(self.factor) and math.isfinite(self.offset)) or self.factor == 0.0:
            raise ValueError(
                f"{self.path}: expected a finite factor other than 0 and a finite offset, got "
                f"{self.factor:g} and {self.offset:g}."
            )

    def value(self, of_free):
        """The value that belongs to one of the free parameter."""
        return self.factor * of_free + self.offset

    def bounds(self, lower: float, upper: float) -> tuple[float, float]:
        """Between which it lies while the free parameter is between two values."""
        ends = sorted((self.value(lower), self.value(upper)))
        return ends[0], ends[1]

    def check(self, info: Known, lower: float, upper: float) -> None:
        """Raise where the bounds of the free parameter lead out of the valid range.

        Raises:
            ValueError: values that the parameter must not have.
        """
        least, largest = self.bounds(lower, upper)
        valid_lower, valid_upper = info.valid_range
        if not valid_lower <= least <= largest <= valid_upper:
            raise ValueError(
                f"{self.path}: expected values within the valid range {valid_lower:g} to {valid_upper:g} "
                f"[{info.unit}], got {least:g} to {largest:g} from {self.to} between {lower:g} and "
                f"{upper:g}; choose narrower bounds of {self.to}, or another factor or offset."
            )

    def __str__(self) -> str:
        return f"{self.factor!r} * {self.to} + {self.offset!r}"
