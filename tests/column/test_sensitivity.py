"""The Jacobian is right in every mode and chunk size; chunks fit budgets and compile nothing anew."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite.column.sensitivity import CompiledJacobian, jacobian

N_PARAMETERS = 10
MATRIX = jnp.asarray(np.random.default_rng(3).normal(size=(7, N_PARAMETERS)))
X = jnp.asarray(np.random.default_rng(4).uniform(0.5, 1.5, N_PARAMETERS))


def residuals(x, matrix):
    return jnp.sin(matrix @ x)


def expected_matrix(x, matrix):
    return np.cos(np.asarray(matrix) @ np.asarray(x))[:, None] * np.asarray(matrix)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_every_mode_and_chunk_gives_the_same_matrix(mode):
    n = N_PARAMETERS if mode == "forward" else 7
    for chunk_size in (1, 3, 1000, "auto"):
        result = jacobian(residuals, X, MATRIX, mode=mode, chunk_size=chunk_size)
        np.testing.assert_allclose(result.residuals, residuals(X, MATRIX), rtol=1e-14)
        np.testing.assert_allclose(result.matrix, expected_matrix(X, MATRIX), rtol=1e-13, atol=1e-15)
        plan, size = result.plan, min(chunk_size, n) if isinstance(chunk_size, int) else n
        assert (plan.mode, plan.n_parameters, plan.n_residuals) == (mode, N_PARAMETERS, 7)
        assert (plan.chunk_size, plan.n_chunks) == (size, -(-n // size))
        # The memory holds at least parameters, constants, residuals and matrix.
        assert plan.n_bytes >= 8 * (10 + 70 + 7 + 70) and "\n" not in str(plan)


def test_columns_and_rows_follow_the_leaves():
    def function(x):
        return {"b": x["q"] * 2.0, "a": jnp.sum(x["p"]) * jnp.ones((2, 1))}

    x = {"q": jnp.asarray([1.0, 2.0]), "p": jnp.asarray([[3.0]])}
    result = jacobian(function, x)
    np.testing.assert_array_equal(result.residuals, [3.0, 3.0, 2.0, 4.0])
    np.testing.assert_array_equal(result.matrix, [[1, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 2]])


def test_auto_is_reverse_only_for_far_fewer_residuals():
    one = lambda x: jnp.sum(x**2)  # noqa: E731
    assert CompiledJacobian(one, X).plan.mode == "reverse"
    assert CompiledJacobian(lambda x: x[:5] ** 2, X).plan.mode == "forward"
    assert CompiledJacobian(one, X[:3]).plan.mode == "forward"
    np.testing.assert_allclose(jacobian(one, X).matrix, 2.0 * np.asarray(X)[None], rtol=1e-14)


def wide(x):
    """Residuals whose chunks need memory in proportion to their size."""
    return jnp.cumsum(jnp.outer(jnp.linspace(0.0, 1.0, 4000), x), axis=0).sum(axis=1) ** 2


@pytest.mark.long
def test_memory_grows_with_the_chunk_and_auto_takes_what_fits():
    plan_of = lambda **options: CompiledJacobian(wide, jnp.arange(1.0, 65.0), **options).plan  # noqa: E731
    one, eight = (plan_of(mode="forward", chunk_size=chunk).n_bytes for chunk in (1, 8))
    assert eight - one >= 7 * 4000 * 8  # a tangent of the residuals, in bytes
    plan = plan_of(memory_budget=10**10)
    assert (plan.chunk_size, plan.n_chunks) == (32, 2)  # as large as pays on a CPU
    plan = plan_of(memory_budget=eight + 1)
    assert plan.n_bytes <= eight + 1 and 6 <= plan.chunk_size <= 8
    with error_naming(MemoryError, f"{one} 1000"):
        plan_of(memory_budget=1000)


def test_normal_equations_are_products_of_the_matrix():
    result = jacobian(residuals, X, MATRIX)
    normal, matrix = result.normal_equations(), expected_matrix(X, MATRIX)
    vector = np.asarray(residuals(X, MATRIX))
    assert result.is_finite and not jacobian(jnp.log, jnp.asarray([-1.0, 1.0])).is_finite
    np.testing.assert_allclose(normal.matrix, matrix.T @ matrix, rtol=1e-12)
    np.testing.assert_allclose(normal.gradient, matrix.T @ vector, rtol=1e-12)
    np.testing.assert_allclose(normal.sum_of_squares, vector @ vector, rtol=1e-12)


def compiled(**options):
    return lambda: CompiledJacobian(residuals, X, MATRIX, **options)


def by(x, function=lambda x: jnp.ones(3)):
    return lambda: jacobian(function, x)


def test_arguments_without_meaning_are_refused(monkeypatch):
    # As for a user, who checks no types.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    empty = lambda x: x[:0]  # noqa: E731
    for make, error, message in (
        (compiled(mode="sideways"), ValueError, "mode auto forward reverse sideways"),
        (compiled(chunk_size=0), ValueError, "1 0"),
        (compiled(chunk_size=2.5), ValueError, "1 2.5"),
        (compiled(memory_budget=0), ValueError, "memory_budget 0"),
        (by(jnp.zeros(0)), ValueError, "parameters none"),
        (by({"n": jnp.asarray([3])}), ValueError, "int64 ['n']"),
        (by({"n": jnp.asarray([1.0, np.nan])}), ValueError, "nan x['n'][1]"),
        (by(X, lambda x: {"good": x > 0.0}), ValueError, "residuals bool"),
        (by(X, empty), ValueError, "residuals"),
        (compiled(memory_budget=1), MemoryError, "1"),
        (lambda: jax.jit(lambda x: jacobian(jnp.sin, x).matrix)(X), ValueError, "jit"),
    ):
        with error_naming(error, message):
            make()
