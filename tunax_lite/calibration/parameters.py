"""Parameters of a calibration: free numbers by path, and those tied to them."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from .._types import ParameterInfo, precision_of
from ..closures.base import AbstractClosure
from ..column.case import Case
from ..column.model import Model
from .known import (
    OF_ALL_CASES,
    Tied,
    by_field,
    check_once,
    is_of_closure,
    known_parameters,
    lookup,
    path_in_case,
    replace_numbers,
    split_path,
)
from .priors import AbstractPrior, Bounded, CorrelatedNormal, LogBounded, Unbounded

UnconstrainedVector = Float[Array, " parameter"]
VectorOrMembers = Float[Array, "parameter *member"]
"""Of one run, or of the members of an ensemble along a trailing axis."""


class FreeNumber(NamedTuple):
    """One number of the unconstrained vector."""

    path: str  # in the closure or in a case, with dots
    start: float
    coordinate: float | None  # time [s] or height [m] of a number of a vector
    unit: str
    lower: float
    upper: float
    scale: Literal["linear", "log"]  # for a parameter without a prior of its own
    prior: AbstractPrior | None  # as given
    distribution: AbstractPrior  # the prior, or the one implied by bounds and scale


@dataclasses.dataclass(frozen=True)
class ResolvedParameters:
    """The numbers of a calibration, in the order of the unconstrained vector; from `FreeParameters.resolve`.

    Further parameters are tied to free ones. Raises `ValueError` for a number that is changed twice.
    """

    numbers: tuple[FreeNumber, ...]
    tied: tuple[Tied, ...] = ()

    def __post_init__(self):
        check_once(self.changed_paths)

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(number.path for number in self.numbers)

    @functools.cached_property
    def changed_paths(self) -> tuple[str, ...]:
        """Paths of the free numbers and of the parameters tied to them."""
        return self.paths + tuple(tied.path for tied in self.tied)

    @property
    def units(self) -> dict[str, str]:
        return {each.path: each.unit for each in (*self.numbers, *self.tied)}

    def in_case(self, name: str) -> tuple["ResolvedParameters", tuple[int, ...]] | None:
        """Free numbers in the run of one case, with paths that begin with `case.`, and their indices.

        `None` if there are none. Cases that differ only in their names have equal parameters. Raises
        `ValueError` for a number that is free both for one case and for all, or tied to one of another case.
        """
        seen = {place: path_in_case(path, name) for place, path in enumerate(self.paths)}
        own = {place: path for place, path in seen.items() if path is not None}
        free, tied = tuple(self.numbers[place]._replace(path=path) for place, path in own.items()), []
        for each in self.tied:
            path, to = (path_in_case(p, name) for p in (each.path, each.to))
            if path is not None and to is None:
                raise ValueError(
                    f"{each.path}: expected to be tied to a parameter of the closure or of the same case, "
                    f"got {each.to}."
                )
            if path is not None and to is not None:
                tied.append(dataclasses.replace(each, path=path, to=to))
        return (ResolvedParameters(free, tuple(tied)), tuple(own)) if free else None

    def for_case(self, name: str) -> tuple["ResolvedParameters", tuple[int, ...]]:
        """Like `in_case`, with a `ValueError` if there are none."""
        found = self.in_case(name)
        if found is None:
            raise ValueError(
                f"{name}: expected a case in which a parameter is free, got none among "
                f"{', '.join(self.paths)}; leave the case out."
            )
        return found

    @functools.cached_property
    def _correlated(self) -> tuple[tuple[np.ndarray, float, np.ndarray], ...]:
        """For each vector with correlated numbers: indices, mean, and Cholesky factor of the covariance."""
        groups: dict[tuple[str, CorrelatedNormal], list[int]] = {}
        for place, number in enumerate(self.numbers):
            if isinstance(number.prior, CorrelatedNormal):
                groups.setdefault((split_path(number.path)[0], number.prior), []).append(place)
        found = []
        for (_, prior), places in groups.items():
            factor = prior.factor([self.numbers[place].coordinate or 0.0 for place in places])
            found.append((np.array(places), prior.mean, prior.standard_deviation * factor))
        return tuple(found)

    def start(self) -> UnconstrainedVector:
        return self.to_unconstrained({number.path: number.start for number in self.numbers})

    def to_unconstrained(self, values: Mapping[str, float]) -> UnconstrainedVector:
        """The unconstrained vector of physical values by path; `ValueError` for one outside its bounds."""
        numbers = []
        for number in self.numbers:
            try:
                numbers.append(number.distribution.to_unconstrained(float(values[number.path])))
            except ValueError as error:
                raise ValueError(f"{number.path}: {error}") from None
        for places, mean, factor in self._correlated:
            departures = [float(values[self.paths[place]]) - mean for place in places]
            for place, number in zip(places, np.linalg.solve(factor, departures), strict=True):
                numbers[place] = float(number)
        return jnp.asarray(numbers, dtype=float)

    @functools.partial(jax.jit, static_argnums=0)  # one program for all who ask
    def to_physical(self, x: UnconstrainedVector) -> UnconstrainedVector:
        """The physical values, each in its own unit."""
        alike = itertools.groupby(self.numbers, lambda n: (split_path(n.path)[0], n.distribution))
        parts, begin = [], 0
        for (_, distribution), numbers in alike:
            end = begin + len(list(numbers))
            parts.append(distribution.to_physical(x[begin:end]))
            begin = end
        physical = jnp.concatenate(parts)
        for places, mean, factor in self._correlated:
            physical = physical.at[places].set(mean + factor.astype(x.dtype) @ x[places])
        return physical

    def followed_by(self, tied: Tied) -> FreeNumber:
        """The free number that a parameter is tied to; raises `ValueError` for one that is not free."""
        if tied.to not in self.paths:
            raise ValueError(
                f"{tied.path}: expected to be tied to a free parameter, got {tied.to}; the free ones are "
                f"{', '.join(self.paths)}."
            )
        return self.numbers[self.paths.index(tied.to)]

    def bounds_of(self, tied: Tied) -> tuple[float, float]:
        """Bounds of a tied parameter, from those of the free one."""
        prior = self.followed_by(tied).distribution
        ends = tied.value(prior.lower), tied.value(prior.upper)
        return min(ends), max(ends)

    def with_tied(self, values: Mapping[str, float]) -> dict[str, float]:
        """Physical values by path, including tied parameters."""
        return {**values, **{tied.path: tied.value(values[tied.to]) for tied in self.tied}}

    def by_path(self, values: ArrayLike) -> dict[str, float]:
        """Physical values in the order of the vector, by path, including tied parameters."""
        return self.with_tied(dict(zip(self.paths, np.asarray(values).tolist(), strict=True)))

    def insert(self, closure: AbstractClosure, x: VectorOrMembers) -> AbstractClosure:
        """The closure, in its precision, with the physical values of x; differentiable with respect to x."""
        return self._inserted(x, closure, is_of_closure, closure=closure)

    def insert_case(self, case: Case, x: VectorOrMembers) -> Case:
        """The same for a case; parameters are those of `in_case`, where the case has no name."""
        return self._inserted(x, case, lambda path: path.startswith(OF_ALL_CASES), case=case)

    def insert_both(self, both: tuple[Model, Case], x: VectorOrMembers) -> tuple[Model, Case]:
        """The same for a model and a case."""
        model, case = both
        closure = self.insert(model.closure, x)
        return eqx.tree_at(lambda m: m.closure, model, closure), self.insert_case(case, x)

    def _inserted(self, x: VectorOrMembers, module, is_own: Callable[[str], bool], **named):
        places = [i for i, path in enumerate(self.changed_paths) if is_own(path)]
        if not places:
            return module
        values = self.to_physical(x) if x.ndim == 1 else jax.vmap(self.to_physical, -1, -1)(x)
        if self.tied:
            following = [tied.value(values[self.paths.index(tied.to)]) for tied in self.tied]
            values = jnp.concatenate([values, jnp.stack(following)])
        paths = [self.changed_paths[place].removeprefix(OF_ALL_CASES) for place in places]
        return replace_numbers(module, paths, values[np.array(places)].astype(precision_of(**named)))


@dataclasses.dataclass(frozen=True)
class FreeParameter:
    """One number that a calibration may change.

    Args:
        path: in the closure or in a case, with dots; the path of a vector stands for all of its numbers.
        lower, upper: bounds, by default those of its valid range; with a prior, bounds that it must respect.
        start: first guess; by default the value in the closure, or else the median of the prior.
        scale: `log` for a parameter that varies over orders of magnitude.
        prior: of the parameter; by default `Bounded` or, depending on the scale, `LogBounded` between its
            bounds.
    """

    path: str
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    scale: Literal["linear", "log"] = "linear"
    prior: AbstractPrior | None = None


@dataclasses.dataclass(frozen=True)
class FreeParameters:
    """The free numbers of a calibration, in the order of the unconstrained vector.

    Further parameters are tied to free ones. Raises `ValueError` if there are none, or for duplicate paths.
    """

    parameters: tuple[FreeParameter, ...]
    tied: tuple[Tied, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "tied", tuple(self.tied))
        if not self.parameters:
            raise ValueError("FreeParameters: expected at least one free parameter, got none.")
        check_once(each.path for each in (*self.parameters, *self.tied))

    def resolve(
        self, closure: AbstractClosure, cases: Mapping[str, Case] | None = None
    ) -> ResolvedParameters:
        """Resolve the numbers in a closure and named cases, with bounds, first guesses and units.

        Raises `ValueError` for a path that neither closure nor cases have, or one without effect, bounds
        outside the valid range, a first guess that is missing, not a single number, or not between the
        bounds, a parameter that is tied to no free one or leaves its valid range, or a number that is free
        twice.
        """
        known, owner = known_parameters(closure, cases), type(closure).__name__
        found: list[FreeNumber] = []
        fields = by_field(known)
        for free in self.parameters:
            paths = fields.get(free.path, [free.path])
            found += _resolve(free, [lookup(path, known, owner) for path in paths])
        changed = {each.path for each in (*self.parameters, *self.tied)}
        for path in sorted(changed & known.keys()):
            _check_effect(known[path], changed)
        tied = (dataclasses.replace(t, unit=lookup(t.path, known, owner).unit) for t in self.tied)
        resolved = ResolvedParameters(tuple(found), tuple(tied))
        for tied in resolved.tied:
            (least, largest), prior = resolved.bounds_of(tied), resolved.followed_by(tied).distribution
            lower, upper = known[tied.path].valid_range
            if not lower <= least <= largest <= upper:
                raise ValueError(
                    f"{tied.path}: expected values within the valid range {lower:g} to {upper:g} "
                    f"[{tied.unit}], got {least:g} to {largest:g} from {tied.to} between {prior.lower:g} and "
                    f"{prior.upper:g}; choose narrower bounds of {tied.to}, or another factor or offset."
                )
        resolved.start()  # raises for a first guess on a bound
        for name in cases or {}:
            resolved.in_case(name)
        return resolved

    def check_closure(self, closure: AbstractClosure) -> None:
        """Check the paths of the closure alone as `resolve` does, while cases are not known yet."""
        free = tuple(each for each in self.parameters if is_of_closure(each.path))
        tied = tuple(each for each in self.tied if is_of_closure(each.path) and is_of_closure(each.to))
        if free:
            FreeParameters(free, tied).resolve(closure)


def _check_effect(info: ParameterInfo, changed: set[str]) -> None:
    """Raise for a number on which nothing depends, or whose place another takes."""
    taken = [f"{path} is calibrated and takes its place" for path in info.replaced_by if path in changed]
    if info.idle or taken:
        raise ValueError(
            f"{info.path}: expected a parameter with an effect, got one without: {(info.idle or taken[0])}; "
            "leave it out."
        )


def _resolve(free: FreeParameter, numbers: Sequence[ParameterInfo]) -> list[FreeNumber]:
    """A parameter, or the numbers of a vector, with defaults filled in from what is known."""
    info = numbers[0]
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
    if (prior := free.prior) is not None:
        if free.scale != "linear":
            raise ValueError(
                f"{free.path}: expected a scale or a prior, got both; remove the scale, or choose a "
                "logarithmic prior."
            )
        if isinstance(prior, CorrelatedNormal) and info.coordinate is None:
            raise ValueError(
                f"{free.path}: expected a number with a place in time or height for a correlated prior, got "
                "one without; choose a normal prior, or give knots."
            )
        try:
            prior = prior.within(lower, upper)
        except ValueError as error:
            raise ValueError(f"{free.path}: {error}") from None
        lower, upper = prior.lower, prior.upper
    start, distribution = [_start(free, prior, number) for number in numbers], prior
    if distribution is None and math.isinf(lower) and math.isinf(upper) and free.scale == "linear":
        distribution = Unbounded()
    elif distribution is None:
        try:
            distribution = (LogBounded if free.scale == "log" else Bounded)(lower, upper)
        except ValueError as error:
            raise ValueError(f"{info.path}: {error}") from None
    common = info.unit, lower, upper, free.scale, prior, distribution
    places = zip(numbers, start, strict=True)
    return [FreeNumber(each.path, value, each.coordinate, *common) for each, value in places]


def _start(free: FreeParameter, prior: AbstractPrior | None, info: ParameterInfo) -> float:
    """The given first guess; else the value of the closure, or the median if the prior excludes it."""
    if free.start is not None:
        return float(free.start)
    if info.value is None:
        if prior is not None:
            return prior.middle
        raise ValueError(
            f"{info.path}: expected a start value, because this number is derived from others unless it is "
            "given, or differs between the cases that share it; add `start`."
        )
    if shape := np.shape(info.value):
        raise ValueError(
            f"{info.path}: expected one number to start from, got an array of shape {shape}; calibrate a "
            "closure without a batch axis."
        )
    own = float(info.value)
    return own if prior is None or prior.lower < own < prior.upper else prior.middle
