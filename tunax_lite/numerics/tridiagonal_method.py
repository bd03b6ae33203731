"""Tridiagonal matrices, and what a method is that solves systems with them."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from .._types import ColumnArray, InnerFaceArray


class TridiagonalMatrix(NamedTuple):
    """Three diagonals, each `(n, *batch)`; `lower[0]` and `upper[-1]` are ignored."""

    lower: ColumnArray
    diagonal: ColumnArray
    upper: ColumnArray

    def carrying(self) -> "CarryingMatrix":
        upward, downward = -self.lower[1:], -self.upper[:-1]
        (lost_up, _), (_, lost_down) = shifts(upward), shifts(downward)
        return CarryingMatrix(self.diagonal - lost_up - lost_down, upward, downward)

    def times(self, x: ColumnArray) -> ColumnArray:
        """Product with a vector."""
        end = jnp.zeros_like(self.diagonal[:1])
        below = jnp.concatenate([end, self.lower[1:] * x[:-1]])
        above = jnp.concatenate([self.upper[:-1] * x[1:], end])
        return below + self.diagonal * x + above

    def transposed(self) -> "TridiagonalMatrix":
        end = jnp.zeros_like(self.diagonal[:1])
        lower = jnp.concatenate([end, self.upper[:-1]])
        return TridiagonalMatrix(lower, self.diagonal, jnp.concatenate([self.lower[1:], end]))


class CarryingMatrix(NamedTuple):
    """The matrix of volumes that carry their content to their neighbours.

    (A x)_i = own_i x_i + net_i - net_{i-1},   net_i = upward_i x_i - downward_i x_{i+1}

    What is carried may exceed what a volume keeps by any factor: the diagonal would round `own` away, so it
    is kept apart. Columns sum to it.

    Args:
        own: fraction that a volume keeps of itself, `(n, *batch)`.
        upward: from the volume i to i + 1, `(n - 1, *batch)`.
        downward: from the volume i + 1 to i, `(n - 1, *batch)`.
    """

    own: ColumnArray
    upward: InnerFaceArray
    downward: InnerFaceArray

    def carrying(self) -> "CarryingMatrix":
        return self

    def diagonals(self) -> TridiagonalMatrix:
        (lost_up, gained_up), (gained_down, lost_down) = shifts(self.upward), shifts(self.downward)
        return TridiagonalMatrix(-gained_up, self.own + lost_up + lost_down, -gained_down)

    def times(self, x: ColumnArray) -> ColumnArray:
        """Product with a vector."""
        lost, gained = shifts(self.upward * x[:-1] - self.downward * x[1:])
        return self.own * x + (lost - gained)

    def transposed(self) -> TridiagonalMatrix:
        return self.diagonals().transposed()


class ExchangeMatrix(NamedTuple):
    """The symmetric matrix of volumes that exchange with their neighbours.

    (A x)_i = own_i x_i - exchange_i (x_{i+1} - x_i) + exchange_{i-1} (x_i - x_{i-1})

    One product per face instead of four gives A x, and with it the derivatives of a solution.

    Args:
        own: fraction that a volume keeps of itself, `(n, *batch)`.
        exchange: between the volumes i and i + 1, `(n - 1, *batch)`.
    """

    own: ColumnArray
    exchange: InnerFaceArray

    def carrying(self) -> CarryingMatrix:
        return CarryingMatrix(self.own, self.exchange, self.exchange)

    def times(self, x: ColumnArray) -> ColumnArray:
        """Product with a vector."""
        return self.own * x - convergence(self.exchange, x)

    def transposed(self) -> "ExchangeMatrix":
        return self


def convergence(exchange: InnerFaceArray, x: ColumnArray) -> ColumnArray:
    """What volumes gain from their neighbours: exchange times the difference, in less out."""
    gained, lost = shifts(exchange * (x[1:] - x[:-1]))
    return gained - lost


def shifts(between: InnerFaceArray) -> tuple[ColumnArray, ColumnArray]:
    """Values between volumes as seen from the volume below them, and from that above."""
    nothing = jnp.zeros((between.shape[0] + 1, *between.shape[1:]), between.dtype)
    below, above = (lax.dynamic_update_slice_in_dim(nothing, between, i, axis=0) for i in (0, 1))
    return below, above


def added_up(rhs: ColumnArray, sinking: InnerFaceArray | None) -> ColumnArray:
    """The right-hand side with what passes between volumes."""
    if sinking is None:
        return rhs
    gained, lost = shifts(sinking)
    return rhs + (gained - lost)


class AbstractTridiagonalMethod(eqx.Module):
    """How tridiagonal systems with several right-hand sides each are solved."""

    @abc.abstractmethod
    def __call__(
        self,
        matrices: tuple[CarryingMatrix, ...],
        rhs: tuple[PyTree, ...],
        sinking: tuple[PyTree, ...] | None = None,
    ) -> tuple[PyTree, ...]:
        """Solve each system for every leaf of its right-hand side.

        Args:
            matrices: one per system.
            rhs: for each a pytree of arrays `(n, *batch)`.
            sinking: what each volume gives to that below it, `(n - 1, *batch)`, likewise: the right-hand
                sides are `rhs_i + sinking_i - sinking_{i-1}`.
        """
