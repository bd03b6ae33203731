"""Square roots and ratios with a stated value and gradient at the edge of their domain."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def safe_sqrt(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Square root of `x` where it is positive; 0 with zero gradient where it is not; NaN stays NaN.

    The argument is replaced before the root is taken, because the gradient of a masked `sqrt(0)` is NaN.
    """
    not_positive = x <= 0.0
    return jnp.where(not_positive, 0.0, jnp.sqrt(jnp.where(not_positive, 1.0, x)))


def vector_norm(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Length of the vector (x, y); at the origin 0 with zero gradient (the minimal subgradient)."""
    return safe_sqrt(x * x + y * y)
