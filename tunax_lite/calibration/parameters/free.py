"""Which numbers of a closure and of cases a calibration may change, between which bounds, and from where.

They are named as `known` says: `c_eps_1`, `weights[3]`, `cases.papa.forcing.heat_flux_bias`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ...case import Case
from ...closures.base import AbstractClosure
from ..priors import AbstractPrior, CorrelatedNormal
from .known import Known, is_of_closure, known_parameters, lookup, split_path
from .resolved import FreeNumbers, ResolvedParameters, check_once
from .tied import Tied


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
    """

    path: str
    lower: float | None = None
    upper: float | None = None
    start: float | None = None
    scale: Literal["linear", "log"] = "linear"
    prior: AbstractPrior | None = None


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
        check_once(each.path for each in (*self.parameters, *self.tied))

    def resolve(
        self, closure: AbstractClosure, cases: Mapping[str, Case] | None = None
    ) -> ResolvedParameters:
        """The numbers that they are, with bounds, start values and units, all checked.

        Args:
            closure: whose parameters are calibrated.
            cases: by name, whose numbers are.

        Raises:
            ValueError: a path that neither closure nor cases have, bounds that leave the valid range, or a
                start value that is missing, not a single number, or not between the bounds; a parameter
                that is tied to none of these, or that leaves its valid range; a number that is free twice.
        """
        known, owner = known_parameters(closure, cases), type(closure).__name__
        vectors: dict[str, list[str]] = {}
        for path in known:
            field, index = split_path(path)
            if index is not None:
                vectors.setdefault(field, []).append(path)
        resolved = ResolvedParameters(
            tuple(
                _resolve(free, [lookup(path, known, owner) for path in vectors.get(free.path, [free.path])])
                for free in self.parameters
            ),
            tuple(dataclasses.replace(t, unit=lookup(t.path, known, owner).unit) for t in self.tied),
        )
        for each in self.tied:
            prior = resolved.followed_by(each).distribution
            each.check(known[each.path], prior.lower, prior.upper)
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


def _resolve(free: FreeParameter, numbers: Sequence[Known]) -> FreeNumbers:
    """A parameter, or the numbers of a vector, with what is not given from what is known of them."""
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
    prior = free.prior
    if prior is not None:
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
    places = [number.coordinate for number in numbers if number.coordinate is not None]
    return FreeNumbers(
        paths=tuple(number.path for number in numbers),
        start=tuple(_start(free, prior, number) for number in numbers),
        coordinates=tuple(places) or None,
        unit=info.unit,
        lower=lower,
        upper=upper,
        scale=free.scale,
        prior=prior,
    )


def _start(free: FreeParameter, prior: AbstractPrior | None, info: Known) -> float:
    """What is given; else the value of the closure, where there is none that the prior allows its median."""
    if free.start is not None:
        return float(free.start)
    if prior is None:
        return _own_value(info)
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
