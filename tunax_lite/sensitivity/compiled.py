"""The Jacobian of one function: a mode and a chunk size are chosen, and one program is compiled."""

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .._types import is_traced
from ..runtime import Program, compile_program, free_memory
from .modes import forward_mode, reverse_mode
from .plan import ChunkSize, JacobianPlan, JacobianResult, Mode

_PULL_OVER_PUSH = 4
"""Cost of pulling one residual back, with checkpointing, over that of pushing one parameter forward."""
_LARGEST_CHUNK_ON_CPU = 32
"""A larger chunk saves less than a tenth of the time, and its tangents leave the fast caches."""
_SHARE_OF_FREE_MEMORY = 0.5


class CompiledJacobian:
    """The Jacobian of one function, compiled for shapes; call it with parameters and arguments.

    Args:
        function: from parameters and arguments to residuals, a pytree of floating-point arrays.
        x: parameters, a pytree of floating-point arrays; columns follow the order of its leaves.
        args: pytrees of arrays. What the function closes over instead becomes part of the program.
        mode: `auto` is reverse where it is cheaper: for far fewer residuals than parameters.
        chunk_size: parameters (or residuals, in reverse mode) at a time. `auto` takes the most that fit the
            budget; on a CPU not more than pay. `None` takes all. A last chunk overlaps the one before
            where they do not divide evenly, so that nothing is compiled twice.
        memory_budget: bytes for `auto`; by default half of the free memory of the device.

    Raises:
        ValueError: a mode or chunk size that does not exist, no parameters or residuals, or some that are not
            floating-point numbers.
        MemoryError: a chunk of one does not fit the budget.
    """

    def __init__(
        self,
        function: Callable[..., PyTree],
        x: PyTree,
        *args: Any,
        mode: Mode = "auto",
        chunk_size: ChunkSize = "auto",
        memory_budget: int | None = None,
    ):
        if mode not in ("auto", "forward", "reverse"):
            raise ValueError(f"jacobian: expected the mode auto, forward or reverse, got {mode!r}.")
        self._function = function
        self._shapes = jax.eval_shape(lambda *given: given, x, *args)
        n_parameters = _count("parameters", self._shapes[0])
        n_residuals = _count("residuals", jax.eval_shape(function, *self._shapes))
        if mode == "auto":
            mode = "reverse" if _PULL_OVER_PUSH * n_residuals < n_parameters else "forward"
        self._mode: Literal["forward", "reverse"] = mode
        self._n = n_parameters if mode == "forward" else n_residuals
        self._problem = f"{n_residuals} residuals by {n_parameters} parameters in {mode} mode"
        chunk, self.program = self._choose_chunk(chunk_size, memory_budget)
        self.plan = JacobianPlan(mode, chunk, n_parameters, n_residuals, self.program.memory.total)

    def __call__(self, x: PyTree, *args: Any) -> JacobianResult:
        """Residuals and matrix at parameters and arguments of the same shapes; nothing is compiled.

        Raises:
            ValueError: parameters that are not finite.
        """
        check_finite(x)
        residuals, matrix = self.program(x, *args)
        return JacobianResult(residuals, matrix, (self.plan,))

    def _choose_chunk(self, chunk_size: ChunkSize, memory_budget: int | None) -> tuple[int, Program]:
        if chunk_size is None:
            return self._n, self._compile(self._n)
        if chunk_size == "auto":
            return self._largest_that_fits(_budget(memory_budget))
        if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1:
            raise ValueError(
                "jacobian: expected chunk_size to be auto, None or an integer of at least 1, got "
                f"{chunk_size!r}."
            )
        chunk = min(chunk_size, self._n)
        return chunk, self._compile(chunk)

    def _largest_that_fits(self, budget: int) -> tuple[int, Program]:
        """The fewest chunks that fit, of nearly equal size; memory is a straight line in the chunk size."""
        chunk = self._even(_LARGEST_CHUNK_ON_CPU if jax.default_backend() == "cpu" else self._n)
        program = self._compile(chunk)
        if program.memory.total <= budget:
            return chunk, program
        single = program if chunk == 1 else self._compile(1)
        least = single.memory.total
        while chunk > 1 and program.memory.total > budget >= least:
            bytes_per_column = (program.memory.total - least) / (chunk - 1)
            fitting = 1 + int((budget - least) / bytes_per_column)
            chunk = self._even(min(fitting, chunk - 1))
            program = single if chunk == 1 else self._compile(chunk)
        if program.memory.total > budget:
            raise MemoryError(
                f"jacobian: expected a budget of at least {least} bytes, which a chunk of 1 needs for "
                f"{self._problem}, got {budget}; give more memory or fewer residuals, or take the sums over "
                "the cases of `BlockedJacobian.normal_equations`."
            )
        return chunk, program

    def _even(self, largest: int) -> int:
        """Size of the fewest chunks that are not larger, nearly equal."""
        return math.ceil(self._n / math.ceil(self._n / largest))

    def _compile(self, chunk: int) -> Program:
        by_mode = forward_mode if self._mode == "forward" else reverse_mode
        return compile_program(lambda x, *args: by_mode(self._function, chunk, x, *args), *self._shapes)


def jacobian(
    function: Callable[..., PyTree],
    x: PyTree,
    *args: Any,
    mode: Mode = "auto",
    chunk_size: ChunkSize = "auto",
    memory_budget: int | None = None,
) -> JacobianResult:
    """Residuals and their Jacobian.

    Every call compiles; to keep a `CompiledJacobian`, whose arguments and errors these are, saves that.
    """
    check_finite(x)
    compiled = CompiledJacobian(
        function, x, *args, mode=mode, chunk_size=chunk_size, memory_budget=memory_budget
    )
    return compiled(x, *args)


def check_finite(x: PyTree) -> None:
    """Check the values of parameters.

    Raises:
        ValueError: values that are not finite, or not known yet.
    """
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
    """Number of values of parameters or residuals, all of which must be floating-point."""
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


def _budget(memory_budget: int | None) -> int:
    if memory_budget is None:
        return int(_SHARE_OF_FREE_MEMORY * free_memory())
    if not memory_budget > 0:
        raise ValueError(f"jacobian: expected a positive memory_budget in bytes, got {memory_budget}.")
    return memory_budget
