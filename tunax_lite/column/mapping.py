"""A run under `jax.vmap`: the mapped axis becomes the batch axis, which is the last.

`jax.vmap` moves the mapped axis to the front, where loops over the levels of a column stride through memory:
a run takes two to four times as long. Where nothing is differentiated inside of the map, a custom batching
rule therefore runs with the mapped axis last. Reverse mode cannot pass such a rule, so a map of a gradient
keeps the rule of JAX, with a warning. Runs with closures or terms from outside the package keep it, too: they
need not accept batches.
"""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import PyTree

_MAPPED = "BatchTracer"  # JAX has no public name for the tracers of `vmap`
_WAY_OUT = (
    "simulate: expected jax.vmap inside of a derivative, got jax.vmap of one, which takes two to four times "
    "as long for the same numbers; write jax.grad(lambda x: jax.vmap(loss)(x).sum()) instead of "
    "jax.vmap(jax.grad(loss)), or map with tunax_lite.numerics.batch_last.vmap_last."
)

WITHOUT_MAP = (
    "instead of jax.vmap, call simulate once with the mapped axis as the last axis of its arrays, or leave "
    "`devices` out and place the mapped arrays with jax.device_put and a NamedSharding"
)


def is_mapped(arrays: PyTree) -> bool:
    """Return whether `vmap` traces some arrays; warn and return false if a derivative is inside of it."""
    kinds = [_kinds(leaf) for leaf in jax.tree.leaves(arrays) if isinstance(leaf, jax.core.Tracer)]
    if any(_MAPPED in inner for _, *inner in kinds):
        warnings.warn(_WAY_OUT, UserWarning, stacklevel=4)
        return False
    return any(outer == _MAPPED for outer, *_ in kinds)


def check_not_mapped(arrays: PyTree) -> None:
    """Raise `ValueError` for arrays that `vmap` traces: it hides the axis that devices would split."""
    if any(_MAPPED in _kinds(leaf) for leaf in jax.tree.leaves(arrays)):
        raise ValueError(f"simulate: expected no jax.vmap around a run with `devices`; {WITHOUT_MAP}.")


def _kinds(leaf: Any) -> list[str]:  # a tracer of any kind: JAX has no public names for them
    """Names of the tracers around a value from the outside in, through tracers of derivatives."""
    names = []
    while isinstance(leaf, jax.core.Tracer):
        names.append(type(leaf).__name__)
        leaf = getattr(leaf, "primal", None)
    return names


def accepts_batches(tree: PyTree) -> bool:
    """Return whether all modules in a tree are of this package or of Equinox, which accept batches."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, eqx.Module):
            if type(node).__module__.partition(".")[0] not in (__name__.partition(".")[0], "equinox"):
                return False
            pending += [getattr(node, field.name) for field in dataclasses.fields(node)]
        elif isinstance(node, dict):
            pending += node.values()
        elif isinstance(node, list | tuple):
            pending += node
    return True


def run_last(run: Callable[[PyTree], PyTree], arrays: PyTree, axes: PyTree) -> PyTree:
    """Run with arrays that `vmap` traces, with the mapped axis last.

    Args:
        run: takes arrays with a trailing batch axis as well as without one.
        arrays: arrays of a single column.
        axes: number of axes before those of the batch for each array; -1 for those without a batch. If one of
            these is mapped, such as the weights of a network, the rule of JAX applies.

    Returns:
        The result of `run`.
    """
    column = custom_vmap(run)

    @column.def_vmap
    def rule(size: int, mapped: list[PyTree], arrays: PyTree) -> tuple[PyTree, PyTree]:
        del size
        (flags,) = mapped
        if any(jax.tree.leaves(jax.tree.map(lambda flag, before: flag and before < 0, flags, axes))):
            in_axes = jax.tree.map(lambda flag: 0 if flag else None, flags)
            results = jax.vmap(run, in_axes=(in_axes,))(arrays)
            return results, jax.tree.map(lambda _: True, results)
        last = jax.tree.map(lambda flag, x: jnp.moveaxis(x, 0, -1) if flag else x, flags, arrays)
        columns = jax.tree.map(
            lambda flag, x: jax.ShapeDtypeStruct(jnp.shape(x)[int(flag) :], jnp.result_type(x)), flags, arrays
        )
        results, like = run(last), jax.eval_shape(run, columns)
        grown = jax.tree.map(lambda x, single: jnp.ndim(x) > single.ndim, results, like)
        return jax.tree.map(lambda flag, x: jnp.moveaxis(x, -1, 0) if flag else x, grown, results), grown

    return column(arrays)
