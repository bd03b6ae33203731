"""Which numbers of a closure a calibration may change, between which bounds, and from where.

A parameter is named by its path in the closure: `c_eps_1`, `stability.cc1`; one number of a vector of weights
by its place too, `weights[3]`. The name of the vector stands for all of its numbers.
"""

import dataclasses
import difflib
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import ParameterInfo, iterate_parameters, iterate_weights
from ..closures.base import AbstractClosure
from ..precision import precision_of
from .priors import AbstractPrior, Bounded, LogBounded, Unbounded
from .tied import Tied

UnconstrainedVector = Float[Array, " parameter"]


@dataclasses.dataclass(frozen=True)
class FreeParameter:
    """One number that a calibration may change.

    Args:
        path: in the closure, with dots.
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

    def resolve(self, closure: AbstractClosure) -> "FreeParameters":
        """The same parameters with bounds and start values filled in from a closure, all checked.

        Raises:
            ValueError: a path that the closure does not have, bounds that leave the valid range, or a
                start value that is missing, not a single number, or not between the bounds; a parameter
                that is tied to none of these, or that leaves its valid range.
        """
        known = known_parameters(closure)
        sizes = {path: len(weights) for path, weights in iterate_weights(closure)}
        numbers = (number for free in self.parameters for number in _numbers_of(free, sizes))
        resolved = FreeParameters(tuple(_resolve(free, known, closure) for free in numbers), self.tied)
        for tied in self.tied:
            free = resolved.free(tied)
            tied.check(_lookup(tied.path, known, closure), *_bounds(free))
        resolved.start()  # raises for a start value on a bound
        return resolved

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
        return jnp.asarray(numbers, dtype=float)

    def to_physical(self, x: UnconstrainedVector) -> UnconstrainedVector:
        """The physical values, each in its own unit."""
        values = [free.distribution.to_physical(x[i]) for i, free in enumerate(self.parameters)]
        return jnp.stack(values)

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

    def insert(self, closure: AbstractClosure, x: UnconstrainedVector) -> AbstractClosure:
        """The closure with the physical values of x in place of its own; differentiable to x.

        The closure keeps its precision, whatever that of x.
        """
        values = self.to_physical(x)
        if self.tied:
            following = [tied.value(values[self.paths.index(tied.to)]) for tied in self.tied]
            values = jnp.concatenate([values, jnp.stack(following)])
        return _replace(closure, self.changed_paths, values.astype(precision_of(closure=closure)))


def with_parameters(closure: AbstractClosure, values: Mapping[str, float]) -> AbstractClosure:
    """The closure with other numbers, as a calibration left them behind.

    Args:
        closure: whose other parameters stay.
        values: by path.

    Raises:
        ValueError: a path that the closure does not have, or a value outside of its valid range.
    """
    known = known_parameters(closure)
    for path, value in values.items():
        lower, upper = _lookup(path, known, closure).valid_range
        if not math.isfinite(value) or not lower <= value <= upper:
            raise ValueError(f"{path}: expected a value between {lower:g} and {upper:g}, got {value:g}.")
    precision = precision_of(closure=closure)
    return _replace(closure, list(values), jnp.asarray(list(values.values()), precision))


def known_parameters(closure: AbstractClosure) -> dict[str, ParameterInfo]:
    """Everything that a calibration may change, by path: parameters, and weights number by number."""
    known = {info.path: info for info in iterate_parameters(closure)}
    for path, weights in iterate_weights(closure):
        values = np.asarray(weights)
        for index, value in enumerate(values):
            name = f"{path}[{index}]"
            known[name] = ParameterInfo(name, value, "1", (-math.inf, math.inf))
    return known


def split_path(path: str) -> tuple[str, int | None]:
    """Path of a field, and the place in it if it is a vector: `weights[3]` is `weights` and 3."""
    field, bracket, index = path.partition("[")
    return field, int(index.removesuffix("]")) if bracket else None


def in_short(values: Mapping[str, float]) -> dict[str, float]:
    """The same values with the root mean square in place of the numbers of a vector, to be looked at."""
    short: dict[str, float] = {}
    vectors: dict[str, list[float]] = {}
    for path, value in values.items():
        field, index = split_path(path)
        if index is None:
            short[path] = value
        else:
            vectors.setdefault(field, []).append(value)
    return short | {
        f"rms of {len(numbers)} {field}": float(np.sqrt(np.mean(np.square(numbers))))
        for field, numbers in vectors.items()
    }


def _numbers_of(free: FreeParameter, sizes: Mapping[str, int]) -> Iterator[FreeParameter]:
    """The parameter itself, or one for each number of the vector that it names."""
    if free.path not in sizes:
        yield free
        return
    for index in range(sizes[free.path]):
        yield dataclasses.replace(free, path=f"{free.path}[{index}]")


def _replace(closure: AbstractClosure, paths: Sequence[str], values: Array) -> AbstractClosure:
    """The closure with the number of each path replaced by that of `values` at the same place."""
    places: dict[str, list[tuple[int, int | None]]] = {}
    for position, path in enumerate(paths):
        field, index = split_path(path)
        places.setdefault(field, []).append((position, index))
    if not places:
        return closure
    getters = {field: operator.attrgetter(field) for field in places}
    new = []
    for field, found in places.items():
        positions = np.array([position for position, _ in found])
        if found[0][1] is None:
            new.append(values[positions[0]])
        else:
            indices = np.array([index for _, index in found])
            new.append(getters[field](closure).at[indices].set(values[positions]))
    return eqx.tree_at(
        lambda tree: [get(tree) for get in getters.values()],
        closure,
        new,
        is_leaf=lambda leaf: leaf is None,
    )


def _lookup(path: str, known: Mapping[str, ParameterInfo], closure: AbstractClosure) -> ParameterInfo:
    if path in known:
        return known[path]
    close = difflib.get_close_matches(path, known, n=3, cutoff=0.5)
    others = [name for name in known if name not in close]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise ValueError(
        f"{path}: {type(closure).__name__} has no such parameter; {hint}It has: {', '.join(close + others)}."
    )


def _resolve(
    free: FreeParameter, known: Mapping[str, ParameterInfo], closure: AbstractClosure
) -> FreeParameter:
    info = _lookup(free.path, known, closure)
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
    try:
        prior = free.prior.within(lower, upper)
    except ValueError as error:
        raise ValueError(f"{free.path}: {error}") from None
    start = _start_with(prior, info) if free.start is None else free.start
    return dataclasses.replace(free, lower=prior.lower, upper=prior.upper, start=float(start), prior=prior)


def _start_with(prior: AbstractPrior, info: ParameterInfo) -> float:
    """The value of the closure where the prior allows it, else the median."""
    if info.value is None:
        return prior.middle
    own = _own_value(info)
    return own if prior.lower < own < prior.upper else prior.middle


def _own_value(info: ParameterInfo) -> float:
    if info.value is None:
        raise ValueError(
            f"{info.path}: expected a start value, because the closure derives this number from others "
            "unless it is given; add `start`."
        )
    value = np.asarray(info.value)
    if value.shape:
        raise ValueError(
            f"{info.path}: expected one number to start from, got an array of shape {value.shape}; "
            "calibrate a closure without a batch axis."
        )
    return float(value)


def _bounds(free: FreeParameter) -> tuple[float, float]:
    return free.distribution.lower, free.distribution.upper


def _given_start(free: FreeParameter) -> float:
    if free.start is None:
        raise ValueError(f"{free.path}: expected a start value; `FreeParameters.resolve` fills it in.")
    return free.start
