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

    def diagonals(self) -> "TridiagonalMatrix":
        return self

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


class ExchangeMatrix(NamedTuple):
    """The symmetric matrix of volumes that exchange with their neighbours.

    (A x)_i = own_i x_i - exchange_i (x_{i+1} - x_i) + exchange_{i-1} (x_i - x_{i-1})

    One product per face instead of four gives A x, and with it the derivatives of a solution.

    Args:
        own: share that a volume keeps of itself, `(n, *batch)`.
        exchange: between the volumes i and i + 1, `(n - 1, *batch)`.
    """

    own: ColumnArray
    exchange: InnerFaceArray

    def diagonals(self) -> TridiagonalMatrix:
        end = jnp.zeros_like(self.exchange[:1])
        lower = jnp.concatenate([end, -self.exchange])
        upper = jnp.concatenate([-self.exchange, end])
        return TridiagonalMatrix(lower, self.own - lower - upper, upper)

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


class AbstractTridiagonalMethod(eqx.Module):
    """How tridiagonal systems with several right-hand sides each are solved."""

    @abc.abstractmethod
    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        """Solve each system for every leaf of its right-hand side."""
