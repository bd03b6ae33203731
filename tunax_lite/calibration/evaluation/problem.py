"""The cases of a calibration: as arrays, with their weights, and on threads.

Cases are not batched on a CPU (docs/architecture.md says why): one compiled program is run for one case at a
time, on a few threads. Compiled code releases the interpreter lock, so threads run them side by side. Sums
over cases have a fixed order: a result does not depend on which thread was faster.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from ...checkpointing import AbstractCheckpointing, SaveSegments
from ...model import Model
from ...runtime import shapes_of
from ..misfit import AbstractScore, Comparison
from ..parameters import FreeParameters, UnconstrainedVector
from ..targets import Target, prepare

P = TypeVar("P")
R = TypeVar("R")


class Problem:
    """What a calibration lowers, ready to be evaluated inside of a `with` block, at whose end its threads go.

    Args:
        model: whose closure is calibrated.
        free_parameters: resolved with that closure.
        targets: at least one, with different names, and not all of weight 0.
        score: of a case.
        checkpointing: what reverse mode keeps of the time loop.
        n_threads: cases evaluated at the same time.
        prior_weight: of the priors of the parameters in the loss.

    Raises:
        ValueError: targets that cannot be evaluated, or a negative weight.
    """

    def __init__(
        self,
        model: Model,
        free_parameters: FreeParameters,
        targets: Sequence[Target],
        score: AbstractScore,
        checkpointing: AbstractCheckpointing | None = None,
        n_threads: int = 2,
        prior_weight: float = 0.0,
    ):
        if not (math.isfinite(prior_weight) and prior_weight >= 0.0):
            raise ValueError(f"prior_weight: expected a number of at least 0, got {prior_weight}.")
        self.case_names = _distinct_names(targets)
        self.variables = tuple(sorted({name for target in targets for name in target.weights}))
        self.comparisons = tuple(prepare(target) for target in targets)
        weights = np.array([target.weight for target in targets], dtype=float)
        if not weights.sum() > 0.0:
            raise ValueError("targets: expected a case with a positive weight, got weight 0 for all.")
        self.weights = weights / weights.sum()
        self.model = model
        self.free_parameters = free_parameters
        self.score = score
        self.checkpointing = SaveSegments() if checkpointing is None else checkpointing
        self.n_threads = max(1, n_threads)
        self.prior_weight = float(prior_weight)
        self._pool = ThreadPoolExecutor(max_workers=self.n_threads)

    def __enter__(self) -> "Problem":
        return self

    def __exit__(self, *exception) -> None:
        self._pool.shutdown(cancel_futures=True)

    def calibrated(self, x: UnconstrainedVector, model: Model) -> Model:
        """The model with the parameters of an unconstrained vector."""
        return eqx.tree_at(lambda m: m.closure, model, self.free_parameters.insert(model.closure, x))

    def programs(self, compile_for: Callable[[Comparison], P]) -> tuple[list[P], int]:
        """A program for each case, shared by cases of equal shapes and run lengths, and how many there are.

        Programs are made here and not in the threads, so that no two threads compile the same.
        """
        compiled: dict[Any, P] = {}
        keys = [shapes_of(comparison) for comparison in self.comparisons]
        for key, comparison in zip(keys, self.comparisons, strict=True):
            if key not in compiled:
                compiled[key] = compile_for(comparison)
        return [compiled[key] for key in keys], len(compiled)

    def map_cases(self, function: Callable[[int], R], cases: Sequence[int] | None = None) -> list[R]:
        """Results of a function of the number of the case, of all cases or of some, on the threads."""
        # JAX keeps the precision that a context chose for each thread by itself.
        double = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]

        def in_same_precision(index: int) -> R:
            with jax.enable_x64(double):
                return function(index)

        return list(
            self._pool.map(in_same_precision, range(len(self.comparisons)) if cases is None else cases)
        )

    def run(
        self, programs: Sequence[Callable[..., Any]], x: Any, cases: Sequence[int] | None = None
    ) -> list[Any]:
        """Results of the program of each case at parameters, on the host."""
        return self.map_cases(
            lambda index: jax.device_get(programs[index](x, self.model, self.comparisons[index])), cases
        )

    def weighted_sum(self, by_case: Sequence[Any] | np.ndarray, weights: np.ndarray | None = None) -> Any:
        """Sum over the cases in their order, with their weights or with others."""
        total = 0.0
        for weight, part in zip(self.weights if weights is None else weights, by_case, strict=True):
            if weight > 0.0:  # a case that is only reported must not turn the loss into NaN
                total = total + weight * part
        return total


def _distinct_names(targets: Sequence[Target]) -> tuple[str, ...]:
    names = tuple(target.case.name for target in targets)
    if not names:
        raise ValueError("targets: expected at least one target, got none.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"targets: expected cases of different names, got {', '.join(repeated)} twice.")
    return names
