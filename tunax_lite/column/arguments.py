"""Arguments of a compiled run: the arrays of a tree, and its structure, for which the program is compiled.

To flatten model and case, to check them and to compare their structures with those of compiled programs takes
longer than a hundred steps of a column. Modules are immutable: results of this work are therefore cached by
the identity of the module, as long as it exists.
"""

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .._types import is_traced
from .case import Case
from .model import Model

T = TypeVar("T")


class Structure:
    """Structure of a tree without its arrays; equal structures are one object, so that programs compare fast.

    Args:
        treedef: tree definition of JAX.
        others: leaves that are not arrays, by position.
    """

    _known: dict[Hashable, "Structure"] = {}  # noqa: RUF012 (shared: equal structures are one object)

    def __init__(self, treedef: Any, others: dict[int, PyTree]):  # Any: JAX's own type has no public name
        self.treedef, self.others = treedef, others

    def tree(self, arrays: tuple[Array, ...]) -> PyTree:
        """Build the tree from its arrays."""
        remaining = iter(arrays)
        n_leaves = self.treedef.num_leaves
        leaves = [self.others[i] if i in self.others else next(remaining) for i in range(n_leaves)]
        return jax.tree.unflatten(self.treedef, leaves)


class Parts(NamedTuple):
    """A tree, split into arrays and structure.

    Args:
        arrays: arrays and Python floats in the order of the leaves.
        structure: structure of the tree without these arrays.
        precisions: precisions of the floating-point arrays that are not weakly typed.
        weak: positions of Python floats and weakly typed arrays, which take the precision of the others.
    """

    arrays: tuple[Array, ...]
    structure: Structure
    precisions: frozenset[np.dtype]
    weak: tuple[int, ...]

    @classmethod
    def of(cls, tree: PyTree) -> "Parts":
        """Split a tree; leaves other than arrays have to be hashable."""
        leaves, treedef = jax.tree.flatten(tree)
        static = {i: leaf for i, leaf in enumerate(leaves) if not (eqx.is_array(leaf) or type(leaf) is float)}
        # 1, 1.0 and True are equal, but make different programs.
        key = treedef, tuple((i, type(leaf), leaf) for i, leaf in static.items())
        structure = Structure._known.get(key)
        if structure is None:
            structure = Structure._known.setdefault(key, Structure(treedef, static))
        arrays = tuple(leaf for i, leaf in enumerate(leaves) if i not in static)
        weak = tuple(i for i, array in enumerate(arrays) if _is_weak(array))
        strong = (array.dtype for i, array in enumerate(arrays) if i not in weak)
        precisions = frozenset(dtype for dtype in strong if _is_floating(dtype))
        return cls(arrays, structure, precisions, weak)

    def settled(self, precision: np.dtype) -> "Parts":
        """Cast weakly typed arrays to a precision, because weak types would compile another program."""
        if not self.weak:
            return self
        arrays = (jnp.asarray(a, precision) if i in self.weak else a for i, a in enumerate(self.arrays))
        return self._replace(arrays=tuple(arrays), weak=())


def _is_weak(array: Array | float) -> bool:
    return type(array) is float or (
        isinstance(array, jax.Array) and array.weak_type and _is_floating(array.dtype)
    )


@functools.cache
def _is_floating(dtype: np.dtype) -> bool:
    return jnp.issubdtype(dtype, jnp.floating)


def common_precision(*parts: Parts) -> np.dtype | None:
    """Common precision of all parts; `None` if they differ or have no floating-point arrays."""
    precisions = frozenset[np.dtype]().union(*(part.precisions for part in parts))
    return next(iter(precisions)) if len(precisions) == 1 else None


class _Entry(NamedTuple, Generic[T]):
    tree: weakref.ref
    containers: tuple[tuple[dict | list, tuple[int, ...]], ...]  # with the identities of their values
    result: T


class ByIdentity(Generic[T]):
    """Cache of a function of modules; a result is stored as long as its module exists.

    Dictionaries and lists in a module can change: the function is called again after their content changes.
    Results with traced arrays are not stored.
    """

    def __init__(self, function: Callable[..., T]):
        self._function, self._entries = function, dict[tuple, _Entry[T]]()

    def __call__(self, tree: eqx.Module, *others: Hashable) -> T:
        key = (id(tree), *others)
        entry = self._entries.get(key)
        if entry is not None and entry.tree() is tree:
            if all(_content(container) == content for container, content in entry.containers):
                return entry.result
        result = self._function(tree, *others)
        if not is_traced(result):
            self._entries[key] = _Entry(weakref.ref(tree, self._drop(key)), _containers(tree), result)
        return result

    def _drop(self, key: tuple) -> Callable[[weakref.ref], None]:
        def drop(reference: weakref.ref) -> None:
            entry = self._entries.get(key)
            if entry is not None and entry.tree is reference:  # a later module may have this identity
                del self._entries[key]

        return drop


def _content(container: dict | list) -> tuple[int, ...]:
    values = (*container, *container.values()) if isinstance(container, dict) else container
    return tuple(map(id, values))


def _containers(tree: PyTree) -> tuple[tuple[dict | list, tuple[int, ...]], ...]:
    """Dictionaries and lists in a tree, with the identities of their values."""
    changeable = []

    def visit(node: PyTree) -> bool:
        if isinstance(node, dict | list):
            changeable.append((node, _content(node)))
        return False

    jax.tree.leaves(tree, is_leaf=visit)
    return tuple(changeable)


@ByIdentity
def _averaged_over_steps(case: Case, dt: float) -> Case | None:
    averaged = case.over_steps(dt)
    return None if averaged is case else averaged  # a cached reference to the case would keep it alive


def case_over_steps(
    model: Model, case: Case, dt: float, first: int | Array = 0, number: int | None = None
) -> Case:
    """Average forcing finer than the steps of `dt` [s], unless the discretisation samples it.

    Returns the case; other arguments are those of `Case.over_steps`.
    """
    if model.discretisation.samples_forcing:
        return case
    if is_traced(case):
        return case.over_steps(dt, first, number)
    averaged = _averaged_over_steps(case, dt)
    return case if averaged is None else averaged
