"""The prior of a vector whose numbers are like their neighbours: of an initial profile, of a flux over time.

    p = mean + s L x,        L Lᵀ = C,        C_ij = exp(-(z_i - z_j)² / (2 length²))

with the places z_i of the numbers in height or time and the Cholesky factor L: the density of the vector x is
that of N(0, I), and p has the covariance s² C. What a variational assimilation calls the matrix of background
errors is this covariance.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...declarations import named, setting
from .base import check_positive
from .normal import Normal

_NUGGET = 1e-8
"""Of the variance, on the diagonal: without it, neighbours much closer than the length make C singular."""


@named("correlated_normal")
@dataclasses.dataclass(frozen=True)
class CorrelatedNormal(Normal):
    """Normal numbers of a vector, correlated over a length; of one of them alone, `Normal`.

    Args:
        mean, standard_deviation: of each number, in its unit.
        length: of the correlation, in the unit of the coordinate: [m] of a profile, [s] of a series.
        lower, upper: where a number has no meaning any more; they are not cut, but must be far.

    Raises:
        ValueError: as `Normal`, or a length that is not positive.
    """

    length: float = setting(above=0.0, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        check_positive(self, "length")

    def factor(self, coordinates: Sequence[float]) -> np.ndarray:
        """L of numbers at some places, `(n, n)`."""
        z = np.asarray(coordinates, dtype=float)
        correlation = np.exp(-0.5 * ((z[:, None] - z[None, :]) / self.length) ** 2)
        return np.linalg.cholesky(correlation + _NUGGET * np.eye(z.size))
