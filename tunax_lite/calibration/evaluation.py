"""Loss and gradient over many cases on a CPU: one compiled function, one case at a time, a few threads.

Cases are not batched (docs/architecture.md says why). Compiled code releases the interpreter lock, so
threads run them side by side. The sum over cases has a fixed order: the result does not depend on which
thread was faster.
"""

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import numpy as np

from ..checkpointing import AbstractCheckpointing, Auto
from ..model import Model
from ..planning import choose_checkpointing
from ..runtime import compile_program, shapes_of
from .misfit import AbstractScore, Comparison, misfit
from .parameters import FreeParameters, UnconstrainedVector
from .targets import Target, prepare


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What one iterate gave.

    Args:
        loss: mean of the scores, weighted by case.
        gradient: of the loss to the unconstrained vector, `(n_parameters,)`.
        scores: `(n_cases,)`.
        errors: root mean square error by case and variable, in the unit of the variable; NaN where a
            case does not observe a variable; `(n_cases, n_variables)`.
    """

    loss: float
    gradient: np.ndarray
    scores: np.ndarray
    errors: np.ndarray

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss) and bool(np.isfinite(self.gradient).all())


class Evaluator:
    """Evaluates the loss of a calibration inside a `with` block, on entry to which it compiles.

    Args:
        model: whose closure is calibrated.
        free_parameters: resolved with that closure.
        targets: at least one, with different names, and not all of weight 0.
        score: of a case.
        checkpointing: what reverse mode keeps of the time loop; `Auto` takes the fastest of its candidates
            that fits, as the compiler counts it, with its budget shared among the threads.
        n_threads: cases evaluated at the same time.

    Raises:
        ValueError: targets that cannot be evaluated.
    """

    def __init__(
        self,
        model: Model,
        free_parameters: FreeParameters,
        targets: Sequence[Target],
        score: AbstractScore,
        checkpointing: AbstractCheckpointing,
        n_threads: int,
    ):
        self.case_names = _distinct_names(targets)
        self.variables = tuple(sorted({name for target in targets for name in target.weights}))
        self.comparisons = tuple(prepare(target) for target in targets)
        weights = np.array([target.weight for target in targets], dtype=float)
        if not weights.sum() > 0.0:
            raise ValueError("targets: expected a case with a positive weight, got weight 0 for all.")
        self.weights = weights / weights.sum()
        self._model = model
        self._free_parameters = free_parameters
        self._score = score
        self._checkpointing = checkpointing
        self._n_threads = max(1, n_threads)
        self._pool = ThreadPoolExecutor(max_workers=self._n_threads)
        self.explanations: tuple[str, ...] = ()

    def __enter__(self) -> "Evaluator":
        # Before any thread starts, so that no two threads compile the same.
        self._functions = self._compile()
        return self

    def __exit__(self, *exception) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _value_and_gradient(self, checkpointing: AbstractCheckpointing):
        def value_and_gradient(x: UnconstrainedVector, model: Model, comparison: Comparison):
            def loss(x):
                closure = self._free_parameters.insert(model.closure, x)
                calibrated = eqx.tree_at(lambda m: m.closure, model, closure)
                return misfit(calibrated, comparison, self._score, checkpointing)

            return jax.value_and_grad(loss, has_aux=True)(x)

        return value_and_gradient

    def _identity(self, checkpointing: AbstractCheckpointing) -> tuple:
        """All that the function is made of besides its arguments."""
        return "value and gradient of a misfit", self._free_parameters, self._score, checkpointing

    def _compile(self) -> list:
        """A compiled function for each case; cases of equal shapes and run lengths share one."""
        x = self._free_parameters.start()
        compiled: dict = {}
        functions = []
        for comparison in self.comparisons:
            key = shapes_of(comparison)
            if key not in compiled:
                compiled[key] = self._compile_one(x, self._model, comparison)
            functions.append(compiled[key])
        self.n_compiled = len(compiled)
        return functions

    def _compile_one(self, *arguments):
        chosen = self._checkpointing
        if not isinstance(chosen, Auto):
            return compile_program(
                self._value_and_gradient(chosen), *arguments, identity=self._identity(chosen)
            )
        choice = choose_checkpointing(
            self._value_and_gradient,
            arguments,
            chosen.memory_budget // self._n_threads,
            candidates=chosen.candidates,
        )
        self.explanations += (choice.explanation,)
        return choice.program

    def __call__(self, x: UnconstrainedVector) -> Evaluation:
        """Loss, gradient and scores at an unconstrained vector."""

        def evaluate(index: int):
            return jax.device_get(self._functions[index](x, self._model, self.comparisons[index]))

        results = list(self._pool.map(evaluate, range(len(self.comparisons))))
        scores = np.array([float(score) for (score, _), _ in results])
        loss, gradient = 0.0, np.zeros(x.shape)
        for weight, score, (_, case_gradient) in zip(self.weights, scores, results, strict=True):
            if weight > 0.0:  # a case that is only reported must not turn the loss into NaN
                loss += weight * score
                gradient = gradient + weight * case_gradient
        errors = np.full((len(results), len(self.variables)), np.nan)
        for row, ((_, mean_squares), _) in zip(errors, results, strict=True):
            for column, variable in enumerate(self.variables):
                if variable in mean_squares:
                    row[column] = math.sqrt(mean_squares[variable])
        return Evaluation(float(loss), np.asarray(gradient), scores, errors)


def _distinct_names(targets: Sequence[Target]) -> tuple[str, ...]:
    names = tuple(target.case.name for target in targets)
    if not names:
        raise ValueError("targets: expected at least one target, got none.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"targets: expected cases of different names, got {', '.join(repeated)} twice.")
    return names
