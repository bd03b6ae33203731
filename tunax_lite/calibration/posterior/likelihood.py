"""Assumed errors, and the resulting density of the parameters given the observations.

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

with the loss L of the mean square as score: all observations together are worth n independent ones, whose
normal errors, those of the model included, have the standard deviation `noise` in units of the scale. This is
the loss with a prior of the weight w = 2 noise²/n, divided by w.

The density is a function that JAX can differentiate and put into a larger program. Cases of equal shapes are
stacked, and one is computed after the other: the time loop of each stays the one kernel that it is when it is
alone.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ...declarations import check_settings, setting
from ...model import Model
from ...runtime import Shared
from ..misfit.comparison import misfit, residuals
from ..parameters import UnconstrainedVector
from ..problem import CaseParameters, Problem


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Normal errors, of observations and model together.

    Args:
        noise: standard deviation, in units of the scale of the misfit.
        n_observations: independent observations that all cases together are worth.
    """

    noise: float = setting(above=0.0)
    n_observations: float = setting(above=0.0)

    def __post_init__(self):
        check_settings(self)

    @property
    def prior_weight(self) -> float:
        """Of the priors in a loss whose minimum is the most probable vector."""
        return 2.0 * self.noise**2 / self.n_observations


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Noise and number of observations from the residuals of the best fit.

    All that is left counts as noise, so that a model that cannot be right gets an uncertainty of the size of
    its error; nothing is learnt from how L changes below that. The residuals of one variable and case are
    worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, with their correlations a and b with the next time and the next level, mean error
    included, as for red noise. Sums of squares q with n degrees of freedom each have together those of
    Satterthwaite, (sum q)²/sum (q²/n).

    The problem has the mean square as score. Raises `ValueError` for a fit that is perfect or not finite.

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
    """Independent values, at least 1, that red noise `(n_times, n_levels)` is worth where it counts."""
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


LogDensity = Callable[..., Float[Array, ""]]
"""Of an unconstrained vector and further arguments, differentiable to the vector."""


def log_posterior(problem: Problem) -> tuple[LogDensity, PyTree, Hashable]:
    """Logarithm of the density but for a constant, its arguments after the vector, and its identity.

    The prior weight of the problem, which must be positive, says what the loss is worth: see `likelihood`.
    Problems of equal identity and shapes of arguments share compiled code.
    """
    if not problem.prior_weight > 0.0:
        raise ValueError(f"log_posterior: expected a positive prior_weight, got {problem.prior_weight}.")
    # The cases that count, those of equal shapes in which the same is free together, stacked: of each group
    # what is free; and weights, the places of its numbers in the vector, and comparisons.
    shared: Shared[tuple[CaseParameters, list]] = Shared()
    for weight, own, comparison in zip(problem.weights, problem.of_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(own.places), comparison
            shared.get(lambda own=own: (own, []), comparison, own.free)[1].append(case)
    of_groups = [own for own, _ in shared.all]
    groups = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases) for _, cases in shared.all]
    arguments = problem.model, jnp.asarray(problem.prior_weight), groups
    identity = "log posterior", problem.free_parameters, problem.score, problem.checkpointing

    def of_case(x: UnconstrainedVector, own: CaseParameters, model: Model, weight, places, comparison):
        changed = own.insert(x[places], model, comparison)
        score, _ = misfit(*changed, problem.score, problem.checkpointing)
        return weight * score

    def value_and_gradient(x, model, prior_weight, groups):
        value, gradient = -0.5 * x @ x, -x
        for own, group in zip(of_groups, groups, strict=True):
            gradient_of = functools.partial(jax.value_and_grad(of_case), x, own, model)
            values, gradients = jax.lax.map(lambda case, gradient_of=gradient_of: gradient_of(*case), group)
            value = value - jnp.sum(values) / prior_weight
            gradient = gradient - jnp.sum(gradients, axis=0) / prior_weight
        return value, gradient

    # The gradient is made case by case: nothing of one case is kept while the next is computed.
    @jax.custom_vjp
    def log_density(x, *arguments):
        return value_and_gradient(x, *arguments)[0]

    def forward(x, *arguments):
        return value_and_gradient(x, *arguments)

    def backward(gradient, cotangent):
        return cotangent * gradient, None, None, None  # the arguments are data

    log_density.defvjp(forward, backward)
    return log_density, arguments, identity
