"""Tridiagonal systems against dense linear algebra."""

import re
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import some_long
from tunax_lite.numerics import solve_tridiagonal
from tunax_lite.numerics.tridiagonal import (
    CarryingMatrix,
    ThomasScan,
    TridiagonalMatrix,
    TwistedThomas,
    VendorLibrary,
    solve_tridiagonal_systems,
)

ELIMINATIONS = [ThomasScan(), TwistedThomas()]
METHODS = [*ELIMINATIONS, VendorLibrary()]  # the default of the platform is one of them


def each_of(methods):
    """The usual choice of the platform is in every run."""
    is_long = lambda method: not isinstance(method, TwistedThomas | VendorLibrary)  # noqa: E731
    return pytest.mark.parametrize("method", some_long(methods, is_long, lambda each: type(each).__name__))


both_methods = each_of(METHODS)
some_methods = each_of([TwistedThomas(), VendorLibrary()])


def random_system(seed, n, batch=()):
    """Diagonally dominant, neither symmetric nor of one sign; the ignored corners are not zero."""
    rng = np.random.default_rng(seed)
    lower, upper = rng.normal(size=(2, n, *batch))
    sign = rng.choice([-1.0, 1.0], size=(n, *batch))
    diagonal = sign * (np.abs(lower) + np.abs(upper) + rng.uniform(0.5, 1.5, size=(n, *batch)))
    lower[0], upper[-1] = 1e3, -1e3
    return TridiagonalMatrix(jnp.asarray(lower), jnp.asarray(diagonal), jnp.asarray(upper))


@partial(jax.jit, static_argnums=2)
def solve_one(matrix, rhs, method):
    return solve_tridiagonal(matrix.lower, matrix.diagonal, matrix.upper, rhs, method=method)


solve_systems = jax.jit(solve_tridiagonal_systems, static_argnums=2)


def dense(matrix, array=np):
    """The same matrix in full, `(n, n)`, of a single column."""
    lower, diagonal, upper = (array.asarray(x) for x in matrix)
    if len(diagonal) == 1:
        return array.diag(diagonal)
    return array.diag(diagonal) + array.diag(lower[1:], -1) + array.diag(upper[:-1], 1)


def solve_dense(matrix, rhs):
    """Column by column with LAPACK."""
    shape = np.broadcast_shapes(rhs.shape, matrix.diagonal.shape)
    diagonals = [np.broadcast_to(x, shape).reshape(shape[0], -1) for x in matrix]
    columns = np.broadcast_to(rhs, shape).reshape(shape[0], -1)
    each = range(columns.shape[1])
    solved = [np.linalg.solve(dense([d[:, i] for d in diagonals]), columns[:, i]) for i in each]
    return np.stack(solved, axis=-1).reshape(shape)


@both_methods
@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_equals_dense_for_several_right_hand_sides(method, batch):
    matrix = random_system(0, 9, batch)
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 9, *batch))
    rhs = jax.tree.map(jnp.asarray, {"a": a, "others": (b, c)})
    solution = solve_one(matrix, rhs, method)
    assert jax.tree.structure(solution) == jax.tree.structure(rhs)
    for x, right in zip(jax.tree.leaves(solution), jax.tree.leaves(rhs), strict=True):
        np.testing.assert_allclose(x, solve_dense(matrix, right), rtol=1e-11, atol=1e-13)


@both_methods
def test_smallest_systems(method):
    for n, batch in ((1, ()), (2, ()), (3, (2,))):
        matrix = random_system(2, n, batch)
        rhs = jnp.broadcast_to(jnp.arange(1.0, n + 1.0).reshape(n, *[1] * len(batch)), (n, *batch))
        solution = solve_one(matrix, rhs, method)
        np.testing.assert_allclose(solution, solve_dense(matrix, rhs), rtol=1e-12)


def test_a_batch_is_solved_in_a_loop_without_copies_of_its_arrays():
    """XLA copies what a loop overwrites and something else still reads; that was a sixth of a step."""

    def step(_, x):
        matrix = CarryingMatrix(1.0 + x * x, *2 * [0.1 + x[1:] * x[1:]])
        return TwistedThomas()((matrix,), (x,), (x[1:] * x[:-1],))[0]

    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, step, x))
    program = str(loop.lower(jnp.ones((9, 4))).compile().as_text())
    # Five if rows are read of the given arrays; one is of x, the state of the loop.
    assert len(re.findall(r"= f64\[9,4\]\S* copy\(", program)) <= 1


@some_methods
def test_shared_matrix_and_shared_right_hand_side_broadcast(method):
    rng = np.random.default_rng(3)
    for n_matrices, n_sides in ((1, 4), (4, 1)):
        matrix, rhs = random_system(4, 7, (n_matrices,)), jnp.asarray(rng.normal(size=(7, n_sides)))
        expected = solve_dense(matrix, rhs)
        np.testing.assert_allclose(solve_one(matrix, rhs, method), expected, rtol=1e-11, atol=1e-13)


@some_methods
def test_systems_side_by_side_do_not_mix(method):
    matrices = tuple(random_system(seed, 8, (2,)) for seed in (6, 7, 8))
    rng = np.random.default_rng(9)
    values = [jnp.asarray(x) for x in rng.normal(size=(4, 8, 2))]
    rhs = ((values[0], values[1]), values[2], {"x": values[3]})
    together = solve_systems(matrices, rhs, method)
    assert jax.tree.structure(together) == jax.tree.structure(rhs)
    alone = tuple(solve_one(m, r, method) for m, r in zip(matrices, rhs, strict=True))
    for x, y in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        # Not bit by bit: the compiler may contract multiply-adds differently.
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@both_methods
def test_forward_and_reverse_derivative_equal_those_of_dense(method):
    matrix = random_system(10, 6)
    rng = np.random.default_rng(11)
    rhs, weights = (jnp.asarray(x) for x in rng.normal(size=(2, 6)))
    tangents = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)), (matrix, rhs))

    def loss(matrix, rhs):
        return jnp.sum(weights * solve_one(matrix, rhs, method) ** 2)

    def loss_dense(matrix, rhs):
        return jnp.sum(weights * jnp.linalg.solve(dense(matrix, jnp), rhs) ** 2)

    @partial(jax.jit, static_argnums=0)
    def derivatives(function, matrix, rhs):
        gradient, bend = jax.jvp(jax.grad(function, argnums=(0, 1)), (matrix, rhs), tangents)
        return gradient, jax.jvp(function, (matrix, rhs), tangents)[1], bend

    found, slope, bend = derivatives(loss, matrix, rhs)
    expected, slope_dense, bend_dense = derivatives(loss_dense, matrix, rhs)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    # The corners are ignored: their gradient is exactly zero.
    assert found[0].lower[0] == 0.0 and found[0].upper[-1] == 0.0
    np.testing.assert_allclose(slope, slope_dense, rtol=1e-10)
    # Forward over reverse, as Gauss-Newton methods and Hessians need it.
    for x, y in zip(jax.tree.leaves(bend), jax.tree.leaves(bend_dense), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


@some_methods
def test_derivative_to_one_of_several_right_hand_sides(method):
    matrices = (random_system(20, 5), random_system(21, 5))
    a, b, c = (jnp.asarray(x) for x in np.random.default_rng(22).normal(size=(3, 5)))

    def first(a, matrix):
        solutions = solve_tridiagonal_systems((matrix, matrices[1]), ((a, b), c), method)
        return jnp.sum(solutions[0][0] * c)

    @jax.jit
    def derivatives(a, matrix):
        forward = jax.jvp(lambda a: first(a, matrix), (a,), (b,))[1]
        return jax.grad(first)(a, matrix), forward, jax.grad(first, argnums=1)(a, matrix)

    # Only one right-hand side has a tangent, and only one solution a cotangent.
    reverse, forward, by_matrix = derivatives(a, matrices[0])
    expected = np.linalg.solve(dense(matrices[0]).T, np.asarray(c))
    np.testing.assert_allclose(reverse, expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(forward, expected @ np.asarray(b), rtol=1e-11)
    by_diagonal = -expected * solve_dense(matrices[0], a)
    np.testing.assert_allclose(by_matrix.diagonal, by_diagonal, rtol=1e-10, atol=1e-12)


def exact_solution(own, upward, downward, rhs) -> np.ndarray:
    """Gaussian elimination in fractions: without rounding."""
    own, upward, downward, rhs = ([Fraction(float(x)) for x in part] for part in (own, upward, downward, rhs))
    n = len(own)
    lost_up, lost_down = [*upward, Fraction(0)], [Fraction(0), *downward]
    diagonal = [sum(parts) for parts in zip(own, lost_up, lost_down, strict=True)]
    for i in range(1, n):
        factor = upward[i - 1] / diagonal[i - 1]
        diagonal[i] -= factor * downward[i - 1]
        rhs[i] += factor * rhs[i - 1]
    found = [rhs[-1] / diagonal[-1]]
    for i in range(n - 2, -1, -1):
        found.insert(0, (rhs[i] + downward[i] * found[0]) / diagonal[i])
    return np.array([float(x) for x in found])


each_elimination = pytest.mark.parametrize("method", ELIMINATIONS, ids=lambda m: type(m).__name__)


@each_elimination
def test_what_a_volume_keeps_is_not_rounded_away_by_what_it_carries(method, n=12):
    """Up to 1e25 times as much: with a sum of both on the diagonal no digit is right."""
    rng = np.random.default_rng(n)
    own = jnp.asarray(10.0 ** rng.uniform(-3.0, 3.0, n))
    upward, downward = (jnp.asarray(10.0 ** rng.uniform(-5.0, 25.0, n - 1)) for _ in range(2))
    rhs = jnp.asarray(10.0 ** rng.uniform(-20.0, 5.0, n))
    found = jax.jit(method.__call__)((CarryingMatrix(own, upward, downward),), (rhs,))[0]
    exact = exact_solution(own, upward, downward, rhs)
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert float(np.sum(own * found)) == pytest.approx(float(np.sum(rhs)), rel=1e-13)


@each_elimination
def test_amounts_that_pass_between_volumes_leave_nothing_behind(method):
    """Of 1e20 times the content: summed up in the volumes they would leave 1e4 times the content."""
    n, rng = 12, np.random.default_rng(3)
    own, exchange = rng.uniform(0.1, 2.0, n), 10.0 ** rng.uniform(0.0, 20.0, n - 1)
    values = rng.normal(10.0, 5.0, n)
    sinking = jnp.asarray(exchange * np.diff(values))
    between = CarryingMatrix(*map(jnp.asarray, (own, exchange, exchange)))
    change = jax.jit(method.__call__)((between,), (jnp.zeros(n),), (sinking,))[0]
    assert abs(float(np.sum(own * change))) < 1e-13 * float(np.sum(own * values))
    exact = exact_solution(own, exchange, exchange, own * values)
    np.testing.assert_allclose(values + np.asarray(change), exact, rtol=1e-13)
