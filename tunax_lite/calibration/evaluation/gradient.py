"""Loss and gradient, in reverse mode."""

import dataclasses
import functools

import jax
import numpy as np

from ...checkpointing import AbstractCheckpointing, Auto
from ...model import Model
from ...planning import choose_checkpointing
from ...runtime import Program, compile_program
from ..misfit import Comparison, misfit
from ..parameters import UnconstrainedVector
from .base import AbstractEvaluator, AbstractGradientEvaluation, Fit, fit_of
from .mini_batch import MiniBatch
from .problem import CaseParameters, Problem


@dataclasses.dataclass(frozen=True)
class GradientEvaluation(AbstractGradientEvaluation):
    """Fit and gradient of the loss to the unconstrained vector, `(n_parameters,)`."""

    fit: Fit
    gradient: np.ndarray

    @property
    def is_finite(self) -> bool:
        return self.fit.is_finite and bool(np.isfinite(self.gradient).all())


class GradientEvaluator(AbstractEvaluator):
    """Evaluates loss and gradient.

    `Auto` as checkpointing takes the fastest of its candidates that fits, as the compiler counts it, with its
    budget shared among the threads.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self.explanations = ()
        self._programs, self.n_compiled = problem.programs(self._compile)

    def __call__(self, x: UnconstrainedVector, batch: MiniBatch | None = None) -> GradientEvaluation:
        """Fit and gradient at an unconstrained vector, of all cases or of a few."""
        problem = self._problem
        weights = None if batch is None else batch.weights(problem.weights)
        cases = np.arange(len(problem.weights)) if weights is None else np.flatnonzero(weights)
        scores, gradients = np.full(len(problem.weights), np.nan), np.zeros((len(problem.weights), x.size))
        mean_squares: list[dict[str, float]] = [{} for _ in problem.weights]
        for case, ((score, of_case), gradient) in zip(
            cases, problem.run(self._programs, x, cases.tolist()), strict=True
        ):
            scores[case], mean_squares[case] = score, of_case
            gradients[case] = problem.of_cases[case].spread_vector(gradient)
        fit = fit_of(problem, x, scores, mean_squares, weights)
        gradient = problem.weighted_sum(gradients, weights)
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(x)
        return GradientEvaluation(fit, np.asarray(gradient))

    def _value_and_gradient(self, own: CaseParameters, checkpointing: AbstractCheckpointing):
        problem = self._problem

        def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
            def loss(x):
                return misfit(*own.insert(x, model, comparison), problem.score, checkpointing)

            return jax.value_and_grad(loss, has_aux=True)(x)

        return value_and_gradient

    def _compile(self, comparison: Comparison, own: CaseParameters) -> Program:
        problem, chosen = self._problem, self._problem.checkpointing
        arguments = own.free.start(), problem.model, comparison
        if not isinstance(chosen, Auto):
            return compile_program(self._value_and_gradient(own, chosen), *arguments)
        choice = choose_checkpointing(
            functools.partial(self._value_and_gradient, own),
            arguments,
            chosen.memory_budget // problem.n_threads,
            candidates=chosen.candidates,
        )
        self.explanations += (choice.explanation,)
        return choice.program
