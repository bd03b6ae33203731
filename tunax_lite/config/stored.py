"""Closures stored with all that makes them, and loaded again: networks, calibrated constants, options."""

import dataclasses
import enum
from pathlib import Path

from .._types import JSON, FieldValue, check_range, iterate_parameters
from ..calibration import with_parameters
from ..calibration.ranges import Unconstrained
from ..calibration.stored import read_closure, write_closure
from ..closures import AbstractClosure
from ..declarations import name_of, names_of
from ..io.errors import ConfigError
from .builder import declared_fields, importing, is_number
from .closures import closure_with


def save_closure(path: str | Path, closure: AbstractClosure) -> None:
    """Store a closure of one column as NetCDF: all numbers, networks included, its settings, and the version.

    `load_closure` reads the file, and `tunax-lite run --parameters FILE` puts its numbers into the closure of
    a configuration, which must have the same settings.

    Args:
        path: of the file, which ends in `.nc`.
        closure: of the package or of your own, with any floating-point arrays.

    Raises:
        TypeError: something else than a closure, such as its unconstrained numbers.
        ValueError: another ending, a number that is not finite or outside its valid range, or one that
            differs between columns.
    """
    if not isinstance(closure, AbstractClosure):
        remedy = "save tl.constrained(x)" if isinstance(closure, Unconstrained) else "give one"
        raise TypeError(f"save_closure: expected a closure, got {type(closure).__name__}; {remedy}.")
    for info in iterate_parameters(closure):
        check_range(info.path, info.value, info.valid_range)
    kind = type(closure)
    name = name_of(kind) or f"{kind.__module__}:{kind.__qualname__}"
    write_closure(path, closure, name, _settings(closure))


def load_closure(path: str | Path, like: AbstractClosure | None = None) -> AbstractClosure:
    """Load a closure of `save_closure`.

    Args:
        path: of the file.
        like: a closure of the same class and settings, whose numbers are replaced. Without it the file names
            class and settings; a class outside the package must have been imported before, because a file
            that names code to import could run anything.

    Returns:
        The closure, in the precision of `like`, or that of JAX.

    Raises:
        FileNotFoundError: no file.
        ValueError: another file, a class that is not known, or a closure with other settings.
    """
    stored = read_closure(path)
    if like is None:
        try:
            with importing(trusted=False):
                like = closure_with(stored.name, stored.options)
        except (ValueError, TypeError) as error:  # of pydantic, too
            raise ConfigError(
                f"{path}: closure {stored.name}: {str(error).rstrip('.')}; or give `like`, a closure with "
                "the same settings."
            ) from error
    if type(like).__name__ != stored.kind:
        raise ValueError(
            f"{path}: expected a closure of the class {stored.kind}, got {type(like).__name__}; give `like` "
            "of that class, or leave it out."
        )
    return with_parameters(like, stored.values)


def _settings(module: FieldValue) -> dict[str, JSON]:
    """What is not a number, as a configuration gives it; numbers only where they are switched off."""
    found: dict[str, JSON] = {}
    for field, _ in declared_fields(type(module)):
        value = getattr(module, field.name)
        if not is_number(field):
            found[field.name] = _as_json(value)
        elif value is None and field.default is not None:
            found[field.name] = None
    return found


def _as_json(value: FieldValue) -> JSON:
    if isinstance(value, AbstractClosure):
        return {"name": name_of(type(value)) or type(value).__name__, "options": _settings(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if dataclasses.is_dataclass(value):
        # Of a class with variants alone any will do: their numbers and settings are replaced.
        names = [each.name for each in names_of(type(value)).values() if each.kind is type(value)]
        return ({"name": name_of(type(value)) or names[0]} if names else {}) | _settings(value)
    return value
