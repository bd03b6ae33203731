"""Computations inside of programs that place their arrays on several devices themselves."""

import equinox as eqx
import jax
from jaxtyping import PyTree

from .._types import is_traced


def check_axes(tree: PyTree) -> None:
    """Raise `ValueError` for arrays on explicit axes of a mesh.

    On explicit axes JAX requires the placement of every intermediate result. Columns are independent, so
    that XLA derives it on automatic axes.
    """
    arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    explicit = [mesh for leaf in arrays if (mesh := jax.typeof(leaf).sharding.mesh).explicit_axes]
    if explicit:
        raise ValueError(
            f"simulate: expected arrays on automatic axes of a mesh, got the explicit ones of {explicit[0]}; "
            "make it with jax.make_mesh(shape, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))."
        )


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
