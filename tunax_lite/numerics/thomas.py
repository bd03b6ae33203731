"""Tridiagonal systems by Gaussian elimination, one way or from both ends, as loops over the levels."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from .tridiagonal_method import AbstractTridiagonalMethod, TridiagonalMatrix


class ThomasScan(AbstractTridiagonalMethod):
    """Gaussian elimination upward, substitution downward, as two `lax.scan`s over the levels.

    One column carries scalars, which XLA keeps in registers; a batch carries rows.
    Stable without pivoting for diagonally dominant matrices, which diffusion gives.
    """

    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        def eliminate_one(matrix: TridiagonalMatrix, rhs_i: Any, upper_below: Any, rhs_below: Any):
            inverse_pivot = 1.0 / (matrix.diagonal - matrix.lower * upper_below)
            upper_i = matrix.upper * inverse_pivot
            rhs_i = jax.tree.map(
                lambda r, below: (r - matrix.lower * below) * inverse_pivot, rhs_i, rhs_below
            )
            return upper_i, rhs_i

        def eliminate(below: Any, row: Any):
            eliminated = tuple(
                eliminate_one(matrix, rhs_i, *below_i)
                for matrix, rhs_i, below_i in zip(*row, below, strict=True)
            )
            return eliminated, eliminated

        def substitute(above: Any, row: Any):
            solution = tuple(
                jax.tree.map(lambda r, x, u=upper_i: r - u * x, rhs_i, above_i)
                for (upper_i, rhs_i), above_i in zip(row, above, strict=True)
            )
            return solution, solution

        # Nothing lies below the first and above the last row.
        nothing = jax.tree.map(lambda r: jnp.zeros_like(r[0]), rhs)
        no_upper = (jnp.zeros_like(matrix.diagonal[0]) for matrix in matrices)
        below = tuple(zip(no_upper, nothing, strict=True))
        _, eliminated = lax.scan(eliminate, below, (matrices, rhs))
        _, solution = lax.scan(substitute, nothing, eliminated, reverse=True)
        return solution


class TwistedThomas(AbstractTridiagonalMethod):
    """Gaussian elimination from both ends to a middle row, then substitution from there to both ends.

    An elimination is a chain of dependent divisions that leaves most of the processor idle; two chains of
    half the length, side by side in one loop, take little more than half the time. Stable without pivoting
    for diagonally dominant matrices, which diffusion gives.

    Source: the twisted factorisation; Parlett and Dhillon (1997), Linear Algebra Appl. 267, 247-279.
    """

    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        systems = tuple(zip(matrices, rhs, strict=True))
        n = matrices[0].diagonal.shape[0]
        middle, n_pairs = n // 2, (n - 1) // 2
        # With an even number of rows the lower half has one row more; it goes first.
        first = n - 1 - 2 * n_pairs

        def eliminate(j: Any, carry: Any):
            rows, near = carry
            below, above = first + j, n - 1 - j
            near = _eliminate_upward(systems, below, near[0]), _eliminate_downward(systems, above, near[1])
            return _set_row(_set_row(rows, below, near[0]), above, near[1]), near

        nothing = [jax.tree.map(lambda x: jnp.zeros_like(x[0]), (m.diagonal, r)) for m, r in systems]
        rows = [(m.upper, r) for m, r in systems]  # overwritten row by row
        near = nothing
        if first:
            near = _eliminate_upward(systems, 0, nothing)
            rows = _set_row(rows, 0, near)
        rows, near = lax.fori_loop(0, n_pairs, eliminate, (rows, (near, nothing)))

        center = [_close(s, middle, *ends) for s, *ends in zip(systems, *near, strict=True)]
        solution = _set_row([r for _, r in rows], middle, center)

        def substitute(j: Any, carry: Any):
            solution, (above, below) = carry
            low, high = middle - 1 - j, middle + 1 + j
            above, below = _substitute(rows, low, above), _substitute(rows, high, below)
            return _set_row(_set_row(solution, low, above), high, below), (above, below)

        solution, near = lax.fori_loop(0, n_pairs, substitute, (solution, (center, center)))
        if first:
            solution = _set_row(solution, 0, _substitute(rows, 0, near[0]))
        return tuple(solution)


def _row(tree: PyTree, index: Any) -> PyTree:
    """One level of every leaf."""
    return jax.tree.map(
        lambda x: lax.dynamic_index_in_dim(x, index, 0, keepdims=False, allow_negative_indices=False), tree
    )


def _set_row(tree: PyTree, index: Any, row: PyTree) -> PyTree:
    """The same leaves with one level replaced."""
    return jax.tree.map(
        lambda x, r: lax.dynamic_update_index_in_dim(x, r, index, 0, allow_negative_indices=False), tree, row
    )


def _eliminate_upward(systems: Any, index: Any, below: Any) -> list:
    """Rows with their coefficients of the row below eliminated: coefficient above and right-hand sides."""
    rows = [_row((m.lower, m.upper, m.diagonal, rhs), index) for m, rhs in systems]
    return [_eliminate(*row, *near) for row, near in zip(rows, below, strict=True)]


def _eliminate_downward(systems: Any, index: Any, above: Any) -> list:
    """Rows with their coefficients of the row above eliminated: coefficient below and right-hand sides."""
    rows = [_row((m.upper, m.lower, m.diagonal, rhs), index) for m, rhs in systems]
    return [_eliminate(*row, *near) for row, near in zip(rows, above, strict=True)]


def _eliminate(back: Any, ahead: Any, diagonal: Any, rhs: PyTree, near_ratio: Any, near_rhs: PyTree):
    inverse_pivot = 1.0 / (diagonal - back * near_ratio)
    return ahead * inverse_pivot, jax.tree.map(lambda r, x: (r - back * x) * inverse_pivot, rhs, near_rhs)


def _close(system: Any, index: int, below: Any, above: Any) -> PyTree:
    """Solution of the row where the two eliminations meet."""
    matrix, rhs = system
    lower, diagonal, upper, rhs = _row((*matrix, rhs), index)
    inverse_pivot = 1.0 / (diagonal - lower * below[0] - upper * above[0])
    return jax.tree.map(
        lambda r, low, high: (r - lower * low - upper * high) * inverse_pivot, rhs, below[1], above[1]
    )


def _substitute(rows: Any, index: Any, near: Any) -> list[PyTree]:
    """Solution of an eliminated row from that of its neighbour."""
    return [
        jax.tree.map(lambda r, x, ratio=ratio: r - ratio * x, rhs, x)
        for (ratio, rhs), x in zip(_row(rows, index), near, strict=True)
    ]
