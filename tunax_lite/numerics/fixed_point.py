"""Fixed points of scalars that depend on each other, such as fluxes and stability of the air."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .elementary import reciprocal

Values = TypeVar("Values", bound=tuple[Float[Array, "..."], ...])


def fixed_point(function: Callable[[Values], Values], first: Values, largest_number: int) -> Values:
    """Solve x = f(x) by iterations that combine the last two evaluations.

    Each column stops when an evaluation changes its values by less than round-off^(3/4) of the first guess.
    Derivatives are those of the fixed point, (1 - df/dx)^-1 df, from one evaluation.

    Args:
        function: returns values like its argument; it may close over arrays.
        first: guess of the right order of magnitude, a tuple of arrays `(*batch)` of equal shape.
        largest_number: largest number of evaluations.

    Source: Anderson (1965), J. ACM 12, 547-560, with one earlier iterate.
    """
    unpack = jax.tree.structure(first).unflatten
    evaluate, captured = jax.closure_convert(lambda x: jnp.stack(function(unpack([*x]))), jnp.stack(first))
    least = jnp.finfo(first[0].dtype).eps ** 1.5

    @jax.custom_jvp
    def solve(first: Array, *captured: Array) -> Array:
        weights = reciprocal(first * first + 1e-30)

        def product(x, y):
            return jnp.sum(weights * x * y, axis=0)

        def step(carry):
            number, x, image, change, active = carry
            new_image = evaluate(x, *captured)
            new_change = new_image - x
            second_difference = new_change - change
            size = product(second_difference, second_difference)
            weight = product(new_change, second_difference) / jnp.where(size > 0.0, size, 1.0)
            # Extrapolate only from the second iteration on, and only moderately. Otherwise iterate plainly:
            # the first iterations decide which of several fixed points is reached.
            weight = jnp.where((number > 0) & (weight >= -1.0) & (weight <= 1.0 / 3.0), weight, 0.0)
            x = jnp.where(active, _extrapolated(weight, new_image, image), x)
            active = active & (product(new_change, new_change) > least)
            return number + 1, x, new_image, new_change, active

        def unfinished(carry):
            return (carry[0] < largest_number) & jnp.any(carry[-1])

        return lax.while_loop(unfinished, step, (0, first, first, first, jnp.full(first.shape[1:], True)))[1]

    @solve.defjvp
    def _(primals, tangents):
        solution = solve(*primals)
        _, change = jax.jvp(lambda *captured: evaluate(solution, *captured), primals[1:], tangents[1:])
        return solution, jnp.sum(_inverse(lambda x: evaluate(x, *primals[1:]), solution) * change, axis=1)

    return unpack([*solve(jnp.stack(first), *captured)])


def _extrapolated(weight: Array, new: Array, old: Array) -> Array:
    """Extrapolate where that changes a value by at most half: logarithms and quotients stay valid."""
    step = weight * (new - old)
    return jnp.where(jnp.abs(step) <= 0.5 * jnp.abs(new), new - step, new)


def _inverse(function: Callable[[Array], Array], point: Float[Array, "value ..."]) -> Array:
    """Inverse of 1 - df/dx, `(value, value, *batch)`: Gaussian elimination without pivoting.

    All directions are differentiated at once, and the elimination is a loop: written out, both took half of
    the compile time of a gradient with COARE.
    """
    count = len(point)
    unit = jnp.eye(count, dtype=point.dtype).reshape(count, count, *(1,) * (point.ndim - 1))
    unit = jnp.broadcast_to(unit, (count, *point.shape))
    derivative = jax.vmap(lambda change: jax.jvp(function, (point,), (change,))[1], out_axes=1)(unit)
    rows = jnp.concatenate([unit - derivative, unit], axis=1)

    def eliminate(k, rows):
        row = rows[k] * reciprocal(rows[k, k])
        return (rows - rows[:, k][:, None] * row).at[k].set(row)

    return lax.fori_loop(0, count, eliminate, rows)[:, count:]
