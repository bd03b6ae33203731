"""A run under `jax.vmap`: the mapped axis becomes the batch axis, which is the last.

`jax.vmap` moves the mapped axis to the front. A column is then not contiguous in memory, and a run takes two
to four times as long. A custom batching rule therefore moves the mapped axis to the end. Reverse mode cannot
differentiate such a rule, so `jax.vmap` of a gradient uses the rule of JAX, with a warning. Closures
and terms from outside the package may not support batches: their runs use the rule of JAX without a warning.
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

_BATCH_TRACER = "BatchTracer"  # JAX has no public name for the tracers of `vmap`
_SLOW_GRADIENT = (
    "simulate: expected a derivative of jax.vmap, got jax.vmap of a derivative, which takes 2 to 4 times "
    "as long for the same numbers; write jax.grad(lambda x: jax.vmap(loss)(x).sum()) instead of "
    "jax.vmap(jax.grad(loss)), or map with tunax_lite.numerics.batch_last.vmap_last."
)

WITHOUT_MAP = (
    "instead of jax.vmap, call simulate once with the mapped axis as the last axis of its arrays, or leave "
    "`devices` out and place the mapped arrays with jax.device_put and a NamedSharding"
)


def is_mapped(arrays: PyTree) -> bool:
    """Return whether `vmap` traces some arrays; warn and return false for `vmap` of a derivative."""
    tracers = [_tracers(leaf) for leaf in jax.tree.leaves(arrays) if isinstance(leaf, jax.core.Tracer)]
    if any(_BATCH_TRACER in inner for _, *inner in tracers):
        warnings.warn(_SLOW_GRADIENT, UserWarning, stacklevel=4)
        return False
    return any(outer == _BATCH_TRACER for outer, *_ in tracers)


def check_not_mapped(arrays: PyTree) -> None:
    """Raise `ValueError` for arrays that `vmap` traces: the axis to split over devices is then invisible."""
    if any(_BATCH_TRACER in _tracers(leaf) for leaf in jax.tree.leaves(arrays)):
        raise ValueError(f"simulate: expected no jax.vmap around a run with `devices`; {WITHOUT_MAP}.")


def _tracers(leaf: Any) -> list[str]:  # a tracer of any kind: JAX has no public names for them
    """Class names of nested tracers, outermost first; tracers of derivatives hold the next one."""
    names = []
    while isinstance(leaf, jax.core.Tracer):
        names.append(type(leaf).__name__)
        leaf = getattr(leaf, "primal", None)
    return names


def accepts_batches(tree: PyTree) -> bool:
    """Return whether all modules in a tree belong to this package or to Equinox, which accept batches."""
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
    """Call a function on arrays that `vmap` traces, with the mapped axis last, and return its result.

    Args:
        run: the function, which accepts arrays with and without a trailing batch axis.
        arrays: arrays of a single column.
        axes: for each array, number of axes before those of the batch; -1 for arrays that cannot have a
            batch, such as the weights of a network: if one of them is mapped, the rule of JAX applies.
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
        batched = jax.tree.map(lambda flag, x: jnp.moveaxis(x, 0, -1) if flag else x, flags, arrays)
        single = jax.tree.map(
            lambda flag, x: jax.ShapeDtypeStruct(jnp.shape(x)[int(flag) :], jnp.result_type(x)), flags, arrays
        )
        results, shapes = run(batched), jax.eval_shape(run, single)
        has_axis = jax.tree.map(lambda x, shape: jnp.ndim(x) > shape.ndim, results, shapes)
        return jax.tree.map(
            lambda flag, x: jnp.moveaxis(x, -1, 0) if flag else x, has_axis, results
        ), has_axis

    return column(arrays)
