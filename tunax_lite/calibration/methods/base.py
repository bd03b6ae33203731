"""What every method is: it says what to evaluate next, and is told what that gave.

One iteration is one evaluation, of the kind that the method needs. Whatever a method remembers is in its
state, a tree of arrays that can be saved, so a calibration goes on bit by bit from a checkpoint. An
evaluation that is not finite never becomes the point that steps start from.
"""

import abc
import functools
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
from jaxtyping import Array, Bool

from ..evaluation import AbstractEvaluation, AbstractEvaluator
from ..parameters import UnconstrainedVector


class MethodState(eqx.Module):
    """What every method shares.

    Args:
        trial: the vector whose fit is evaluated next; of an ensemble the mean.
        accepted: whether the last evaluation became the new base of the steps.
        finished: whether the method has come to its end.
    """

    trial: eqx.AbstractVar[UnconstrainedVector]
    accepted: eqx.AbstractVar[Bool[Array, ""]]
    finished: eqx.AbstractVar[Bool[Array, ""]]

    @property
    def start_number(self) -> int:
        """Of the start that the trial follows, where a method has several."""
        return 0


S = TypeVar("S", bound=MethodState)
E = TypeVar("E", bound=AbstractEvaluation)


class AbstractMethod(abc.ABC, Generic[S, E]):
    """A way to better parameters.

    Attributes:
        evaluator: the kind of evaluation that it needs.
        end: why a state is finished, as a clause.
    """

    evaluator: ClassVar[type[AbstractEvaluator]]
    end: ClassVar[str]

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> S:
        """State before the first evaluation, which has the fit of x."""

    @abc.abstractmethod
    def ask(self, state: S) -> tuple[Any, ...]:
        """What the evaluator is called with next."""

    @abc.abstractmethod
    def tell(self, state: S, evaluation: E) -> S:
        """State after what was asked for has been evaluated.

        Raises:
            FloatingPointError: an evaluation after which there is nothing to go on from.
        """


def compiled(method):
    """A method of arrays as one program: by themselves, its operations take seconds to compile one by one."""
    return functools.partial(jax.jit, static_argnums=0)(method)


def optax_update(transformation: Any, gradient, state, x):
    """The update of a transformation of Optax, which mixes types that strict promotion would refuse."""
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)
