"""Assumed errors, and the resulting density of the parameters given the observations.

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

with the loss L of the mean square as score: all observations together are worth n independent ones with
normal errors, including those of the model, of standard deviation `noise` in units of the scale. This equals
the loss with a prior of weight w = 2 noise²/n, divided by w.

The density is a function that JAX can differentiate and embed in a larger program. Cases of equal shapes are
stacked and computed one after another, so that their time loops remain single kernels.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ...column.model import Model
from ...declarations import check_settings, setting
from ...runtime import Shared
from ..misfit.comparison import misfit, residuals
from ..parameters import UnconstrainedVector
from ..problem import CaseParameters, Problem


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Normal errors of observations and model together.

    Args:
        noise: standard deviation, in units of the scale of the misfit.
        n_observations: number of independent observations in all cases together.
    """

    noise: float = setting(above=0.0)
    n_observations: float = setting(above=0.0)

    def __post_init__(self):
        check_settings(self)

    @property
    def prior_weight(self) -> float:
        """Weight of the priors in a loss whose minimum is the mode."""
        return 2.0 * self.noise**2 / self.n_observations


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Noise and number of observations from the residuals of the best fit.

    All residuals count as noise, so that a model with structural error gets parameter uncertainties of the
    size of that error; changes of L below it carry no information. The residuals of one variable and case are
    worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, where a and b are their correlations with the next time and the next level (including
    the mean error), as for red noise. Sums of squares q with n degrees of freedom each combine to those of
    Satterthwaite, (sum q)²/sum (q²/n).

    The score must be the mean square. Raises `ValueError` for a fit that is perfect or not finite.

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
    """Number of independent values, at least 1, in red noise `(n_times, n_levels)` at the selected values."""
    number = float(counts.sum())
    for axis, length in enumerate(values.shape):
        correlation = _lag_one(values, counts, axis)
        # Limit the effect of anticorrelated noise, and of a field that never changes.
        number *= min(1.0, max((1.0 - correlation) / (1.0 + correlation), 1.0 / length))
    return max(1.0, number)


def _lag_one(values: np.ndarray, counts: np.ndarray, axis: int) -> float:
    """Correlation with the next value along an axis, without subtracting the mean."""
    values, counts = np.moveaxis(values, axis, 0), np.moveaxis(counts, axis, 0)
    both = counts[1:] & counts[:-1]
    first, second = values[:-1][both], values[1:][both]
    size = math.sqrt(float(first @ first) * float(second @ second))
    return max(0.0, float(first @ second) / size) if size > 0.0 else 0.0


LogDensity = Callable[..., Float[Array, ""]]
"""Of an unconstrained vector and further arguments, differentiable to the vector."""


def log_posterior(problem: Problem) -> tuple[LogDensity, PyTree, Hashable]:
    """Log density up to a constant, its arguments after the vector, and its identity.

    The prior weight of the problem must be positive: see `likelihood`. Problems of equal identity and
    argument shapes share compiled code.
    """
    if not problem.prior_weight > 0.0:
        raise ValueError(f"log_posterior: expected a positive prior_weight, got {problem.prior_weight}.")
    # Stack the cases of equal shapes with the same free parameters. Each group has its free parameters,
    # weights, the indices of its numbers in the vector, and comparisons.
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
        def score_of(z):
            changed = own.insert(z, model, comparison)
            if comparison.steps is None:
                score, _ = misfit(*changed, problem.score, problem.checkpointing)
                return weight * score
            by_variable, _ = residuals(*changed)
            return weight * problem.score(sum(jnp.sum(part**2) for part in by_variable.values()))

        z = x[places]
        if comparison.steps is None:
            value, slopes = jax.value_and_grad(score_of)(z)
        else:  # only forward mode follows its steps
            along = lambda direction: jax.jvp(score_of, (z,), (direction,))  # noqa: E731
            value, slopes = jax.vmap(along, in_axes=-1, out_axes=(None, 0))(jnp.eye(z.size, dtype=z.dtype))
        return value, jnp.zeros_like(x).at[places].add(slopes)

    def value_and_gradient(x, model, prior_weight, groups):
        value, gradient = -0.5 * x @ x, -x
        for own, group in zip(of_groups, groups, strict=True):
            here = functools.partial(of_case, x, own, model)
            values, gradients = jax.lax.map(lambda case, here=here: here(*case), group)
            value = value - jnp.sum(values) / prior_weight
            gradient = gradient - jnp.sum(gradients, axis=0) / prior_weight
        return value, gradient

    # The gradient is computed case by case: nothing of one case is stored while the next is computed.
    @jax.custom_vjp
    def log_density(x, *arguments):
        return value_and_gradient(x, *arguments)[0]

    def forward(x, *arguments):
        return value_and_gradient(x, *arguments)

    def backward(gradient, cotangent):
        return cotangent * gradient, None, None, None  # the other arguments are data

    log_density.defvjp(forward, backward)
    return log_density, arguments, identity
