"""Jacobians of runs with respect to parameters, for least squares and sensitivities.

    J_ij = d residual_i / d parameter_j

Forward mode pushes a chunk of parameters through the run at a time; reverse mode pulls a chunk of residuals
back through it. Memory is linear in the size of the chunk.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from .._types import is_traced, unfixed, without_functions
from ..numerics.batch_last import vmap_last
from ..runtime import compile_program
from ..runtime.compilation import Program
from ..runtime.memory import free_memory

Mode = Literal["auto", "forward", "reverse"]
ChunkSize = int | Literal["auto"] | None


@dataclasses.dataclass(frozen=True)
class JacobianPlan:
    """Plan of the computation of a Jacobian; prints as one line."""

    mode: Literal["forward", "reverse"]
    chunk_size: int  # parameters pushed forward, or residuals pulled back, at the same time
    n_parameters: int  # columns of the matrix
    n_residuals: int  # its rows
    n_bytes: int  # memory of the program: inputs, outputs and temporaries

    @property
    def n_chunks(self) -> int:
        n = self.n_parameters if self.mode == "forward" else self.n_residuals
        return math.ceil(n / self.chunk_size)

    def __str__(self) -> str:
        chunks = "1 chunk" if self.n_chunks == 1 else f"{self.n_chunks} chunks"
        return (
            f"Jacobian of {self.n_residuals} residuals by {self.n_parameters} parameters: {self.mode} mode, "
            f"{chunks} of {self.chunk_size}, {self.n_bytes} bytes"
        )


class NormalEquations(NamedTuple):
    """Sums needed for a Gauss-Newton step d from residuals r and their Jacobian J: JᵀJ d = -Jᵀr."""

    matrix: Float[Array, "parameter parameter"]  # JᵀJ
    gradient: Float[Array, " parameter"]  # Jᵀr, the gradient of rᵀr / 2
    sum_of_squares: Float[Array, ""]  # rᵀr


@dataclasses.dataclass(frozen=True)
class JacobianResult:
    """Residuals and their derivatives; both may contain values that are not finite."""

    residuals: Float[Array, " residual"]
    matrix: Float[Array, "residual parameter"]  # derivative of each residual with respect to each parameter
    plan: JacobianPlan  # how they were computed

    @property
    def is_finite(self) -> bool:
        return bool(jnp.isfinite(self.residuals).all() & jnp.isfinite(self.matrix).all())

    def normal_equations(self, limit: float = math.inf) -> NormalEquations:
        """Sum over residuals; rows of J whose largest derivative exceeds a limit are scaled to it in JᵀJ."""
        return _normal_equations(self.residuals, self.matrix, limit)


@jax.jit
def _normal_equations(residuals, matrix, limit) -> NormalEquations:
    largest = jnp.max(jnp.abs(matrix), axis=1, keepdims=True)
    scaled = matrix * jnp.minimum(1.0, limit / jnp.maximum(largest, jnp.finfo(matrix.dtype).tiny))
    return NormalEquations(sums_of_products(scaled), matrix.T @ residuals, residuals @ residuals)


_ROWS = 128
"""Number of rows per block of the sum."""


def sums_of_products(matrix: Float[Array, "row column"]) -> Float[Array, "column column"]:
    """MᵀM, with an order of summation that does not depend on the number of processors, unlike `@`."""
    n_blocks, n_columns = len(matrix) // _ROWS, matrix.shape[1]
    blocks, rest = matrix[: n_blocks * _ROWS], matrix[n_blocks * _ROWS :]

    def add(total, rows):
        return total + rows.T @ rows, None

    return lax.scan(add, rest.T @ rest, blocks.reshape(n_blocks, _ROWS, n_columns))[0]


def _forward_mode(function: Callable, chunk: int, flat: Float[Array, " n"]):
    """Residuals and matrix, pushing `chunk` parameters forward at a time."""

    def columns(start):
        residuals, tangents = _map_chunk(lambda d: jax.jvp(function, (flat,), (d,)), start, chunk, flat)
        return residuals[:, 0], tangents

    return _in_chunks(columns, chunk, flat.size, 1)


def _reverse_mode(function: Callable, chunk: int, flat: Float[Array, " n"]):
    """Residuals and matrix, pulling `chunk` residuals back at a time."""
    residuals, pull = jax.vjp(function, flat)

    def rows(start):
        return None, _map_chunk(lambda cotangent: pull(cotangent)[0], start, chunk, residuals).T

    return residuals, _in_chunks(rows, chunk, residuals.size, 0)[1]


def _in_chunks(of_chunk: Callable, chunk: int, n: int, axis: int):
    """Assemble the matrix of a function along an axis; also return its auxiliary result of the last chunk."""
    if chunk == n:
        return of_chunk(0)

    def add_chunk(i, result):
        start = jnp.minimum(i * chunk, n - chunk)  # the last chunk overlaps the previous one
        auxiliary, part = of_chunk(start)
        return auxiliary, lax.dynamic_update_slice_in_dim(result[1], part, start, axis)

    auxiliary, part = jax.eval_shape(lambda: of_chunk(0))
    matrix = jax.ShapeDtypeStruct((*part.shape[:axis], n, *part.shape[axis + 1 :]), part.dtype)
    zeros = jax.tree.map(lambda like: jnp.zeros(like.shape, like.dtype), (auxiliary, matrix))
    return lax.fori_loop(0, math.ceil(n / chunk), add_chunk, zeros)


def _map_chunk(function: Callable[[PyTree], PyTree], start, chunk: int, like: Float[Array, " n"]) -> PyTree:
    """Map a function over the unit vectors `start` to `start + chunk`."""
    vectors = (jnp.arange(like.size)[:, None] == start + jnp.arange(chunk)).astype(like.dtype)
    if chunk == 1:  # scalars are faster in the loops over levels than vectors of length one
        return jax.tree.map(lambda result: result[..., None], function(vectors[:, 0]))
    return vmap_last(function)(vectors)


_PULL_OVER_PUSH = 4
"""Cost of pulling one residual back, with checkpointing, over that of pushing one parameter forward."""
_LARGEST_CHUNK_ON_CPU = 32
"""A larger chunk saves less than a tenth of the time, and its tangents exceed the fast caches."""


class CompiledJacobian:
    """Jacobian of a function, compiled for fixed shapes; call it with parameters and arguments.

    Args:
        function: from parameters and arguments to residuals, a pytree of floating-point arrays.
        x: parameters, a pytree of floating-point arrays; columns follow the order of its leaves.
        args: pytrees of arrays. Values that the function closes over become part of the program.
        mode: `auto` selects reverse if it is cheaper: for far fewer residuals than parameters.
        chunk_size: parameters (residuals in reverse mode) at a time. `auto` takes as many as fit the budget,
            but on a CPU no more than speed it up. `None` takes all. If chunks do not divide evenly, the last
            one overlaps the previous one, so that nothing is compiled twice.
        memory_budget: bytes for `auto`; by default half of the free memory of the device.

    Raises:
        ValueError: an unknown mode or chunk size, no parameters or residuals, or some that are not
            floating-point numbers; when called, parameters that are not finite.
        MemoryError: a chunk of one does not fit the budget.
    """

    def __init__(
        self,
        function: Callable[..., PyTree],
        x: PyTree,
        *args: PyTree,
        mode: Mode = "auto",
        chunk_size: ChunkSize = "auto",
        memory_budget: int | None = None,
    ):
        if mode not in ("auto", "forward", "reverse"):
            raise ValueError(f"jacobian: expected the mode auto, forward or reverse, got {mode!r}.")
        arrays = without_functions(args)
        self._has_functions = jax.tree.structure(arrays) != jax.tree.structure(args)
        self._function = (lambda x, *args: function(x, *unfixed(args))) if self._has_functions else function
        self._shapes = jax.eval_shape(lambda *arrays: arrays, x, *arrays)
        self._n_parameters, self._n_residuals = _count("parameters", self._shapes[0]), 0
        if mode != "forward":  # forward mode counts residuals as it compiles: another trace would take long
            jax.eval_shape(self._residuals, *self._shapes)
        if mode == "auto":
            few_residuals = _PULL_OVER_PUSH * self._n_residuals < self._n_parameters
            mode = "reverse" if few_residuals else "forward"
        self._mode: Literal["forward", "reverse"] = mode
        self._n = self._n_parameters if mode == "forward" else self._n_residuals
        chunk, self.program = self._choose_chunk(chunk_size, memory_budget)
        n_bytes = self.program.memory.total
        self.plan = JacobianPlan(mode, chunk, self._n_parameters, self._n_residuals, n_bytes)

    def __call__(self, x: PyTree, *args: PyTree) -> JacobianResult:
        """Residuals and matrix for parameters and arguments of the same shapes; nothing is compiled."""
        _check_finite(x)
        residuals, matrix = self.program(x, *(without_functions(args) if self._has_functions else args))
        return JacobianResult(residuals, matrix, self.plan)

    def _choose_chunk(self, chunk_size: ChunkSize, memory_budget: int | None) -> tuple[int, Program]:
        """Choose the requested chunk size, or the fewest chunks of nearly equal size that fit the budget."""
        if chunk_size != "auto":
            chunk = self._n if chunk_size is None else chunk_size
            if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
                raise ValueError(
                    "jacobian: expected chunk_size to be auto, None or an integer of at least 1, got "
                    f"{chunk!r}."
                )
            chunk = min(chunk, self._n)
            return chunk, self._compile(chunk)
        budget = int(0.5 * free_memory()) if memory_budget is None else memory_budget
        if memory_budget is not None and not budget > 0:
            raise ValueError(f"jacobian: expected a positive memory_budget in bytes, got {budget}.")

        def equalised(largest: int) -> int:
            return math.ceil(self._n / math.ceil(self._n / largest))

        chunk = equalised(_LARGEST_CHUNK_ON_CPU if jax.default_backend() == "cpu" else self._n)
        program = self._compile(chunk)
        if program.memory.total <= budget:
            return chunk, program
        single = program if chunk == 1 else self._compile(1)
        smallest = single.memory.total
        while chunk > 1 and program.memory.total > budget >= smallest:  # memory is linear in the chunk
            bytes_per_column = (program.memory.total - smallest) / (chunk - 1)
            chunk = equalised(min(1 + int((budget - smallest) / bytes_per_column), chunk - 1))
            program = single if chunk == 1 else self._compile(chunk)
        if program.memory.total > budget:
            raise MemoryError(
                f"jacobian: expected a budget of at least {smallest} bytes, which a chunk of 1 needs for "
                f"{self._n_residuals} residuals by {self._n_parameters} parameters in {self._mode} mode, got "
                f"{budget}; give more memory or fewer residuals, or add up the `normal_equations` of parts "
                "of them."
            )
        return chunk, program

    def _compile(self, chunk: int) -> Program:
        derive = _forward_mode if self._mode == "forward" else _reverse_mode

        def program(x: PyTree, *args: PyTree):
            flat, unravel = ravel_pytree(x)
            return derive(lambda p: self._residuals(unravel(p), *args), chunk, flat)

        return compile_program(program, *self._shapes)

    def _residuals(self, x: PyTree, *args: PyTree) -> Float[Array, " residual"]:
        """Residuals as a vector; tracing counts them."""
        residuals = self._function(x, *args)
        self._n_residuals = _count("residuals", residuals)
        return ravel_pytree(residuals)[0]


def jacobian(
    function: Callable[..., PyTree],
    x: PyTree,
    *args: PyTree,
    mode: Mode = "auto",
    chunk_size: ChunkSize = "auto",
    memory_budget: int | None = None,
) -> JacobianResult:
    """Compute residuals and their Jacobian.

    Every call compiles. To avoid this, keep a `CompiledJacobian`; arguments and errors are the same.
    """
    _check_finite(x)
    options = {"mode": mode, "chunk_size": chunk_size, "memory_budget": memory_budget}
    return CompiledJacobian(function, x, *args, **options)(x, *args)


def _check_finite(x: PyTree) -> None:
    """Raise `ValueError` for parameters that are traced or not finite."""
    if is_traced(x):
        raise ValueError(
            "jacobian: expected parameters with values, got traced ones; it compiles by itself, so call it "
            "outside of jit, grad and vmap."
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(x):
        values = np.asarray(leaf)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            place = jax.tree_util.keystr(path) + (str(bad[0].tolist()) if values.ndim else "")
            raise ValueError(
                f"jacobian: expected finite parameters, got {values[tuple(bad[0])]} at x{place}."
            )


def _count(what: str, shapes: PyTree) -> int:
    """Count parameters or residuals; raise `ValueError` if there are none, or some are not floating-point."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            place = jax.tree_util.keystr(path)
            raise ValueError(
                f"jacobian: expected {what} that are floating-point numbers, got {leaf.dtype}"
                f"{f' at {place}' if place else ''}; convert them, or leave out what is not differentiated."
            )
    n = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    if n == 0:
        raise ValueError(f"jacobian: expected at least one of the {what}, got none.")
    return n
