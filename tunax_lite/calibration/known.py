"""Numbers that a calibration can change, by path, and how they are inserted.

A parameter of the closure is named by its path in it: `c_eps_1`, `stability.cc1`. A number of a case is named
by its path in the case after `cases.NAME.`, or after `case.` if all cases share it:
`cases.papa.forcing.heat_flux_bias`, `case.absorption.visible_depth`. A single number of a vector has an
index, `weights[3]`; the name of the vector stands for all of its numbers.
"""

import dataclasses
import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import ParameterInfo, at_path, check_range, iterate_parameters, iterate_vectors, precision_of
from ..closures.base import AbstractClosure
from ..column.case import Case
from .base import CalibratedValues

T = TypeVar("T", bound=eqx.Module)

OF_ALL_CASES = "case."
_OF_ONE_CASE = "cases."


@dataclasses.dataclass(frozen=True)
class Tied:
    """A parameter tied to a free one, `factor * (free parameter) + offset`.

    Args:
        path, to: in the closure or in a case, with dots; `to` is the free one.
        factor, offset: finite, and the factor not 0: `ValueError`.
        unit: of the tied parameter; `FreeParameters.resolve` fills it in.
    """

    path: str
    to: str
    factor: float = 1.0
    offset: float = 0.0
    unit: str = ""

    def __post_init__(self):
        if not (math.isfinite(self.factor) and math.isfinite(self.offset)) or self.factor == 0.0:
            raise ValueError(
                f"{self.path}: expected a finite factor other than 0 and a finite offset, got "
                f"{self.factor:g} and {self.offset:g}."
            )

    def value(self, of_free):
        """The value for a value of the free parameter."""
        return self.factor * of_free + self.offset

    def __str__(self) -> str:
        return f"{self.factor!r} * {self.to} + {self.offset!r}"


def is_of_closure(path: str) -> bool:
    """Whether a path names a parameter of the closure."""
    return not path.startswith((OF_ALL_CASES, _OF_ONE_CASE))


def check_once(paths: Iterable[str]) -> None:
    """Raise for paths that are named more than once."""
    repeated = sorted(path for path, number in Counter(paths).items() if number > 1)
    if repeated:
        raise ValueError(f"FreeParameters: expected every path once, got {', '.join(repeated)} twice.")


def path_in_case(path: str, name: str) -> str | None:
    """The path within the run of a case; `None` if it belongs to another case."""
    if is_of_closure(path) or path.startswith(OF_ALL_CASES):
        return path
    own = f"{_OF_ONE_CASE}{name}."
    return OF_ALL_CASES + path.removeprefix(own) if path.startswith(own) else None


def split_path(path: str) -> tuple[str, int | None]:
    """Path of a field, and the index if it is a vector: `weights[3]` is `weights` and 3."""
    field, bracket, index = path.rpartition("[")
    return (field, int(index.removesuffix("]"))) if bracket and path.endswith("]") else (path, None)


def by_field(paths: Iterable[str]) -> dict[str, list[str]]:
    """Group paths by field: one path for a parameter, several for a vector."""
    fields: dict[str, list[str]] = {}
    for path in paths:
        fields.setdefault(split_path(path)[0], []).append(path)
    return fields


def known_parameters(
    closure: AbstractClosure, cases: Mapping[str, Case] | None = None
) -> dict[str, ParameterInfo]:
    """Numbers by path that a calibration may change in a closure and named cases; vectors number by number.

    A value is `None` if it is derived from others, or differs between the cases that share it.
    """
    known = numbers_of(closure)
    shared: dict[str, list[ParameterInfo]] = {}
    for name, case in (cases or {}).items():
        for path, number in numbers_of(case).items():
            own = f"{_OF_ONE_CASE}{name}.{path}"
            known[own] = number._replace(path=own)
            shared.setdefault(OF_ALL_CASES + path, []).append(number)
    for path, found in shared.items():
        if len(found) == len(cases or {}):  # a number that is missing in one case cannot be shared
            same = all(np.array_equal(number.value, found[0].value) for number in found)
            known[path] = found[0]._replace(path=path, value=found[0].value if same else None)
    return known


def numbers_of(module: eqx.Module) -> dict[str, ParameterInfo]:
    """Parameters of a module and numbers of its vectors, by path."""
    known = {info.path: info for info in iterate_parameters(module)}
    for info in iterate_vectors(module):
        places = None if info.coordinate is None else np.asarray(info.coordinate, float).tolist()
        for index, value in enumerate(np.asarray(info.value)):
            path, at = f"{info.path}[{index}]", None if places is None else places[index]
            known[path] = info._replace(path=path, value=value, coordinate=at)
    return known


def lookup(path: str, known: Mapping[str, ParameterInfo], owner: str) -> ParameterInfo:
    """Look up a path; `ValueError` for an unknown one, with suggestions."""
    if path in known:
        return known[path]
    in_closure = is_of_closure(path)
    # Vectors by name: a list of a hundred numbers helps nobody.
    offered = (name for name, info in known.items() if not info.idle)
    alike = by_field(name for name in offered if is_of_closure(name) == in_closure)
    close = difflib.get_close_matches(path, alike, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    names = ", ".join(close + [name for name in alike if name not in close]) or "none"
    if in_closure:
        raise ValueError(f"{path}: {owner} has no such parameter; {hint}It has: {names}.")
    raise ValueError(
        f"{path}: the cases of this calibration have no such number; {hint}They have: {names}. A correction "
        "is known once a case has it: `CorrectedForcing`, `InitialCorrection`, or `corrections` in a "
        "configuration."
    )


def replace_numbers(module: T, paths: Sequence[str], values: Array | np.ndarray) -> T:
    """The module with the number at each path replaced by the corresponding one of `values`.

    Ensemble members add a trailing axis to what is replaced; everything else keeps its shape, because a
    number shared by all columns costs less in the time loop.
    """
    places: dict[str, list[tuple[int, int | None]]] = {}
    for position, path in enumerate(paths):
        field, index = split_path(path)
        places.setdefault(field, []).append((position, index))
    if not places:
        return module
    new = []
    for field, found in places.items():
        positions, indices = (np.array(part) for part in zip(*found, strict=True))
        if found[0][1] is None:
            new.append(jnp.asarray(values[positions[0]]))
        else:
            old = at_path(module, field)
            if values.ndim == 2:
                old = jnp.broadcast_to(old[:, None], (*old.shape, values.shape[1]))
            new.append(old.at[indices].set(values[positions]))
    at_fields = lambda tree: [at_path(tree, field) for field in places]  # noqa: E731
    return eqx.tree_at(at_fields, module, new, is_leaf=lambda leaf: leaf is None)


def with_parameters(closure: AbstractClosure, values: Mapping[str, float]) -> AbstractClosure:
    """The closure with calibrated numbers by path; those of cases are ignored.

    Raises `ValueError` for a path that the closure does not have, a value outside its valid range, or values
    of `read_parameters` that were calibrated beside other options or constants.
    """
    if isinstance(values, CalibratedValues):
        values.check_base(closure)
    own = {path: value for path, value in values.items() if is_of_closure(path)}
    return _with_values(closure, own, numbers_of(closure), type(closure).__name__)


def with_case_parameters(case: Case, values: Mapping[str, float]) -> Case:
    """The case with its calibrated numbers by path; others are ignored.

    Raises `ValueError` for a path that the case does not have, or a value outside its valid range.
    """
    numbers, beginnings = numbers_of(case), (OF_ALL_CASES, f"{_OF_ONE_CASE}{case.name}.")
    known = {beginning + path: number for beginning in beginnings for path, number in numbers.items()}
    for beginning in beginnings:  # numbers of the case itself override shared ones
        own = {path: value for path, value in values.items() if path.startswith(beginning)}
        case = _with_values(case, own, known, case.name, beginning)
    return case


def paths_of_other_cases(values: Mapping[str, float], name: str) -> list[str]:
    """Those paths that belong to other cases than the named one."""
    return [path for path in values if path_in_case(path, name) is None]


def _with_values(
    module: T, values: Mapping[str, float], known: Mapping[str, ParameterInfo], owner: str, beginning=""
) -> T:
    for path, value in values.items():
        valid_range = lookup(path, known, owner).valid_range
        if not math.isfinite(value):
            raise ValueError(f"{path}: expected a finite value, got {value:g}.")
        check_range(path, float(value), valid_range)
    if not values:
        return module
    paths = [path.removeprefix(beginning) for path in values]
    return replace_numbers(module, paths, np.array(list(values.values()), precision_of(module=module)))


def in_short(values: Mapping[str, float], digits: int = 6) -> dict[str, str]:
    """Values by path for display, with symbols; for several numbers of a vector, lowest and highest."""
    short = {}
    for label, paths in paths_in_short(values).items():
        ends = min(values[path] for path in paths), max(values[path] for path in paths)
        short[label] = " to ".join(f"{end + 0.0:.{digits}g}" for end in ends[: 1 if len(paths) == 1 else 2])
    return short


def units_in_short(units: Mapping[str, str]) -> dict[str, str]:
    """Units of the entries of `in_short`, from the units by path."""
    return {label: units[paths[0]] for label, paths in paths_in_short(units).items()}


def paths_in_short(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by their names in `in_short`: numbers of a vector together, a single one by its own path."""
    fields = by_field(paths).items()
    return {of[0] if len(of) == 1 else f"{field} ({len(of)} numbers)": of for field, of in fields}
