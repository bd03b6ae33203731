"""Tridiagonal systems by parallel cyclic reduction: few steps, in each of which all levels take part."""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import ColumnArray
from .tridiagonal_method import AbstractTridiagonalMethod, TridiagonalMatrix


class ParallelCyclicReduction(AbstractTridiagonalMethod):
    """Eliminate neighbours at distance 1, 2, 4, ... from every row at once, until none is left.

    With rows scaled to a diagonal of one, a step of distance s is

        r_i = 1 / (1 - l_i u_{i-s} - u_i l_{i+s}),    x_i: (x_i - l_i x_{i-s} - u_i x_{i+s}) r_i
        l_i: -l_i l_{i-s} r_i,                        u_i: -u_i u_{i+s} r_i

    For a GPU with so few columns that most of it would idle: log2(n) steps in sequence instead of the 2 n of
    an elimination, for log2(n) times the arithmetic. Never the fastest on a CPU. As accurate as elimination
    in float32, and stable without pivoting, for diagonally dominant matrices: the steps keep them so.
    `jax.lax.associative_scan` over the 2 x 2 matrices of an elimination would have the same length, but
    their products cancel to the last digit of float32 where diffusion is strong.

    Source: Hockney (1965), J. ACM 12, 95-113; Hockney and Jesshope (1981), Parallel Computers.
    """

    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        return tuple(_reduce(matrix, right) for matrix, right in zip(matrices, rhs, strict=True))


def _reduce(matrix: TridiagonalMatrix, rhs: PyTree) -> PyTree:
    n = matrix.diagonal.shape[0]
    end = jnp.zeros_like(matrix.diagonal[:1])
    inverse = 1.0 / matrix.diagonal
    lower = jnp.concatenate([end, matrix.lower[1:]]) * inverse
    upper = jnp.concatenate([matrix.upper[:-1], end]) * inverse
    solution = jax.tree.map(lambda r: r * inverse, rhs)
    distance = 1
    while distance < n:
        inverse = 1.0 / (1.0 - lower * _from_below(upper, distance) - upper * _from_above(lower, distance))

        def eliminate(x, low=lower, up=upper, s=distance, r=inverse):
            return (x - low * _from_below(x, s) - up * _from_above(x, s)) * r

        solution = jax.tree.map(eliminate, solution)
        lower = -lower * _from_below(lower, distance) * inverse
        upper = -upper * _from_above(upper, distance) * inverse
        distance *= 2
    return solution


def _from_below(values: ColumnArray, distance: int) -> ColumnArray:
    """What every row finds `distance` rows below: nothing, beyond the first."""
    return jnp.concatenate([jnp.zeros_like(values[:distance]), values[:-distance]])


def _from_above(values: ColumnArray, distance: int) -> ColumnArray:
    """What every row finds `distance` rows above: nothing, beyond the last."""
    return jnp.concatenate([values[distance:], jnp.zeros_like(values[:distance])])
