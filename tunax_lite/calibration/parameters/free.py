"""Which numbers of a closure and of cases a calibration may change, between which bounds, and from where.

They are named as `known` says: `c_eps_1`, `weights[3]`, `cases.papa.forcing.heat_flux_bias`.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...case import Case
from ...closures.base import AbstractClosure
from ...precision import precision_of
from ..priors import AbstractPrior, Bounded, CorrelatedNormal, LogBounded, Unbounded
from .known import (
    OF_ALL_CASES,
    Known,
    is_of_closure,
    known_parameters,
    lookup,
    of_case,
    replace_numbers,
    split_path,
)
from .tied import Tied

UnconstrainedVector = Float[Array, " parameter"]


@dataclasses.dataclass(frozen=True)
class FreeParameter:
    """One number that a calibration may change.

    Args:
        path: in the closure or in a case, with dots; of a vector it stands for all of its numbers.
        lower, upper: bounds, in the unit of the parameter; by default its valid range. With a prior: the
            range in which it must lie.
        start: value to start from; by default that of the closure, or where it has none that the prior
            allows, the median of the prior.
        scale: `log` for a parameter that varies over orders of magnitude.
        prior: what is known of the parameter; by default `Bounded` or, by the scale, `LogBounded` between
            its bounds.
        unit, coordinate: of the number; `FreeParameters.resolve` fills them in.
    """

    path: str
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    scale: Literal["linear", "log"] = "linear"
    prior: AbstractPrior | None = None
    unit: str = ""
    coordinate: float | None = None

    @property
    def distribution(self) -> AbstractPrior:
        """The prior, or the one that bounds and scale stand for; needs either.

        Raises:
            ValueError: bounds without meaning for the scale.
        """
        if self.prior is not None:
            return self.prior
        lower, upper = self.lower, self.upper
        if lower is None or upper is None:
            raise ValueError(f"{self.path}: expected bounds; `FreeParameters.resolve` fills them in.")
        if math.isinf(lower) and math.isinf(upper) and self.scale == "linear":
            return Unbounded()
        try:
            return (LogBounded if self.scale == "log" else Bounded)(lower, upper)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None


@dataclasses.dataclass(frozen=True)
class FreeParameters:
    """The numbers that a calibration may change, in the order of the unconstrained vector.

    Args:
        parameters: the free ones.
        tied: those that follow a free one.

    Raises:
        ValueError: none at all, or the same path twice.
    """

    parameters: tuple[FreeParameter, ...]
    tied: tuple[Tied, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "tied", tuple(self.tied))
        if not self.parameters:
            raise ValueError("FreeParameters: expected at least one free parameter, got none.")
        repeated = {path for path in self.changed_paths if self.changed_paths.count(path) > 1}
        if repeated:
            raise ValueError(
                f"FreeParameters: expected every path once, got {', '.join(sorted(repeated))} twice."
            )

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(free.path for free in self.parameters)

    @property
    def changed_paths(self) -> tuple[str, ...]:
        """Of the free parameters and of those that follow them."""
        return self.paths + tuple(tied.path for tied in self.tied)

    @property
    def units(self) -> dict[str, str]:
        """Units by path, of what `resolve` has seen."""
        return {each.path: each.unit for each in (*self.parameters, *self.tied)}

    def resolve(self, closure: AbstractClosure, cases: Mapping[str, Case] | None = None) -> "FreeParameters":
        """The same parameters with bounds, start values and units filled in, all checked.

        Args:
            closure: whose parameters are calibrated.
            cases: by name, whose numbers are.

        Raises:
            ValueError: a path that neither closure nor cases have, bounds that leave the valid range, or a
                start value that is missing, not a single number, or not between the bounds; a parameter
                that is tied to none of these, or that leaves its valid range; a number of a case that is
                free twice.
        """
        known, owner = known_parameters(closure, cases), type(closure).__name__
        vectors: dict[str, list[str]] = {}
        for path in known:
            field, index = split_path(path)
            if index is not None:
                vectors.setdefault(field, []).append(path)
        numbers = (number for free in self.parameters for number in _numbers_of(free, vectors))
        free = tuple(_resolve(number, lookup(number.path, known, owner)) for number in numbers)
        tied = tuple(dataclasses.replace(t, unit=lookup(t.path, known, owner).unit) for t in self.tied)
        resolved = FreeParameters(free, tied)
        for each in tied:
            each.check(known[each.path], *_bounds(resolved.free(each)))
        resolved.start()  # raises for a start value on a bound
        for name in cases or {}:
            resolved.in_case(name)
        return resolved

    def check_closure(self, closure: AbstractClosure) -> None:
        """Check what is of the closure alone, where the cases are not known yet.

        Raises:
            ValueError: as `resolve`.
        """
        free = tuple(each for each in self.parameters if is_of_closure(each.path))
        tied = tuple(each for each in self.tied if is_of_closure(each.path) and is_of_closure(each.to))
        if free:
            FreeParameters(free, tied).resolve(closure)

    def in_case(self, name: str) -> tuple["FreeParameters", tuple[int, ...]] | None:
        """What is free in the run of one case, with paths that begin with `case.`, and the places among all.

        `None` if that is nothing. Cases that differ by their names only have equal parameters.

        Raises:
            ValueError: a number that is free for the case alone and for all cases.
        """
        free, tied, places = [], [], []
        for place, parameter in enumerate(self.parameters):
            path = _path_in_case(parameter.path, name)
            if path is not None:
                free.append(dataclasses.replace(parameter, path=path))
                places.append(place)
        for each in self.tied:
            path, to = (_path_in_case(p, name) for p in (each.path, each.to))
            if path is not None and to is None:
                raise ValueError(
                    f"{each.path}: expected to be tied to a parameter of the closure or of the same case, "
                    f"got {each.to}."
                )
            if path is not None and to is not None:
                tied.append(dataclasses.replace(each, path=path, to=to))
        return (FreeParameters(tuple(free), tuple(tied)), tuple(places)) if free else None

    @functools.cached_property
    def _correlated(self) -> tuple[tuple[np.ndarray, float, np.ndarray], ...]:
        """Of each vector with correlated numbers: their places, mean, and the factor of their covariance."""
        groups: dict[tuple[str, CorrelatedNormal], list[int]] = {}
        for place, free in enumerate(self.parameters):
            if isinstance(free.prior, CorrelatedNormal):
                groups.setdefault((split_path(free.path)[0], free.prior), []).append(place)
        found = []
        for (_, prior), places in groups.items():
            factor = prior.factor([_place(self.parameters[place]) for place in places])
            found.append((np.array(places), prior.mean, prior.standard_deviation * factor))
        return tuple(found)

    def start(self) -> UnconstrainedVector:
        """The unconstrained vector of the start values.

        Raises:
            ValueError: a start value on its bounds or outside of them.
        """
        return self.to_unconstrained({free.path: _given_start(free) for free in self.parameters})

    def to_unconstrained(self, values: Mapping[str, float]) -> UnconstrainedVector:
        """The unconstrained vector of physical values by path.

        Raises:
            ValueError: a value on its bounds or outside of them.
        """
        numbers = []
        for free in self.parameters:
            try:
                numbers.append(free.distribution.to_unconstrained(float(values[free.path])))
            except ValueError as error:
                raise ValueError(f"{free.path}: {error}") from None
        for places, mean, factor in self._correlated:
            departures = [float(values[self.paths[place]]) - mean for place in places]
            for place, number in zip(places, np.linalg.solve(factor, departures), strict=True):
                numbers[place] = float(number)
        return jnp.asarray(numbers, dtype=float)

    def to_physical(self, x: UnconstrainedVector) -> UnconstrainedVector:
        """The physical values, each in its own unit."""
        values = [free.distribution.to_physical(x[i]) for i, free in enumerate(self.parameters)]
        physical = jnp.stack(values)
        for places, mean, factor in self._correlated:
            physical = physical.at[places].set(mean + factor.astype(x.dtype) @ x[places])
        return physical

    def free(self, tied: Tied) -> FreeParameter:
        """The free parameter that another one follows.

        Raises:
            ValueError: one that is not free.
        """
        if tied.to not in self.paths:
            raise ValueError(
                f"{tied.path}: expected to be tied to a free parameter, got {tied.to}; the free ones are "
                f"{', '.join(self.paths)}."
            )
        return self.parameters[self.paths.index(tied.to)]

    def with_tied(self, values: Mapping[str, float]) -> dict[str, float]:
        """Physical values by path, and those of the parameters that follow them."""
        return {**values, **{tied.path: tied.value(values[tied.to]) for tied in self.tied}}

    @property
    def changes_cases(self) -> bool:
        """Whether any of them is of a case."""
        return not all(map(is_of_closure, self.changed_paths))

    def insert(self, closure: AbstractClosure, x: UnconstrainedVector) -> AbstractClosure:
        """The closure with the physical values of x in place of its own; differentiable to x.

        The closure keeps its precision, whatever that of x.
        """
        places = [i for i, path in enumerate(self.changed_paths) if is_of_closure(path)]
        if not places:
            return closure
        values = self._all_values(x)[np.array(places)]
        paths = [self.changed_paths[place] for place in places]
        return replace_numbers(closure, paths, values.astype(precision_of(closure=closure)))

    def insert_case(self, case: Case, x: UnconstrainedVector) -> Case:
        """The case with the physical values of x in place of its own; differentiable to x.

        Parameters from `in_case`: the case goes by no name.
        """
        places = [i for i, path in enumerate(self.changed_paths) if path.startswith(OF_ALL_CASES)]
        if not places:
            return case
        values = self._all_values(x)[np.array(places)]
        paths = [self.changed_paths[place].removeprefix(OF_ALL_CASES) for place in places]
        return replace_numbers(case, paths, values.astype(precision_of(case=case)))

    def _all_values(self, x: UnconstrainedVector) -> Float[Array, " changed"]:
        """Physical values in the order of `changed_paths`."""
        values = self.to_physical(x)
        if not self.tied:
            return values
        following = [tied.value(values[self.paths.index(tied.to)]) for tied in self.tied]
        return jnp.concatenate([values, jnp.stack(following)])


def _path_in_case(path: str, name: str) -> str | None:
    """The path as the run of a case has it; `None` for what belongs to another case."""
    if is_of_closure(path) or path.startswith(OF_ALL_CASES):
        return path
    own = of_case(name)
    return OF_ALL_CASES + path.removeprefix(own) if path.startswith(own) else None


def _numbers_of(free: FreeParameter, vectors: Mapping[str, list[str]]) -> Iterator[FreeParameter]:
    """The parameter itself, or one for each number of the vector that it names."""
    if free.path not in vectors:
        yield free
        return
    for path in vectors[free.path]:
        yield dataclasses.replace(free, path=path)


def _resolve(free: FreeParameter, info: Known) -> FreeParameter:
    free = dataclasses.replace(free, unit=info.unit, coordinate=info.coordinate)
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
    if free.prior is None:
        start = _own_value(info) if free.start is None else free.start
        return dataclasses.replace(free, lower=lower, upper=upper, start=float(start))
    if free.scale != "linear":
        raise ValueError(
            f"{free.path}: expected a scale or a prior, got both; remove the scale, or choose a "
            "logarithmic prior."
        )
    if isinstance(free.prior, CorrelatedNormal) and info.coordinate is None:
        raise ValueError(
            f"{free.path}: expected a number with a place in time or height for a correlated prior, got one "
            "without; choose a normal prior, or give knots."
        )
    try:
        prior = free.prior.within(lower, upper)
    except ValueError as error:
        raise ValueError(f"{free.path}: {error}") from None
    start = _start_with(prior, info) if free.start is None else free.start
    return dataclasses.replace(free, lower=prior.lower, upper=prior.upper, start=float(start), prior=prior)


def _start_with(prior: AbstractPrior, info: Known) -> float:
    """The value of the closure where the prior allows it, else the median."""
    if info.value is None:
        return prior.middle
    own = _own_value(info)
    return own if prior.lower < own < prior.upper else prior.middle


def _own_value(info: Known) -> float:
    if info.value is None:
        raise ValueError(
            f"{info.path}: expected a start value, because this number is derived from others unless it is "
            "given, or differs between the cases that share it; add `start`."
        )
    value = np.asarray(info.value)
    if value.shape:
        raise ValueError(
            f"{info.path}: expected one number to start from, got an array of shape {value.shape}; "
            "calibrate a closure without a batch axis."
        )
    return float(value)


def _place(free: FreeParameter) -> float:
    assert free.coordinate is not None  # `resolve` refuses correlated numbers without
    return free.coordinate


def _bounds(free: FreeParameter) -> tuple[float, float]:
    return free.distribution.lower, free.distribution.upper


def _given_start(free: FreeParameter) -> float:
    if free.start is None:
        raise ValueError(f"{free.path}: expected a start value; `FreeParameters.resolve` fills it in.")
    return free.start
