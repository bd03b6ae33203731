"""What every method is: it says what to evaluate next, and is told what that gave.

One iteration is one evaluation, of the kind that the method needs. Whatever a method remembers is in its
state, a tree of arrays that can be saved, so a calibration goes on bit by bit from a checkpoint. An
evaluation that is not finite never becomes the point that steps start from.
"""

import abc
import dataclasses
from statistics import NormalDist
from typing import Any, ClassVar, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ...declarations import check_settings, setting
from ..evaluation import EnsembleEvaluator
from ..parameters import UnconstrainedVector
from ..problem import AbstractEvaluator, Evaluation

F = TypeVar("F")


class MethodState(eqx.Module):
    """What every method shares."""

    trial: UnconstrainedVector  # whose fit is evaluated next; of an ensemble the mean
    accepted: Bool[Array, ""]  # whether the last evaluation became the new base of the steps
    finished: Bool[Array, ""]  # whether the method has come to its end

    @property
    def start_number(self) -> int:
        """Of the start that the trial follows, where a method has several."""
        return 0


class AbstractMethod(abc.ABC):
    """A way to better parameters: a dataclass of settings; `ValueError` for those out of range."""

    evaluator: ClassVar[type[AbstractEvaluator]]
    end: ClassVar[str]  # why a state is finished, as a clause

    def __post_init__(self):
        check_settings(self)

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> MethodState:
        """State before the first evaluation, which has the fit of x."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Any, ...]:
        """What the evaluator is called with next."""

    @abc.abstractmethod
    def tell(self, state: Any, evaluation: Evaluation) -> MethodState:
        """State after what was asked for; `FloatingPointError` where there is nothing to go on from."""


def compiled(method: F) -> F:
    """A method of arrays as one program: by themselves, its operations take seconds to compile one by one."""
    return cast(F, jax.jit(cast(Any, method), static_argnums=0))


def optax_update(transformation: Any, gradient, state, x):
    """The update of a transformation of Optax, which mixes types that strict promotion would refuse."""
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)


class MultiStartState(MethodState):
    """State of the method at work, the values that were given first, the start and its evaluations so far."""

    of_method: MethodState
    first: UnconstrainedVector
    number: Int[Array, ""]
    n_evaluations: Int[Array, ""]

    @property
    def start_number(self) -> int:
        return int(self.number)


@dataclasses.dataclass(frozen=True)
class MultiStart(AbstractMethod):
    """Runs a method from the start values, then from others one by one; the best of all counts.

    The others are the start values plus normal numbers in the unconstrained vector: around medians, with a
    spread of 1, they are drawn from the priors. Each parameter takes values from all parts of its
    distribution (a Latin hypercube), because starts are few. A start whose first evaluation is not finite is
    given up and counts as a rejected step.

    Args:
        method: that goes on from each start; not one of ensembles, which are many starts already.
        n_starts: the start values that are given included.
        iterations_each: evaluations after which the next start begins, if the method did not end before.
        spread: standard deviation of the unconstrained numbers around the start values.
        seed: of the random numbers.
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

    # Attributes of the class elsewhere; here those of the method at work.
    @property
    def evaluator(self) -> type[AbstractEvaluator]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.evaluator

    @property
    def end(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"all {self.n_starts} starts are done"

    def init(self, x: UnconstrainedVector) -> MultiStartState:
        no, zero = jnp.asarray(False), jnp.zeros((), jnp.int32)
        return MultiStartState(x, no, no, self.method.init(x), x, zero, zero)

    def ask(self, state: MultiStartState) -> tuple[Any, ...]:
        return self.method.ask(state.of_method)

    def tell(self, state: MultiStartState, evaluation: Evaluation) -> MultiStartState:
        n_evaluations = state.n_evaluations + 1
        if int(n_evaluations) == 1 and not evaluation.is_finite:
            return self._next(state, accepted=jnp.asarray(False))
        told = self.method.tell(state.of_method, evaluation)
        if bool(told.finished) or int(n_evaluations) >= self.iterations_each:
            return self._next(state, accepted=told.accepted)
        return dataclasses.replace(
            state, trial=told.trial, accepted=told.accepted, of_method=told, n_evaluations=n_evaluations
        )

    def _next(self, state: MultiStartState, accepted: Bool[Array, ""]) -> MultiStartState:
        number = int(state.number) + 1
        if number >= self.n_starts:
            return dataclasses.replace(state, accepted=accepted, finished=jnp.asarray(True))
        generator, n = np.random.default_rng(self.seed), self.n_starts - 1
        layers = generator.permuted(np.tile(np.arange(n), (state.first.size, 1)), axis=1).T
        chances = (layers + generator.random(layers.shape)) / n
        drawn = np.vectorize(NormalDist().inv_cdf, otypes=[float])(chances)[number - 1]
        x = state.first + jnp.asarray(self.spread * drawn, state.first.dtype)
        number, zero = jnp.asarray(number, jnp.int32), jnp.zeros((), jnp.int32)
        return MultiStartState(x, accepted, state.finished, self.method.init(x), state.first, number, zero)
