"""Loss and gradient, in reverse mode."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ...checkpointing import AbstractCheckpointing, Auto
from ...model import Model
from ...planning import choose_checkpointing
from ...runtime import Program, compile_program
from ..misfit import Comparison, misfit
from ..parameters import UnconstrainedVector
from .base import AbstractEvaluator, AbstractGradientEvaluation, Fit, fit_of
from .problem import Problem


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

    def __call__(self, x: UnconstrainedVector) -> GradientEvaluation:
        """Fit and gradient at an unconstrained vector."""
        problem = self._problem
        results = problem.run(self._programs, x)
        scores = np.array([float(score) for (score, _), _ in results])
        fit = fit_of(problem, x, scores, [mean_squares for (_, mean_squares), _ in results])
        gradient = problem.weighted_sum([gradient for _, gradient in results])
        if problem.prior_weight > 0.0:
            gradient = gradient + problem.prior_weight * np.asarray(x)
        return GradientEvaluation(fit, np.asarray(gradient))

    def _value_and_gradient(self, checkpointing: AbstractCheckpointing):
        problem = self._problem

        def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
            def loss(x):
                return misfit(problem.calibrated(x, model), comparison, problem.score, checkpointing)

            return jax.value_and_grad(loss, has_aux=True)(x)

        return value_and_gradient

    def _identity(self, checkpointing: AbstractCheckpointing) -> tuple[Any, ...]:
        """All that the function is made of besides its arguments."""
        problem = self._problem
        return "value and gradient of a misfit", problem.free_parameters, problem.score, checkpointing

    def _compile(self, comparison: Comparison) -> Program:
        problem, chosen = self._problem, self._problem.checkpointing
        arguments = problem.free_parameters.start(), problem.model, comparison
        if not isinstance(chosen, Auto):
            return compile_program(
                self._value_and_gradient(chosen), *arguments, identity=self._identity(chosen)
            )
        choice = choose_checkpointing(
            self._value_and_gradient,
            arguments,
            chosen.memory_budget // problem.n_threads,
            candidates=chosen.candidates,
        )
        self.explanations += (choice.explanation,)
        return choice.program
