"""Parallel cyclic reduction against elimination: accuracy where diffusion is strong, and any size.

The tests that all methods share are in `test_tridiagonal.py`.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.numerics import ParallelCyclicReduction, ThomasScan, TridiagonalMatrix, solve_tridiagonal


def diffusion_matrix(n: int, strength: float) -> TridiagonalMatrix:
    """One implicit step of diffusion whose coefficient varies a hundredfold from level to level."""
    exchange = strength * np.exp(np.random.default_rng(n).normal(size=n - 1) * 1.5)
    lower, upper = np.append(0.0, -exchange), np.append(-exchange, 0.0)
    return TridiagonalMatrix(*(jnp.asarray(x) for x in (lower, 1.0 - lower - upper, upper)))


solve = jax.jit(solve_tridiagonal, static_argnums=4)


def error(matrix: TridiagonalMatrix, method, dtype) -> float:
    """Largest error of a solution that is known: of the matrix as it is after rounding."""
    rounded = TridiagonalMatrix(*(jnp.asarray(np.asarray(x), dtype) for x in matrix))
    rhs = jnp.asarray(20.0 + np.random.default_rng(1).normal(size=matrix.diagonal.shape), dtype)
    lower, diagonal, upper = (np.asarray(x, float) for x in rounded)
    dense = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    found = solve(*rounded, rhs, method)
    assert found.dtype == dtype
    return float(np.abs(np.asarray(found, float) - np.linalg.solve(dense, np.asarray(rhs, float))).max())


@pytest.mark.parametrize(("n", "strength"), [(64, 1.0), (257, 1e3)])
def test_single_precision_is_as_accurate_as_elimination(n, strength):
    matrix = diffusion_matrix(n, strength)
    reduced = error(matrix, ParallelCyclicReduction(), jnp.float32)
    eliminated = error(matrix, ThomasScan(), jnp.float32)
    assert reduced <= 5.0 * eliminated + 1e-5


def test_double_precision_for_any_strength_of_diffusion():
    # Rows of a strength K nearly cancel: as many digits are lost as K has.
    for strength in (1.0, 1e6):
        assert (
            error(diffusion_matrix(256, strength), ParallelCyclicReduction(), jnp.float64) < 2e-12 * strength
        )


def test_program_has_no_loop_over_the_levels():
    matrix = diffusion_matrix(64, 1.0)
    method = ParallelCyclicReduction()
    program = str(
        jax.make_jaxpr(lambda m, r: solve_tridiagonal(m.lower, m.diagonal, m.upper, r, method))(
            matrix, matrix.diagonal
        )
    )
    assert "scan" not in program and "while" not in program
    # Six steps for 64 levels, each with one division, and the one that scales the rows.
    assert len(re.findall(r"\bdiv\b", program)) <= 7


def test_any_number_of_levels():
    for n in (3, 7, 8, 33):
        assert error(diffusion_matrix(n, 10.0), ParallelCyclicReduction(), jnp.float64) < 1e-11
