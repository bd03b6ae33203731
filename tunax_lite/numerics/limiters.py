"""Reciprocals, roots and limits with a stated value and gradient at the edge of their domain.

JAX differentiates a division into divisions and a maximum into a ratio that shares the gradient at a tie.
Divisions are what the step of a column is made of, so these functions have derivatives without any.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import ScalarLike


@jax.custom_jvp
def reciprocal(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 / x, whose derivative -1 / x² costs no further division."""
    return 1.0 / x


@reciprocal.defjvp
def _(primals, tangents):
    inverse = reciprocal(*primals)
    return inverse, -(inverse * inverse) * tangents[0]


def safe_sqrt(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Square root of `x` where it is positive; 0 with zero gradient where it is not; NaN stays NaN.

    The argument is replaced before the root is taken, because the gradient of a masked `sqrt(0)` is NaN.
    """
    not_positive = x <= 0.0
    return jnp.where(not_positive, 0.0, jnp.sqrt(jnp.where(not_positive, 1.0, x)))


def vector_norm(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Length of the vector (x, y); at the origin 0 with zero gradient (the minimal subgradient)."""
    return safe_sqrt(x * x + y * y)


def at_least(x: Float[Array, "..."], lowest: ScalarLike) -> Float[Array, "..."]:
    """The larger of the two; the gradient at a tie is that of `x`, and NaN in `x` stays NaN."""
    return jnp.where(x < lowest, lowest, x)


def at_most(x: Float[Array, "..."], highest: ScalarLike) -> Float[Array, "..."]:
    """The smaller of the two; the gradient at a tie is that of `x`, and NaN in `x` stays NaN."""
    return jnp.where(x > highest, highest, x)
