"""Numbers within their valid ranges as numbers without bounds, for an optimiser, and back.

With sigma(x) = 1 / (1 + exp(-x)), a number p of the valid range from a to b is

    p = a + (b - a) sigma(x)          (finite a and b)
    p = a + exp(x)                    (b infinite)
    p = b - exp(-x)                   (a infinite)
    p = x                             (both infinite)

Whatever x an optimiser proposes, p stays in its range. Near a bound both are logarithmic in the distance from
it, so that a floor many orders of magnitude below its upper bound changes by a factor.
"""

import math
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import (
    FieldValue,
    Fixed,
    Scalar,
    check_range,
    chosen_paths,
    dotted,
    free_leaves,
    released,
)
from ..views import AbstractShown

T = TypeVar("T", bound=eqx.Module)

_FAR = 800.0
"""x of a number on its bound: the logistic function and the exponential are exactly zero there."""


class Unconstrained(AbstractShown, Generic[T]):
    """Numbers without bounds in place of those of a module; `constrained` gives the module they stand for.

    Args:
        numbers: the module with x in place of each free number; its fields are fields of this one, too.
    """

    remedy: ClassVar[str] = "give tl.constrained(x), the module that they stand for"
    numbers: T

    def __getattr__(self, name: str) -> FieldValue:
        if (
            name == "numbers" or name not in self.numbers.__dataclass_fields__
        ):  # methods would use x as they are
            raise AttributeError(f"'{name}' is no field of unconstrained numbers; {self.remedy}.")
        return getattr(self.numbers, name)


def unconstrained(module: T, only: Iterable[str] | None = None) -> Unconstrained[T]:
    """The unconstrained number x in place of each free one of a module; `constrained` goes back.

    The leaves are the free numbers alone: differentiate a loss with respect to it, and hand it to optax,
    optimistix or `jax.flatten_util.ravel_pytree`. A number on a bound of its range stays there, because its
    gradient vanishes. Arrays that no field declares, such as the weights of a network, have no bounds.

    Args:
        module: a closure, model, case or any module with fields declared with `parameter`.
        only: dotted paths of what is free, `c_eps_1`, and `stability.*` or `net.*` for all that lies below;
            by default every number.

    Raises:
        TypeError: unconstrained numbers.
        ValueError: a number outside its valid range, or a path without a number.
    """
    if isinstance(module, Unconstrained):
        raise TypeError(f"unconstrained: expected a module, got unconstrained numbers; {module.remedy}.")
    known = free_leaves(module)
    for info in known.values():
        check_range(info.path, info.value, info.valid_range)
    free = known.keys() if only is None else chosen_paths(known, only, "unconstrained", type(module).__name__)

    def free_or_fixed(path, leaf):
        name = dotted(path)
        return unbounded(leaf, *known[name].valid_range) if name in free else Fixed(leaf)

    return Unconstrained(jax.tree_util.tree_map_with_path(free_or_fixed, module))


def constrained(x: Unconstrained[T]) -> T:
    """The module that unconstrained numbers stand for, each in its valid range; `TypeError` for a module."""
    if not isinstance(x, Unconstrained):
        kind = type(x).__name__
        raise TypeError(f"constrained: expected what tl.unconstrained returns, got {kind}; use it as it is.")
    known = free_leaves(x.numbers)

    def restored(path, leaf):
        return leaf if isinstance(leaf, Fixed) else bounded(leaf, *known[dotted(path)].valid_range)

    return released(
        jax.tree_util.tree_map_with_path(restored, x.numbers, is_leaf=lambda leaf: isinstance(leaf, Fixed))
    )


def bounded(
    x: Scalar, lower: float, upper: float, distribution: Callable[[Scalar], Scalar] = jax.nn.sigmoid
) -> Scalar:
    """The number between two bounds, finite or not, at x.

    Where x is far away it is exactly the bound, with zero gradient. Another distribution function, symmetric
    about zero, may take the place of sigma between finite bounds.
    """
    if math.isinf(lower) and math.isinf(upper):
        return x
    if math.isinf(upper):
        return lower + jnp.exp(x)
    if math.isinf(lower):
        return upper - jnp.exp(-x)
    # Measured from the nearer bound, so that value and gradient are equally accurate near both.
    distance = (upper - lower) * distribution(jnp.where(x < 0.0, x, -x))
    return jnp.clip(jnp.where(x < 0.0, lower + distance, upper - distance), lower, upper)


def unbounded(value: Float[Array, "..."], lower: float, upper: float) -> Float[Array, "..."]:
    """x of a number between two bounds, the inverse of `bounded`."""
    if math.isinf(lower) and math.isinf(upper):
        return value
    if math.isinf(upper):
        x = jnp.log(value - lower)
    elif math.isinf(lower):
        x = -jnp.log(upper - value)
    else:
        x = jnp.log(value - lower) - jnp.log(upper - value)
    return jnp.clip(x, -_FAR, _FAR)
