"""The most probable vector, by Levenberg-Marquardt steps on the loss with priors."""

import math
from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np

from ..evaluation import NormalEquationsEvaluation, NormalEquationsEvaluator
from ..methods import LevenbergMarquardt
from ..parameters import ResolvedParameters, UnconstrainedVector

_FARTHEST = 3.0
"""From the median: where a bounded parameter feels the observations next to nothing."""


def start_from(free: ResolvedParameters, values: Mapping[str, float]) -> UnconstrainedVector:
    """The unconstrained vector of values that a calibration left, away from the bounds.

    Args:
        free: those without a value start where they would.
        values: by path.
    """
    given, on_bound, has_bounds = {}, {}, np.zeros(len(free.numbers), bool)
    for i, parameter in enumerate(free.numbers):
        prior = parameter.distribution
        value = float(values.get(parameter.path, parameter.start))
        has_bounds[i] = math.isfinite(prior.lower) and math.isfinite(prior.upper)
        if value in (prior.lower, prior.upper):
            on_bound[i] = -_FARTHEST if value == prior.lower else _FARTHEST
        inside = prior.lower < value < prior.upper
        given[parameter.path] = value if inside else parameter.start
    x = np.asarray(free.to_unconstrained(given)).copy()
    for i, far in on_bound.items():
        x[i] = far
    return jnp.asarray(np.where(has_bounds, np.clip(x, -_FARTHEST, _FARTHEST), x))


def find_mode(
    evaluator: NormalEquationsEvaluator,
    start: UnconstrainedVector,
    n_iterations: int,
    report: Callable[[int, float], None] | None = None,
) -> tuple[np.ndarray, NormalEquationsEvaluation]:
    """The lowest loss found, and its evaluation with the Gauss-Newton matrix.

    Args:
        evaluator: of a problem with a prior weight.
        start: unconstrained vector to start from.
        n_iterations: runs, each with a Jacobian where it lowers the loss.
        report: called with number and loss of each.

    Raises:
        FloatingPointError: a loss or derivatives that are not finite at the start.
    """
    method = LevenbergMarquardt()
    state, best = method.init(jnp.asarray(start)), None
    for iteration in range(n_iterations):
        evaluation = evaluator(*method.ask(state))
        if iteration == 0 and not evaluation.is_finite:
            raise FloatingPointError(
                "posterior: expected a finite loss and Jacobian at the start values, got others; choose "
                "other start values or a shorter time step."
            )
        if report is not None:
            report(iteration, evaluation.fit.loss)
        if evaluation.has_jacobian and evaluation.is_finite:
            lowest = math.inf if best is None else best[1].fit.loss
            if evaluation.fit.loss < lowest:
                best = np.asarray(state.trial), evaluation
        state = method.tell(state, evaluation)
        if bool(state.finished):
            break
    assert best is not None  # the first evaluation was good
    return best
