"""The interface of a method: it asks for evaluations, and is told their results.

One iteration is one evaluation, of the kind that the method needs. Whatever a method remembers is in its
state, a tree of arrays that can be saved, so a calibration goes on bit by bit from a checkpoint. An
evaluation that is not finite never becomes the point that steps start from.
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
    """What every method shares."""

    trial: UnconstrainedVector  # whose fit is evaluated next; of an ensemble the mean
    accepted: Bool[Array, ""]  # whether the last evaluation became the new base of the steps
    finished: Bool[Array, ""]  # whether the method has come to its end

    @property
    def start_number(self) -> int:
        """Of the start that the trial follows, where a method has several."""
        return 0


class AbstractMethod(abc.ABC):
    """A calibration method: a dataclass of settings; `ValueError` for those out of range."""

    evaluator: ClassVar[type[AbstractEvaluator]]
    end: ClassVar[str]  # why a state is finished, as a clause

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> MethodState:
        """State before the first evaluation, which has the fit of x."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Any, ...]:  # of its own; arguments of its evaluator
        """What the evaluator is called with next."""

    @abc.abstractmethod
    def tell(self, state: Any, evaluation: Evaluation) -> MethodState:  # a state of its own
        """State after what was asked for; `FloatingPointError` where there is nothing to go on from."""


def compiled(method: F) -> F:
    """A method of arrays as one program: by themselves, its operations take seconds to compile one by one."""
    return cast(F, jax.jit(cast(Callable, method), static_argnums=0))


Transformation = Any  # of optax, which takes long to import


def optax_update(transformation: Transformation, gradient, state, x):
    """The update of a transformation of Optax, which mixes types that strict promotion would refuse."""
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)
