"""Tridiagonal systems by Gaussian elimination, one way or from both ends, as loops over the levels.

Instead of the diagonal a row carries what its volume keeps, s: when the volume i is eliminated, the one above
it keeps what the two keep in series. With the pivot p_i = s_i + upward_i, the right-hand side r_i and the
amount R_i that sinks into the volume i,

    s_{i+1} = own_{i+1} + downward_i s_i / p_i,   r_{i+1} = rhs_{i+1} + (upward_i r_i - s_i R_i) / p_i
    x_i = (r_i + R_i + downward_i x_{i+1}) / p_i

Nothing cancels: the solution is exact to rounding in every volume, and of one sign where the right-hand sides
are, however much the volumes exchange.

Source: Grassmann, Taksar and Heyman (1985), Oper. Res. 33, 1107-1116, for elimination without subtraction.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from .tridiagonal_method import AbstractTridiagonalMethod, CarryingMatrix, shifts


class ThomasScan(AbstractTridiagonalMethod):
    """Gaussian elimination upward, substitution downward, as two `lax.scan`s over the levels.

    One column carries scalars, which XLA keeps in registers; a batch carries rows.
    Stable without pivoting for diagonally dominant matrices, which diffusion gives.
    """

    def __call__(
        self,
        matrices: tuple[CarryingMatrix, ...],
        rhs: tuple[PyTree, ...],
        sinking: tuple[PyTree, ...] | None = None,
    ) -> tuple[PyTree, ...]:
        def from_below(faces: Any) -> Any:
            return shifts(faces)[0]

        rows = [(m.own, from_below(m.upward), from_below(m.downward)) for m in matrices]
        passing = _none_for_each(rhs) if sinking is None else jax.tree.map(from_below, sinking)
        nothing = [_nothing(m.own, r) for m, r in zip(matrices, rhs, strict=True)]

        def eliminate(handed: Any, row: Any):
            found = [_eliminate(*each) for each in zip(*row, handed, strict=True)]
            return [one[1] for one in found], [one[0] for one in found]

        def substitute(ahead: Any, row: Any):
            solution = [_substitute(*each) for each in zip(row, ahead, strict=True)]
            return solution, solution

        _, eliminated = lax.scan(eliminate, nothing, (rows, list(rhs), passing))
        _, solution = lax.scan(substitute, [none[1] for none in nothing], eliminated, reverse=True)
        return tuple(solution)


class TwistedThomas(AbstractTridiagonalMethod):
    """Gaussian elimination from both ends to a middle row, then substitution from there to both ends.

    An elimination is a chain of dependent divisions that leaves most of the processor idle; two chains of
    half the length, side by side in one loop, take little more than half the time. Stable without pivoting
    for diagonally dominant matrices, which diffusion gives.

    Source: the twisted factorisation; Parlett and Dhillon (1997), Linear Algebra Appl. 267, 247-279.
    """

    def __call__(
        self,
        matrices: tuple[CarryingMatrix, ...],
        rhs: tuple[PyTree, ...],
        sinking: tuple[PyTree, ...] | None = None,
    ) -> tuple[PyTree, ...]:
        passing = _none_for_each(rhs) if sinking is None else sinking
        systems = tuple(zip(matrices, rhs, passing, strict=True))
        n = matrices[0].own.shape[0]
        middle, n_pairs = n // 2, (n - 1) // 2
        # With an even number of rows the lower half has one row more; it goes first.
        first = n - 1 - 2 * n_pairs

        def eliminate(j: Any, carry: Any):
            rows, handed = carry
            below, above = first + j, n - 1 - j
            row_below, from_below = _eliminate_upward(systems, below, handed[0])
            row_above, from_above = _eliminate_downward(systems, above, handed[1])
            return _set_row(_set_row(rows, below, row_below), above, row_above), (from_below, from_above)

        nothing = [_nothing(m.own, r) for m, r in zip(matrices, rhs, strict=True)]
        rows = [(m.own, r) for m, r in zip(matrices, rhs, strict=True)]  # overwritten row by row
        from_below = nothing
        if first:
            row, from_below = _eliminate_upward(systems, 0, nothing)
            rows = _set_row(rows, 0, row)
        handed = from_below, nothing
        if n_pairs:
            rows, handed = lax.fori_loop(0, n_pairs, eliminate, (rows, handed))

        center = [_close(s, middle, *ends) for s, *ends in zip(systems, *handed, strict=True)]
        solution = _set_row([r for _, r in rows], middle, center)

        def substitute(j: Any, carry: Any):
            solution, (above, below) = carry
            low, high = middle - 1 - j, middle + 1 + j
            above, below = _substitute_at(rows, low, above), _substitute_at(rows, high, below)
            return _set_row(_set_row(solution, low, above), high, below), (above, below)

        solution, near = lax.fori_loop(0, n_pairs, substitute, (solution, (center, center)))
        if first:
            solution = _set_row(solution, 0, _substitute_at(rows, 0, near[0]))
        return tuple(solution)


def _none_for_each(rhs: tuple[PyTree, ...]) -> list[PyTree]:
    """No amount that sinks, for every system."""
    return [None for _ in rhs]


def _nothing(own: Any, rhs: PyTree) -> Any:
    """What the row before the first hands on."""
    return jax.tree.map(lambda x: jnp.zeros_like(x[0]), (own, rhs))


def _row(tree: PyTree, index: Any) -> PyTree:
    """One level of every leaf."""
    return jax.tree.map(
        lambda x: lax.dynamic_index_in_dim(x, index, 0, keepdims=False, allow_negative_indices=False), tree
    )


def _set_row(tree: PyTree, index: Any, row: PyTree) -> PyTree:
    """The same leaves with one level replaced."""
    return jax.tree.map(
        lambda x, r: lax.dynamic_update_index_in_dim(x, r, index, 0, allow_negative_indices=False), tree, row
    )


def _eliminate_upward(systems: Any, index: Any, handed: Any) -> tuple[list, list]:
    """Rows with the volume below eliminated, and what they hand to the next above."""
    found = []
    for (matrix, rhs, sinking), given in zip(systems, handed, strict=True):
        own, ahead, back, right, passing = _row((*matrix, rhs, sinking), index)
        found.append(_eliminate((own, ahead, back), right, passing, given))
    return [row for row, _ in found], [given for _, given in found]


def _eliminate_downward(systems: Any, index: Any, handed: Any) -> tuple[list, list]:
    """Rows with the volume above eliminated, and what they hand to the next below."""
    found = []
    for (matrix, rhs, sinking), given in zip(systems, handed, strict=True):
        own, right = _row((matrix.own, rhs), index)
        ahead, back, passing = _row((matrix.downward, matrix.upward, sinking), index - 1)
        passing = jax.tree.map(jnp.negative, passing)
        found.append(_eliminate((own, ahead, back), right, passing, given))
    return [row for row, _ in found], [given for _, given in found]


def _eliminate(coefficients: Any, rhs: PyTree, sinking: PyTree, handed: Any) -> tuple[Any, Any]:
    """A row as (ratio, r) of x = r + ratio x_ahead, and what it hands on: what is kept, right-hand sides.

    Args:
        coefficients: own; what is carried ahead, to the next row; what comes back from there.
        rhs: of this row.
        sinking: what the row gains from the next one, which loses it; `None` for nothing.
        handed: by the row before.
    """
    own, ahead, back = coefficients
    kept = own + handed[0]
    # As few operations as can be follow the division, for which the next row waits.
    inverse_pivot = 1.0 / ((own + ahead) + handed[0])
    fraction, onward = kept * inverse_pivot, ahead * inverse_pivot
    rhs = jax.tree.map(jnp.add, rhs, handed[1])
    carried = jax.tree.map(lambda r: onward * r, rhs)
    if sinking is not None:
        carried = jax.tree.map(lambda c, gain: c - fraction * gain, carried, sinking)
        rhs = jax.tree.map(jnp.add, rhs, sinking)
    row = back * inverse_pivot, jax.tree.map(lambda r: r * inverse_pivot, rhs)
    return row, ((back * kept) * inverse_pivot, carried)


def _close(system: Any, index: int, below: Any, above: Any) -> PyTree:
    """Solution of the row where the two eliminations meet."""
    matrix, rhs, _ = system
    own, rhs = _row((matrix.own, rhs), index)
    inverse_pivot = 1.0 / (own + below[0] + above[0])
    return jax.tree.map(lambda r, low, high: (r + low + high) * inverse_pivot, rhs, below[1], above[1])


def _substitute_at(rows: Any, index: Any, ahead: Any) -> list[PyTree]:
    return [_substitute(row, x) for row, x in zip(_row(rows, index), ahead, strict=True)]


def _substitute(row: Any, ahead: PyTree) -> PyTree:
    """Solution of an eliminated row from that of its neighbour."""
    ratio, rhs = row
    return jax.tree.map(lambda r, x: r + ratio * x, rhs, ahead)
