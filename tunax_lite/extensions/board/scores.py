"""Rows of a board: mean errors over all simulations, or over those that the constants did not see.

Intervals are from a bootstrap: simulations are drawn with replacement, the same ones for every row, and the
mean error of a row is divided by that of the reference on the same draw.
"""

import dataclasses
import math
from collections.abc import Collection, Sequence

import numpy as np

from ...calibration.validation import ErrorRow

LEVEL = 0.9
"""Probability of the intervals."""
_N_DRAWS, _FEWEST = 2000, 3  # bootstrap samples; least number of simulations for an interval


def bootstrap_means(values: np.ndarray) -> np.ndarray:
    """Means of bootstrap samples, with the same indices for each number of values; empty for few or NaN."""
    n = len(values)
    if n < _FEWEST or not np.isfinite(values).all():
        return np.zeros(0)
    return values[np.random.default_rng(0).integers(n, size=(_N_DRAWS, n))].mean(axis=1)


@dataclasses.dataclass(frozen=True)
class Score:
    """Mean and largest temperature error over n simulations [K], ratio to the reference [1], and intervals.

    Limits of intervals are NaN for fewer than three simulations, or if a run failed.
    """

    n: int
    mean: float
    lower: float
    upper: float
    worst: float
    ratio: float
    ratio_lower: float
    ratio_upper: float


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the board; errors are NaN where a run failed."""

    label: str
    constants_from: str
    saw: tuple[str, ...] | None  # names of sources and simulations; `None` if unknown
    results: tuple[ErrorRow, ...]  # one for each simulation and variable
    unseen: frozenset[str] = frozenset()  # simulations that its constants did not see

    def errors(self, *variables: str) -> dict[str, float]:
        """Errors by simulation; for the components of a vector, the root of the sum of squared errors."""
        squares: dict[str, float] = {}
        for row in self.results:
            if row.variable in variables:
                squares[row.case] = squares.get(row.case, 0.0) + row.root_mean_square**2
        return {name: math.sqrt(square) for name, square in squares.items()}

    def mean(self, *variables: str) -> float:
        """Mean of the errors over the simulations."""
        return float(np.mean(list(self.errors(*variables).values()))) if self.results else math.nan

    def score(self, reference: "Row", only: Collection[str] | None = None) -> Score | None:
        """Score of the temperature errors in all simulations, or only in some; `None` if there are none."""
        by_name, by_name_of_reference = (row.errors("temperature") for row in (self, reference))
        names = [name for name in by_name if only is None or name in only]
        if not names:
            return None
        errors = np.array([by_name[name] for name in names])
        divisors = np.array([by_name_of_reference[name] for name in names])
        levels = 0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL
        low = high = ratio_low = ratio_high = math.nan
        means, means_of_reference = bootstrap_means(errors), bootstrap_means(divisors)
        if means.size:
            low, high = np.quantile(means, levels).tolist()
        if means.size and means_of_reference.size:
            ratio_low, ratio_high = np.quantile(means / means_of_reference, levels).tolist()
        mean, ratio = float(errors.mean()), float(errors.mean() / divisors.mean())
        return Score(len(names), mean, low, high, float(errors.max()), ratio, ratio_low, ratio_high)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Rows by their mean error, failures last."""
    means = {row.label: row.mean("temperature") for row in rows}
    return sorted(rows, key=lambda row: (not math.isfinite(means[row.label]), means[row.label]))
