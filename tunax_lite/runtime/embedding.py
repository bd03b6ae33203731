"""Support for callers that place their arrays on several devices themselves."""

import equinox as eqx
import jax
from jaxtyping import PyTree

from .._types import is_traced


def check_axes(tree: PyTree) -> None:
    """Raise `ValueError` for arrays on explicit axes of a mesh.

    There JAX requires a placement of every intermediate result, which XLA derives on automatic axes.
    """
    arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    explicit = [mesh for leaf in arrays if (mesh := jax.typeof(leaf).sharding.mesh).explicit_axes]
    if explicit:
        raise ValueError(
            f"simulate: expected arrays on automatic axes of a mesh, got the explicit ones of {explicit[0]}; "
            "make it with jax.make_mesh(shape, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))."
        )


def varying_alike(tree: PyTree) -> PyTree:
    """In a caller's `jax.shard_map`, mark all arrays as varying over all mesh axes over which any varies.

    JAX rejects a loop or a branch whose arguments vary over other axes than its results. Gradients with
    respect to shared arrays are then summed over the devices once, and not in every step.
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
