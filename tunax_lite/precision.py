"""The precision of a run, which is that of its arrays."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import PyTree


def in_precision(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """The same numbers in another precision: of a model, a case, a restart or any other tree of arrays.

    Args:
        tree: whose floating-point arrays are cast; integers, switches and Python numbers stay.
        dtype: "float32" or "float64", or the data type of that name.

    Returns:
        A tree of the same structure; derivatives pass through the cast.

    Raises:
        ValueError: another precision, or float64 while it is switched off in JAX.
    """
    if dtype not in (np.dtype("float32"), np.dtype("float64")):
        raise ValueError(f"in_precision: expected 'float32' or 'float64', got {dtype!r}.")
    dtype = np.dtype(dtype)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise ValueError(
            "in_precision: expected that JAX can compute in float64, but jax_enable_x64 is off and it would "
            'silently give float32; call tunax_lite.configure(precision="float64") before the first array.'
        )

    def cast(leaf: Any) -> Any:
        return leaf.astype(dtype) if _is_floating(leaf) else leaf

    return jax.tree.map(cast, tree)


def precision_of(**trees: PyTree) -> np.dtype:
    """The precision that all floating-point arrays of some trees share; arrays may be traced.

    Weakly typed arrays, `jnp.asarray(0.1)` for one, follow the others as Python numbers do.

    Args:
        trees: under the names that messages call them.

    Raises:
        ValueError: arrays of different precision, or none at all.
    """
    arrays = [both for both in jax.tree_util.tree_leaves_with_path(trees) if _is_floating(both[1])]
    firm = [(path, leaf) for path, leaf in arrays if not _is_weak(leaf)]
    found: dict[np.dtype, str] = {}
    for path, leaf in firm or arrays:
        found.setdefault(leaf.dtype, jax.tree_util.keystr(path, simple=True, separator="."))
    if len(found) != 1:
        listed = " and ".join(f"{dtype} ({path})" for dtype, path in found.items()) or "no such array"
        raise ValueError(
            f"{' and '.join(trees)}: expected floating-point arrays of one precision, got {listed}; cast all "
            'of them with tunax_lite.in_precision(..., "float32") or "float64".'
        )
    return next(iter(found))


def without_weak_types(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """The same tree with Python's floating-point numbers and weakly typed arrays as arrays of a precision.

    A program is compiled for the types of what it is given, and for each Python number anew.
    """

    def settle(leaf: Any) -> Any:
        if isinstance(leaf, float):
            return jnp.asarray(leaf, dtype)
        return leaf.astype(dtype) if _is_floating(leaf) and _is_weak(leaf) else leaf

    return jax.tree.map(settle, tree)


def _is_weak(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and leaf.weak_type


def _is_floating(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating)
