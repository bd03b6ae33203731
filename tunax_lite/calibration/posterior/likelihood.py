"""What is believed about the errors, and with it the density of the parameters given the observations.

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

with the loss L of the mean square as score: all observations together are worth n independent ones, whose
normal errors, those of the model included, have the standard deviation `noise` in units of the scale. This is
the loss with a prior of the weight w = 2 noise²/n, divided by w.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..evaluation import Problem
from ..misfit import residuals
from ..parameters import UnconstrainedVector


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Normal errors, of observations and model together.

    Args:
        noise: standard deviation, in units of the scale of the misfit.
        n_observations: independent observations that all cases together are worth.

    Raises:
        ValueError: numbers that are not positive and finite.
    """

    noise: float
    n_observations: float

    def __post_init__(self):
        for name in ("noise", "n_observations"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"Likelihood: expected a positive {name}, got {value}.")

    @property
    def prior_weight(self) -> float:
        """Of the priors in a loss whose minimum is the most probable vector."""
        return 2.0 * self.noise**2 / self.n_observations


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Noise and number of observations from what the best fit leaves unexplained.

    All that is left counts as noise, so that a model that cannot be right gets an uncertainty of the size of
    its error; nothing is learnt from how L changes below that. The residuals of one variable and case are
    worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, with their correlations a and b with the next time and the next level, mean error
    included, as for red noise. Sums of squares q with n degrees of freedom each have together those of
    Satterthwaite, (sum q)²/sum (q²/n).

    Args:
        problem: with the mean square as score.
        x: the best fit.

    Raises:
        ValueError: a perfect fit, or one that is not finite.

    Source: Bartlett (1935), J. R. Stat. Soc. 98, 536-543; Satterthwaite (1946), Biometrics Bull. 2, 110-114.
    """
    run = jax.jit(residuals)
    squares, freedoms = [], []
    for index, (weight, comparison) in enumerate(zip(problem.weights, problem.comparisons, strict=True)):
        if weight == 0.0:
            continue
        by_variable, _ = run(*problem.calibrated(jnp.asarray(x), index))
        for name, values in by_variable.items():
            values, counts = np.asarray(values, float), np.asarray(comparison.counts[name]) > 0.0
            squares.append(float(weight) * float(np.sum(values**2)))
            freedoms.append(effective_number(values, counts))
    total = sum(squares)
    if not (math.isfinite(total) and total > 0.0):
        raise ValueError(
            f"estimate_likelihood: expected a finite mean square above 0 at the best fit, got {total:g}; "
            "give noise and n_observations."
        )
    number = total**2 / sum(q**2 / n for q, n in zip(squares, freedoms, strict=True))
    return Likelihood(math.sqrt(total), float(number))


def effective_number(values: np.ndarray, counts: np.ndarray) -> float:
    """Independent values that a field of red noise is worth, at least 1.

    Args:
        values: `(n_times, n_levels)`.
        counts: which of them count, of the same shape.
    """
    number = float(counts.sum())
    for axis, length in enumerate(values.shape):
        correlation = _lag_one(values, counts, axis)
        # Neither anticorrelated noise nor a field that never changes is counted for more or less than that.
        number *= min(1.0, max((1.0 - correlation) / (1.0 + correlation), 1.0 / length))
    return max(1.0, number)


def _lag_one(values: np.ndarray, counts: np.ndarray, axis: int) -> float:
    """Correlation with the next value along an axis, without taking off the mean."""
    values, counts = np.moveaxis(values, axis, 0), np.moveaxis(counts, axis, 0)
    both = counts[1:] & counts[:-1]
    first, second = values[:-1][both], values[1:][both]
    size = math.sqrt(float(first @ first) * float(second @ second))
    return max(0.0, float(first @ second) / size) if size > 0.0 else 0.0
