"""Columns that several unit tests need."""

import jax.numpy as jnp
import numpy as np

from tunax_lite import Grid, LinearEquationOfState, State
from tunax_lite.closures import ClosureInputs


def random_grid(seed: int, n_cells: int, depth: float = 40.0) -> Grid:
    """Cells whose thickness varies by a factor of four from one to the next."""
    thickness = np.random.default_rng(seed).uniform(0.5, 2.0, n_cells)
    heights = np.concatenate([[0.0], np.cumsum(thickness)])
    z_face = depth * (heights / heights[-1] - 1.0)
    z_face[-1] = 0.0
    return Grid(z_face)


def closure_inputs(
    grid: Grid, n_squared, s_squared, *, friction_velocity: float = 0.0, buoyancy_flux: float = 0.0
) -> ClosureInputs:
    """Inputs of a closure with given stratification and shear [s-2] on inner faces, or one number each."""
    inner = grid.center_spacing.shape
    return ClosureInputs(
        grid=grid,
        state=State.from_profiles(grid, temperature=10.0),
        buoyancy_frequency_squared=jnp.broadcast_to(jnp.asarray(n_squared, dtype=float), inner),
        shear_squared=jnp.broadcast_to(jnp.asarray(s_squared, dtype=float), inner),
        surface_friction_velocity=jnp.asarray(friction_velocity),
        surface_buoyancy_flux=jnp.asarray(buoyancy_flux),
        coriolis_parameter=jnp.asarray(0.0),
        equation_of_state=LinearEquationOfState(),
    )


def exchange_matrix(conductance, n: int) -> np.ndarray:
    """Dense matrix A of dY/dt h = A Y for conductances between n neighbouring volumes."""
    matrix = np.zeros((n, n))
    for i, k in enumerate(np.asarray(conductance)):
        matrix[i, i] -= k
        matrix[i, i + 1] += k
        matrix[i + 1, i] += k
        matrix[i + 1, i + 1] -= k
    return matrix
