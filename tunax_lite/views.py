"""Text of models, closures, cases, grids, states and results: their fields with values, units and ranges."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ._types import Fixed
from .declarations import name_of
from .quantities import QUANTITIES

_LIMIT = 1_000_000
"""Largest size of an array whose extremes are computed for the text."""


class AbstractShown(eqx.Module):
    """A module that `print` shows as a list of its fields; unpickling warns of a loss of precision."""

    def __getstate__(self) -> tuple[dict[str, object], bool]:
        doubles = (leaf for leaf in jax.tree.leaves(self) if getattr(leaf, "dtype", None) == np.float64)
        return vars(self), any(isinstance(leaf, jax.Array) for leaf in doubles)

    def __setstate__(self, state: tuple[dict[str, object], bool]) -> None:
        fields, is_double = state
        vars(self).update(fields)
        if is_double and jax.dtypes.canonicalize_dtype(float) != np.float64:  # JAX has cast them
            warnings.warn(
                "model or case: expected to unpickle float64, got float32, because JAX computes in float32 "
                "in this process; call tunax_lite.configure() before unpickling.",
                UserWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return "\n".join([_label(self), *_lines(self)])


def _label(module: eqx.Module) -> str:
    """Class of a module, and its name in files."""
    kind, name = type(module).__name__, name_of(type(module))
    return kind if name is None else f"{kind} ({name})"


def _lines(module: eqx.Module) -> Iterator[str]:
    """Indented lines of the fields of a module and of nested modules; empty optional fields are left out."""
    for field in dataclasses.fields(module):
        value = getattr(module, field.name, None)
        is_empty = value is None or (isinstance(value, dict | tuple) and not value)
        if not is_empty:
            yield from _field(field.name, value, field.metadata)


def _field(name: str, value: PyTree, declared: Mapping[str, Any]) -> Iterator[str]:  # Any: depends on the key
    if isinstance(value, eqx.Module) and not isinstance(value, Fixed):
        yield f"  {name}: {_label(value)}"
        yield from (f"  {line}" for line in _lines(value))
    elif isinstance(value, dict | list | tuple) and any(map(_is_nested, _items(value).values())):
        yield f"  {name}:"
        for key, part in _items(value).items():
            yield from (f"  {line}" for line in _field(str(key), part, declared))
    else:
        yield f"  {name}: {_text(value)}{_unit_and_range(name, value, declared)}"


def _items(value: dict | list | tuple) -> dict:
    return value if isinstance(value, dict) else dict(enumerate(value))


def _is_nested(value: PyTree) -> bool:
    return isinstance(value, eqx.Module | dict | list | tuple) or eqx.is_array(value)


def _unit_and_range(name: str, value: PyTree, declared: Mapping[str, Any]) -> str:  # Any: depends on the key
    vector = declared.get("vector", {})
    quantity = declared.get("quantity") or QUANTITIES.get(name)
    unit = declared.get("unit") or vector.get("unit") or (quantity.unit if quantity else "")
    low, high = declared.get("valid_range") or vector.get("range") or (-np.inf, np.inf)
    within = "" if np.isinf(low) and np.isinf(high) else f" in {low:g} ... {high:g}"
    fixed = ", fixed" if isinstance(value, Fixed) else ""
    return f"{f' [{unit}]' if unit else ''}{within}{fixed}"


def _text(value: PyTree) -> str:
    """Text of a number; shape and extremes of an array, or its type and shape if its values are unknown."""
    if isinstance(value, Fixed):
        value = value.value
    numbers = _numbers(value)
    if numbers is not None and numbers.ndim == 0:
        return f"{numbers[()]:.6g}" if numbers.dtype.kind == "f" else str(numbers[()])
    finite = np.array([]) if numbers is None else numbers[np.isfinite(numbers)]
    if numbers is not None and finite.size:
        missing = "" if finite.size == numbers.size else f", {numbers.size - finite.size} not finite"
        return f"{numbers.shape} {finite.min():.5g} ... {finite.max():.5g}{missing}"
    if isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
        return f"{value.dtype}{list(value.shape)}"
    return eqx.tree_pformat(value, width=200)


def _numbers(value: PyTree) -> np.ndarray | None:
    """Numbers of an array; `None` if they are unknown, on another host, or too many to search."""
    if isinstance(value, jax.core.Tracer) or not eqx.is_array_like(value) or isinstance(value, bool):
        return None
    if isinstance(value, jax.Array) and (value.is_deleted() or not value.is_fully_addressable):
        return None
    if np.size(value) > _LIMIT or not jnp.issubdtype(jnp.result_type(value), jnp.number):
        return None
    return np.asarray(value)
