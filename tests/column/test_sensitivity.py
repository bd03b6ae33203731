"""The Jacobian is right in every mode and chunk size; chunks fit budgets and compile nothing anew."""

from typing import Any

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import cooled_case
from tunax_lite import Model, PacanowskiPhilander, SaveEverything, SaveSegments, simulate
from tunax_lite.column.sensitivity import BlockedJacobian, CompiledJacobian, jacobian, jacobian_by_case

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
        plan, expected = result.plan, min(chunk_size, n) if isinstance(chunk_size, int) else n
        assert (plan.mode, plan.n_parameters, plan.n_residuals) == (mode, N_PARAMETERS, 7)
        assert (plan.chunk_size, plan.n_chunks) == (expected, -(-n // expected))
        # The memory holds at least parameters, constants, residuals and matrix.
        assert plan.n_bytes >= 8 * (10 + 70 + 7 + 70) and "\n" not in str(plan)


@pytest.mark.long  # of functions: above
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_of_a_run_agrees_with_jax(mode):
    layout = SaveSegments() if mode == "reverse" else SaveEverything()

    def coldest(x, case):
        closure = PacanowskiPhilander(**x)
        run = simulate(Model(closure), case, duration=1200.0, output_interval=600.0, checkpointing=layout)
        return run.state.temperature[-1, -3:]

    x = {"alpha": jnp.asarray(5.0), "exponent": jnp.asarray(2.0)}
    result = jacobian(coldest, x, cooled_case(), mode=mode)
    expected = jax.jit(jax.jacfwd(coldest))(x, cooled_case())
    assert np.all(np.any(np.asarray(result.matrix) != 0.0, axis=0))
    for column, name in enumerate(sorted(x)):  # the order of the leaves of a dict
        np.testing.assert_allclose(result.matrix[:, column], expected[name], rtol=1e-9, atol=1e-14)


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
    result = jacobian(one, X)
    np.testing.assert_allclose(result.matrix, 2.0 * np.asarray(X)[None], rtol=1e-14)


def wide(x):
    """Residuals whose chunks need memory in proportion to their size."""
    return jnp.cumsum(jnp.outer(jnp.linspace(0.0, 1.0, 4000), x), axis=0).sum(axis=1) ** 2


@pytest.mark.long
def test_memory_is_a_straight_line_in_the_chunk_and_auto_takes_what_fits():
    x = jnp.arange(1.0, 65.0)

    def n_bytes(**options):
        return CompiledJacobian(wide, x, mode="forward", **options).plan.n_bytes

    chunks = np.array([1, 4, 8, 32])
    memory = np.array([n_bytes(chunk_size=int(chunk)) for chunk in chunks], dtype=float)
    slope, start = np.polyfit(chunks, memory, 1)
    assert slope >= 4000 * 8  # a tangent of the residuals, in bytes
    np.testing.assert_allclose(memory, start + slope * chunks, rtol=0.1)

    plan = CompiledJacobian(wide, x, memory_budget=10**10).plan
    assert (plan.chunk_size, plan.n_chunks) == (32, 2)  # as large as pays on a CPU
    plan = CompiledJacobian(wide, x, memory_budget=int(memory[2]) + 1).plan
    assert plan.n_bytes <= memory[2] + 1
    assert 6 <= plan.chunk_size <= 8
    with error_naming(MemoryError, f"{int(memory[0])} 1000"):
        CompiledJacobian(wide, x, memory_budget=1000)


def test_nothing_is_traced_for_new_values_nor_for_more_chunks():
    traced = []

    def function(x, matrix):
        traced.append(x)
        return residuals(x, matrix)

    compiled = CompiledJacobian(function, X, MATRIX, mode="forward", chunk_size=10)
    for_one_chunk = len(traced)
    for shift in (0.1, 0.2):
        result = compiled(X + shift, MATRIX - shift)
        np.testing.assert_allclose(
            result.matrix, expected_matrix(X + shift, MATRIX - shift), rtol=1e-13, atol=1e-15
        )
    assert len(traced) == for_one_chunk
    for_chunks = []
    for chunk_size in (5, 3):  # 2 full chunks; 3 full ones and one that is not
        traced.clear()
        CompiledJacobian(function, X, MATRIX, mode="forward", chunk_size=chunk_size)(X, MATRIX)
        for_chunks.append(len(traced))
    assert for_chunks[0] == for_chunks[1]


def test_cases_are_stacked_in_order_and_share_programs():
    matrices = (MATRIX, MATRIX[:5], 2.0 * MATRIX)
    blocked = BlockedJacobian([(residuals, (matrix,)) for matrix in matrices], X, chunk_size="auto")
    assert blocked.n_compiled == 2
    result = blocked(X)
    stacked = np.concatenate([residuals(X, matrix) for matrix in matrices])
    np.testing.assert_allclose(result.residuals, stacked, rtol=1e-13)
    stacked = np.concatenate([expected_matrix(X, matrix) for matrix in matrices])
    np.testing.assert_allclose(result.matrix, stacked, rtol=1e-13, atol=1e-15)
    assert [plan.n_residuals for plan in blocked.plans] == [7, 5, 7]
    assert result.is_finite

    normal = blocked.normal_equations(X)
    matrix, vector = np.asarray(result.matrix), np.asarray(result.residuals)
    np.testing.assert_allclose(normal.matrix, matrix.T @ matrix, rtol=1e-12)
    np.testing.assert_allclose(normal.gradient, matrix.T @ vector, rtol=1e-12)
    np.testing.assert_allclose(normal.sum_of_squares, vector @ vector, rtol=1e-12)


def test_results_that_are_not_finite_are_returned():
    assert not jacobian(jnp.log, jnp.asarray([-1.0, 1.0])).is_finite


def test_options_without_meaning_are_refused():
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"mode": "sideways"}, "mode auto forward reverse sideways"),
        ({"chunk_size": 0}, "1 0"),
        ({"chunk_size": 2.5}, "1 2.5"),
        ({"chunk_size": True}, "1 True"),
        ({"memory_budget": 0}, "memory_budget 0"),
    ]
    jaxtyping.config.update("jaxtyping_disable", True)  # as for a user, who checks no types
    try:
        for options, message in wrong:
            with error_naming(ValueError, message):
                CompiledJacobian(residuals, X, MATRIX, **options)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def test_parameters_without_meaning_are_refused():
    for x, message in (
        ({}, "parameters none"),
        (jnp.zeros(0), "parameters none"),
        ({"n": jnp.asarray([3])}, "int64 ['n']"),
        ({"n": jnp.asarray([1.0, np.nan])}, "nan x['n'][1]"),
        (jnp.asarray(np.inf), "inf x"),
    ):
        with error_naming(ValueError, message):
            jacobian(lambda x: jnp.ones(3), x)


def test_residuals_without_meaning_are_refused():
    with error_naming(ValueError, "residuals bool"):
        jacobian(lambda x: {"good": x > 0.0}, X)
    with error_naming(ValueError, "residuals"):
        jacobian(lambda x: x[:0], X)


def test_cases_without_meaning_are_refused():
    wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ([], {}, ValueError, "case none"),
        ([jnp.sin, jnp.cos], {"chunk_size": [1, 2, 3]}, ValueError, "chunk_size 2 3"),
        ([jnp.sin, lambda x: x[:0]], {}, ValueError, "case 1 jacobian residuals"),
        ([jnp.sin], {"memory_budget": 1}, MemoryError, "case 0 1"),
    ]
    for functions, options, error, message in wrong:
        with error_naming(error, message):
            jacobian_by_case(functions, X, **options)


def test_it_says_that_it_cannot_be_traced():
    with error_naming(ValueError, "jit"):
        jax.jit(lambda x: jacobian(jnp.sin, x).matrix)(X)
