"""The Jacobian of the residuals of several cases: a block of rows per case, each with its own chunk."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..runtime import shapes_of
from .compiled import CompiledJacobian, check_finite
from .plan import ChunkSize, JacobianPlan, JacobianResult, Mode, NormalEquations

Block = Callable[..., PyTree] | tuple[Callable[..., PyTree], tuple]
"""A function of the parameters, or a function with the tuple of its further arguments."""


class BlockedJacobian:
    """The Jacobian of several cases, compiled for shapes; call it with parameters.

    Args:
        blocks: one per case. Cases that share a function and the shapes of its arguments share a program.
        x, mode, memory_budget: as for `CompiledJacobian`; the cases are computed one after another, and the
            budget is that of one.
        chunk_size: for all cases, or one for each.

    Raises:
        ValueError: no case, another number of chunk sizes, or what `CompiledJacobian` raises, with the case.
        MemoryError: a case that does not fit the budget.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        x: PyTree,
        *,
        mode: Mode = "auto",
        chunk_size: ChunkSize | Sequence[ChunkSize] = "auto",
        memory_budget: int | None = None,
    ):
        pairs = [block if isinstance(block, tuple) else (block, ()) for block in blocks]
        if not pairs:
            raise ValueError("jacobian_by_case: expected at least one case, got none.")
        sizes = _one_each(chunk_size, len(pairs))
        compiled: dict[Any, CompiledJacobian] = {}
        self._calls: list[tuple[CompiledJacobian, tuple]] = []
        for number, ((function, args), size) in enumerate(zip(pairs, sizes, strict=True)):
            key = id(function), size, shapes_of(args)
            if key not in compiled:
                try:
                    compiled[key] = CompiledJacobian(
                        function, x, *args, mode=mode, chunk_size=size, memory_budget=memory_budget
                    )
                except (ValueError, MemoryError) as error:
                    raise type(error)(f"case {number}: {error}") from None
            self._calls.append((compiled[key], args))
        self.n_compiled = len(compiled)

    @property
    def plans(self) -> tuple[JacobianPlan, ...]:
        """One per case."""
        return tuple(compiled.plan for compiled, _ in self._calls)

    def __call__(self, x: PyTree) -> JacobianResult:
        """Residuals and rows of all cases, in their order.

        Raises:
            ValueError: parameters that are not finite.
        """
        found = [compiled(x, *args) for compiled, args in self._calls]
        return JacobianResult(
            jnp.concatenate([result.residuals for result in found]),
            jnp.concatenate([result.matrix for result in found]),
            self.plans,
        )

    def normal_equations(self, x: PyTree) -> NormalEquations:
        """Sums over the cases; only the rows of one case at a time are in memory.

        Raises:
            ValueError: parameters that are not finite.
        """
        total = None
        for compiled, args in self._calls:
            found = compiled(x, *args).normal_equations()
            # Waits, because JAX would otherwise start the next case beside this one.
            part = jax.block_until_ready((found.matrix, found.gradient, found.sum_of_squares))
            total = part if total is None else jax.tree.map(jnp.add, total, part)
        assert total is not None
        return NormalEquations(*total)


def jacobian_by_case(
    blocks: Sequence[Block],
    x: PyTree,
    *,
    mode: Mode = "auto",
    chunk_size: ChunkSize | Sequence[ChunkSize] = "auto",
    memory_budget: int | None = None,
) -> JacobianResult:
    """Residuals and Jacobian of several cases, stacked in their order.

    Every call compiles; to keep a `BlockedJacobian`, whose arguments and errors these are, saves that.
    """
    check_finite(x)
    blocked = BlockedJacobian(blocks, x, mode=mode, chunk_size=chunk_size, memory_budget=memory_budget)
    return blocked(x)


def _one_each(chunk_size: ChunkSize | Sequence[ChunkSize], n_cases: int) -> Sequence[ChunkSize]:
    if chunk_size is None or isinstance(chunk_size, (int, str)):
        return [chunk_size] * n_cases  # pyright: ignore[reportReturnType]
    if len(chunk_size) != n_cases:
        raise ValueError(
            f"jacobian_by_case: expected one chunk_size for each of {n_cases} cases, got {len(chunk_size)}."
        )
    return chunk_size
