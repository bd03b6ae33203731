"""Running minima over the levels, as a few shifts of the whole column instead of a loop over its levels."""

import jax.numpy as jnp

from .._types import ColumnArray


def smallest_upward(values: ColumnArray) -> ColumnArray:
    """The smallest value at or above each level; the gradient is that of this value, at a tie the nearest."""
    shift, n = 1, values.shape[0]
    while shift < n:
        nothing = jnp.full_like(values[:shift], jnp.inf)
        further = jnp.concatenate([values[shift:], nothing])
        values = jnp.where(further < values, further, values)
        shift *= 2
    return values


def smallest_downward(values: ColumnArray) -> ColumnArray:
    """The smallest value at or below each level, likewise."""
    shift, n = 1, values.shape[0]
    while shift < n:
        nothing = jnp.full_like(values[:shift], jnp.inf)
        further = jnp.concatenate([nothing, values[:-shift]])
        values = jnp.where(further < values, further, values)
        shift *= 2
    return values
