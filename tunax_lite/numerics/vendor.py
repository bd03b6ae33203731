"""Tridiagonal systems by the library of the platform."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from .tridiagonal_method import AbstractTridiagonalMethod, CarryingMatrix, TridiagonalMatrix, added_up


class VendorLibrary(AbstractTridiagonalMethod):
    """`jax.lax.linalg.tridiagonal_solve`: LAPACK on a CPU, cuSPARSE on an NVIDIA GPU.

    On a GPU a scan over the levels would be one tiny kernel launch per level. What volumes keep of
    themselves is rounded with what they exchange: where that is E times as much, contents are off by E times
    the rounding, which elimination avoids.
    """

    def __call__(
        self,
        matrices: tuple[CarryingMatrix, ...],
        rhs: tuple[PyTree, ...],
        sinking: tuple[PyTree, ...] | None = None,
    ) -> tuple[PyTree, ...]:
        rhs = rhs if sinking is None else jax.tree.map(added_up, rhs, sinking)
        return tuple(self._solve_one(m.diagonals(), r) for m, r in zip(matrices, rhs, strict=True))

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
