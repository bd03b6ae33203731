"""Powers whose exponent is known when the program is built: halves and thirds cost no logarithm."""

import jax
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


@jax.custom_jvp
def inverse_cube_root(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """x^(-1/3) of positive numbers, to round-off, without a logarithm or a division.

    The third of the exponent is taken from the bits of the number, which gives 3 %; each step of Newton's
    method for r^-3 = x doubles the digits. Compilers have vector instructions for all of it, and none for
    the power.
    """
    if x.dtype == jnp.float32:
        bits, start = jnp.int32, 0x548C39CB
    else:
        bits, start = jnp.int64, 0x553EF0FF289DD796
    third = (jax.lax.bitcast_convert_type(x, bits).astype(x.dtype) * (1.0 / 3.0)).astype(bits)
    root = jax.lax.bitcast_convert_type(start - third, x.dtype)
    for _ in range(4):
        root = root * (4.0 / 3.0 - (x * (1.0 / 3.0)) * root * root * root)
    return root


@inverse_cube_root.defjvp
def _(primals, tangents):
    root = inverse_cube_root(*primals)
    return root, (-1.0 / 3.0) * (root * root) * (root * root) * tangents[0]
