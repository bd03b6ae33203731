"""The numbers that a calibration can change, by path, and how they are inserted.

A parameter of the closure is named by its path in it: `c_eps_1`, `stability.cc1`. A number of a case is named
by its path in the case behind `cases.NAME.`, or behind `case.` where all cases share it:
`cases.papa.forcing.heat_flux_bias`, `case.absorption.visible_depth`. One number of a vector has its place,
too, `weights[3]`; the name of the vector stands for all of its numbers.
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

from .._types import ParameterInfo, at_path, iterate_parameters, iterate_vectors, precision_of
from ..case import Case
from ..closures.base import AbstractClosure

T = TypeVar("T", bound=eqx.Module)

OF_ALL_CASES = "case."
_OF_ONE_CASE = "cases."


@dataclasses.dataclass(frozen=True)
class Tied:
    """A parameter that follows a free one, `factor * (the free parameter) + offset`.

    Args:
        path, to: in the closure or in a case, with dots; the latter is the free one.
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
        """The value that belongs to one of the free parameter."""
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
    """The path as the run of a case has it; `None` for what belongs to another case."""
    if is_of_closure(path) or path.startswith(OF_ALL_CASES):
        return path
    own = f"{_OF_ONE_CASE}{name}."
    return OF_ALL_CASES + path.removeprefix(own) if path.startswith(own) else None


def split_path(path: str) -> tuple[str, int | None]:
    """Path of a field, and the place in it if it is a vector: `weights[3]` is `weights` and 3."""
    field, bracket, index = path.rpartition("[")
    return (field, int(index.removesuffix("]"))) if bracket and path.endswith("]") else (path, None)


def by_field(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by that of their field: of a parameter one, of a vector several."""
    fields: dict[str, list[str]] = {}
    for path in paths:
        fields.setdefault(split_path(path)[0], []).append(path)
    return fields


def known_parameters(
    closure: AbstractClosure, cases: Mapping[str, Case] | None = None
) -> dict[str, ParameterInfo]:
    """What a calibration may change in a closure and in cases by name, by path; vectors number by number.

    A value is `None` where it is derived from others, or differs between the cases that share it.
    """
    known = numbers_of(closure)
    shared: dict[str, list[ParameterInfo]] = {}
    for name, case in (cases or {}).items():
        for path, number in numbers_of(case).items():
            own = f"{_OF_ONE_CASE}{name}.{path}"
            known[own] = number._replace(path=own)
            shared.setdefault(OF_ALL_CASES + path, []).append(number)
    for path, found in shared.items():
        if len(found) == len(cases or {}):  # of a number that a case lacks there is nothing to share
            same = all(np.array_equal(number.value, found[0].value) for number in found)
            known[path] = found[0]._replace(path=path, value=found[0].value if same else None)
    return known


def numbers_of(module: eqx.Module) -> dict[str, ParameterInfo]:
    """Parameters of a module and numbers of its vectors, by path in it."""
    known = {info.path: info for info in iterate_parameters(module)}
    for info in iterate_vectors(module):
        places = None if info.coordinate is None else np.asarray(info.coordinate, float).tolist()
        for index, value in enumerate(np.asarray(info.value)):
            path, at = f"{info.path}[{index}]", None if places is None else places[index]
            known[path] = info._replace(path=path, value=value, coordinate=at)
    return known


def lookup(path: str, known: Mapping[str, ParameterInfo], owner: str) -> ParameterInfo:
    """What is known of a path; `ValueError` for one that is not known, with those that are like it."""
    if path in known:
        return known[path]
    in_closure = is_of_closure(path)
    # Vectors by their name: nobody wants to read a hundred numbers.
    alike = by_field(name for name in known if is_of_closure(name) == in_closure)
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
    """The module with the number of each path replaced by that of `values` at the same place.

    Members of an ensemble give what is replaced a trailing axis; all else keeps its shape, because the time
    loop carries a number that all columns share at less cost.
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
    """The closure with other numbers by path, as found by a calibration; those of cases are ignored.

    Raises `ValueError` for a path that the closure does not have, or a value outside of its valid range.
    """
    own = {path: value for path, value in values.items() if is_of_closure(path)}
    return _with_values(closure, own, numbers_of(closure), type(closure).__name__)


def with_case_parameters(case: Case, values: Mapping[str, float]) -> Case:
    """The case with its numbers by path, as found by a calibration; others are ignored.

    Raises `ValueError` for a path that the case does not have, or a value outside of its valid range.
    """
    numbers, beginnings = numbers_of(case), (OF_ALL_CASES, f"{_OF_ONE_CASE}{case.name}.")
    known = {beginning + path: number for beginning in beginnings for path, number in numbers.items()}
    for beginning in beginnings:  # what a case has of its own replaces what it shares
        own = {path: value for path, value in values.items() if path.startswith(beginning)}
        case = _with_values(case, own, known, case.name, beginning)
    return case


def paths_of_other_cases(values: Mapping[str, float], name: str) -> list[str]:
    """Paths among those of values that belong to other cases than the one of a name."""
    return [path for path in values if path_in_case(path, name) is None]


def _with_values(
    module: T, values: Mapping[str, float], known: Mapping[str, ParameterInfo], owner: str, beginning=""
) -> T:
    for path, value in values.items():
        lower, upper = lookup(path, known, owner).valid_range
        if not math.isfinite(value) or not lower <= value <= upper:
            raise ValueError(f"{path}: expected a value between {lower:g} and {upper:g}, got {value:g}.")
    if not values:
        return module
    paths = [path.removeprefix(beginning) for path in values]
    return replace_numbers(module, paths, np.array(list(values.values()), precision_of(module=module)))


def in_short(values: Mapping[str, float], digits: int = 6) -> dict[str, str]:
    """Values by path to be looked at, with their signs; of several numbers of a vector lowest and highest."""
    short = {}
    for label, paths in paths_in_short(values).items():
        ends = min(values[path] for path in paths), max(values[path] for path in paths)
        short[label] = " to ".join(f"{end + 0.0:.{digits}g}" for end in ends[: 1 if len(paths) == 1 else 2])
    return short


def units_in_short(units: Mapping[str, str]) -> dict[str, str]:
    """Units of what `in_short` gives, from the units by path."""
    return {label: units[paths[0]] for label, paths in paths_in_short(units).items()}


def paths_in_short(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by what `in_short` calls them: numbers of a vector together, one alone by its own path."""
    fields = by_field(paths).items()
    return {of[0] if len(of) == 1 else f"{field} ({len(of)} numbers)": of for field, of in fields}
