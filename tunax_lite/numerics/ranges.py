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
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Scalar, at_path, check_range, iterate_parameters, iterate_vectors

T = TypeVar("T", bound=eqx.Module)

_FAR = 800.0
"""x of a number on its bound: the logistic function and the exponential are exactly zero there."""


def unconstrained(module: T) -> T:
    """The module with the unconstrained number x in place of each calibratable one; `constrained` goes back.

    Everything else stays. Both results are ordinary pytrees: differentiate a loss with respect to the first,
    and hand it to optax. A number on a bound of its range stays there, because its gradient vanishes.

    Args:
        module: a closure, model, case or any module with fields declared with `parameter`.

    Raises:
        ValueError: a number outside its valid range.
    """
    for info in (*iterate_parameters(module), *iterate_vectors(module)):
        check_range(info.path, info.value, info.valid_range)
    return _mapped(module, unbounded)


def constrained(x: T) -> T:
    """The module with the numbers that an `unconstrained` one stands for, each within its valid range."""
    return _mapped(x, bounded)


def _mapped(module: T, function) -> T:
    infos = [*iterate_parameters(module), *iterate_vectors(module)]
    known = [info for info in infos if info.value is not None]
    values = [function(info.value, *info.valid_range) for info in known]
    return eqx.tree_at(lambda tree: [at_path(tree, info.path) for info in known], module, values)


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
