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
    """x = f(x), found by iterations that each use two evaluations, the last and the one before.

    Every column stops by itself, when an evaluation changes its values by less than round-off^(3/4) of the
    first guess. Derivatives are those of the fixed point, (1 - df/dx)^-1 df, from one evaluation.

    Args:
        function: returns values like its argument; it may use any arrays from outside.
        first: guess, a tuple of arrays `(*batch)` of one shape, of the order of the result.
        largest_number: of evaluations.

    Source: Anderson (1965), J. ACM 12, 547-560, with one earlier iterate.
    """
    evaluate, outside = jax.closure_convert(function, first)
    least = jnp.finfo(first[0].dtype).eps ** 1.5

    @jax.custom_jvp
    def solve(first: Values, *outside: Array) -> Values:
        weights = [reciprocal(x * x + 1e-30) for x in first]

        def product(x, y):
            return sum(weight * a * b for weight, a, b in zip(weights, x, y, strict=True))

        def step(carry):
            number, x, (image, change), moving = carry
            new_image = evaluate(x, *outside)
            new_change = jax.tree.map(jnp.subtract, new_image, x)
            turn = jax.tree.map(jnp.subtract, new_change, change)
            size = product(turn, turn)
            share = product(new_change, turn) / jnp.where(size > 0.0, size, 1.0)
            # Only where a change is at most half of the one before and not of the first: a plain iteration
            # otherwise, which decides which of several fixed points is found.
            share = jnp.where((number > 0) & (share >= -1.0) & (share <= 1.0 / 3.0), share, 0.0)
            mixed = jax.tree.map(lambda new, old: _mixed(share, new, old), new_image, image)
            x = jax.tree.map(lambda new, old: jnp.where(moving, new, old), mixed, x)
            moving = moving & (product(new_change, new_change) > least)
            return number + 1, x, (new_image, new_change), moving

        def unfinished(carry):
            return (carry[0] < largest_number) & jnp.any(carry[3])

        start = 0, first, (first, first), jnp.full(first[0].shape, True)
        return lax.while_loop(unfinished, step, start)[1]

    @solve.defjvp
    def _(primals, tangents):
        found = solve(*primals)
        _, change = jax.jvp(lambda *outside: evaluate(found, *outside), primals[1:], tangents[1:])
        _, linear = jax.linearize(lambda x: evaluate(x, *primals[1:]), found)
        return found, _solve_small(linear, change)

    return solve(first, *outside)


def _mixed(share: Array, new: Array, old: Array) -> Array:
    """The new value moved on, by at most half of it: logarithms are taken of velocities, and quotients."""
    further = share * (new - old)
    return jnp.where(jnp.abs(further) <= 0.5 * jnp.abs(new), new - further, new)


def _solve_small(linear: Callable[[Values], Values], right: Values) -> Values:
    """x of x - linear(x) = right, for a few values: Gaussian elimination, written out."""
    count, one = range(len(right)), jnp.ones_like(right[0])
    like = jax.tree.structure(right).unflatten
    columns = [linear(like([one if i == j else 0.0 * one for i in count])) for j in count]
    rows = [[float(i == j) - columns[j][i] for j in count] for i in count]
    rest = list(right)
    for k in count:
        inverse = reciprocal(rows[k][k])
        for i in count[k + 1 :]:
            factor = rows[i][k] * inverse
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
            rest[i] = rest[i] - factor * rest[k]
    for k in reversed(count):
        known = sum(rows[k][j] * rest[j] for j in count[k + 1 :])
        rest[k] = (rest[k] - known) * reciprocal(rows[k][k])
    return like(rest)
