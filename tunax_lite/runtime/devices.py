"""Columns over several devices: each takes an equal fraction of the last axis and runs it by itself.

Columns do not see each other, so that no device ever waits for another inside of the time loop. Left to
the partitioner of XLA, the gradient of a parameter that all columns share is summed over the devices in
every step; `jax.shard_map` sums it once, after the loop. Forward runs cost the same either way.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

AXIS = "column"
"""Name of the mesh axis over which columns are split."""

Devices = Literal["all"] | Sequence[jax.Device]
"""`"all"` devices of this process, or those given."""


def column_mesh(devices: str | Sequence[Any], n_columns: int) -> Mesh:
    """The devices as a mesh of one axis; no more of them than there are columns.

    Args:
        devices: `"all"` of this process, or some, in order.
        n_columns: at least 1.

    Raises:
        ValueError: no device at all, one named twice, or something else than devices.
    """
    if isinstance(devices, str):
        if devices != "all":
            raise ValueError(f"devices: expected 'all' or a sequence of jax.Device, got {devices!r}.")
        devices = jax.local_devices()
    chosen = list(devices)
    if not all(isinstance(device, jax.Device) for device in chosen):
        raise ValueError(
            f"devices: expected 'all' or a sequence of jax.Device, got {chosen}; jax.devices() lists them."
        )
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"devices: expected at least one device, and each only once, got {chosen}.")
    return Mesh(np.array(chosen[:n_columns]), (AXIS,))


def shard_columns(tree: PyTree, has_columns: PyTree, mesh: Mesh) -> PyTree:
    """Split the columns of arrays over devices, and copy everything else to each of them.

    Args:
        tree: of arrays, and whatever else.
        has_columns: which arrays carry the columns as their last axis; `True` for all of a branch. Columns
            that do not divide evenly among the devices are copied too: an array has equal shares only.
        mesh: from `column_mesh`.
    """
    arrays, others = eqx.partition(tree, eqx.is_array)

    def sharding(leaf: Any, split: bool) -> NamedSharding:
        return NamedSharding(mesh, _spec(leaf, split and leaf.shape[-1] % mesh.size == 0))

    # One call for all arrays: one for each takes longer than a short run.
    shardings = jax.tree.map(sharding, arrays, of_arrays(has_columns, tree))
    return eqx.combine(jax.device_put(arrays, shardings), others)


def map_columns(
    function: Callable[[PyTree], PyTree],
    tree: PyTree,
    has_columns: PyTree,
    mesh: Mesh,
    *,
    like: PyTree,
    like_has_columns: PyTree,
) -> PyTree:
    """Run a function on every device, on the columns of that device alone.

    The last column is repeated until all devices have the same number. A copy of a column that runs stays
    finite where that one does; with zeros, NaN would reach the gradient.

    Args:
        function: of columns that do not depend on each other; its results have a new first axis.
        tree: its argument; arrays, and whatever else the function needs.
        has_columns: which arrays carry the columns as their last axis; `True` for all of a branch.
        mesh: from `column_mesh`.
        like: arrays of the structure of the results, before that first axis.
        like_has_columns: the same of the results.
    """
    arrays, others = eqx.partition(tree, eqx.is_array)
    split = of_arrays(has_columns, tree)
    results_split = jax.tree.broadcast(like_has_columns, like)

    def pad(leaf: Any, split: bool) -> Any:
        n_added = -leaf.shape[-1] % mesh.size if split else 0
        return jnp.concatenate([leaf] + n_added * [leaf[..., -1:]], axis=-1) if n_added else leaf

    results = jax.shard_map(
        lambda local: function(eqx.combine(local, others)),
        mesh=mesh,
        in_specs=(jax.tree.map(_spec, arrays, split),),
        out_specs=jax.tree.map(lambda leaf, split: _spec(leaf[None], split), like, results_split),
        # Loops carry zeros at first, which are the same on all devices: the check would refuse them.
        check_vma=False,
    )(jax.tree.map(pad, arrays, split))
    return jax.tree.map(
        lambda leaf, split, first: leaf[..., : first.shape[-1]] if split else leaf,
        results,
        results_split,
        like,
    )


def _spec(leaf: Any, split: bool) -> PartitionSpec:
    return PartitionSpec(*[None] * (leaf.ndim - 1), AXIS) if split else PartitionSpec()


def of_arrays(has_columns: PyTree, tree: PyTree) -> PyTree:
    """One truth value for each array of a tree, nothing for its other leaves."""
    return eqx.filter(jax.tree.broadcast(has_columns, tree), jax.tree.map(eqx.is_array, tree))
