"""How a Jacobian is computed, and what comes out."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Mode = Literal["auto", "forward", "reverse"]
ChunkSize = int | Literal["auto"] | None


@dataclasses.dataclass(frozen=True)
class JacobianPlan:
    """How a Jacobian is computed; prints in one line.

    Args:
        mode: `forward` or `reverse`.
        chunk_size: parameters pushed forward, or residuals pulled back, at the same time; the last chunk
            overlaps the one before where they do not divide evenly.
        n_parameters, n_residuals: columns and rows of the matrix.
        n_bytes: memory of the program: what goes in, comes out and lies between.
    """

    mode: Literal["forward", "reverse"]
    chunk_size: int
    n_parameters: int
    n_residuals: int
    n_bytes: int

    @property
    def n_chunks(self) -> int:
        return math.ceil(
            (self.n_parameters if self.mode == "forward" else self.n_residuals) / self.chunk_size
        )

    def __str__(self) -> str:
        chunks = "1 chunk" if self.n_chunks == 1 else f"{self.n_chunks} chunks"
        return (
            f"Jacobian of {self.n_residuals} residuals by {self.n_parameters} parameters: {self.mode} mode, "
            f"{chunks} of {self.chunk_size}, {self.n_bytes} bytes"
        )


@dataclasses.dataclass(frozen=True)
class NormalEquations:
    """What a Gauss-Newton step d needs of residuals r and their Jacobian J: JᵀJ d = -Jᵀr.

    Args:
        matrix: JᵀJ.
        gradient: Jᵀr, the gradient of rᵀr / 2.
        sum_of_squares: rᵀr.
    """

    matrix: Float[Array, "parameter parameter"]
    gradient: Float[Array, " parameter"]
    sum_of_squares: Float[Array, ""]


@dataclasses.dataclass(frozen=True)
class JacobianResult:
    """Residuals and their derivatives; both may hold values that are not finite.

    Args:
        residuals: in one vector.
        matrix: derivative of each residual by each parameter.
        plans: how they were computed, one per case.
    """

    residuals: Float[Array, " residual"]
    matrix: Float[Array, "residual parameter"]
    plans: tuple[JacobianPlan, ...]

    @property
    def plan(self) -> JacobianPlan:
        """How they were computed, where there is one case only."""
        (plan,) = self.plans
        return plan

    @property
    def is_finite(self) -> bool:
        return bool(jnp.isfinite(self.residuals).all() & jnp.isfinite(self.matrix).all())

    def normal_equations(self, limit: float = math.inf) -> NormalEquations:
        """Their sums over the residuals.

        Args:
            limit: rows with a larger derivative are scaled down to it in JᵀJ; in Jᵀr they are not.
        """
        return NormalEquations(*_products(self.residuals, self.matrix, limit))


@jax.jit
def _products(residuals, matrix, limit):
    largest = jnp.max(jnp.abs(matrix), axis=1, keepdims=True)
    scaled = matrix * jnp.minimum(1.0, limit / jnp.maximum(largest, jnp.finfo(matrix.dtype).tiny))
    return scaled.T @ scaled, matrix.T @ residuals, residuals @ residuals
