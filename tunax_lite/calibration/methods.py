"""Interface of a calibration method: it asks for evaluations and is given their results.

One iteration is one evaluation, of the kind that the method needs. The state of a method is a tree of arrays
that can be saved, so that a calibration continues bit for bit from a checkpoint. Steps never start from an
evaluation that is not finite.

One method from several first guesses, one after the other, or some of them concurrently.
"""

import abc
import dataclasses
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist
from typing import Any, ClassVar, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from ..declarations import check_settings, setting
from ..runtime import for_threads
from .parameters import UnconstrainedVector
from .problem import AbstractEvaluator, EnsembleEvaluator, Evaluation

F = TypeVar("F")


class MethodState(eqx.Module):
    """State shared by all methods."""

    trial: UnconstrainedVector  # to evaluate next; the mean of an ensemble
    accepted: Bool[Array, ""]  # whether steps now start from the last evaluation
    finished: Bool[Array, ""]  # whether the method has ended

    @property
    def start_number(self) -> int:
        """Index of the first guess, for methods with several."""
        return 0


class AbstractMethod(abc.ABC):
    """A calibration method: a dataclass of settings; `ValueError` for those out of range."""

    evaluator: ClassVar[type[AbstractEvaluator]]
    end: ClassVar[str]  # why the method ends, as a clause

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> MethodState:
        """State before the first evaluation, which is at x."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Any, ...]:  # of its own class; arguments of its evaluator
        """Arguments of the next evaluation."""

    @abc.abstractmethod
    def tell(self, state: Any, evaluation: Evaluation) -> MethodState:  # of its own class
        """State after an evaluation; `FloatingPointError` if there is no point to continue from."""


def compiled(method: F) -> F:
    """Compile a function of arrays as one program: compiling its operations one by one takes seconds."""
    return cast(F, jax.jit(cast(Callable, method), static_argnums=0))


Transformation = Any  # of optax, which is slow to import


def optax_update(transformation: Transformation, gradient, state, x):
    """Update of an Optax transformation, which mixes types in ways that strict promotion rejects."""
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)


class MultiStartState(MethodState):
    """State of the current method, the given first guess, the index of the start and its evaluations."""

    of_method: MethodState
    first: UnconstrainedVector
    number: Int[Array, ""]
    n_evaluations: Int[Array, ""]

    @property
    def start_number(self) -> int:
        return int(self.number)


@dataclasses.dataclass(frozen=True)
class MultiStart(AbstractMethod):
    """Runs a method from several first guesses in turn, and keeps the best result.

    The further first guesses add normal random numbers to the given one in unconstrained space: around
    medians, with a spread of 1, they are drawn from the priors. Because there are few, a Latin hypercube
    covers the distribution of each parameter. A start whose first evaluation is not finite is abandoned and
    counts as a rejected step.

    Args:
        method: for each start; not an ensemble method, which has many starts already.
        n_starts: number of starts, including the given one.
        iterations_each: evaluations per start, unless the method ends earlier.
        spread: standard deviation of the unconstrained numbers around the first guess.
        seed: for the random numbers.
    """

    method: AbstractMethod
    n_starts: int = setting(at_least=1)
    iterations_each: int = setting(at_least=1)
    spread: float = setting(1.0, above=0.0)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        if isinstance(self.method, MultiStart) or self.method.evaluator is EnsembleEvaluator:
            raise ValueError(
                "MultiStart: expected a method that follows one vector, got "
                f"{type(self.method).__name__}; give it more members or another seed instead."
            )
        check_settings(self)

    # Class attributes elsewhere; here those of the current method.
    @property
    def evaluator(self) -> type[AbstractEvaluator]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.evaluator

    @property
    def end(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"all {self.n_starts} starts are done"

    def init(self, x: UnconstrainedVector) -> MultiStartState:
        return self.at(x, 0)

    def ask(self, state: MultiStartState) -> tuple[Any, ...]:  # as in `method`
        return self.method.ask(state.of_method)

    def tell(self, state: MultiStartState, evaluation: Evaluation) -> MultiStartState:
        n_evaluations = state.n_evaluations + 1
        if int(n_evaluations) == 1 and not evaluation.is_finite:
            return self._next(state, accepted=False)
        told = self.method.tell(state.of_method, evaluation)
        if bool(told.finished) or int(n_evaluations) >= self.iterations_each:
            return self._next(state, accepted=bool(told.accepted))
        return dataclasses.replace(
            state, trial=told.trial, accepted=told.accepted, of_method=told, n_evaluations=n_evaluations
        )

    def at(self, first: UnconstrainedVector, number: int, *, accepted: bool = False) -> MultiStartState:
        """The state at the beginning of a start, counted from 0."""
        x, flags = self._vector(first, number), (jnp.asarray(accepted), jnp.asarray(False))
        counts = jnp.asarray(number, jnp.int32), jnp.zeros((), jnp.int32)
        return MultiStartState(x, *flags, self.method.init(x), first, *counts)

    def _vector(self, first: UnconstrainedVector, number: int) -> UnconstrainedVector:
        if number == 0:
            return first
        generator, n = np.random.default_rng(self.seed), self.n_starts - 1
        layers = generator.permuted(np.tile(np.arange(n), (first.size, 1)), axis=1).T
        chances = (layers + generator.random(layers.shape)) / n
        drawn = np.vectorize(NormalDist().inv_cdf, otypes=[float])(chances)[number - 1]
        return first + jnp.asarray(self.spread * drawn, first.dtype)

    def _next(self, state: MultiStartState, *, accepted: bool) -> MultiStartState:
        number = state.start_number + 1
        if number < self.n_starts:
            return self.at(state.first, number, accepted=accepted)
        return dataclasses.replace(state, accepted=jnp.asarray(accepted), finished=jnp.asarray(True))


class Ahead:
    """Evaluates later starts concurrently with earlier ones, on idle capacity of an engine.

    The loop picks up these evaluations when it reaches them, so that the results do not change. Unused
    evaluations of later starts are lost when the loop ends, and repeated.

    Args:
        method: with several starts; no effect for any other.
        state: from which the loop continues.
        make_evaluator: called for the first evaluation; the evaluator must be thread-safe.
    """

    def __init__(
        self, method: AbstractMethod, state: PyTree, make_evaluator: Callable[[], AbstractEvaluator]
    ):
        self._method, self._state, self._make = method, state, make_evaluator
        self._evaluate: AbstractEvaluator | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._stop = threading.Event()
        self._made: dict[int, queue.SimpleQueue[Evaluation | BaseException]] = {}

    def _begin(self) -> AbstractEvaluator:
        method, evaluate = self._method, self._make()
        if isinstance(method, MultiStart) and evaluate.n_at_once > 1:
            later = range(self._state.start_number + 1, method.n_starts)
            self._made = {number: queue.SimpleQueue() for number in later}
            self._pool = ThreadPoolExecutor(evaluate.n_at_once - 1)
            for number in later:
                self._pool.submit(for_threads(self._run), method, evaluate, number)
        return evaluate

    def __enter__(self) -> "Ahead":
        return self

    def __exit__(self, *exception) -> None:
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __call__(self, number: int, request: tuple) -> Evaluation:
        """The result of the next request of a start."""
        if self._evaluate is None:
            self._evaluate = self._begin()
        if number not in self._made:
            return self._evaluate(*request)
        found = self._made[number].get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _run(self, method: MultiStart, evaluate: AbstractEvaluator, number: int) -> None:
        made = self._made[number]
        try:
            state = method.at(self._state.first, number)
            while state.start_number == number and not bool(state.finished):
                if self._stop.is_set():
                    return
                evaluation = evaluate(*method.ask(state))
                made.put(evaluation)
                state = method.tell(state, evaluation)
        except BaseException as error:
            made.put(error)
