"""Tridiagonal linear systems, differentiable in forward and reverse mode.

    lower_i x_{i-1} + diagonal_i x_i + upper_i x_{i+1} = rhs_i,   i = 0 ... n - 1

The solve is wrapped in `lax.custom_linear_solve`: both derivatives are one more solve with the same
matrix (or its transpose) instead of a differentiation through the sweeps. Several systems of the same
size can be solved side by side: each sweep is a chain of dependent operations, and two chains in one
loop take hardly longer than one.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import PyTree

from .._types import ColumnArray

SOLUTION = "tridiagonal_solution"
"""Name under which checkpointed loops keep solutions instead of solving again."""


class TridiagonalMatrix(NamedTuple):
    """Three diagonals, each `(n, *batch)`; `lower[0]` and `upper[-1]` are ignored."""

    lower: ColumnArray
    diagonal: ColumnArray
    upper: ColumnArray


class AbstractTridiagonalMethod(eqx.Module):
    """How tridiagonal systems with several right-hand sides each are solved."""

    @abc.abstractmethod
    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        """Solve each system for every leaf of its right-hand side."""


class ThomasScan(AbstractTridiagonalMethod):
    """Gaussian elimination upward, substitution downward, as two `lax.scan`s over the levels.

    The fastest on a CPU: one column carries scalars, which XLA keeps in registers; a batch carries rows.
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


class VendorLibrary(AbstractTridiagonalMethod):
    """`jax.lax.linalg.tridiagonal_solve`: LAPACK on a CPU, cuSPARSE on an NVIDIA GPU.

    On a GPU a scan over the levels would be one tiny kernel launch per level.
    """

    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        return tuple(self._solve_one(m, r) for m, r in zip(matrices, rhs, strict=True))

    def _solve_one(self, matrix: TridiagonalMatrix, rhs: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(rhs)
        # The library wants (batch, level), the right-hand sides as a last axis, and zero corners.
        lower, diagonal, upper = (jnp.moveaxis(x, 0, -1) for x in matrix)
        level = jnp.arange(diagonal.shape[-1])
        stacked = jnp.stack([jnp.moveaxis(leaf, 0, -1) for leaf in leaves], axis=-1)
        solution = lax.linalg.tridiagonal_solve(
            jnp.where(level == 0, 0.0, lower),
            diagonal,
            jnp.where(level == level[-1], 0.0, upper),
            stacked,
        )
        solved = [jnp.moveaxis(solution[..., i], -1, 0) for i in range(len(leaves))]
        return jax.tree.unflatten(structure, solved)


class PlatformDefault(AbstractTridiagonalMethod):
    """`ThomasScan` on a CPU, `VendorLibrary` elsewhere, chosen when the program is lowered."""

    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        return lax.platform_dependent(matrices, rhs, cpu=ThomasScan(), default=VendorLibrary())


def _multiply(matrix: TridiagonalMatrix, solution: PyTree) -> PyTree:
    end = jnp.zeros_like(matrix.diagonal[:1])

    def rows_times(x):
        below = jnp.concatenate([end, matrix.lower[1:] * x[:-1]])
        above = jnp.concatenate([matrix.upper[:-1] * x[1:], end])
        return below + matrix.diagonal * x + above

    return jax.tree.map(rows_times, solution)


def _transpose(matrix: TridiagonalMatrix) -> TridiagonalMatrix:
    end = jnp.zeros_like(matrix.diagonal[:1])
    return TridiagonalMatrix(
        lower=jnp.concatenate([end, matrix.upper[:-1]]),
        diagonal=matrix.diagonal,
        upper=jnp.concatenate([matrix.lower[1:], end]),
    )


def _spread(matrix: TridiagonalMatrix, rhs: PyTree) -> tuple[TridiagonalMatrix, PyTree]:
    """Matrix and right-hand sides of the same shape."""
    shape = jnp.broadcast_shapes(*(leaf.shape for leaf in jax.tree.leaves((matrix, rhs))))
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, shape), (matrix, rhs))


@jax.custom_jvp
def _with_all_tangents(systems: tuple[tuple[TridiagonalMatrix, ...], tuple[PyTree, ...]]):
    """The identity; `custom_linear_solve` fails where only some right-hand sides have a tangent."""
    return systems


@_with_all_tangents.defjvp
def _(primals, tangents):
    matrices, rhs = tangents[0]
    if len(jax.tree.leaves(rhs)) == 1:
        return primals[0], tangents[0]
    # Zero times a number of every tangent: each right-hand side then depends on whatever is differentiated,
    # in forward and in reverse mode. An optimisation barrier would do it up to JAX 0.11 only; adding it to
    # one row rather than to all spares the transpose a sum over the levels.
    nothing = sum(0.0 * leaf[0] for leaf in jax.tree.leaves(tangents[0]))
    touched = jax.tree.map(lambda leaf: jnp.concatenate([leaf[:1] + nothing, leaf[1:]]), rhs)
    return primals[0], (matrices, touched)


def solve_tridiagonal_systems(
    matrices: tuple[TridiagonalMatrix, ...],
    rhs: tuple[PyTree, ...],
    method: AbstractTridiagonalMethod | None = None,
) -> tuple[PyTree, ...]:
    """Solve several independent systems of the same size side by side.

    Args:
        matrices: one per system.
        rhs: for each system a pytree of right-hand sides that share its matrix, each `(n, *batch)`.
        method: how to solve; by default the fastest for the platform.

    Returns:
        The solutions, in the structure of `rhs`. No pivoting: matrices should be diagonally dominant.
    """
    solver = PlatformDefault() if method is None else method
    spread = [_spread(matrix, right) for matrix, right in zip(matrices, rhs, strict=True)]
    matrices, rhs = _with_all_tangents(tuple(zip(*spread, strict=True)))

    def multiply(solution: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        return tuple(_multiply(m, x) for m, x in zip(matrices, solution, strict=True))

    def solve(_, right: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        return solver(matrices, right)

    def solve_transpose(_, right: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        return solver(tuple(_transpose(matrix) for matrix in matrices), right)

    solution = lax.custom_linear_solve(multiply, rhs, solve, solve_transpose)
    return jax.tree.map(lambda x: checkpoint_name(x, SOLUTION), solution)


def solve_tridiagonal(
    lower: ColumnArray,
    diagonal: ColumnArray,
    upper: ColumnArray,
    rhs: PyTree,
    method: AbstractTridiagonalMethod | None = None,
) -> PyTree:
    """Solve one tridiagonal system for several right-hand sides.

    Args:
        lower: sub-diagonal, shape `(n, *batch)`; `lower[0]` is ignored.
        diagonal: shape `(n, *batch)`.
        upper: super-diagonal, shape `(n, *batch)`; `upper[-1]` is ignored.
        rhs: pytree of right-hand sides that share the matrix, each `(n, *batch)`.
        method: how to solve; by default the fastest for the platform.

    Returns:
        The solutions, in the structure of `rhs`. No pivoting: the matrix should be diagonally dominant.
    """
    matrix = TridiagonalMatrix(lower, diagonal, upper)
    return solve_tridiagonal_systems((matrix,), (rhs,), method)[0]
