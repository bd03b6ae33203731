"""Tridiagonal linear systems, differentiable in forward and reverse mode.

    lower_i x_{i-1} + diagonal_i x_i + upper_i x_{i+1} = rhs_i,   i = 0 ... n - 1

Both derivatives are one more solve with the same matrix (or its transpose), A dx = db - dA x, without
differentiating the sweeps. Several systems of the same size can be solved side by side: each sweep is a chain
of dependent operations, and two chains in one loop take hardly longer than one.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import PyTree

from .._types import ColumnArray
from .tridiagonal_methods import (
    AbstractTridiagonalMethod,
    CarryingMatrix,
    ExchangeMatrix,
    Matrices,
    ThomasScan,
    Trees,
    TridiagonalMatrix,
    VendorLibrary,
)

SOLUTION = "tridiagonal_solution"
"""Name under which checkpointed loops keep solutions instead of solving again."""


class PlatformDefault(AbstractTridiagonalMethod):
    """The method of the platform, chosen when the program is lowered: `VendorLibrary` on a GPU.

    Args:
        cpu: method on a CPU. `ThomasScan` has small loops, which XLA always fuses; `TwistedThomas` is faster
            if XLA fuses the whole time loop, and models use it then.
    """

    cpu: AbstractTridiagonalMethod = ThomasScan()

    def __call__(self, matrices: Matrices, rhs: Trees, sinking: Trees | None = None) -> Trees:
        return lax.platform_dependent(matrices, rhs, sinking, cpu=self.cpu, default=VendorLibrary())


Matrix = TridiagonalMatrix | CarryingMatrix | ExchangeMatrix


def _multiply_each(matrices: tuple[Matrix, ...], solution: Trees) -> Trees:
    return tuple(jax.tree.map(matrix.times, x) for matrix, x in zip(matrices, solution, strict=True))


def _spread(matrix: Matrix, rhs: PyTree) -> tuple[Matrix, PyTree]:
    """Matrix and right-hand sides broadcast to the same batch."""
    batch = jnp.broadcast_shapes(*(leaf.shape[1:] for leaf in jax.tree.leaves((matrix, rhs))))
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, leaf.shape[:1] + batch), (matrix, rhs))


def solve_tridiagonal_systems(
    matrices: tuple[Matrix, ...],
    rhs: Trees,
    method: AbstractTridiagonalMethod | None = None,
    *,
    guess: Trees | None = None,
    residual: Trees | None = None,
    sinking: Trees | None = None,
) -> Trees:
    """Solve several independent systems of the same size side by side.

    Args:
        matrices: one per system.
        rhs: for each system a pytree of right-hand sides that share its matrix, each `(n, *batch)`.
        method: how to solve; by default the fastest for the platform.
        guess, residual, sinking: approximate solutions, and rhs - A guess evaluated without cancellation,
            like `rhs`: the gain of each volume itself, and on faces the gain from the volume above. The
            correction to the guess is solved for, so that rounding is relative to it. Derivatives are those
            of A and `rhs`: the solution does not depend on the guess.

    Returns:
        The solutions, in the structure of `rhs`. No pivoting: matrices should be diagonally dominant.
    """
    solver = PlatformDefault() if method is None else method
    spread = [_spread(matrix, right) for matrix, right in zip(matrices, rhs, strict=True)]
    known = ()
    if guess is not None and residual is not None and sinking is not None:
        gains = (
            tuple(_spread(*both)[1] for both in zip(matrices, of, strict=True)) for of in (residual, sinking)
        )
        known = guess, *gains

    @jax.custom_jvp
    def solve(matrices, rhs, *known):
        if not known:
            return solver(tuple(m.carrying() for m in matrices), rhs)
        guess, *gains = known
        return jax.tree.map(jnp.add, guess, solver(tuple(m.carrying() for m in matrices), *gains))

    @solve.defjvp
    def _(primals, tangents):
        matrices, (matrix_tangents, rhs_tangents) = primals[0], tangents[:2]
        # The name marks the solution for checkpointing: a loop that stores it does not solve again.
        solution = jax.tree.map(lambda x: checkpoint_name(x, SOLUTION), solve(*primals))
        change = jax.tree.map(jnp.subtract, rhs_tangents, _multiply_each(matrix_tangents, solution))
        return solution, _solve_linearly(matrices, change, solver)

    return solve(*zip(*spread, strict=True), *known)


def _solve_linearly(matrices: tuple[Matrix, ...], rhs: Trees, solver: AbstractTridiagonalMethod) -> Trees:
    """The solution as a linear function of the right-hand sides, which JAX can transpose."""

    def solve(_, right: Trees) -> Trees:
        return solver(tuple(m.carrying() for m in matrices), right)

    def solve_transpose(_, right: Trees) -> Trees:
        return solver(tuple(m.transposed().carrying() for m in matrices), right)

    # `custom_linear_solve` fails if only some right-hand sides depend on differentiated values. Adding zero
    # times a number of every other one makes each depend on all; one row suffices, which spares the transpose
    # a sum.
    if len(leaves := jax.tree.leaves(rhs)) > 1:
        nothing = sum(0.0 * leaf[:1] for leaf in leaves)
        rhs = jax.tree.map(lambda x: lax.dynamic_update_slice_in_dim(x, x[:1] + nothing, 0, axis=0), rhs)
    return lax.custom_linear_solve(lambda x: _multiply_each(matrices, x), rhs, solve, solve_transpose)


def solve_tridiagonal(
    lower: ColumnArray,
    diagonal: ColumnArray,
    upper: ColumnArray,
    rhs: PyTree,
    method: AbstractTridiagonalMethod | None = None,
) -> PyTree:
    """Solve one tridiagonal system for a pytree of right-hand sides, each `(n, *batch)`.

    Args:
        lower, diagonal, upper: `(n, *batch)`; `lower[0]` and `upper[-1]` are ignored.
        rhs, method: as in `solve_tridiagonal_systems`.
    """
    matrix = TridiagonalMatrix(lower, diagonal, upper)
    return solve_tridiagonal_systems((matrix,), (rhs,), method)[0]
