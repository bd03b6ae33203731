"""A digest of what a compiled program depends on, or the refusal to make one."""

import dataclasses
import enum
import functools
import hashlib
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import jax
import numpy as np

_PACKAGE = __name__.split(".")[0]
_LIBRARIES = frozenset({_PACKAGE, "builtins", "jax", "jaxlib", "numpy", "math", "operator"})
"""Where code is from that versions and the package's own source tell apart."""


class NotDescribable(Exception):
    """Something that is not known well enough to be told from others, code of the user for instance."""


def digest(static: Any, traced: Any = ()) -> str:
    """Tell programs apart: equal digests mean equal programs, different ones need not mean different ones.

    Args:
        static: what becomes part of the program, with all its values.
        traced: its arguments, of whose arrays only shapes and types count.

    Raises:
        NotDescribable: an object, or a class or function, from elsewhere than this package and JAX.
    """
    found = hashlib.sha256()
    for part in _described(static, values=True):
        found.update(part.encode() + b"\0")
    for part in _described(traced, values=False):
        found.update(part.encode() + b"\0")
    return found.hexdigest()


def _described(value: Any, values: bool):
    """Pieces of text; `values` tells whether those of arrays count."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)):
        yield from _described_array(value, values)
    elif value is None:
        yield "None"
    elif isinstance(value, (bool, int, float, complex, str, bytes)):
        yield f"{_name_of(type(value))} {value!r}"
    elif isinstance(value, enum.Enum):
        yield f"{_name_of(type(value))} {value.name}"
    elif isinstance(value, (type, FunctionType)):
        yield _name_of(value)
    elif isinstance(value, np.dtype):
        yield f"dtype {value}"
    elif isinstance(value, functools.partial):
        yield "partial"
        yield from _described((value.func, value.args, value.keywords), values)
    elif isinstance(value, Mapping):
        yield f"{_name_of(type(value))} of {len(value)}"
        for pair in value.items():
            yield from _described(pair, values)
    elif isinstance(value, (tuple, list)):
        yield f"{_name_of(type(value))} of {len(value)}"
        for item in value:
            yield from _described(item, values)
    elif dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        yield f"{_name_of(type(value))} of {len(fields)}"
        for field in fields:
            yield field.name
            is_static = field.metadata.get("static", False)
            yield from _described(getattr(value, field.name), values or is_static)
    else:
        raise NotDescribable(f"an object of {type(value)}")


def _described_array(array: Any, values: bool):
    weak = getattr(array, "weak_type", False)
    yield f"{_name_of(type(array))} {array.dtype} {array.shape} {weak}"
    if isinstance(array, jax.Array) and array.devices() != {jax.devices()[0]}:
        raise NotDescribable("an array on other devices than the first")
    if not values:
        return
    if isinstance(array, jax.ShapeDtypeStruct):
        raise NotDescribable("an array without values")
    yield np.ascontiguousarray(array).tobytes().hex()


def _name_of(thing: type | FunctionType) -> str:
    """Name of a class or function that another process finds under the same name."""
    module, name = thing.__module__, thing.__qualname__
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    is_array = isinstance(thing, type) and issubclass(thing, jax.Array)  # their classes have other names
    if module.split(".")[0] not in _LIBRARIES or (found is not thing and not is_array):
        raise NotDescribable(f"{module}.{name}")
    return f"{module}.{name}"
