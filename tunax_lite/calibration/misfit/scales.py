"""What a difference between model and observation is divided by, before it is squared."""

import abc
import dataclasses
import math

import numpy as np

from ...declarations import named
from ...observations import Observations


class AbstractScale(abc.ABC):
    """What a difference of a variable is divided by."""

    @abc.abstractmethod
    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        """Scale of a variable in its unit, from the values that count."""


@named("physical")
@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del variable, observed, observations
        return 1.0


@named("z_score")
@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of what was observed, as in Wagner et al. (2025)."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        deviation = float(np.std(observed))
        # Round-off of a constant profile is no variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@named("uncertainty")
@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation that comes with the observations."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del observed
        if variable not in observations.uncertainty:
            known = ", ".join(observations.uncertainty) or "none"
            raise ValueError(
                f"{observations.name}: expected an uncertainty of {variable}, the observations have "
                f"{known}; add it or choose another scale."
            )
        deviation = float(observations.uncertainty[variable])
        if not (math.isfinite(deviation) and deviation > 0.0):
            raise ValueError(
                f"{observations.name}: expected a positive uncertainty of {variable}, got {deviation}."
            )
        return deviation
