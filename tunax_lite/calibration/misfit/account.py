"""What becomes of the observed values of a target: how many count, and why others do not."""

import dataclasses

import numpy as np

from .operators import Interpolation
from .sampled import Sampled
from .target import Target


@dataclasses.dataclass(frozen=True)
class Account:
    """Values of one variable of one case.

    Args:
        case, variable: names.
        n_counting: values inside of the windows.
        n_missing: heights inside of the windows without a value, at times that have others.
        n_rejected: values that the reader left out because of their quality flags, at any time and height.
        n_above, n_below: values above the uppermost and below the lowest center of the model, which is
            constant there.
    """

    case: str
    variable: str
    n_counting: int
    n_missing: int
    n_rejected: int
    n_above: int
    n_below: int

    @property
    def is_notable(self) -> bool:
        """Whether anything but plain values is in it."""
        return any((self.n_missing, self.n_rejected, self.n_above, self.n_below))

    def __str__(self) -> str:
        notes = (
            (self.n_missing, "missing"),
            (self.n_rejected, "rejected by quality flags"),
            (self.n_above, "above the uppermost center of the model, compared with it"),
            (self.n_below, "below the lowest center of the model, compared with it"),
        )
        said = "; ".join(f"{number} {text}" for number, text in notes if number)
        return f"{self.case}: {self.n_counting} values of {self.variable}" + (f"; {said}" if said else "")


def account(target: Target) -> tuple[Account, ...]:
    """An account of each variable of a target.

    Raises:
        ValueError: windows or heights that do not fit the observations.
    """
    chosen, observations = target.times, target.observations
    lines = []
    for variable in target.weights:
        sampled = target.sampled[variable]
        known = np.isfinite(sampled.values)[chosen]
        n_counting = int(known.sum())
        # Times of other variables have no profile of this one: nothing is missing there.
        n_places = int(sampled.inside[chosen][known.any(axis=1)].sum())
        above, below = _beyond(target, sampled, known, chosen)
        rejected = int(observations.rejected.get(variable, 0))
        lines.append(
            Account(target.case.name, variable, n_counting, n_places - n_counting, rejected, above, below)
        )
    return tuple(lines)


def _beyond(target: Target, sampled: Sampled, known: np.ndarray, chosen: np.ndarray) -> tuple[int, int]:
    """Number of values above the uppermost center of the model, and below the lowest."""
    if sampled.moving is None and not isinstance(sampled.operator, Interpolation):
        return 0, 0
    z = np.broadcast_to(sampled.z, sampled.values.shape)[chosen]
    centers, slack = np.asarray(target.case.grid.z_center), 1e-6 * float(target.case.grid.depth)
    return int((known & (z > centers[-1] + slack)).sum()), int((known & (z < centers[0] - slack)).sum())
