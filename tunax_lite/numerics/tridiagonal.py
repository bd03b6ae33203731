"""Tridiagonal linear systems, differentiable in forward and reverse mode.

    lower_i x_{i-1} + diagonal_i x_i + upper_i x_{i+1} = rhs_i,   i = 0 ... n - 1

Both derivatives are one more solve with the same matrix (or its transpose), A dx = db - dA x, without
differentiating the sweeps. Several systems of the same size can be solved side by side: each sweep is a chain
of dependent operations, and two chains in one loop take hardly longer than one.

Elimination proceeds in one direction or from both ends, as loops over the levels. Instead of the diagonal, a
row stores the part s that the volume retains; eliminating volume i adds to s of the volume above what passes
down from it and is retained in i. With the pivot p_i = s_i + upward_i, the right-hand side r_i and the amount
R_i that sinks into volume i,

    s_{i+1} = kept_{i+1} + downward_i s_i / p_i,   r_{i+1} = rhs_{i+1} + (upward_i r_i - s_i R_i) / p_i
    x_i = (r_i + R_i + downward_i x_{i+1}) / p_i

There is no cancellation: the solution is exact to rounding in every volume, and of one sign if the right-hand
sides are, however large the exchange.

Source: Grassmann, Taksar and Heyman (1985), Oper. Res. 33, 1107-1116, for elimination without subtraction.
"""

import abc
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, PyTree

from .._types import ColumnArray, InnerFaceArray
from ..runtime.embedding import varying_alike
from .elementary import difference, unfused

Trees = tuple[PyTree, ...]  # arrays `(n, *batch)` for each of several systems


class TridiagonalMatrix(NamedTuple):
    """Three diagonals, each `(n, *batch)`; `lower[0]` and `upper[-1]` are ignored.

    All matrices have products with vectors, a transpose, and a form as `CarryingMatrix`.
    """

    lower: ColumnArray
    diagonal: ColumnArray
    upper: ColumnArray

    def carrying(self) -> "CarryingMatrix":
        upward, downward = -self.lower[1:], -self.upper[:-1]
        (lost_up, _), (_, lost_down) = shifts(upward), shifts(downward)
        return CarryingMatrix(self.diagonal - lost_up - lost_down, upward, downward)

    def times(self, x: ColumnArray) -> ColumnArray:
        end = jnp.zeros_like(self.diagonal[:1])
        below = jnp.concatenate([end, self.lower[1:] * x[:-1]])
        above = jnp.concatenate([self.upper[:-1] * x[1:], end])
        return below + self.diagonal * x + above

    def transposed(self) -> "TridiagonalMatrix":
        end = jnp.zeros_like(self.diagonal[:1])
        lower = jnp.concatenate([end, self.upper[:-1]])
        return TridiagonalMatrix(lower, self.diagonal, jnp.concatenate([self.lower[1:], end]))


class CarryingMatrix(NamedTuple):
    """The matrix of volumes that carry their content to neighbours.

    (A x)_i = kept_i x_i + net_i - net_{i-1},   net_i = upward_i x_i - downward_i x_{i+1}

    The exchange may exceed what a volume keeps by any factor: the diagonal would lose `kept` to rounding, so
    it is stored separately. Each column of the matrix sums to it.
    """

    kept: ColumnArray  # part that a volume keeps, `(n, *batch)`
    upward: InnerFaceArray  # from the volume i to i + 1, `(n - 1, *batch)`
    downward: InnerFaceArray  # from the volume i + 1 to i, `(n - 1, *batch)`

    def carrying(self) -> "CarryingMatrix":
        return self

    def diagonals(self) -> TridiagonalMatrix:
        (lost_up, gained_up), (gained_down, lost_down) = shifts(self.upward), shifts(self.downward)
        return TridiagonalMatrix(-gained_up, self.kept + lost_up + lost_down, -gained_down)

    def times(self, x: ColumnArray) -> ColumnArray:
        lost, gained = shifts(self.upward * x[:-1] - self.downward * x[1:])
        return self.kept * x + (lost - gained)

    def transposed(self) -> TridiagonalMatrix:
        return self.diagonals().transposed()


class ExchangeMatrix(NamedTuple):
    """The symmetric matrix of volumes that exchange with neighbours.

    (A x)_i = kept_i x_i - exchange_i (x_{i+1} - x_i) + exchange_{i-1} (x_i - x_{i-1})

    A x, and so the derivatives of a solution, need one product per face instead of four.
    """

    kept: ColumnArray  # part that a volume keeps, `(n, *batch)`
    exchange: InnerFaceArray  # between the volumes i and i + 1, `(n - 1, *batch)`

    def carrying(self) -> CarryingMatrix:
        return CarryingMatrix(self.kept, self.exchange, self.exchange)

    def times(self, x: ColumnArray) -> ColumnArray:
        return self.kept * x - convergence(self.exchange, x)

    def transposed(self) -> "ExchangeMatrix":
        return self


def convergence(exchange: InnerFaceArray, x: ColumnArray) -> ColumnArray:
    """Gain of volumes from neighbours: exchange times the difference, in minus out."""
    gained, lost = shifts(exchange * difference(x))
    return gained - lost


def shifts(between: InnerFaceArray) -> tuple[ColumnArray, ColumnArray]:
    """Align values between volumes with the volume below each, and with the one above; 0 at the end."""
    zeros = jnp.zeros((between.shape[0] + 1, *between.shape[1:]), between.dtype)
    below, above = (lax.dynamic_update_slice_in_dim(zeros, between, i, axis=0) for i in (0, 1))
    return below, above


def with_convergence(rhs: ColumnArray, sinking: InnerFaceArray | None) -> ColumnArray:
    """Add the convergence of downward fluxes between volumes to a right-hand side."""
    if sinking is None:
        return rhs
    gained, lost = shifts(sinking)
    return rhs + (gained - lost)


Matrices = tuple[CarryingMatrix, ...]


class AbstractTridiagonalMethod(eqx.Module):
    """Solves tridiagonal systems with several right-hand sides each."""

    @abc.abstractmethod
    def __call__(self, matrices: Matrices, rhs: Trees, sinking: Trees | None = None) -> Trees:
        """Solve each system for every leaf of its right-hand side.

        With `sinking`, the amount that each volume gives to the one below, `(n - 1, *batch)`, the right-hand
        sides are `rhs_i + sinking_i - sinking_{i-1}`.
        """


class ThomasScan(AbstractTridiagonalMethod):
    """Gaussian elimination upward, substitution downward, as two scans over the levels.

    One column carries scalars, which XLA keeps in registers; a batch carries rows.
    Stable without pivoting for diagonally dominant matrices, which diffusion gives.
    """

    def __call__(self, matrices: Matrices, rhs: Trees, sinking: Trees | None = None) -> Trees:
        def from_below(faces: PyTree) -> PyTree:
            return shifts(faces)[0]

        rows = [(m.kept, from_below(m.upward), from_below(m.downward)) for m in matrices]
        gains_of_rows = [None] * len(rhs) if sinking is None else jax.tree.map(from_below, sinking)
        zero_rows = [_zero_row(m.kept, r) for m, r in zip(matrices, rhs, strict=True)]

        def eliminate(passed_on: PyTree, row: PyTree):
            eliminated_rows = [_eliminate(*each) for each in zip(*row, passed_on, strict=True)]
            return [onward for _, onward in eliminated_rows], [row for row, _ in eliminated_rows]

        def substitute(ahead: PyTree, row: PyTree):
            solution = [_substitute(*each) for each in zip(row, ahead, strict=True)]
            return solution, solution

        _, eliminated = lax.scan(eliminate, zero_rows, (rows, list(rhs), gains_of_rows))
        _, solution = lax.scan(substitute, [row[1] for row in zero_rows], eliminated, reverse=True)
        return tuple(solution)


class TwistedThomas(AbstractTridiagonalMethod):
    """Gaussian elimination from both ends to a middle row, then substitution from there to both ends.

    An elimination is a chain of dependent divisions that leaves most of the processor idle; two chains of
    half the length, in one loop, take little more than half the time. Stable without pivoting for diagonally
    dominant matrices, as from diffusion.

    Source: the twisted factorisation; Parlett and Dhillon (1997), Linear Algebra Appl. 267, 247-279.
    """

    def __call__(self, matrices: Matrices, rhs: Trees, sinking: Trees | None = None) -> Trees:
        gains_of_rows = [None] * len(rhs) if sinking is None else sinking
        sides = [_side_by_side(right) for right in rhs]
        systems = tuple(
            (matrix if side is right else jax.tree.map(lambda x: x[:, None], matrix), _side_by_side(gains))
            for matrix, gains, side, right in zip(matrices, gains_of_rows, sides, rhs, strict=True)
        )
        solutions = zip(self._solve(systems, sides), sides, rhs, strict=True)
        return tuple(
            x if side is right else jax.tree.unflatten(jax.tree.structure(right), [*x.T])
            for x, side, right in solutions
        )

    def _solve(self, systems: PyTree, rhs: list[PyTree]) -> list[PyTree]:
        matrices = [matrix for matrix, _ in systems]
        n = matrices[0].kept.shape[0]
        middle, n_pairs = n // 2, (n - 1) // 2
        # With an even number of rows the lower half has an extra row, which is eliminated first.
        n_extra = n - 1 - 2 * n_pairs
        # Rows are overwritten in place, and XLA first copies the values read from them, unless each row is
        # read after the previous one has been written: do so in a batch. For one column that needs too many
        # registers, and with a varying lake level the last bit would depend on the length of the run.
        in_batch = jax.tree.leaves(rhs)[0].ndim > 1

        unchanged = [(m.kept, r) for m, r in zip(matrices, rhs, strict=True)]

        def rows_at(rows: PyTree, below: PyTree, above: PyTree) -> tuple[PyTree, PyTree]:
            return _row(rows, below), _row(rows, above)

        def eliminate(j: PyTree, carry: PyTree):
            rows, current, passed_on = carry
            below, above = n_extra + j, n - 1 - j
            row_below, row_above = rows_at(unchanged, below, above) if current is None else current
            row_below, from_below = _eliminate_at(systems, row_below, below, passed_on[0], 1)
            row_above, from_above = _eliminate_at(systems, row_above, above, passed_on[1], -1)
            rows = _set_row(_set_row(rows, below, row_below), above, row_above)
            return (
                rows,
                None if current is None else rows_at(rows, below + 1, above - 1),
                (from_below, from_above),
            )

        rows, from_below, zero_rows = unchanged, *2 * [[_zero_row(*row) for row in unchanged]]
        if n_extra:
            row, from_below = _eliminate_at(systems, _row(rows, 0), 0, zero_rows, 1)
            rows = _set_row(rows, 0, row)
        passed_on = from_below, zero_rows
        if n_pairs:
            current = rows_at(rows, n_extra, n - 1) if in_batch else None
            rows, _, passed_on = lax.fori_loop(0, n_pairs, eliminate, (rows, current, passed_on))

        ends = zip(_row(rows if in_batch else unchanged, middle), *passed_on, strict=True)
        middle_row = [_solve_meeting_row(row, *contributions) for row, *contributions in ends]
        ratios, right = [ratio for ratio, _ in rows], [r for _, r in rows]
        solution = _set_row(right, middle, middle_row)

        def right_hand_sides(solution: PyTree) -> PyTree:
            return solution if in_batch else right

        def substitute(j: PyTree, carry: PyTree):
            solution, (above, below) = carry
            low, high = middle - 1 - j, middle + 1 + j
            above = _substitute_at(ratios, right_hand_sides(solution), low, above)
            solution = _set_row(solution, low, above)
            below = _substitute_at(ratios, right_hand_sides(solution), high, below)
            return _set_row(solution, high, below), (above, below)

        solution, last_rows = lax.fori_loop(0, n_pairs, substitute, (solution, (middle_row, middle_row)))
        if n_extra:
            row = _substitute_at(ratios, right_hand_sides(solution), 0, last_rows[0])
            solution = jax.tree.map(unfused, _set_row(solution, 0, row))
        return solution


def _side_by_side(rhs: PyTree) -> PyTree:
    """Pack six or more right-hand sides of a single column into one array `(n, n_sides)`."""
    leaves = jax.tree.leaves(rhs)
    if len(leaves) < 6 or leaves[0].ndim > 1:
        return rhs
    packed = jnp.zeros((leaves[0].shape[0], len(leaves)), leaves[0].dtype)
    for side, leaf in enumerate(leaves):  # XLA would compute a concatenation element by element
        packed = lax.dynamic_update_slice_in_dim(packed, leaf[:, None], side, axis=1)
    return packed


def _zero_row(kept: PyTree, rhs: PyTree) -> PyTree:
    """Zeros for the first row of an elimination, which receives nothing from another row."""
    return jax.tree.map(lambda x: jnp.zeros_like(x[0]), (kept, rhs))


def _row(tree: PyTree, index: PyTree) -> PyTree:
    """One level of every leaf."""
    return jax.tree.map(
        lambda x: lax.dynamic_index_in_dim(x, index, 0, keepdims=False, allow_negative_indices=False), tree
    )


def _set_row(tree: PyTree, index: PyTree, row: PyTree) -> PyTree:
    """Replace one level of every leaf."""
    return jax.tree.map(
        lambda x, r: lax.dynamic_update_index_in_dim(x, r, index, 0, allow_negative_indices=False), tree, row
    )


def _eliminate_at(
    systems: PyTree, row: PyTree, index: PyTree, passed_on: PyTree, step: int
) -> tuple[list, list]:
    """Eliminate the volume below (step 1) or above (-1) from a row; also return the input of the next row."""
    eliminated = []
    for (matrix, sinking), (kept, right), received in zip(systems, row, passed_on, strict=True):
        if step > 0:
            ahead, back, gains_of_rows = _row((matrix.upward, matrix.downward, sinking), index)
        else:
            ahead, back, gains_of_rows = _row((matrix.downward, matrix.upward, sinking), index - 1)
            gains_of_rows = jax.tree.map(jnp.negative, gains_of_rows)
        eliminated.append(_eliminate((kept, ahead, back), right, gains_of_rows, received))
    return [row for row, _ in eliminated], [onward for _, onward in eliminated]


def _eliminate(
    coefficients: PyTree, rhs: PyTree, sinking: PyTree, passed_on: PyTree
) -> tuple[PyTree, PyTree]:
    """Return a row as (ratio, r) of x = r + ratio x_ahead, and what the next row receives.

    The next row receives the part that this row keeps, and its right-hand sides. Coefficients are the kept
    part, the rate ahead to the next row, and the rate back from it; `sinking` is the gain from the next row.
    """
    kept, ahead, back = coefficients
    kept_in_all = kept + passed_on[0]
    # Keep the operations after the division few: the next row waits for them.
    inverse_pivot = 1.0 / ((kept + ahead) + passed_on[0])
    fraction, onward = kept_in_all * inverse_pivot, ahead * inverse_pivot
    rhs = jax.tree.map(jnp.add, rhs, passed_on[1])
    carried = jax.tree.map(lambda r: onward * r, rhs)
    if sinking is not None:
        carried = jax.tree.map(lambda c, gain: c - fraction * gain, carried, sinking)
        rhs = jax.tree.map(jnp.add, rhs, sinking)
    row = back * inverse_pivot, jax.tree.map(lambda r: r * inverse_pivot, rhs)
    return row, ((back * kept_in_all) * inverse_pivot, carried)


def _solve_meeting_row(row: PyTree, below: PyTree, above: PyTree) -> PyTree:
    """Solution of the row in which the two eliminations meet."""
    kept, rhs = row
    inverse_pivot = 1.0 / (kept + below[0] + above[0])
    return jax.tree.map(lambda r, low, high: (r + low + high) * inverse_pivot, rhs, below[1], above[1])


def _substitute_at(ratios: PyTree, rhs: PyTree, index: PyTree, ahead: PyTree) -> list[PyTree]:
    rows = zip(_row(ratios, index), _row(rhs, index), ahead, strict=True)
    return [_substitute((ratio, r), x) for ratio, r, x in rows]


def _substitute(row: PyTree, ahead: PyTree) -> PyTree:
    """Solution of an eliminated row from that of its neighbour."""
    ratio, rhs = row
    return jax.tree.map(lambda r, x: r + ratio * x, rhs, ahead)


class VendorLibrary(AbstractTridiagonalMethod):
    """`jax.lax.linalg.tridiagonal_solve`: LAPACK on a CPU, cuSPARSE on an NVIDIA GPU.

    On a GPU a scan over the levels would launch one tiny kernel per level. Here `kept` is rounded together
    with the exchange: if the exchange is E times as large, contents are wrong by E times the rounding, which
    elimination avoids.
    """

    def __call__(self, matrices: Matrices, rhs: Trees, sinking: Trees | None = None) -> Trees:
        rhs = rhs if sinking is None else jax.tree.map(with_convergence, rhs, sinking)
        return tuple(self._solve_one(m.diagonals(), r) for m, r in zip(matrices, rhs, strict=True))

    def _solve_one(self, matrix: TridiagonalMatrix, rhs: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(rhs)
        # The library expects (batch, level), the right-hand sides as a last axis, and zero corners.
        lower, diagonal, upper = (jnp.moveaxis(x, 0, -1) for x in matrix)
        level = jnp.arange(diagonal.shape[-1])
        stacked = jnp.stack([jnp.moveaxis(leaf, 0, -1) for leaf in leaves], axis=-1)
        solution = lax.linalg.tridiagonal_solve(
            jnp.where(level == 0, 0.0, lower), diagonal, jnp.where(level == level[-1], 0.0, upper), stacked
        )
        solved = [jnp.moveaxis(solution[..., i], -1, 0) for i in range(len(leaves))]
        return jax.tree.unflatten(structure, solved)


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
            solver computes the correction of the guess, so that rounding is relative to it. Derivatives
            ignore the guess, on which the solution does not depend.

    Returns:
        The solutions, in the structure of `rhs`. No pivoting: matrices should be diagonally dominant.
    """
    solver = PlatformDefault() if method is None else method
    spread = [_spread(matrix, right) for matrix, right in zip(matrices, rhs, strict=True)]
    known = ()
    if guess is not None and residual is not None and sinking is not None:
        gains = (
            tuple(_spread(*pair)[1] for pair in zip(matrices, gain, strict=True))
            for gain in (residual, sinking)
        )
        known = guess, *gains
    matrices, rhs = zip(*spread, strict=True)
    return _solve(solver, matrices, rhs, known)


# One primitive: JAX differentiates a step, and finds what a loop stores, without tracing the sweeps, which
# would take as long as the rest of the step.
SYSTEMS = Primitive("tridiagonal_systems")
SYSTEMS.multiple_results = True


def _solve(solver: AbstractTridiagonalMethod, matrices: tuple[Matrix, ...], rhs: Trees, known=()) -> Trees:
    leaves, structure = jax.tree.flatten(varying_alike((matrices, rhs, known)))
    results = SYSTEMS.bind(*leaves, structure=structure, solver=solver)
    return jax.tree.unflatten(jax.tree.structure(rhs), results)


@partial(jax.jit, static_argnames=("structure", "solver"))
def swept(*leaves: Array, structure: PyTree, solver: AbstractTridiagonalMethod) -> list[Array]:
    """Results of `SYSTEMS` from its operands: matrices, right-hand sides, and guess with its residuals."""
    matrices, rhs, known = structure.unflatten(leaves)
    matrices = tuple(matrix.carrying() for matrix in matrices)
    if not known:
        return jax.tree.leaves(solver(matrices, rhs))
    guess, *gains = known
    return jax.tree.leaves(jax.tree.map(jnp.add, guess, solver(matrices, *gains)))


def _tangents(primals, tangents, *, structure: PyTree, solver: AbstractTridiagonalMethod):
    """Solution and its derivative, A dx = db - dA x; the guess has no derivative."""
    matrices, rhs, known = structure.unflatten(primals)
    matrix_tangents, rhs_tangents, _ = structure.unflatten(map(ad.instantiate_zeros, tangents))
    # Checkpointed loops find the solution by this name and store it instead of solving again.
    solution = jax.tree.map(lambda x: checkpoint_name(x, SOLUTION), _solve(solver, matrices, rhs, known))
    change = jax.tree.map(jnp.subtract, rhs_tangents, _multiply_each(matrix_tangents, solution))
    return jax.tree.leaves(solution), jax.tree.leaves(_solve(solver, matrices, change))


def _transpose(cotangents, *operands, structure: PyTree, solver: AbstractTridiagonalMethod):
    """Cotangents of the right-hand sides, which solve the transposed systems."""
    matrices, rhs, _ = structure.unflatten(operands)
    sides, of_rhs = jax.tree.flatten(rhs, is_leaf=ad.is_undefined_primal)
    right = of_rhs.unflatten(map(ad.instantiate_zeros, cotangents))
    solution = jax.tree.leaves(_solve(solver, tuple(matrix.transposed() for matrix in matrices), right))
    linear = [x if ad.is_undefined_primal(side) else None for x, side in zip(solution, sides, strict=True)]
    return [None] * (len(operands) - len(sides)) + linear


def _batched(operands, axes, **parameters):
    """Systems with one more axis of the batch, the last one; the rule of `jax.vmap`."""
    if not jax.tree.leaves(parameters["structure"].unflatten(axes)[0]):  # the same matrices: eliminate once
        results = jax.vmap(partial(swept, **parameters), axes)(*operands)
        return results, [0] * len(results)
    results = SYSTEMS.bind(*jax.vmap(lambda *each: each, axes, -1)(*operands), **parameters)
    return results, [x.ndim - 1 for x in results]


SYSTEMS.def_impl(swept)
SYSTEMS.def_abstract_eval(lambda *leaves, structure, solver: jax.tree.leaves(structure.unflatten(leaves)[1]))
ad.primitive_jvps[SYSTEMS] = _tangents
ad.primitive_transposes[SYSTEMS] = _transpose
batching.primitive_batchers[SYSTEMS] = _batched
mlir.register_lowering(SYSTEMS, mlir.lower_fun(swept, multiple_results=True))


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
