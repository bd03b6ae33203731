"""Interface of a calibration method: it asks for evaluations and is given their results.

One iteration is one evaluation, of the kind that the method needs. The state of a method is a tree of arrays
that can be saved, so that a calibration continues bit for bit from a checkpoint. Steps never start from an
evaluation that is not finite.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

import equinox as eqx
import jax
from jaxtyping import Array, Bool

from ...declarations import check_settings
from ..parameters import UnconstrainedVector
from ..problem import AbstractEvaluator, Evaluation

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
