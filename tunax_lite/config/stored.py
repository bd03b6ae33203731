"""Store closures in files with all numbers and settings, and load them again."""

import dataclasses
import enum
import sys
from pathlib import Path

import numpy as np

from .._types import JSON, FieldValue, check_range, iterate_parameters, iterate_vectors
from ..calibration import with_parameters
from ..calibration.base import Base
from ..calibration.ranges import Unconstrained
from ..calibration.results import read_values, write_values
from ..closures import AbstractClosure
from ..declarations import name_of, names_of
from ..io.errors import ConfigError
from .builder import keys_of, numbers_of
from .closures import ClosureSection


def save_closure(path: str | Path, closure: AbstractClosure) -> None:
    """Store a closure of one column as YAML: all numbers, networks included, its settings, and the version.

    `load_closure` reads the file, and `tunax-lite run --parameters FILE` puts its numbers into the closure of
    a configuration, which must have the same settings.

    Args:
        path: path of the file.
        closure: closure of one column, from any package, with floating-point arrays of any precision.

    Raises:
        TypeError: another object, such as the result of `unconstrained`.
        ValueError: a number that is not finite, is outside its valid range or differs between columns; a path
            that ends in .nc.
    """
    if not isinstance(closure, AbstractClosure):
        remedy = "save tl.constrained(x)" if isinstance(closure, Unconstrained) else "give one"
        raise TypeError(f"save_closure: expected a closure, got {type(closure).__name__}; {remedy}.")
    if Path(path).suffix == ".nc":
        raise ValueError(f"save_closure {path}: expected a file name that ends in .yaml, got .nc; rename it.")
    for info in iterate_parameters(closure):
        check_range(info.path, info.value, info.valid_range)
    kind = type(closure)
    name = name_of(kind) or f"{kind.__module__}:{kind.__qualname__}"
    numbers = [(info, 0) for info in iterate_parameters(closure) if info.value is not None]
    entries = dict[str, dict]()
    for info, n_axes in numbers + [(info, 1) for info in iterate_vectors(closure)]:
        value = np.asarray(info.value)
        if value.ndim != n_axes or not np.isfinite(value).all():
            raise ValueError(
                f"{path}: {info.path}: expected finite numbers of one column, got {value.min():g} to "
                f"{value.max():g} of shape {value.shape}; store the closure of each column."
            )
        entries[info.path] = {"value": value.tolist(), "unit": info.unit}
    about = {"closure_name": name, "closure_options": _settings(closure)}
    write_values(path, Base.of(closure, entries), entries, about)


def load_closure(path: str | Path, like: AbstractClosure | None = None) -> AbstractClosure:
    """Load a closure that `save_closure` stored.

    Args:
        path: path of the file.
        like: closure of the same class and settings, whose numbers are replaced. Without it, class and
            settings follow from the file; the modules of classes outside the package must have been imported,
            because importing what a file names could run any code.

    Returns:
        The closure, in the precision of `like`, or without it in that of JAX.

    Raises:
        FileNotFoundError: no file.
        ValueError: a file of another kind, an unknown class, or `like` of another class or settings.
    """
    content, values = read_values(path)
    kind, name = content.get("closure"), content.get("closure_name")
    if like is None:
        options = content.get("closure_options") or {}
        if foreign := sorted(_modules_in([name, options]) - sys.modules.keys()):
            raise ConfigError(
                f"{path}: expected classes of imported modules, got {name} of {foreign[0]}; import it, if "
                "you trust it."
            )
        try:
            like = ClosureSection(name=str(name), options=options).build()
        except (ValueError, TypeError) as error:  # of pydantic, too
            raise ConfigError(
                f"{path}: closure {name}: {str(error).rstrip('.')}; or give `like`, a closure with the same "
                "settings."
            ) from error
    if type(like).__name__ != kind:
        raise ValueError(
            f"{path}: expected a closure of the class {kind}, got {type(like).__name__}; give `like` of that "
            "class, or leave it out."
        )
    return with_parameters(like, values)


def _modules_in(value: JSON) -> set[str]:
    """Modules of all import paths `package.module:Class` in a value, which may be nested."""
    if isinstance(value, str):
        return {value.partition(":")[0]} if ":" in value else set()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return set().union(*map(_modules_in, parts))


def _settings(module: FieldValue) -> dict[str, JSON]:
    """Settings and parts of a closure or part, as in a configuration, and its numbers that are `None`."""
    numbers = numbers_of(type(module))
    values = {name: getattr(module, name) for name in keys_of(type(module))}
    return {name: _as_json(value) for name, value in values.items() if name not in numbers or value is None}


def _as_json(value: FieldValue) -> JSON:
    if isinstance(value, AbstractClosure):
        return {"name": name_of(type(value)) or type(value).__name__, "options": _settings(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if dataclasses.is_dataclass(value):
        # Any name of a class without one of its own will do: all numbers and settings are replaced.
        names = [each.name for each in names_of(type(value)).values() if each.kind is type(value)]
        return ({"name": name_of(type(value)) or names[0]} if names else {}) | _settings(value)
    return value
