"""Array types with their location on the grid, and `parameter`, which declares a calibratable number.

Axis 0 of every column array is the vertical, with index 0 at the bottom; further axes are batch axes
(columns, ensemble members) and broadcast.
"""

import dataclasses
import difflib
import enum
import re
import types
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PyTree

CenterArray = Float[Array, "center *#batch"]
FaceArray = Float[Array, "face *#batch"]
InnerFaceArray = Float[Array, "inner *#batch"]
"""Faces between two cells, without the bottom and the surface: `n_cells - 1` of them."""
ColumnArray = Float[Array, "level *#batch"]
"""Values on any levels: centers, faces or heights, as the context says."""
if TYPE_CHECKING:
    # Type checkers ignore the converter of `parameter`, which also accepts Python numbers.
    Scalar = SeriesOrScalar = Any  # constructors accept numbers, fields hold arrays
else:
    Scalar = Float[Array, "*#batch"]
    """One number per column: shape `()` or the batch shape."""
    SeriesOrScalar = Float[Array, "..."]
    """One number per column, or a series of them in time."""
ScalarLike = Float[Array, "*#batch"] | float | int
FieldValue = Any  # value of a field of a module, of the type that its class annotates
JSON = Any  # JSON or YAML: the key determines the type


def is_traced(tree: PyTree) -> bool:
    """Return whether JAX traces any leaf: its value is then unknown and cannot be checked."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


@jax.tree_util.register_static
class Fixed:
    """A part of a tree that is neither traced nor optimised: it has no leaves.

    Arrays are compared by value, so that trees with equal fixed parts share compiled programs.
    """

    def __init__(self, value: PyTree):
        self.value = value
        self._key: Hashable = id(value)
        if eqx.is_array(value) and not is_traced(value):
            self._key = value.shape, str(value.dtype), np.asarray(value).tobytes()
        elif isinstance(value, Hashable) and not eqx.is_array(value):
            self._key = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        is_number = eqx.is_array(self.value) and self.value.ndim == 0 and not is_traced(self.value)
        return f"fixed {float(self.value):g}" if is_number else f"fixed {eqx.tree_pformat(self.value)}"


def without_functions(tree: PyTree) -> PyTree:
    """Wrap leaves that compiled programs do not accept, such as functions of a network, in `Fixed`."""
    accepted = jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct, bool, int, float, complex
    return jax.tree.map(lambda leaf: leaf if isinstance(leaf, accepted) else Fixed(leaf), tree)


def unfixed(tree: PyTree) -> PyTree:
    """Replace all `Fixed` parts of a tree by their values."""
    is_fixed = lambda leaf: isinstance(leaf, Fixed)  # noqa: E731
    return jax.tree.map(lambda leaf: leaf.value if is_fixed(leaf) else leaf, tree, is_leaf=is_fixed)


class ParameterInfo(NamedTuple):
    """Declaration of a calibratable number, or of a vector of them at the positions of `coordinate`."""

    path: str
    value: PyTree
    unit: str
    valid_range: tuple[float, float]
    coordinate: PyTree = None
    idle: str = ""  # reason why the number has no effect; empty if it has one
    replaced_by: tuple[str, ...] = ()  # paths of optional numbers that replace it once they are set


_NOT_REAL = tuple("cmMOSU")  # complex numbers, durations, dates, objects and texts


def check_range(name: str, value: object, valid_range: tuple[float, float]) -> None:
    """Raise `ValueError` for a number outside a closed range, or one that is not a number.

    Every number of an array is checked. True and False are rejected: Python would compute with 1 and 0 if a
    switch stood in the place of a number. Traced values are unknown, and pass. A text, a list, a date or a
    complex number raises `TypeError`.
    """
    if isinstance(value, str | eqx.Module):
        got = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
        raise TypeError(f"{name}: expected a number, got {got}.")
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if isinstance(value, list | tuple | dict | set | complex) or kind in _NOT_REAL:
        raise TypeError(f"{name}: expected a number or an array of real numbers, got {value!r:.100}.")
    if is_switch(value):
        within = f"a value between {valid_range[0]:g} and {valid_range[1]:g}"
        raise ValueError(f"{name}: expected {within}, got {_switch(value)}; give a number.")
    if not isinstance(value, (int, float, np.generic, np.ndarray, jax.Array)) or isinstance(
        value, jax.core.Tracer
    ):
        return
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        return  # another process holds a part of it
    numbers = np.asarray(value)
    # Bounds in the precision of the value: 0.1 in float32 exceeds 0.1.
    lower, upper = np.asarray(valid_range).astype(numbers.dtype if numbers.dtype.kind == "f" else float)
    outside = numbers[~((lower <= numbers) & (numbers <= upper))]
    if outside.size:
        more = f" and {outside.size - 1} more of {numbers.size}" if outside.size > 1 else ""
        raise ValueError(
            f"{name}: expected a value between {valid_range[0]:g} and {valid_range[1]:g}, got "
            f"{float(outside.flat[0]):g}{more}."
        )


def is_switch(value: object) -> bool:
    """Return whether a value is boolean: True, False or an array of them, even if it is traced."""
    return isinstance(value, bool) or getattr(value, "dtype", None) == np.dtype(bool)


def _switch(value: Any) -> str:  # True, False or an array
    return "an array of True and False" if is_traced(value) or np.ndim(value) else str(bool(value))


def check_numbers(module: eqx.Module) -> None:
    """Raise `ValueError` for True or False in the place of a number that a module declares."""
    for info in (*iterate_parameters(module), *iterate_vectors(module)):
        if is_switch(info.value):
            check_range(info.path, info.value, info.valid_range)


def _to_float_array(value: PyTree) -> PyTree:
    # None marks a parameter derived from others; other leaves (JAX's placeholders in pytrees) pass through.
    if isinstance(value, (int, float)):
        return as_float_array(value)
    if isinstance(value, np.floating):
        return jnp.asarray(value)
    if isinstance(value, jax.Array) and value.weak_type:
        return value.astype(value.dtype)  # so that programs compiled for other values can be reused
    return value


def as_float_array(value: PyTree, name: str = "") -> PyTree:
    """Convert numbers, NumPy arrays and columns of tables to floating-point arrays.

    Texts, lists and switches raise `TypeError` or `ValueError` with the name. Columns are objects with
    `__array__`, as in pandas, xarray and polars; their index is ignored. Other values are unchanged.
    """
    value, where = without_index(value), f"{name}: " if name else ""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "fiub":
        remedy = "give seconds since the start" if value.dtype.kind in "mM" else "convert it"
        raise TypeError(f"{where}expected numbers, got an array of {value.dtype}; {remedy}.")
    if is_switch(value):
        raise ValueError(f"{where}expected a number or an array, got {_switch(value)}; give a number.")
    if isinstance(value, (int, float)):
        return jnp.asarray(np.float64(value))  # twice as fast as from a Python number
    if isinstance(value, str | list | tuple | dict | set):
        got = f"the text {value!r}" if isinstance(value, str) else f"a {type(value).__name__}"
        raise TypeError(f"{where}expected a number or an array, got {got}; convert it.")
    return jnp.asarray(value, dtype=float) if isinstance(value, np.ndarray) else value


def without_index(tree: PyTree) -> PyTree:
    """Replace columns of pandas, xarray and polars in a tree by NumPy arrays, ignoring their index.

    Masked values, as in arrays that netCDF4 reads, become NaN, because JAX and NumPy drop the mask.
    """

    def without(leaf: Any) -> Any:  # placeholders of JAX pass through
        if np.ma.is_masked(leaf) and leaf.dtype.kind in "fiu":
            return leaf.astype(np.result_type(leaf, np.float32)).filled(np.nan)
        is_column = hasattr(leaf, "__array__") and not isinstance(leaf, jax.Array | np.ndarray | np.generic)
        return np.asarray(leaf) if is_column else leaf

    return jax.tree.map(without, tree)


class InputWarning(Warning):
    """Warning of input that is accepted, but is unlikely or was read with an assumption.

    Args:
        message: text for the user.
        rule: name of the rule of `tunax_lite.plausibility` that raised it; `accept` silences it by this name.
    """

    def __init__(self, message: str, rule: str = ""):
        super().__init__(message)
        self.rule = rule


def warn_of_input(notes: Iterable[str | InputWarning]) -> None:
    """Issue one `InputWarning` per note on input."""
    for note in notes:
        warnings.warn(InputWarning(note) if isinstance(note, str) else note, stacklevel=2)


def valid_range_of(kind: type, name: str) -> tuple[float, float]:
    """Range of a field that a class declares with `parameter`."""
    (declared_field,) = (field for field in dataclasses.fields(kind) if field.name == name)
    return declared_field.metadata["valid_range"]


def parameter(
    default: object = dataclasses.MISSING,
    *,
    unit: str = "1",
    valid_range: tuple[float, float] = (-float("inf"), float("inf")),
    only_if: Mapping[str, tuple[object, ...]] | None = None,
) -> FieldValue:
    """Declare a calibratable number of a module.

    The value becomes a zero-dimensional floating-point array, because a Python `float` field of an
    Equinox module gets no gradient; an array of the batch shape gives one value per column.

    Args:
        default: default value; `None` if it is derived from other parameters.
        unit: unit of the number.
        valid_range: closed interval outside which the number has no meaning, and the default bounds in a
            calibration. A constructor raises `ValueError` for a number outside it and `TypeError` for
            values that are not numbers; modules that JAX rebuilds, such as a gradient, are not checked.
        only_if: values of other fields, by name, for which this number has an effect. `(None,)` means only
            while the other field is unset, which replaces it. A calibration refuses a number without effect.
    """

    def checked(value: PyTree) -> PyTree:
        if value is None and default is not None and not isinstance(field.type, types.UnionType):
            raise TypeError(
                f"{field.name}: expected a number [{unit}], got None; leave it out for the default."
            )
        value = without_index(value)
        check_range(field.name, value, valid_range)
        return _to_float_array(value)

    metadata = {"unit": unit, "valid_range": valid_range, "leading_axes": 0, "only_if": only_if}
    field = eqx.field(default=default, converter=checked, metadata=metadata)
    return field


def array_field(
    leading_axes: int,
    *,
    is_shared: bool = False,
    **options: Any,  # arguments of `equinox.field`
) -> FieldValue:
    """Declare a field of arrays and the number of their axes before the batch axes.

    Nested declarations add up: a time series (one axis) of profiles (one axis) has two. A shared array, such
    as the times of a series, has no batch axes: it is the same for all columns. Other options are those of
    `equinox.field`.
    """
    return eqx.field(metadata={"leading_axes": leading_axes, "is_shared": is_shared}, **options)


def vector_parameter(
    *,
    unit: str = "1",
    valid_range: tuple[float, float] = (-float("inf"), float("inf")),
    coordinate: str | None = None,
    **options: Any,  # arguments of `equinox.field`
) -> FieldValue:
    """Declare an optional field of many calibratable numbers in one vector, followed by batch axes.

    A calibration frees all of them under the name of the field. Arguments are those of `parameter` and of
    `equinox.field`; `coordinate` names the field with their positions in time or height.
    """

    def checked(value: PyTree) -> PyTree:
        value = without_index(value)
        check_range(field.name, value, valid_range)
        return value

    declared = {"unit": unit, "range": valid_range, "coordinate": coordinate}
    field = eqx.field(metadata={"vector": declared, "leading_axes": 1}, converter=checked, **options)
    return field


def leading_axes(tree: PyTree) -> PyTree:
    """Number of axes before the batch axes, for each leaf; -1 for leaves that have no batch axes."""

    def axes(path, leaf) -> int:
        del leaf
        declared = _declarations(tree, path)
        is_batched = declared and not any(each.get("is_shared") for each in declared)
        return sum(each["leading_axes"] for each in declared) if is_batched else -1

    return jax.tree_util.tree_map_with_path(axes, tree)


def shared_by_columns(tree: PyTree) -> PyTree:
    """Mask of the leaves that all columns of a batch share."""

    def is_shared(path, leaf) -> bool:
        del leaf
        return any(each.get("is_shared") for each in _declarations(tree, path))

    return jax.tree_util.tree_map_with_path(is_shared, tree)


def _declarations(tree: PyTree, path: tuple) -> list[Mapping[str, Any]]:  # Any: value types depend on the key
    """Metadata of the fields with declared axes along the path to a leaf."""
    node, declared = tree, []
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            field = getattr(node, "__dataclass_fields__", {}).get(key.name)
            if field is not None and "leading_axes" in field.metadata:
                declared.append(field.metadata)
            node = getattr(node, key.name)
        else:
            node = node[key.key if isinstance(key, jax.tree_util.DictKey) else key.idx]
    return declared


def batch_shape_of(tree: PyTree) -> tuple[int, ...]:
    """Common batch shape of all arrays declared with `parameter`, `vector_parameter` or `array_field`."""
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(leading_axes(tree)), strict=True)
    return jnp.broadcast_shapes((), *(jnp.shape(leaf)[axes:] for leaf, axes in pairs if axes >= 0))


def at_path(module: PyTree, path: str) -> PyTree:
    """Value at a dotted path through modules and mappings; items of lists and tuples count from 0."""
    for name in path.split("."):
        if isinstance(module, list | tuple) and name.isdigit():
            module = module[int(name)]
        else:
            module = module[name] if isinstance(module, dict) else getattr(module, name)
    return module


def dotted(path: tuple) -> str:
    """Dotted text of a path of JAX, such as `net.layers.0.weight`."""
    return jax.tree_util.keystr(path, simple=True, separator=".")


def is_below(path: str, pattern: str) -> bool:
    """Return whether a dotted path equals a pattern, or lies below a pattern that ends in `.*`."""
    return path.startswith(pattern[:-1]) if pattern.endswith(".*") else path == pattern


def _declared(
    module: eqx.Module, key: str, prefix: str = ""
) -> Iterator[tuple[str, PyTree, Mapping[str, Any], eqx.Module]]:  # Any: value types depend on the key
    """Dotted path, value, metadata and owner of all fields with a metadata key, including nested modules."""
    for field in dataclasses.fields(module):
        value, path = getattr(module, field.name), prefix + field.name
        if key in field.metadata:
            yield path, value, field.metadata, module
        else:
            parts = {path: value}
            if isinstance(value, dict):
                parts = {f"{path}.{name}": part for name, part in value.items()}
            for part_path, part in parts.items():
                if isinstance(part, eqx.Module):
                    yield from _declared(part, key, f"{part_path}.")


def iterate_parameters(module: eqx.Module) -> Iterator[ParameterInfo]:
    """Yield all fields declared with `parameter`, including nested modules, with dotted paths."""
    for path, value, declared, owner in _declared(module, "valid_range"):
        prefix, siblings = path.rpartition(".")[0], {field.name for field in dataclasses.fields(owner)}
        idle, replacements = "", []
        for name, allowed in (declared["only_if"] or {}).items():
            other, where = getattr(owner, name) if name in siblings else None, f"{prefix}.{name}".lstrip(".")
            if not allowed:
                idle = "nothing depends on it"
            elif allowed == (None,):
                replacements.append(where)
                idle = idle if other is None else f"{where} is set and replaces it"
            elif other not in allowed:
                idle = f"{where} is {other!r}"
        unit_and_range = declared["unit"], declared["valid_range"]
        yield ParameterInfo(path, value, *unit_and_range, idle=idle, replaced_by=tuple(replacements))


def iterate_vectors(module: eqx.Module) -> Iterator[ParameterInfo]:
    """Yield all vectors declared with `vector_parameter` that are set, including nested modules.

    Arrays that no field declares come last, as vectors of their numbers in C order.
    """
    for path, value, metadata, owner in _declared(module, "vector"):
        if value is not None:
            declared = metadata["vector"]
            knots = None if declared["coordinate"] is None else getattr(owner, declared["coordinate"])
            fits = knots is not None and len(knots) == len(value)
            yield ParameterInfo(path, value, declared["unit"], declared["range"], knots if fits else None)
    for info in iterate_arrays(module):
        yield info._replace(value=info.value.reshape(-1))


def iterate_arrays(module: eqx.Module) -> Iterator[ParameterInfo]:
    """Yield the floating-point arrays in fields without a declaration, such as the weights of a network.

    They have no bounds and no batch axes. Items of lists and tuples count from 0: `net.layers.0.weight`.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(module):
        if _is_floating(leaf) and not _declarations(module, path):
            yield ParameterInfo(dotted(path), leaf, "1", (-float("inf"), float("inf")))


def free_leaves(module: eqx.Module) -> dict[str, ParameterInfo]:
    """Parameters, vectors and arrays of a module that are set and not fixed, by path."""
    infos = *iterate_parameters(module), *iterate_vectors(module)
    return {i.path: i for i in infos if i.value is not None and not isinstance(i.value, Fixed)}


def chosen_paths(known: Iterable[str], patterns: str | Iterable[str], where: str, owner: str) -> set[str]:
    """Return the known paths that match any of the patterns, such as `net.*`.

    Raises `ValueError` for a pattern without match: `where` begins the message, `owner` is named in it.
    """
    chosen: set[str] = set()
    for path in [patterns] if isinstance(patterns, str) else patterns:
        below = {name for name in known if is_below(name, path)}
        if not below:
            parts = {f"{name[: at.start()]}.*" for name in known for at in re.finditer(r"\.", name)}
            close = difflib.get_close_matches(path, [*parts, *known], n=3)
            hint = f"did you mean {' or '.join(close)}? " if close else ""
            raise ValueError(
                f"{where}: expected paths of numbers that {owner} has, got '{path}'; {hint}It has: "
                f"{', '.join(known)}. A number that is derived from others must be set before it is named."
            )
        chosen |= below
    return chosen


def iterate_options(module: eqx.Module, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted path and text of everything in a module except numbers: classes, texts, switches.

    The text of a module is the name of its class.
    """
    yield path, type(module).__name__
    for field in dataclasses.fields(module):
        value, field_path = getattr(module, field.name), f"{path}.{field.name}".lstrip(".")
        if isinstance(value, eqx.Module):
            yield from iterate_options(value, field_path)
        elif not eqx.is_array(value):
            yield field_path, _text(value)


def _text(value: FieldValue) -> str:
    """Text of a value that is the same in every process and precision: functions by name, arrays by shape."""
    if not callable(value) and not jax.tree.leaves(value, is_leaf=eqx.is_array):
        return repr(value)
    if isinstance(value, str | int | float | enum.Enum | type):
        return repr(value)
    shapes = jax.tree.map(lambda leaf: jnp.shape(leaf) if eqx.is_array(leaf) else leaf, value)
    return re.sub(" at 0x[0-9a-f]+", "", eqx.tree_pformat(shapes, width=10**6))


def in_precision(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """Convert a model, a case, a restart or any other tree of arrays to another precision.

    Floating-point arrays are cast, and derivatives pass through; integers, switches and Python numbers are
    unchanged. Raises `ValueError` for a `dtype` other than float32 and float64, or float64 if JAX has it
    disabled.
    """
    if dtype not in (np.dtype("float32"), np.dtype("float64")):
        raise ValueError(f"in_precision: expected 'float32' or 'float64', got {dtype!r}.")
    dtype = np.dtype(dtype)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise ValueError(
            "in_precision: expected that JAX can compute in float64, but jax_enable_x64 is off and it would "
            'silently give float32; call tunax_lite.configure(precision="float64") before the first array.'
        )

    return jax.tree.map(lambda leaf: leaf.astype(dtype) if _is_floating(leaf) else leaf, tree)


def precision_of(**trees: PyTree) -> np.dtype:
    """Return the common precision of all floating-point arrays in named trees; messages use the names.

    Arrays may be traced; weakly typed ones, such as `jnp.asarray(0.1)`, adapt to the others, as Python
    numbers do. Raises `ValueError` for arrays of different precision, or if there are none.
    """
    arrays = [both for both in jax.tree_util.tree_leaves_with_path(trees) if _is_floating(both[1])]
    strong = [(path, leaf) for path, leaf in arrays if not _is_weak(leaf)]
    path_by_dtype: dict[np.dtype, str] = {}
    for path, leaf in strong or arrays:
        path_by_dtype.setdefault(leaf.dtype, dotted(path))
    if len(path_by_dtype) != 1:
        listed = " and ".join(f"{dtype} ({path})" for dtype, path in path_by_dtype.items()) or "no such array"
        raise ValueError(
            f"{' and '.join(trees)}: expected floating-point arrays of one precision, got {listed}; cast all "
            'of them with tunax_lite.in_precision(..., "float32") or "float64".'
        )
    return next(iter(path_by_dtype))


def without_weak_types(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """Convert Python floats and weakly typed arrays in a tree to arrays of one precision.

    Programs are compiled for argument types, and again for every new Python number.
    """

    def strong(leaf: PyTree) -> PyTree:
        if isinstance(leaf, float):
            return jnp.asarray(leaf, dtype)
        return leaf.astype(dtype) if _is_floating(leaf) and _is_weak(leaf) else leaf

    return jax.tree.map(strong, tree)


def _is_weak(leaf: object) -> bool:
    return isinstance(leaf, jax.Array) and leaf.weak_type


def _is_floating(leaf: PyTree) -> bool:
    return eqx.is_inexact_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating)
