"""Computations inside of programs that place their arrays on several devices themselves."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, use_abstract_mesh
from jaxtyping import PyTree

from .._types import is_traced, leading_axes

T = TypeVar("T")


def embedded(function: Callable[..., T], *arguments: PyTree) -> T:
    """Call a function of columns on arrays as the caller placed them.

    With explicit axes of a mesh, the default of `jax.make_mesh`, JAX wants the placement of every
    intermediate result. Columns are independent, so that XLA finds it alone: the axes are automatic within
    the function.

    Args:
        function: of nothing else that is traced.
        arguments: trees whose declared axes tell which axes are those of the batch.

    Returns:
        The results, arrays with explicit axes again, and columns placed like those of the arguments.
    """
    arrays, others = eqx.partition(arguments, eqx.is_array)
    arrays = varying_alike(arrays)
    mesh = _explicit_mesh(arrays)
    if mesh is None:
        return function(*eqx.combine(arrays, others))
    shape, names = _batch(arrays)
    automatic = mesh.update_axis_types(dict.fromkeys(mesh.explicit_axes, AxisType.Auto))
    shardings = [leaf.sharding for leaf in jax.tree.leaves(arrays) if not is_traced(leaf)]
    meshes = [each.mesh for each in shardings if isinstance(each, NamedSharding) and each.mesh.explicit_axes]

    def placed(leaf: PyTree) -> PyTree:
        if not eqx.is_array(leaf):
            return leaf
        n_others = leaf.ndim - len(shape)
        is_batched = n_others > 0 and leaf.shape[n_others:] == shape
        spec = PartitionSpec(*[None] * n_others, *names) if is_batched else PartitionSpec()
        if meshes and not is_traced(leaf):  # which may be on one device alone
            return jax.device_put(leaf, NamedSharding(meshes[0], spec))
        return jax.sharding.reshard(leaf, NamedSharding(mesh, spec))

    with use_abstract_mesh(automatic):
        arrays = jax.tree.map(lambda leaf: jax.sharding.reshard(leaf, PartitionSpec()), arrays)
        results = function(*eqx.combine(arrays, others))
    return jax.tree.map(placed, results)


def varying_alike(tree: PyTree) -> PyTree:
    """Let all arrays vary over the devices over which any does, inside of a `jax.shard_map` of the caller.

    JAX rejects a loop or a branch whose results vary otherwise than its arguments. Gradients of what does not
    vary are then summed over the devices once, and not in every step.
    """
    leaves = [leaf for leaf in jax.tree.leaves(tree) if is_traced(leaf)]
    axes = frozenset[str]().union(*map(_varying, leaves))
    if not axes:
        return tree

    def cast(leaf: PyTree) -> PyTree:
        missing = tuple(sorted(axes - _varying(leaf))) if eqx.is_array(leaf) else ()
        return jax.lax.pcast(leaf, missing, to="varying") if missing else leaf

    return jax.tree.map(cast, tree)


def _varying(leaf: jax.Array) -> frozenset:
    return jax.typeof(leaf).manual_axis_type.varying


def _explicit_mesh(tree: PyTree) -> AbstractMesh | None:
    """Mesh with explicit axes on which one of the arrays is."""
    meshes = (jax.typeof(leaf).sharding.mesh for leaf in jax.tree.leaves(tree))
    return next((mesh for mesh in meshes if mesh.explicit_axes), None)


def _batch(tree: PyTree) -> tuple[tuple[int, ...], tuple]:
    """Shape of the batch, and the axes of the mesh over which each of its axes is split."""
    axes = jax.tree.leaves(leading_axes(tree))
    found = [
        (leaf.shape[n:], jax.typeof(leaf).sharding.spec[n:])
        for leaf, n in zip(jax.tree.leaves(tree), axes, strict=True)
        if n >= 0
    ]
    shape = np.broadcast_shapes((), *(of for of, _ in found))
    names = [None] * len(shape)
    for of, given in found:
        for axis, (n, name) in enumerate(zip(of, given, strict=True), len(shape) - len(of)):
            if n == shape[axis] and names[axis] is None and name not in names:
                names[axis] = name
    return shape, tuple(names)
