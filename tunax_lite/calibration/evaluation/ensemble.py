"""Losses of the members of an ensemble, and the products of their residuals.

Members are columns of one batch. With the residuals r_i of member i, whose squares sum to its mean square,

    products_ij = sum_c w_c s'(m_c) r_ci · r_cj

where m_c is the mean square of the mean of the ensemble. For the mean square as score s' = 1, and the
diagonal holds the losses. What an ensemble Kalman method needs of the residuals is in these products.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...model import Model
from ...runtime import Program, compile_program
from ..misfit import Comparison, residuals
from ..parameters import UnconstrainedVector
from .base import AbstractEvaluation, AbstractEvaluator, Fit, fit_of
from .problem import CaseParameters, Problem

T = TypeVar("T", bound=eqx.Module)
Members = Float[Array, "parameter member"]

_HUGE = 100.0
"""Times the median of the losses: what a member that has left the region of sense gives."""


@dataclasses.dataclass(frozen=True)
class EnsembleEvaluation(AbstractEvaluation):
    """Fit of the mean of an ensemble, losses of its members and products of their residuals.

    Args:
        fit: of the mean.
        losses: `(n_members,)`.
        products: of residuals, `(n_members, n_members)`; not finite for members that are not.
    """

    fit: Fit
    losses: np.ndarray
    products: np.ndarray

    @property
    def failed(self) -> np.ndarray:
        """Members whose loss is not finite, or huge beside the median, `(n_members,)`."""
        finite = np.isfinite(self.losses) & np.isfinite(np.diag(self.products))
        if not finite.any():
            return ~finite
        with np.errstate(invalid="ignore"):
            return ~(finite & (self.losses <= _HUGE * np.median(self.losses[finite])))

    @property
    def is_finite(self) -> bool:
        return self.fit.is_finite

    @property
    def gradient_norm(self) -> float:
        return float("nan")

    @property
    def n_failed(self) -> int:
        return int(self.failed.sum())


class EnsembleEvaluator(AbstractEvaluator):
    """Evaluates members and their mean as columns of a batch, compiled when their number is known."""

    def __init__(self, problem: Problem):
        if problem.prior_weight > 0.0:
            raise ValueError(
                "prior_weight: expected 0 for a method whose ensemble starts from the prior, got "
                f"{problem.prior_weight:g}; leave it out."
            )
        self._problem = problem
        self.explanations = ()
        self.n_compiled = 0
        self._programs: list[Program] = []
        self._slope = jax.jit(jax.grad(problem.score))

    def __call__(self, members: Members) -> EnsembleEvaluation:
        """Fit of the mean, which is one more column, and what the members gave."""
        problem = self._problem
        columns = jnp.concatenate([members, jnp.mean(members, axis=1, keepdims=True)], axis=1)
        if not self._programs:
            self._programs, self.n_compiled = problem.programs(functools.partial(self._compile, columns))
        results = problem.run(self._programs, columns)
        scores = np.array([scores for scores, _, _ in results], dtype=float)
        of_mean = [{name: found[-1] for name, found in mean_squares.items()} for *_, mean_squares in results]
        fit = fit_of(problem, columns[:, -1], scores[:, -1], of_mean)
        products = [self._slope(products[-1, -1]) * products[:-1, :-1] for _, products, _ in results]
        return EnsembleEvaluation(
            fit, np.asarray(problem.weighted_sum(scores[:, :-1])), np.asarray(problem.weighted_sum(products))
        )

    def _compile(self, columns: Members, comparison: Comparison, own: CaseParameters) -> Program:
        problem, columns = self._problem, own.of(columns)

        def evaluate(columns: Members, model: Model, comparison: Comparison):
            closure = insert_members(own.free.insert, model.closure, columns)
            model = eqx.tree_at(lambda m: m.closure, model, closure)
            if own.free.changes_cases:
                case = insert_members(own.free.insert_case, comparison.case, columns)
                comparison = eqx.tree_at(lambda c: c.case, comparison, case)
            by_variable, mean_squares = residuals(model, comparison)
            flat = jnp.concatenate([part.reshape(-1, columns.shape[1]) for part in by_variable.values()])
            products = flat.T @ flat
            return problem.score(jnp.diagonal(products)), products, mean_squares

        return compile_program(evaluate, columns, problem.model, comparison)


def insert_members(insert: Callable[[T, UnconstrainedVector], T], module: T, members: Members) -> T:
    """The closure, or the case, with one value per member, along a trailing axis, of what is free in it.

    All else keeps its shape: the time loop carries a number that all columns share at less cost.

    Args:
        insert: `insert` or `insert_case` of the free parameters.
        module: the closure or the case.
        members: unconstrained vectors.
    """

    def is_none(leaf) -> bool:
        return leaf is None

    old = jax.tree.leaves(module, is_leaf=is_none)
    structure = jax.tree.structure(module, is_leaf=is_none)
    places: list[int] = []

    def replaced(x):
        new = jax.tree.leaves(insert(module, x), is_leaf=is_none)
        places[:] = [i for i, (before, after) in enumerate(zip(old, new, strict=True)) if after is not before]
        return [new[i] for i in places]

    batched = jax.vmap(replaced, in_axes=-1, out_axes=-1)(members)
    leaves = list(old)
    for place, leaf in zip(places, batched, strict=True):
        leaves[place] = leaf
    return jax.tree.unflatten(structure, leaves)
