"""Many columns in blocks that stay in the cache of a processor, one block after the other."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .devices import of_arrays

ColumnBlock = int | Literal["auto"] | None

BYTES_PER_BLOCK = 150_000
"""Of what a step hands to the next: what was fastest in `python -m benchmarks --only blocks`."""
_SMALLEST_BLOCK = 16
"""Less does not fill the registers."""
_LEAST_COLUMNS = 4
"""Two or three take longer than four, of which the others are copies."""
_LEAST_BLOCKS = 4
"""Fewer gain nothing over all columns at once."""


def check_block(block: ColumnBlock) -> None:
    """Raise `ValueError` for a number of columns that is not one."""
    is_number = isinstance(block, int) and not isinstance(block, bool) and block >= 1
    if block is not None and block != "auto" and not is_number:
        raise ValueError(
            f"simulate: expected column_block to be 'auto', None or at least 1 column, got {block!r}."
        )


def block_size(block: ColumnBlock, n_columns: int, n_bytes: int) -> int:
    """Columns per block; `n_columns` for all at once, more where copies of the last column pay.

    Args:
        block: as asked for; `auto` goes by the bytes on a CPU, and takes all columns at once elsewhere.
        n_columns: of the batch.
        n_bytes: that a step of the batch hands to the next.
    """
    if block is None or (block == "auto" and jax.default_backend() != "cpu"):
        return n_columns
    if block != "auto":
        return min(block, n_columns)
    if 1 < n_columns < _LEAST_COLUMNS:
        return _LEAST_COLUMNS
    fitting = max(_SMALLEST_BLOCK, 1 << (max(1, BYTES_PER_BLOCK * n_columns // n_bytes).bit_length() - 1))
    if n_columns < _LEAST_BLOCKS * fitting:
        return n_columns
    n_blocks = -(-n_columns // fitting)
    return -(-n_columns // n_blocks)  # of equal size, so that little is repeated


def map_blocks(
    function: Callable[[PyTree], PyTree],
    tree: PyTree,
    has_columns: PyTree,
    block: int,
    *,
    like: PyTree,
    like_has_columns: PyTree,
) -> PyTree:
    """Run a function on one block of columns after the other.

    The last column is repeated until all blocks are full: a copy of a column that runs stays finite where
    that one does. Columns are those of all at once to rounding: XLA compiles a row of another length to
    other instructions.

    Args:
        function: of columns that do not depend on each other; its results have a new first axis.
        tree: its argument; arrays, and whatever else the function needs.
        has_columns: which arrays carry the columns as their last axis; `True` for all of a branch.
        block: columns at once.
        like: arrays of the structure of the results, before that first axis.
        like_has_columns: the same of the results.
    """
    arrays, others = eqx.partition(tree, eqx.is_array)
    split, shared = eqx.partition(arrays, of_arrays(has_columns, tree))

    def in_blocks(leaf: jax.Array) -> jax.Array:
        n_added = -leaf.shape[-1] % block
        padded = jnp.concatenate([leaf] + n_added * [leaf[..., -1:]], axis=-1) if n_added else leaf
        return jnp.moveaxis(padded.reshape(*leaf.shape[:-1], -1, block), -2, 0)

    def one(part: PyTree) -> PyTree:
        return function(eqx.combine(part, shared, others))

    def joined(leaf: jax.Array, was_split: bool, first: jax.Array) -> jax.Array:
        if not was_split:
            return leaf[0]
        together = jnp.moveaxis(leaf, 0, -2)
        return together.reshape(*together.shape[:-2], -1)[..., : first.shape[-1]]

    results = jax.lax.map(one, jax.tree.map(in_blocks, split))
    return jax.tree.map(joined, results, jax.tree.broadcast(like_has_columns, like), like)
