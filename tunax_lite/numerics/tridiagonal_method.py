"""Tridiagonal matrices, and what a method is that solves systems with them."""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import PyTree

from .._types import ColumnArray


class TridiagonalMatrix(NamedTuple):
    """Three diagonals, each `(n, *batch)`; `lower[0]` and `upper[-1]` are ignored."""

    lower: ColumnArray
    diagonal: ColumnArray
    upper: ColumnArray


class AbstractTridiagonalMethod(eqx.Module):
    """How tridiagonal systems with several right-hand sides each are solved."""

    @abc.abstractmethod
    def __call__(
        self, matrices: tuple[TridiagonalMatrix, ...], rhs: tuple[PyTree, ...]
    ) -> tuple[PyTree, ...]:
        """Solve each system for every leaf of its right-hand side."""
