"""Adaptive importance sampling: runs drawn from wide distributions, weighted by the density.

    w_i ~ p(x_i) / q(x_i),   q = mean of the distributions of all rounds so far

The first round draws from Student's distribution with five degrees of freedom about the medians of the
priors, each further one from that with the weighted mean and covariance of all runs so far.

No derivatives: kinks, plateaus and failed runs (of weight 0) do no harm. The members of a round are columns
of one batch. For a few parameters; among more than some ten, few of the runs have weight.

Source: Cornuet et al. (2012), Scand. J. Stat. 39, 798-812; Owen and Zhou (2000), J. Am. Stat. Assoc. 95,
135-143, for the mixture; Kong (1992), Univ. of Chicago Tech. Rep. 348, for the effective number.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...declarations import check_settings, named, setting

_DEGREES_OF_FREEDOM = 5.0
_WIDENING = 1.2
"""Of the covariance of a round over that of the runs so far: tails must not be missed."""


@named("importance")
@dataclasses.dataclass(frozen=True)
class ImportanceSampling:
    """Runs from wide distributions that adapt, weighted by the density.

    Args:
        n_draws: draws of the result, taken from the runs by their weights.
        n_runs: members of a round.
        n_rounds: number of rounds.
        seed: of all random numbers.
    """

    n_draws: int = setting(4000, at_least=2)
    n_runs: int = setting(64, at_least=8)
    n_rounds: int = setting(24, at_least=2)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        check_settings(self)


class _Student(NamedTuple):
    """Student's distribution with a location and a shape, the covariance but for a factor of 5/3."""

    mean: np.ndarray  # (n_parameters,)
    shape: np.ndarray  # (n_parameters, n_parameters)

    def draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Members, `(n, n_parameters)`."""
        normal = random.standard_normal((n, self.mean.size)) @ np.linalg.cholesky(self.shape).T
        chi_squared = random.chisquare(_DEGREES_OF_FREEDOM, (n, 1))
        return self.mean + normal * np.sqrt(_DEGREES_OF_FREEDOM / chi_squared)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Up to a constant of the dimension alone, of members `(n, n_parameters)`."""
        away = x - self.mean
        distance = np.sum(away * np.linalg.solve(self.shape, away.T).T, axis=1)
        half = 0.5 * (_DEGREES_OF_FREEDOM + self.mean.size)
        return -half * np.log1p(distance / _DEGREES_OF_FREEDOM) - 0.5 * np.linalg.slogdet(self.shape)[1]


class Weighted(NamedTuple):
    """Runs, weights with the sum 1, and the log density up to a constant, -inf of a run that failed."""

    x: np.ndarray  # (n, n_parameters)
    weights: np.ndarray  # (n,)
    log_density: np.ndarray  # (n,)

    @property
    def effective_size(self) -> float:
        """Number of equal weights worth as much."""
        return float(1.0 / np.sum(self.weights**2))

    @property
    def mean(self) -> np.ndarray:
        return self.weights @ self.x

    @property
    def covariance(self) -> np.ndarray:
        away = self.x - self.mean
        return away.T @ (self.weights[:, None] * away)


def weigh_runs(
    method: ImportanceSampling,
    n_parameters: int,
    log_density: Callable[[np.ndarray], np.ndarray],
    report: Callable[[float, Weighted], None] = lambda fraction, runs: None,
) -> Weighted:
    """Runs and weights for the log density of members `(n_parameters, n)`, NaN of those that fail.

    Raises:
        FloatingPointError: no run of the first round has a finite density.
    """
    random, shape = np.random.default_rng(method.seed), np.eye(n_parameters)
    proposals = [_Student(np.zeros(n_parameters), shape)]
    x, density = np.zeros((0, n_parameters)), np.zeros(0)
    runs = Weighted(x, density, density)
    for number in range(method.n_rounds):
        members = proposals[-1].draw(method.n_runs, random)
        found = np.asarray(log_density(members.T), float)
        x = np.concatenate([x, members])
        density = np.concatenate([density, np.where(np.isfinite(found), found, -np.inf)])
        if not np.isfinite(density).any():
            raise FloatingPointError(
                "importance: expected a finite loss in some of the first runs, got none; choose narrower "
                "priors or a shorter time step."
            )
        ratio = density - np.logaddexp.reduce([each.log_density(x) for each in proposals], axis=0)
        weights = np.exp(ratio - ratio.max())
        runs = Weighted(x, weights / weights.sum(), density)
        report((number + 1.0) / method.n_rounds, runs)
        # Few runs of weight say little of the covariance: the last one counts as one more than its dimension.
        size, few = runs.effective_size, n_parameters + 1.0
        shape = (size * runs.covariance + few * shape) / (size + few)
        proposals.append(_Student(runs.mean, _WIDENING * shape))
    return runs


def resampled(runs: Weighted, n: int, seed: int) -> np.ndarray:
    """Places of n runs, each as often as its weight asks for, in random order (systematic resampling)."""
    random = np.random.default_rng(seed)
    places = np.searchsorted(np.cumsum(runs.weights), (np.arange(n) + random.random()) / n)
    return random.permutation(np.minimum(places, len(runs.weights) - 1))
