"""Tridiagonal systems by parallel cyclic reduction: few steps, in each of which all levels take part."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import ColumnArray
from .tridiagonal_method import AbstractTridiagonalMethod, CarryingMatrix, shifts


class ParallelCyclicReduction(AbstractTridiagonalMethod):
    """Eliminate neighbours at distance 1, 2, 4, ... from every row at once, until none is left.

    A volume keeps s of itself and carries u upward, d downward, the diagonal is p = s + u + d, and R sinks
    into it from the next above. A step of distance j, with `+` at i + j and `-` at i - j, is

        s: s + u (s/p)+ + d (s/p)-,   u: u (u/p)+,   d: d (d/p)-,   R: (u/p)+ R + (d R/p)+
        r: r + (d r/p)+ + (u r/p)- + (s/p)+ R - (s R/p)-

    and in the end x = r/s. For a GPU with so few columns that most of it would idle: log2(n) steps in
    sequence instead of the 2 n of an elimination, for log2(n) times the arithmetic. Never the fastest on a
    CPU. As accurate as elimination: nothing cancels here either. `jax.lax.associative_scan` over the 2 x 2
    matrices of an elimination would have the same length, but their products cancel to the last digit of
    float32 where diffusion is strong.

    Source: Hockney (1965), J. ACM 12, 95-113; Hockney and Jesshope (1981), Parallel Computers.
    """

    def __call__(
        self,
        matrices: tuple[CarryingMatrix, ...],
        rhs: tuple[PyTree, ...],
        sinking: tuple[PyTree, ...] | None = None,
    ) -> tuple[PyTree, ...]:
        passing = [None for _ in rhs] if sinking is None else sinking
        return tuple(_reduce(*each) for each in zip(matrices, rhs, passing, strict=True))


def _reduce(matrix: CarryingMatrix, rhs: PyTree, sinking: PyTree) -> PyTree:
    own, up, down = matrix.own, shifts(matrix.upward)[0], shifts(matrix.downward)[1]
    sinking = jax.tree.map(lambda x: shifts(x)[0], sinking)
    distance = 1
    while distance < own.shape[0]:
        below, above = partial(_from_below, distance=distance), partial(_from_above, distance=distance)
        inverse = 1.0 / (own + up + down)
        kept, raised, lowered = own * inverse, up * inverse, down * inverse
        rhs = jax.tree.map(lambda r, d=lowered, u=raised: r + above(d * r) + below(u * r), rhs)  # noqa: B023
        if sinking is not None:
            rhs = jax.tree.map(lambda r, x, s=kept: r + (above(s) * x - below(s * x)), rhs, sinking)  # noqa: B023
            sinking = jax.tree.map(lambda x, u=raised, d=lowered: above(u) * x + above(d * x), sinking)  # noqa: B023
        own = own + up * above(kept) + down * below(kept)
        up, down = up * above(raised), down * below(lowered)
        distance *= 2
    inverse = 1.0 / own
    return jax.tree.map(lambda r: r * inverse, rhs)


def _from_below(values: ColumnArray, distance: int) -> ColumnArray:
    """What every row finds `distance` rows below: nothing, beyond the first."""
    return jnp.concatenate([jnp.zeros_like(values[:distance]), values[:-distance]])


def _from_above(values: ColumnArray, distance: int) -> ColumnArray:
    """What every row finds `distance` rows above: nothing, beyond the last."""
    return jnp.concatenate([values[distance:], jnp.zeros_like(values[:distance])])
