"""One step of vertical diffusion with sources, implicit by the theta scheme, on any grid.

    h_i dY_i/dt = K_i (Y_{i+1} - Y_i) - K_{i-1} (Y_i - Y_{i-1}) + h_i (Q_i - L_i Y_i)

for control volumes of thickness h_i, with K_i the conductance (diffusivity over distance) between the
volumes i and i + 1. The volumes are cells for temperature and velocity, and the spaces between centers
for turbulence quantities, which live on faces. Nothing passes the two ends: a boundary flux F enters as
a source, h Q = F. Written in this form the matrix is symmetric and sum(h Y) is conserved to round-off.
"""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import ColumnArray, InnerFaceArray, ScalarLike
from .tridiagonal import (
    AbstractTridiagonalMethod,
    TridiagonalMatrix,
    solve_tridiagonal_systems,
)


def add_at_ends(values: ColumnArray, bottom: ScalarLike, surface: ScalarLike) -> ColumnArray:
    """Add one number to the first and one to the last level."""
    # Slices and a concatenation rather than an indexed update: a scatter is slow on a CPU.
    return jnp.concatenate([values[:1] + bottom, values[1:-1], values[-1:] + surface])


def diffusion_system(
    quantities: PyTree,
    conductance: InnerFaceArray,
    thickness: ColumnArray,
    dt: ScalarLike,
    *,
    source: PyTree,
    sink_rate: ColumnArray | None = None,
    theta: float = 1.0,
) -> tuple[TridiagonalMatrix, PyTree]:
    """Matrix and right-hand sides of one time step; arguments as in `diffuse`."""
    end = jnp.zeros_like(conductance[:1])
    exchange = dt * conductance
    off_diagonal = -theta * exchange
    lower = jnp.concatenate([end, off_diagonal])
    upper = jnp.concatenate([off_diagonal, end])
    diagonal = thickness - lower - upper
    if sink_rate is not None:
        diagonal = diagonal + dt * sink_rate * thickness

    def right_hand_side(quantity: ColumnArray, added: ColumnArray) -> ColumnArray:
        rhs = thickness * quantity + dt * added
        if theta == 1.0:
            return rhs
        flux = (1.0 - theta) * exchange * (quantity[1:] - quantity[:-1])
        return rhs + jnp.concatenate([flux, end]) - jnp.concatenate([end, flux])

    rhs = jax.tree.map(right_hand_side, quantities, source)
    return TridiagonalMatrix(lower, diagonal, upper), rhs


def diffuse(
    quantities: PyTree,
    conductance: InnerFaceArray,
    thickness: ColumnArray,
    dt: ScalarLike,
    *,
    source: PyTree,
    sink_rate: ColumnArray | None = None,
    theta: float = 1.0,
    method: AbstractTridiagonalMethod | None = None,
) -> PyTree:
    """Advance quantities that share their diffusivity by one time step.

    Args:
        quantities: pytree of arrays `(n, *batch)` with values Y.
        conductance: K between neighbouring volumes [m s-1], `(n - 1, *batch)`.
        thickness: h of the volumes [m], `(n, *batch)`.
        dt: time step [s].
        source: pytree like `quantities` with the content added per area and time, h Q [unit m s-1],
            explicit; boundary fluxes are part of it.
        sink_rate: L [s-1], at least zero, always implicit.
        theta: weight of the new values in the diffusive fluxes: 1 backward Euler, 0.5 Crank-Nicolson.
        method: how the linear system is solved.

    Returns:
        The new values. With theta = 1 and non-negative sources they stay positive for any time step.

    Source: Burchard et al. (2003) for the split of sources and sinks (Patankar); GOTM `diff_center`.
    """
    matrix, rhs = diffusion_system(
        quantities, conductance, thickness, dt, source=source, sink_rate=sink_rate, theta=theta
    )
    return solve_tridiagonal_systems((matrix,), (rhs,), method)[0]
