"""Residuals and Jacobian in forward and in reverse mode, a chunk of columns or rows at a time."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from ..numerics.batch_last import vmap_last

Vector = Float[Array, " n"]
Matrix = Float[Array, "residual parameter"]


def forward_mode(function: Callable[..., PyTree], chunk: int, x: PyTree, *args: Any) -> tuple[Vector, Matrix]:
    """Residuals and matrix, `chunk` parameters pushed forward at a time.

    Args:
        function: from parameters and arguments to residuals.
        chunk: at most all of them.
        x: parameters.
        args: of the function.
    """
    flat, unravel = ravel_pytree(x)

    def push(direction):
        return jax.jvp(lambda p: ravel_pytree(function(unravel(p), *args))[0], (flat,), (direction,))

    def columns(start):
        residuals, tangents = _map_chunk(push, _unit_vectors(start, chunk, flat))
        return residuals[:, 0], tangents

    if chunk == flat.size:
        return columns(0)

    def turn(i, result):
        start = _start_of_chunk(i, chunk, flat.size)
        residuals, tangents = columns(start)
        return residuals, lax.dynamic_update_slice_in_dim(result[1], tangents, start, 1)

    shape = jax.eval_shape(lambda: columns(0)[0])
    empty = jnp.zeros(shape.shape, shape.dtype), jnp.zeros((shape.size, flat.size), shape.dtype)
    return lax.fori_loop(0, math.ceil(flat.size / chunk), turn, empty)


def reverse_mode(function: Callable[..., PyTree], chunk: int, x: PyTree, *args: Any) -> tuple[Vector, Matrix]:
    """Residuals and matrix, `chunk` residuals pulled back at a time; arguments as for `forward_mode`."""
    flat, unravel = ravel_pytree(x)
    residuals, pull = jax.vjp(lambda p: ravel_pytree(function(unravel(p), *args))[0], flat)

    def rows(start):
        return _map_chunk(lambda cotangent: pull(cotangent)[0], _unit_vectors(start, chunk, residuals)).T

    if chunk == residuals.size:
        return residuals, rows(0)

    def turn(i, matrix):
        start = _start_of_chunk(i, chunk, residuals.size)
        return lax.dynamic_update_slice_in_dim(matrix, rows(start), start, 0)

    empty = jnp.zeros((residuals.size, flat.size), flat.dtype)
    return residuals, lax.fori_loop(0, math.ceil(residuals.size / chunk), turn, empty)


def _start_of_chunk(i, chunk: int, n: int):
    """The last chunk overlaps the one before where it would reach beyond the end."""
    return jnp.minimum(i * chunk, n - chunk)


def _map_chunk(function: Callable[[Any], PyTree], vectors: Float[Array, "n chunk"]) -> PyTree:
    if vectors.shape[1] == 1:  # scalars carried through the loops over levels are faster than vectors of one
        return jax.tree.map(lambda result: result[..., None], function(vectors[:, 0]))
    return vmap_last(function)(vectors)


def _unit_vectors(start, count: int, like: Vector) -> Float[Array, "n chunk"]:
    """Columns `start` to `start + count` of the identity matrix."""
    column = start + jnp.arange(count)
    return (jnp.arange(like.size)[:, None] == column).astype(like.dtype)
