"""Closures in NetCDF files: every number under its path, and what else makes the closure.

A number is a variable whose attribute `path` is its place in the closure, such as `net.layers.0.weight`.
Global attributes hold the name of the closure in configurations (or its import path), its settings, and the
base as in `parameters.yaml`: options as text, and the version of the package.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import __version__
from .._types import JSON, at_path, iterate_parameters, iterate_vectors
from ..closures.base import AbstractClosure
from ..io.dataset import Frames, variable_name, write_frames
from ..io.errors import names_its_file
from ..io.netcdf import Contents, Variable, read_contents
from .parameters import Base, CalibratedValues


class StoredClosure(NamedTuple):
    """What a file says of a closure.

    Args:
        kind: name of its class.
        name: in configurations, or `package.module:Class`.
        options: settings by name, as in a configuration.
        values: of all its numbers, by path, with their base.
    """

    kind: str
    name: str
    options: dict[str, JSON]
    values: CalibratedValues


def write_closure(path: str | Path, closure: AbstractClosure, name: str, options: Mapping[str, JSON]) -> None:
    """Write a closure atomically, for `read_closure`.

    Args:
        path: of a file that ends in `.nc`.
        closure: of one column.
        name, options: as in `StoredClosure`.

    Raises:
        ValueError: another ending, a number that is not finite, or one that differs between columns.
    """
    if Path(path).suffix != ".nc":
        raise ValueError(f"{path}: expected the name of a NetCDF file, which ends in .nc, got another.")
    numbers = [(info, 0) for info in iterate_parameters(closure) if info.value is not None]
    numbers += [(info, 1) for info in iterate_vectors(closure)]
    variables: dict[str, tuple] = {}
    for info, n_axes in numbers:
        if np.ndim(info.value) != n_axes or not np.isfinite(info.value).all():
            raise ValueError(
                f"{path}: {info.path}: expected finite numbers of one column, got {np.min(info.value):g} to "
                f"{np.max(info.value):g} of shape {np.shape(info.value)}; store the closure of each column."
            )
        name_in_file = variable_name(info.path)
        while name_in_file in variables:
            name_in_file += "_"
        values = np.asarray(at_path(closure, info.path))
        dims = tuple(f"{name_in_file}_{axis}" for axis in range(values.ndim))
        about = {"units": info.unit, "long_name": f"parameter {info.path}", "path": info.path}
        variables[name_in_file] = dims, values, about
    base = Base.of(closure, [info.path for info, _ in numbers])
    attributes = {
        "title": f"{base.closure}: a turbulence closure",
        "source": f"tunax_lite {__version__}",
        "closure": base.closure,
        "closure_name": name,
        "closure_options": json.dumps(dict(options)),
        "base": json.dumps(base.content),
    }
    write_frames(Frames(variables, {}, attributes), path)


@names_its_file("a file of a closure")
def read_closure(path: str | Path) -> StoredClosure:
    """Read a file of `write_closure`.

    Raises:
        FileNotFoundError: no file.
        FileFormatError: a damaged file, or one of something else.
    """
    contents = read_contents(path)
    kind, name = (_text(contents, key) for key in ("closure", "closure_name"))
    options, base = (_mapping(contents, key) for key in ("closure_options", "base"))
    values: dict[str, float] = {}
    for variable in contents.variables.values():
        values |= _values(variable)
    try:
        found = Base.read(kind, base, values)
    except ValueError as error:
        raise contents.error("base", "the description of a closure", str(error), _ADVICE) from None
    return StoredClosure(kind, name, options, CalibratedValues(values, found, str(path)))


_ADVICE = "give a file of `tl.save_closure`"


def _text(contents: Contents, key: str) -> str:
    if not isinstance(contents.attrs.get(key), str):
        raise contents.error(key, "the attribute of a stored closure", "none", _ADVICE)
    return contents.attrs[key]


def _mapping(contents: Contents, key: str) -> dict[str, JSON]:
    try:
        found = json.loads(_text(contents, key))
    except json.JSONDecodeError as error:
        raise contents.error(key, "JSON", str(error), _ADVICE) from None
    if not isinstance(found, dict):
        raise contents.error(key, "a mapping as JSON", type(found).__name__, _ADVICE)
    return found


def _values(variable: Variable) -> dict[str, float]:
    """Numbers by path; those of an array with their place in C order."""
    path, values = variable.attrs.get("path"), variable.numbers()
    if not isinstance(path, str):
        raise variable.error("an attribute 'path'", "none", _ADVICE)
    if not np.isfinite(values).all():
        raise variable.error("finite numbers", "others", "store the closure again")
    if values.ndim == 0:
        return {path: float(values)}
    return {f"{path}[{place}]": number for place, number in enumerate(values.reshape(-1).tolist())}
