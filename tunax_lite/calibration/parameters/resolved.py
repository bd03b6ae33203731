"""The numbers that a calibration changes as one unconstrained vector, and back."""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import precision_of
from ...case import Case
from ...closures.base import AbstractClosure
from ..priors import AbstractPrior, Bounded, CorrelatedNormal, LogBounded, Unbounded
from .known import OF_ALL_CASES, is_of_closure, of_case, replace_numbers, split_path
from .tied import Tied

UnconstrainedVector = Float[Array, " parameter"]


class FreeNumber(NamedTuple):
    """One number of the unconstrained vector; fields as those of `FreeNumbers`."""

    path: str
    start: float
    coordinate: float | None
    unit: str
    lower: float
    upper: float
    scale: Literal["linear", "log"]
    prior: AbstractPrior | None
    distribution: AbstractPrior


@dataclasses.dataclass(frozen=True)
class FreeNumbers:
    """A free parameter, or all numbers of a free vector.

    Args:
        paths: of the numbers, in the closure or in a case, with dots.
        start: of each.
        coordinates: of the numbers of a vector in time [s] or height [m]; `None` without.
        unit: of all.
        lower, upper: bounds of all.
        scale: of the parameter, if it has no prior of its own.
        prior: that was given, of each number.
    """

    paths: tuple[str, ...]
    start: tuple[float, ...]
    coordinates: tuple[float, ...] | None
    unit: str
    lower: float
    upper: float
    scale: Literal["linear", "log"]
    prior: AbstractPrior | None

    @functools.cached_property
    def distribution(self) -> AbstractPrior:
        """The prior, or the one that bounds and scale stand for.

        Raises:
            ValueError: bounds without meaning for the scale.
        """
        if self.prior is not None:
            return self.prior
        if math.isinf(self.lower) and math.isinf(self.upper) and self.scale == "linear":
            return Unbounded()
        try:
            return (LogBounded if self.scale == "log" else Bounded)(self.lower, self.upper)
        except ValueError as error:
            raise ValueError(f"{self.paths[0]}: {error}") from None

    def numbers(self) -> tuple[FreeNumber, ...]:
        """Each number for itself."""
        where = self.coordinates or (None,) * len(self.paths)
        common = self.unit, self.lower, self.upper, self.scale, self.prior, self.distribution
        return tuple(FreeNumber(*own, *common) for own in zip(self.paths, self.start, where, strict=True))


@dataclasses.dataclass(frozen=True)
class ResolvedParameters:
    """What a calibration changes, in the order of the unconstrained vector; from `FreeParameters.resolve`.

    Args:
        free: parameters and vectors.
        tied: parameters that follow a free one, with their units.

    Raises:
        ValueError: a number that is changed twice.
    """

    free: tuple[FreeNumbers, ...]
    tied: tuple[Tied, ...] = ()

    def __post_init__(self):
        check_once(self.changed_paths)

    @functools.cached_property
    def numbers(self) -> tuple[FreeNumber, ...]:
        """The free numbers one by one."""
        return tuple(number for each in self.free for number in each.numbers())

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for each in self.free for path in each.paths)

    @functools.cached_property
    def changed_paths(self) -> tuple[str, ...]:
        """Of the free numbers and of the parameters that follow them."""
        return self.paths + tuple(tied.path for tied in self.tied)

    @property
    def units(self) -> dict[str, str]:
        """Units by path."""
        return {each.path: each.unit for each in (*self.numbers, *self.tied)}

    def in_case(self, name: str) -> tuple["ResolvedParameters", tuple[int, ...]] | None:
        """What is free in the run of one case, with paths that begin with `case.`, and the places among all.

        `None` if that is nothing. Cases that differ by their names only have equal parameters.

        Raises:
            ValueError: a number that is free for the case alone and for all cases, or a parameter that is
                tied to one of another case.
        """
        free, tied, places, at = [], [], [], 0
        for each in self.free:
            paths = [path for path in (_path_in_case(path, name) for path in each.paths) if path is not None]
            if paths:
                free.append(dataclasses.replace(each, paths=tuple(paths)))
                places += range(at, at + len(paths))
            at += len(each.paths)
        for each in self.tied:
            path, to = (_path_in_case(p, name) for p in (each.path, each.to))
            if path is not None and to is None:
                raise ValueError(
                    f"{each.path}: expected to be tied to a parameter of the closure or of the same case, "
                    f"got {each.to}."
                )
            if path is not None and to is not None:
                tied.append(dataclasses.replace(each, path=path, to=to))
        return (ResolvedParameters(tuple(free), tuple(tied)), tuple(places)) if free else None

    @functools.cached_property
    def _correlated(self) -> tuple[tuple[np.ndarray, float, np.ndarray], ...]:
        """Of each vector with correlated numbers: their places, mean, and the factor of their covariance."""
        groups: dict[tuple[str, CorrelatedNormal], list[int]] = {}
        for place, number in enumerate(self.numbers):
            if isinstance(number.prior, CorrelatedNormal):
                groups.setdefault((split_path(number.path)[0], number.prior), []).append(place)
        found = []
        for (_, prior), places in groups.items():
            where = [self.numbers[place].coordinate for place in places]
            assert None not in where  # `resolve` refuses correlated numbers without
            factor = prior.factor([at for at in where if at is not None])
            found.append((np.array(places), prior.mean, prior.standard_deviation * factor))
        return tuple(found)

    def start(self) -> UnconstrainedVector:
        """The unconstrained vector of the start values.

        Raises:
            ValueError: a start value on its bounds or outside of them.
        """
        return self.to_unconstrained({number.path: number.start for number in self.numbers})

    def to_unconstrained(self, values: Mapping[str, float]) -> UnconstrainedVector:
        """The unconstrained vector of physical values by path.

        Raises:
            ValueError: a value on its bounds or outside of them.
        """
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

    def to_physical(self, x: UnconstrainedVector) -> UnconstrainedVector:
        """The physical values, each in its own unit."""
        parts, at = [], 0
        for each in self.free:
            end = at + len(each.paths)
            parts.append(each.distribution.to_physical(x[at:end]))
            at = end
        physical = jnp.concatenate(parts)
        for places, mean, factor in self._correlated:
            physical = physical.at[places].set(mean + factor.astype(x.dtype) @ x[places])
        return physical

    def followed_by(self, tied: Tied) -> FreeNumber:
        """The free number that a parameter follows.

        Raises:
            ValueError: one that is not free.
        """
        if tied.to not in self.paths:
            raise ValueError(
                f"{tied.path}: expected to be tied to a free parameter, got {tied.to}; the free ones are "
                f"{', '.join(self.paths)}."
            )
        return self.numbers[self.paths.index(tied.to)]

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


def check_once(paths: Iterable[str]) -> None:
    """Raise for paths that are named more than once."""
    repeated = sorted(path for path, number in Counter(paths).items() if number > 1)
    if repeated:
        raise ValueError(f"FreeParameters: expected every path once, got {', '.join(repeated)} twice.")


def _path_in_case(path: str, name: str) -> str | None:
    """The path as the run of a case has it; `None` for what belongs to another case."""
    if is_of_closure(path) or path.startswith(OF_ALL_CASES):
        return path
    own = of_case(name)
    return OF_ALL_CASES + path.removeprefix(own) if path.startswith(own) else None
