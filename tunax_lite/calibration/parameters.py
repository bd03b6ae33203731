"""Free parameters of a calibration: paths, priors, first guesses, units.

A parameter of the closure is named by its path in it: `c_eps_1`, `stability.cc1`. A number of a case is
named by its path in the case after `cases.NAME.`, or after `case.` if all cases share it:
`cases.papa.forcing.heat_flux_bias`, `case.absorption.visible_depth`. A single number of a vector has an
index, `weights[3]`; the name of the vector stands for all of its numbers. Arrays that no field declares,
such as the weights of a network of Equinox, are vectors too: `net.layers.0.weight[3]`, and `net.*` is all
of them.

`FreeParameters` declares what is free. `resolve` completes it to a `ParameterTable`, whose rows are the
numbers of the unconstrained vector x. `to_pytree` inserts x into a closure, model or case. `to_yaml` makes
the entries of a file of parameters, and `from_yaml` reads them.
"""

import dataclasses
import difflib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from .._types import (
    JSON,
    ParameterInfo,
    at_path,
    check_range,
    is_below,
    iterate_arrays,
    iterate_parameters,
    iterate_vectors,
    precision_of,
)
from ..closures.base import AbstractClosure
from ..column.case import Case
from ..column.model import Model
from .base import CalibratedValues
from .priors import AbstractPrior, Bounded, CorrelatedNormal, LogBounded, Normal
from .target import Comparison

T = TypeVar("T", bound=eqx.Module)
Holder = TypeVar("Holder", AbstractClosure, Model, Case, Comparison)

UnconstrainedVector = Float[Array, " parameter"]
X = TypeVar("X", np.ndarray, Array)
VectorOrMembers = Float[Array, "parameter *member"]
"""Unconstrained vector of one run, or of the members of an ensemble along a trailing axis."""

SHARED_PREFIX = "case."
_CASE_PREFIX = "cases."


def is_of_closure(path: str) -> bool:
    """True for the path of a parameter of the closure, false for that of a number of a case."""
    return not path.startswith((SHARED_PREFIX, _CASE_PREFIX))


def path_in_case(path: str, name: str) -> str | None:
    """Path in the run of a named case, where its numbers begin with `case.`; `None` for another case."""
    if is_of_closure(path) or path.startswith(SHARED_PREFIX):
        return path
    prefix = f"{_CASE_PREFIX}{name}."
    return SHARED_PREFIX + path.removeprefix(prefix) if path.startswith(prefix) else None


def split_path(path: str) -> tuple[str, int | None]:
    """Split a path into field and index in a vector, if any: `weights[3]` is `weights` and 3."""
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
    """List the numbers that a calibration may change in a closure and named cases, by path.

    Every number of a vector has a path. A value is `None` if it is derived from others, or differs between
    the cases that share it.
    """
    infos = numbers_of(closure)
    shared: dict[str, list[ParameterInfo]] = {}
    for name, case in (cases or {}).items():
        for path, number in numbers_of(case).items():
            full_path = f"{_CASE_PREFIX}{name}.{path}"
            infos[full_path] = number._replace(path=full_path)
            shared.setdefault(SHARED_PREFIX + path, []).append(number)
    for path, numbers in shared.items():
        if len(numbers) == len(cases or {}):  # a number that is missing in one case cannot be shared
            same = all(np.array_equal(number.value, numbers[0].value) for number in numbers)
            infos[path] = numbers[0]._replace(path=path, value=numbers[0].value if same else None)
    return infos


def numbers_of(module: eqx.Module) -> dict[str, ParameterInfo]:
    """Parameters of a module and numbers of its vectors, by path."""
    infos = {info.path: info for info in iterate_parameters(module)}
    for info in iterate_vectors(module):
        places = None if info.coordinate is None else np.asarray(info.coordinate, float).tolist()
        for index, value in enumerate(np.asarray(info.value)):
            path, at = f"{info.path}[{index}]", None if places is None else places[index]
            infos[path] = info._replace(path=path, value=value, coordinate=at)
    return infos


def lookup(path: str, infos: Mapping[str, ParameterInfo], owner: str) -> ParameterInfo:
    """Look up a path; `ValueError` for an unknown one, with suggestions."""
    if path in infos:
        return infos[path]
    in_closure = is_of_closure(path)
    # Vectors by name: a list of all their numbers would be too long.
    effective = (name for name, info in infos.items() if not info.idle)
    alike = by_field(name for name in effective if is_of_closure(name) == in_closure)
    is_part = any(is_below(name, f"{path}.*") for name in alike)
    close = [f"{path}.*"] * is_part + difflib.get_close_matches(path, alike, n=3, cutoff=0.5)
    names = ", ".join(close + [name for name in alike if name not in close]) or "none"
    remedy = "numbers of all cases are case.PATH, those of one cases.NAME.PATH"
    if not in_closure:
        owner, remedy = "the cases", "add a correction to a case by `corrections`, or `CorrectedForcing`"
    raise ValueError(f"{path}: expected a number of {owner}, got another path; known are {names}; {remedy}.")


def replace_numbers(module: T, paths: Sequence[str], values: Array | np.ndarray) -> T:
    """Replace the number at each path of a module by the corresponding one of `values`.

    Ensemble members add a trailing axis to what is replaced; everything else keeps its shape, because a
    number shared by all columns costs less in the time loop.
    """
    places: dict[str, list[tuple[int, int | None]]] = {}
    for position, path in enumerate(paths):
        field, index = split_path(path)
        places.setdefault(field, []).append((position, index))
    if not places:
        return module
    networks, new = {info.path for info in iterate_arrays(module)}, []
    if values.ndim == 2 and (changed := networks & places.keys()):
        raise ValueError(
            f"{min(changed)}: expected a method that runs one closure at a time for a network without batch "
            "axes, got an ensemble; choose adam or lbfgs, or declare the weights with `vector_parameter`."
        )
    for field, pairs in places.items():
        positions, indices = (np.array(part) for part in zip(*pairs, strict=True))
        if pairs[0][1] is None:
            new.append(jnp.asarray(values[positions[0]]))
        else:
            new.append(_with_numbers(at_path(module, field), indices, values[positions], field in networks))
    at_fields = lambda tree: [at_path(tree, field) for field in places]  # noqa: E731
    return eqx.tree_at(at_fields, module, new, is_leaf=lambda leaf: leaf is None)


def _with_numbers(
    old: Array, indices: np.ndarray, values: Array | np.ndarray, is_network: bool
) -> Float[Array, "..."]:
    """Replace numbers of a vector, or of an array in C order; members are a trailing axis."""
    if is_network:
        return old.reshape(-1).at[indices].set(values).reshape(old.shape)
    if values.ndim == 2:
        old = jnp.broadcast_to(old[:, None], (*old.shape, values.shape[1]))
    return old.at[indices].set(values)


def with_parameters(closure: AbstractClosure, values: Mapping[str, float]) -> AbstractClosure:
    """Insert calibrated numbers by path into a closure; those of cases are ignored.

    Raises `ValueError` for a path that the closure does not have, a value outside its valid range, or values
    of `read_parameters` that were calibrated with other options or constants.
    """
    if isinstance(values, CalibratedValues) and values.base is not None:
        values.base.check(closure, values, values.source)
    selected = {path: value for path, value in values.items() if is_of_closure(path)}
    return _with_values(closure, selected, numbers_of(closure), type(closure).__name__)


def with_case_parameters(case: Case, values: Mapping[str, float]) -> Case:
    """Insert calibrated numbers by path into a case; those of the closure and other cases are ignored.

    Raises `ValueError` for a path that the case does not have, or a value outside its valid range.
    """
    numbers, prefixes = numbers_of(case), (SHARED_PREFIX, f"{_CASE_PREFIX}{case.name}.")
    infos = {prefix + path: number for prefix in prefixes for path, number in numbers.items()}
    for prefix in prefixes:  # numbers of the case itself override shared ones
        selected = {path: value for path, value in values.items() if path.startswith(prefix)}
        case = _with_values(case, selected, infos, case.name, prefix)
    return case


def paths_of_other_cases(paths: Iterable[str], name: str) -> list[str]:
    """Select the paths that belong to other cases than the named one."""
    return [path for path in paths if path_in_case(path, name) is None]


def _with_values(
    module: T, values: Mapping[str, float], infos: Mapping[str, ParameterInfo], owner: str, prefix=""
) -> T:
    for path, value in values.items():
        valid_range = lookup(path, infos, owner).valid_range
        if not math.isfinite(value):
            raise ValueError(f"{path}: expected a finite value, got {value:g}.")
        check_range(path, float(value), valid_range)
    if not values:
        return module
    paths = [path.removeprefix(prefix) for path in values]
    return replace_numbers(module, paths, np.array(list(values.values()), precision_of(module=module)))


def paths_by_label(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by a label for display: the numbers of a vector have one label together."""
    fields = by_field(paths).items()
    return {each[0] if len(each) == 1 else f"{field} ({len(each)} numbers)": each for field, each in fields}


class FreeNumber(NamedTuple):
    """A row of the table: one number of the unconstrained vector."""

    path: str  # in the closure or in a case, with dots
    start: float
    coordinate: float | None  # time [s] or height [m] of a number of a vector
    unit: str
    prior: AbstractPrior
    is_chosen: bool  # false if the prior follows from bounds and scale

    @property
    def lower(self) -> float:
        """Lower bound, in the unit of the parameter."""
        return self.prior.lower

    @property
    def upper(self) -> float:
        """Upper bound, in the unit of the parameter."""
        return self.prior.upper


@dataclasses.dataclass(frozen=True)
class ParameterTable:
    """The numbers of a calibration, in the order of the unconstrained vector; from `FreeParameters.resolve`.

    Args:
        numbers: rows, in order.
        places: for the table of one case, places of its numbers in the vector of all cases; otherwise `None`.

    Raises:
        ValueError: a duplicate path.
    """

    numbers: tuple[FreeNumber, ...]
    places: tuple[int, ...] | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self):
        repeated = sorted(path for path, number in Counter(self.paths).items() if number > 1)
        if repeated:
            raise ValueError(f"FreeParameters: expected every path once, got {', '.join(repeated)} twice.")

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(number.path for number in self.numbers)

    @property
    def units(self) -> dict[str, str]:
        return {each.path: each.unit for each in self.numbers}

    @property
    def fields(self) -> dict[str, list[FreeNumber]]:
        """Rows by field: one for a parameter, one for each free number of a vector."""
        numbers = dict(zip(self.paths, self.numbers, strict=True))
        return {field: [numbers[path] for path in paths] for field, paths in by_field(numbers).items()}

    def in_case(self, name: str) -> "ParameterTable":
        """Free numbers in the run of one case, with paths that begin with `case.`.

        Cases that differ only in their names have equal tables. Raises `ValueError` for a case without any,
        or a number that is free both for one case and for all.
        """
        paths = [path_in_case(path, name) for path in self.paths]
        places = tuple(place for place, path in enumerate(paths) if path is not None)
        if not places:
            raise ValueError(
                f"{name}: expected a case in which a parameter is free, got none among "
                f"{', '.join(self.paths)}; leave the case out."
            )
        numbers = tuple(self.numbers[place]._replace(path=str(paths[place])) for place in places)
        return ParameterTable(numbers, places)

    def part_of(self, x: X) -> X:
        """Select the numbers of this table from the vector of all cases; members are a trailing axis."""
        return x if self.places is None or len(self.places) == x.shape[0] else x[np.array(self.places)]

    def _correlated(self) -> list[tuple[np.ndarray, float, np.ndarray]]:
        """For each vector with correlated numbers: indices, mean, and Cholesky factor of the covariance."""
        groups: dict[tuple[str, CorrelatedNormal], list[int]] = {}
        for place, number in enumerate(self.numbers):
            if isinstance(number.prior, CorrelatedNormal):
                groups.setdefault((split_path(number.path)[0], number.prior), []).append(place)
        vectors = []
        for (_, prior), places in groups.items():
            factor = prior.factor([self.numbers[place].coordinate or 0.0 for place in places])
            vectors.append((np.array(places), prior.mean, prior.standard_deviation * factor))
        return vectors

    def root_of_correlation(self) -> np.ndarray:
        """Square root of the correlation matrix of the priors: the identity without correlated vectors."""
        root = np.eye(len(self.numbers))
        for places, _, factor in self._correlated():
            root[np.ix_(places, places)] = factor / np.linalg.norm(factor, axis=1, keepdims=True)
        return root

    def start(self) -> UnconstrainedVector:
        return self.to_unconstrained({number.path: number.start for number in self.numbers})

    def to_unconstrained(self, values: Mapping[str, float]) -> UnconstrainedVector:
        """The unconstrained vector of physical values by path; `ValueError` for one not within bounds."""
        numbers = []
        for number in self.numbers:
            try:
                numbers.append(number.prior.to_unconstrained(float(values[number.path])))
            except ValueError as error:
                raise ValueError(f"{number.path}: {error}") from None
        for places, mean, factor in self._correlated():
            departures = [float(values[self.numbers[place].path]) - mean for place in places]
            for place, number in zip(places, np.linalg.solve(factor, departures), strict=True):
                numbers[place] = float(number)
        return jnp.asarray(numbers, dtype=float)

    @functools.partial(jax.jit, static_argnums=0)  # one program for all callers
    def to_physical(self, x: UnconstrainedVector) -> UnconstrainedVector:
        """The physical values, each in its own unit."""
        alike = itertools.groupby(self.numbers, lambda n: (split_path(n.path)[0], n.prior))
        parts, begin = [], 0
        for (_, prior), numbers in alike:
            end = begin + len(list(numbers))
            parts.append(prior.to_physical(x[begin:end]))
            begin = end
        physical = jnp.concatenate(parts)
        for places, mean, factor in self._correlated():
            physical = physical.at[places].set(mean + factor.astype(x.dtype) @ x[places])
        return physical

    def by_path(self, values: ArrayLike | Sequence[float]) -> dict[str, float]:
        """Physical values in the order of the vector, by path."""
        return dict(zip(self.paths, np.asarray(values).tolist(), strict=True))

    def to_pytree(self, module: Holder, x: VectorOrMembers) -> Holder:
        """Insert x into a closure, model, case or comparison, in its precision; differentiable by x.

        For a case, the table is that of `in_case`, whose paths do not contain the name of the case.
        """
        in_case, holder, prefix = isinstance(module, Case | Comparison), module, ""
        if isinstance(module, Model):
            holder, prefix = module.closure, "closure."
        elif isinstance(module, Comparison):
            holder, prefix = module.case, "case."
        places = [i for i, path in enumerate(self.paths) if is_of_closure(path) != in_case]
        if not places:
            return module
        values = self.to_physical(x) if x.ndim == 1 else jax.vmap(self.to_physical, -1, -1)(x)
        paths = [prefix + self.paths[place].removeprefix(SHARED_PREFIX) for place in places]
        precision = precision_of(**{"case" if in_case else "closure": holder})
        return replace_numbers(module, paths, values[np.array(places)].astype(precision))

    def to_yaml(
        self,
        best: Mapping[str, float],
        closure: AbstractClosure,
        cases: Mapping[str, Case],
        remarks: Mapping[str, str],
    ) -> dict[str, dict[str, JSON]]:
        """Entries of a file of parameters, with units, first guesses and bounds; vectors are complete."""
        start = self.by_path([number.start for number in self.numbers])
        infos = known_parameters(closure, cases)
        paths_by_field, entries = by_field(infos), dict[str, dict[str, JSON]]()
        for name, rows in self.fields.items():
            entry = entries[name] = {"value": best.get(name), "unit": rows[0].unit, "start": start.get(name)}
            if rows[0].path != name:
                vector = [infos[path] for path in paths_by_field[name]]
                entry["value"] = [float(number.value) for number in vector]
                # Numbers that were not free have their start values.
                entry["start"] = [start.get(number.path, float(number.value)) for number in vector]
                if rows[0].coordinate is not None:
                    entry["coordinate"] = [number.coordinate for number in vector]
            entry |= {"lower": min(row.lower for row in rows), "upper": max(row.upper for row in rows)}
            if priors := dict.fromkeys(repr(row.prior) for row in rows if row.is_chosen):
                entry["prior"] = "; ".join(priors)
            if name in remarks:
                entry["remark"] = remarks[name]
        return entries


def from_yaml(entries: Mapping[str, JSON], where: str) -> dict[str, float]:
    """Values by path from entries of a file; each needs only `value`, or is a number or a list of them."""
    values: dict[str, float] = {}
    for name, entry in entries.items():
        value = entry.get("value") if isinstance(entry, dict) else entry
        numbers = {str(name): value}
        if isinstance(value, list):
            numbers = {f"{name}[{place}]": number for place, number in enumerate(value)}
        for path, number in numbers.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise ValueError(
                    f"{where}: parameters.{path}: expected a finite number, got {repr(number)[:40]}."
                )
            values[path] = float(number)
    return values


@dataclasses.dataclass(frozen=True)
class FreeParameter:
    """Numbers that a calibration may change.

    Args:
        path: in the closure or in a case, with dots. The path of a vector selects all of its numbers, and
            `net.*` or `stability.*` every number beneath that has a value and an effect.
        lower, upper: bounds, by default those of its valid range; with a prior, bounds that it must respect.
        start: first guess; by default the current value or, if a prior excludes it or it is not set, the
            median of the prior.
        scale: `log` for a parameter that varies over orders of magnitude; only without a prior.
        prior: distribution of the parameter; by default `Bounded` or, for the scale `log`, `LogBounded`
            between its bounds, and a standard normal distribution if both are infinite.
    """

    path: str
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    scale: Literal["linear", "log"] = "linear"
    prior: AbstractPrior | None = None


@dataclasses.dataclass(frozen=True)
class FreeParameters:
    """The free numbers of a calibration, in the order of the unconstrained vector; `ValueError` for none."""

    parameters: tuple[FreeParameter, ...]

    def __post_init__(self):
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not self.parameters:
            raise ValueError("FreeParameters: expected at least one free parameter, got none.")

    def resolve(self, closure: AbstractClosure, cases: Mapping[str, Case] | None = None) -> ParameterTable:
        """Resolve the numbers in a closure and named cases, with bounds, first guesses and units.

        Raises `ValueError` for a path that neither closure nor cases have, or one without effect, bounds
        outside the valid range, a first guess that is missing, not a single number, or not between the
        bounds, or a number that is free twice.
        """
        infos, owner = known_parameters(closure, cases), type(closure).__name__
        numbers, fields = list[FreeNumber](), by_field(infos)
        for free in self.parameters:
            for field in _fields_of(free.path, fields, infos):
                members = [lookup(path, infos, owner) for path in fields.get(field, [field])]
                prior = _prior(free, members[0])
                for info in members:
                    about = info.coordinate, members[0].unit, prior, free.prior is not None
                    numbers.append(FreeNumber(info.path, _start(free, prior, info), *about))
        changed = {number.path for number in numbers}
        for path in sorted(changed & infos.keys()):
            others = (other for other in infos[path].replaced_by if other in changed)
            replaced = (f"{other} is calibrated and takes its place" for other in others)
            if why := infos[path].idle or next(replaced, ""):
                raise ValueError(
                    f"{path}: expected a parameter with an effect, got one without: {why}; leave it out."
                )
        table = ParameterTable(tuple(numbers))
        table.start()  # raises for a first guess on a bound
        for name in cases or {}:
            table.in_case(name)
        return table


def _fields_of(path: str, fields: Mapping[str, list[str]], infos: Mapping[str, ParameterInfo]) -> list[str]:
    """The field at a path, or those below it that can be free: with a value and an effect."""
    if path in fields or path in infos:
        return [path]
    below = {field: infos[paths[0]] for field, paths in fields.items() if is_below(field, path)}
    return [field for field, info in below.items() if info.value is not None and not info.idle] or [path]


def _prior(free: FreeParameter, info: ParameterInfo) -> AbstractPrior:
    """The prior within the valid range, or the one implied by bounds and scale."""
    if free.scale not in ("linear", "log"):
        raise ValueError(f"{free.path}: expected the scale linear or log, got {free.scale}.")
    valid_lower, valid_upper = info.valid_range
    lower = valid_lower if free.lower is None else float(free.lower)
    upper = valid_upper if free.upper is None else float(free.upper)
    if not (valid_lower <= lower < upper <= valid_upper):
        raise ValueError(
            f"{free.path}: expected bounds within the valid range {valid_lower:g} to {valid_upper:g} "
            f"[{info.unit}], lower < upper, got {lower:g} and {upper:g}."
        )
    if free.prior is not None and free.scale != "linear":
        raise ValueError(
            f"{free.path}: expected a scale or a prior, got both; remove the scale, or choose a "
            "logarithmic prior."
        )
    if isinstance(free.prior, CorrelatedNormal) and info.coordinate is None:
        raise ValueError(
            f"{free.path}: expected a number with a time or height for a correlated prior, got one "
            "without; choose a normal prior, or set knots."
        )
    try:
        if free.prior is not None:
            return free.prior.within(lower, upper)
        if math.isinf(lower) and math.isinf(upper) and free.scale == "linear":
            return Normal(0.0, 1.0)
        return (LogBounded if free.scale == "log" else Bounded)(lower, upper)
    except ValueError as error:
        raise ValueError(f"{free.path}: {error}") from None


def _start(free: FreeParameter, prior: AbstractPrior, info: ParameterInfo) -> float:
    """Return the first guess, see `FreeParameter`; `ValueError` if there is none or it is not a number."""
    if free.start is not None:
        return float(free.start)
    if info.value is None and free.prior is not None:
        return prior.middle
    if info.value is None:
        raise ValueError(
            f"{info.path}: expected a start value, because this number is derived from others unless it is "
            "set, or differs between the cases that share it; add `start`."
        )
    if shape := np.shape(info.value):
        raise ValueError(
            f"{info.path}: expected one number to start from, got an array of shape {shape}; calibrate a "
            "closure without a batch axis."
        )
    value = float(info.value)
    is_allowed = free.prior is None or prior.lower < value < prior.upper
    return value if is_allowed else prior.middle
