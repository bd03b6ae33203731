"""Powers whose exponent is known when the program is built: halves of integers cost no logarithm."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .limiters import reciprocal, safe_sqrt


def power(x: Float[Array, "..."], exponent: float) -> Float[Array, "..."]:
    """`x` to a fixed power.

    Args:
        x: positive; zero is allowed where twice the exponent is a whole positive number.
        exponent: a Python number. Multiples of 1/2 become products and at most one root.
    """
    if 2.0 * exponent != round(2.0 * exponent):
        return jnp.exp(exponent * jnp.log(x))
    base = x if exponent >= 0.0 else reciprocal(x)
    whole, half = divmod(round(abs(2.0 * exponent)), 2)
    if not half:
        return base**whole
    root = safe_sqrt(base)
    return base**whole * root if whole else root


def product_of_powers(*factors: tuple[Float[Array, "..."], float]) -> Float[Array, "..."]:
    """Product of x to the power e over the pairs (x, e), of which one has an exponent other than zero."""
    first, *others = [power(x, exponent) for x, exponent in factors if exponent != 0.0]
    for other in others:
        first = first * other
    return first
