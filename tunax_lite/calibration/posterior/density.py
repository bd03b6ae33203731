"""The density of the parameters as a function that JAX can differentiate and put into a larger program.

Cases of equal shapes are stacked, and one is computed after the other: the time loop of each stays the one
kernel that it is when it is alone.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...model import Model
from ...runtime import shapes_of
from ..evaluation import CaseParameters, Problem
from ..misfit import misfit
from ..parameters import UnconstrainedVector

LogDensity = Callable[..., Float[Array, ""]]
"""Of an unconstrained vector and further arguments, differentiable to the vector."""


def log_posterior(problem: Problem) -> tuple[LogDensity, PyTree, Any]:
    """Logarithm of the density but for a constant, its arguments after the vector, and its identity.

    The prior weight of the problem, which must be positive, says what the loss is worth: see `likelihood`.
    Problems of equal identity and shapes of arguments share compiled code.
    """
    if not problem.prior_weight > 0.0:
        raise ValueError(f"log_posterior: expected a positive prior_weight, got {problem.prior_weight}.")
    of_groups, groups = _groups(problem)
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
        value, gradient = value_and_gradient(x, *arguments)
        return value, (gradient, arguments)

    def backward(kept, cotangent):
        gradient, arguments = kept
        return cotangent * gradient, *(jax.tree.map(_no_cotangent, tree) for tree in arguments)

    log_density.defvjp(forward, backward)
    return log_density, arguments, identity


def _no_cotangent(leaf):
    """Of what is data here."""
    leaf = jnp.asarray(leaf)
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
        return jnp.zeros_like(leaf)
    return jnp.zeros(leaf.shape, jax.dtypes.float0)


def _groups(problem: Problem) -> tuple[list[CaseParameters], list[tuple[Array, Array, PyTree]]]:
    """The cases that count, those of equal shapes in which the same is free together.

    What is free in those of a group, and their weights, the places of their numbers in the vector, and their
    comparisons, stacked.
    """
    found: dict[Any, tuple[CaseParameters, list]] = {}
    for weight, own, comparison in zip(problem.weights, problem.of_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(own.places), comparison
            found.setdefault((shapes_of(comparison), own.free), (own, []))[1].append(case)
    stacked = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases) for _, cases in found.values()]
    return [own for own, _ in found.values()], stacked
