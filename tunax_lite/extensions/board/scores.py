"""Rows of a board: errors over simulations, with intervals, all of them and those that a row never saw.

Intervals are those of the bootstrap: simulations are drawn with replacement, the same ones for every row, and
the mean error of a row is divided by that of the reference on the same draw.
"""

import dataclasses
import math
from collections.abc import Collection, Sequence

import numpy as np

from ...calibration.validation import ErrorRow

LEVEL = 0.9
"""Probability of the intervals."""
_DRAWS, _FEWEST = 2000, 3  # of simulations; number of them that an interval needs


def drawn_again(values: np.ndarray) -> np.ndarray:
    """Means of numbers drawn with replacement, the same places in every call; none of too few or of NaN."""
    n = len(values)
    if n < _FEWEST or not np.isfinite(values).all():
        return np.zeros(0)
    return values[np.random.default_rng(0).integers(n, size=(_DRAWS, n))].mean(axis=1)


@dataclasses.dataclass(frozen=True)
class Score:
    """Mean and largest error over n simulations [K], and the ratio of means to the reference on the same."""

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
    """A row of the board; numbers are NaN where a run failed."""

    label: str
    constants_from: str
    saw: tuple[str, ...] | None  # names of sources and simulations; `None` if unknown
    results: tuple[ErrorRow, ...]  # one for each simulation and variable
    unseen: frozenset[str] = frozenset()  # simulations that its constants did not see

    def errors(self, *variables: str) -> dict[str, float]:
        """Errors of a variable, or lengths of those of the components of a vector, by simulation."""
        squares: dict[str, float] = {}
        for row in self.results:
            if row.variable in variables:
                squares[row.case] = squares.get(row.case, 0.0) + row.root_mean_square**2
        return {name: math.sqrt(square) for name, square in squares.items()}

    def mean(self, *variables: str) -> float:
        """The mean of the errors over the simulations."""
        return float(np.mean(list(self.errors(*variables).values()))) if self.results else math.nan

    def score(self, reference: "Row", only: Collection[str] | None = None) -> Score | None:
        """The score on all simulations, or only on some; `None` if there are none."""
        errors, theirs = (row.errors("temperature") for row in (self, reference))
        names = [name for name in errors if only is None or name in only]
        if not names:
            return None
        own, other = np.array([[each[name] for name in names] for each in (errors, theirs)])
        ends = 0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL
        low = high = ratio_low = ratio_high = math.nan
        means, others = drawn_again(own), drawn_again(other)
        if means.size:
            low, high = np.quantile(means, ends).tolist()
        if means.size and others.size:
            ratio_low, ratio_high = np.quantile(means / others, ends).tolist()
        mean, ratio = float(own.mean()), float(own.mean() / other.mean())
        return Score(len(names), mean, low, high, float(own.max()), ratio, ratio_low, ratio_high)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Rows by their mean error, failures last."""
    means = {row.label: row.mean("temperature") for row in rows}
    return sorted(rows, key=lambda row: (not math.isfinite(means[row.label]), means[row.label]))
