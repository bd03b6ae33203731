"""Arguments of a compiled run: a tree's arrays, and the rest of it, which the program is compiled for.

A call that takes model and case apart, compares what is not an array with that of the programs it knows, and
checks both, takes longer than a hundred steps of a column. Modules do not change, so that what is found out
about one holds as long as it lives, and is looked up by its identity.
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
        treedef: of the tree.
        others: type and value of leaves that are not arrays, by position.
    """

    _known: dict[Hashable, "Structure"] = {}  # noqa: RUF012 (shared by all: two equal structures cannot be)

    def __init__(self, treedef: Any, others: dict[int, PyTree]):  # Any: JAX's own type has no public name
        self.treedef, self.others = treedef, others

    def tree(self, arrays: tuple[Array, ...]) -> PyTree:
        """The tree with these arrays."""
        remaining = iter(arrays)
        n_leaves = self.treedef.num_leaves
        leaves = [self.others[i] if i in self.others else next(remaining) for i in range(n_leaves)]
        return jax.tree.unflatten(self.treedef, leaves)


class Parts(NamedTuple):
    """A tree split into its arrays and Python floats, and its structure.

    Args:
        arrays: in the order of the tree's leaves.
        structure: the tree without them.
        precisions: of the floating-point arrays that are not weakly typed.
        weak: positions of Python floats and weakly typed arrays, which follow the others.
    """

    arrays: tuple[Array, ...]
    structure: Structure
    precisions: frozenset[np.dtype]
    weak: tuple[int, ...]

    @classmethod
    def of(cls, tree: PyTree) -> "Parts":
        """The parts of a tree; leaves other than arrays have to be hashable."""
        leaves, treedef = jax.tree.flatten(tree)
        others = {i: leaf for i, leaf in enumerate(leaves) if not (eqx.is_array(leaf) or type(leaf) is float)}
        # 1, 1.0 and True are equal, but make different programs.
        key = treedef, tuple((i, type(other), other) for i, other in others.items())
        structure = Structure._known.get(key)
        if structure is None:
            structure = Structure._known.setdefault(key, Structure(treedef, others))
        arrays = tuple(leaf for i, leaf in enumerate(leaves) if i not in others)
        weak = tuple(i for i, array in enumerate(arrays) if _is_weak(array))
        firm = (array.dtype for i, array in enumerate(arrays) if i not in weak)
        precisions = frozenset(dtype for dtype in firm if _is_floating(dtype))
        return cls(arrays, structure, precisions, weak)

    def settled(self, precision: np.dtype) -> "Parts":
        """The parts with weakly typed arrays in this precision: a program is compiled for types."""
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
    """Common precision of all parts; `None` if they differ."""
    precisions = frozenset[np.dtype]().union(*(part.precisions for part in parts))
    return next(iter(precisions)) if len(precisions) == 1 else None


class _Entry(NamedTuple, Generic[T]):
    tree: weakref.ref
    containers: tuple[tuple[dict | list, tuple[int, ...]], ...]  # and the identities of what they held
    result: T


class ByIdentity(Generic[T]):
    """Results of a function of modules, kept while the module lives.

    Dictionaries and lists in a module can change: the function is called again if their content is another.
    Results for traced arrays are not kept.
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
            if entry is not None and entry.tree is reference:  # not that of a later object in the same place
                del self._entries[key]

        return drop


def _content(container: dict | list) -> tuple[int, ...]:
    values = (*container, *container.values()) if isinstance(container, dict) else container
    return tuple(map(id, values))


def _containers(tree: PyTree) -> tuple[tuple[dict | list, tuple[int, ...]], ...]:
    """Everything in a tree that can change, with its content."""
    changeable = []

    def visit(node: PyTree) -> bool:
        if isinstance(node, dict | list):
            changeable.append((node, _content(node)))
        return False

    jax.tree.leaves(tree, is_leaf=visit)
    return tuple(changeable)


@ByIdentity
def _changed_by_steps(case: Case, dt: float) -> Case | None:
    changed = case.over_steps(dt)
    return None if changed is case else changed  # a result that holds the case would never be dropped


def case_over_steps(
    model: Model, case: Case, dt: float, first: int | Array = 0, number: int | None = None
) -> Case:
    """The case with means over steps of `dt` [s] of finer forcing, unless the model samples it.

    Other arguments are those of `Case.over_steps`.
    """
    if model.discretisation.samples_forcing:
        return case
    if is_traced(case):
        return case.over_steps(dt, first, number)
    changed = _changed_by_steps(case, dt)
    return case if changed is None else changed
