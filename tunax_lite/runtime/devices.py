"""Distribute columns over devices, and run those of each device in blocks that fit into a processor's cache.

Each device runs an equal part of the last axis independently, one block after the other, without
communication in the time loop. XLA's partitioner would sum the gradient of a shared parameter over the
devices in every step; `jax.shard_map` sums it once, after the loop.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, get_abstract_mesh
from jaxtyping import PyTree

from .memory import Device

AXIS = "column"
"""Name of the mesh axis over which columns are split."""

Devices = Literal["all"] | Sequence[Device]
"""Devices to use; `"all"` means all devices of this process."""


def column_mesh(devices: str | Sequence[Device], n_columns: int) -> Mesh:
    """Create a one-dimensional mesh of the devices, using at most one per column.

    Raises `ValueError` for an empty sequence, a duplicate or anything but a device, and inside a mesh of the
    caller.
    """
    if not get_abstract_mesh().empty:
        raise ValueError(
            f"devices: expected none within a mesh of jax.set_mesh or jax.shard_map, got {devices!r}; leave "
            "`devices` out, and place the columns on that mesh."
        )
    is_all = isinstance(devices, str) and devices == "all"
    chosen = jax.local_devices() if is_all else list(devices)
    are_devices = all(isinstance(device, jax.Device) for device in chosen)
    if not chosen or not are_devices or len(set(chosen)) < len(chosen):
        raise ValueError(f"devices: expected 'all' or a sequence of jax.Device, each once, got {devices!r}.")
    return Mesh(np.array(chosen[:n_columns]), (AXIS,))


def shard_columns(tree: PyTree, has_columns: PyTree, mesh: Mesh) -> PyTree:
    """Split the columns of arrays over devices, and copy everything else to each of them.

    `has_columns` is a tree prefix: `True` for arrays whose last axis is the columns, and for branches of only
    such arrays. An array whose columns do not divide evenly is copied too, because shards must be equal.
    """
    arrays, others = eqx.partition(tree, eqx.is_array)

    def sharding(leaf: PyTree, split: bool) -> NamedSharding:
        return NamedSharding(mesh, _spec(leaf, split and leaf.shape[-1] % mesh.size == 0))

    # One call for all arrays: separate calls take longer than a short run.
    shardings = jax.tree.map(sharding, arrays, _per_array(has_columns, tree))
    return eqx.combine(jax.device_put(arrays, shardings), others)


class Split(NamedTuple):
    """Inputs and outputs of a function that have columns.

    Args:
        has_columns: prefix of the input tree, as in `shard_columns`.
        like: arrays in the structure and shape of the results, but without their first axis.
        like_has_columns: prefix of `like`.
    """

    has_columns: PyTree
    like: PyTree
    like_has_columns: PyTree


def map_columns(function: Callable[[PyTree], PyTree], tree: PyTree, columns: Split, mesh: Mesh) -> PyTree:
    """Apply a function to the columns of each device; columns must be independent."""
    arrays, others = eqx.partition(tree, eqx.is_array)
    split, like = _per_array(columns.has_columns, tree), columns.like
    results_split = jax.tree.broadcast(columns.like_has_columns, like)
    on_devices = jax.shard_map(
        lambda local: function(eqx.combine(local, others)),
        mesh=mesh,
        in_specs=(jax.tree.map(_spec, arrays, split),),
        out_specs=jax.tree.map(lambda leaf, split: _spec(leaf[None], split), like, results_split),
        # Loops carry initial zeros, equal on all devices: the check would reject them.
        check_vma=False,
    )
    padded = jax.tree.map(lambda leaf, split: _padded(leaf, mesh.size) if split else leaf, arrays, split)
    cut = lambda leaf, split, template: leaf[..., : template.shape[-1]] if split else leaf  # noqa: E731
    return jax.tree.map(cut, on_devices(padded), results_split, like)


def _padded(leaf: jax.Array, multiple: int) -> jax.Array:
    """Repeat the last column until the number of columns is a multiple of `multiple`.

    A copy of a valid column stays finite; a column of zeros would put NaN into the gradient.
    """
    n_added = -leaf.shape[-1] % multiple
    return jnp.concatenate([leaf] + n_added * [leaf[..., -1:]], axis=-1) if n_added else leaf


def _spec(leaf: PyTree, split: bool) -> PartitionSpec:
    return PartitionSpec(*[None] * (leaf.ndim - 1), AXIS) if split else PartitionSpec()


def _per_array(has_columns: PyTree, tree: PyTree) -> PyTree:
    """Expand `has_columns` to one truth value per array of a tree, and `None` for other leaves."""
    return eqx.filter(jax.tree.broadcast(has_columns, tree), jax.tree.map(eqx.is_array, tree))


ColumnBlock = int | Literal["auto"] | None

BYTES_PER_BLOCK = 150_000
"""Size of the state between steps [bytes]; the fastest in `python -m benchmarks --only blocks`."""
_SMALLEST_BLOCK = 16  # smaller blocks do not fill the registers
_LEAST_COLUMNS = 4  # two or three columns take longer than four, padded with copies
_LEAST_BLOCKS = 4  # fewer blocks are no faster than all columns at once


def check_block(block: ColumnBlock) -> None:
    """Raise `ValueError` for anything but `auto`, `None` or a positive number of columns."""
    is_number = isinstance(block, int) and not isinstance(block, bool) and block >= 1
    if not (is_number or block in ("auto", None)):
        raise ValueError(
            f"simulate: expected column_block to be 'auto', None or at least 1 column, got {block!r}."
        )


def block_size(block: ColumnBlock, n_columns: int, n_bytes: int) -> int:
    """Return the number of columns per block; `n_columns` runs all at once, a larger number pads with copies.

    `n_bytes` is the size of the state of all columns, from which `auto` chooses on a CPU. On other devices
    `auto` runs all columns at once.
    """
    if block is None or (block == "auto" and jax.default_backend() != "cpu"):
        return n_columns
    if block != "auto":
        return min(block, n_columns)
    if 1 < n_columns < _LEAST_COLUMNS:
        return _LEAST_COLUMNS
    n_fitting = max(1, BYTES_PER_BLOCK * n_columns // n_bytes)
    largest = max(_SMALLEST_BLOCK, 1 << (n_fitting.bit_length() - 1))  # a power of two
    if n_columns < _LEAST_BLOCKS * largest:
        return n_columns
    n_blocks = -(-n_columns // largest)
    return -(-n_columns // n_blocks)  # of equal size, to minimise padding


def map_blocks(
    function: Callable[[PyTree], PyTree],
    tree: PyTree,
    columns: Split,
    block: int,
    n_blocks: jax.Array | None = None,
) -> PyTree:
    """Apply a function to one block of columns after the other; columns must be independent.

    Results without columns are those of the first block. Others equal those of a run of all columns at once
    up to rounding, because XLA compiles arrays of another length differently.

    Args:
        n_blocks: run only this many blocks, at least one, and return zeros for the others; a traced number
            excludes reverse mode. By default all blocks are run.
    """
    arrays, others = eqx.partition(tree, eqx.is_array)
    split, shared = eqx.partition(arrays, _per_array(columns.has_columns, tree))

    def in_blocks(leaf: jax.Array) -> jax.Array:
        padded = _padded(leaf, block)
        return jnp.moveaxis(padded.reshape(*padded.shape[:-1], -1, block), -2, 0)

    def in_order(leaf: jax.Array, was_split: bool, template: PyTree) -> jax.Array:
        if not was_split:
            return leaf[0]
        together = jnp.moveaxis(leaf, 0, -2)
        return together.reshape(*together.shape[:-2], -1)[..., : template.shape[-1]]

    of_block = lambda part: function(eqx.combine(part, shared, others))  # noqa: E731
    parts = jax.tree.map(in_blocks, split)
    if n_blocks is None:
        results = jax.lax.map(of_block, parts)
    else:
        results = _map_first(of_block, parts, n_blocks)
    was_split = jax.tree.broadcast(columns.like_has_columns, columns.like)
    return jax.tree.map(in_order, results, was_split, columns.like)


def _map_first(function: Callable[[PyTree], PyTree], rows: PyTree, n_rows: jax.Array) -> PyTree:
    """`jax.lax.map` over the first `n_rows` rows; zeros for the others."""
    take = lambda i: jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, i, 0, False), rows)  # noqa: E731
    n_all = jax.tree.leaves(rows)[0].shape[0]

    def add_row(i, results):
        put = lambda all_rows, row: jax.lax.dynamic_update_index_in_dim(all_rows, row, i, 0)  # noqa: E731
        return jax.tree.map(put, results, function(take(i)))

    zeros = lambda leaf: jnp.zeros((n_all, *leaf.shape), leaf.dtype)  # noqa: E731
    return jax.lax.fori_loop(0, n_rows, add_row, jax.tree.map(zeros, jax.eval_shape(function, take(0))))
