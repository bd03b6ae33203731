"""Free parameters of a calibration: their paths, their priors, and the values that a file of them holds.

**Paths.** A parameter of the closure is named by its path in it: `c_eps_1`, `stability.cc1`. A number of a
case is named by its path in the case after `cases.NAME.`, or after `case.` if all cases share it:
`cases.papa.forcing.heat_flux_bias`, `case.absorption.visible_depth`. A single number of a vector has an
index, `weights[3]`; the name of the vector stands for all of its numbers. Arrays that no field declares,
such as the weights of a network of Equinox, are vectors too: `net.layers.0.weight[3]`, and `net.*` is all
of them.

**Priors.** A parameter is p = T(x) with x from the normal distribution N(0, 1) and a smooth increasing map
T, so that T(0) is its median. Calibration acts on x. Whatever the priors, the density of the vector of all
x is that of N(0, I), whose negative logarithm is half its squared length.

With sigma(x) = 1 / (1 + exp(-x)), the normal distribution function Phi and bounds a < b,

    Bounded       p = a + (b - a) sigma(x)                  (a logit-normal distribution)
    Uniform       p = a + (b - a) Phi(x)
    LogBounded    ln p = ln a + (ln b - ln a) sigma(x)
    LogUniform    ln p = ln a + (ln b - ln a) Phi(x)
    Normal        p = m + s x
    LogNormal     ln p = ln m + s x
    Unbounded     p = x

Whatever the optimiser proposes, p stays between its bounds, where the gradient tends to zero: as
exp(-x²/2) with Phi, and as exp(-|x|) with sigma, from which an optimiser recovers more easily. Normal
distributions have infinite tails. If the parameter has no meaning beyond a value, they are truncated
there, at least four standard deviations from the median, so that the bound holds less than 1 in 15 000 of
the probability.

**Files.** A value of one constant holds only together with the values of the others. A file of parameters
therefore carries the options and the constants that were not calibrated (`Base`), and its values are
inserted only into such a closure.
"""

import abc
import contextlib
import dataclasses
import difflib
import functools
import hashlib
import inspect
import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from .. import __version__
from .._types import (
    JSON,
    ParameterInfo,
    Scalar,
    at_path,
    check_range,
    is_below,
    is_traced,
    iterate_arrays,
    iterate_options,
    iterate_parameters,
    iterate_vectors,
    precision_of,
)
from ..closures.base import AbstractClosure
from ..column.case import Case
from ..column.model import Model
from ..declarations import check_settings, name_of, named, names_of, setting
from .ranges import bounded
from .target import Comparison


class AbstractPrior(abc.ABC):
    """Distribution of a parameter between two values, and its map from the unconstrained number."""

    lower: float
    upper: float

    @property
    @abc.abstractmethod
    def middle(self) -> float:
        """The median."""

    @abc.abstractmethod
    def to_physical(self, x: Scalar) -> Scalar:
        """Parameter value at the unconstrained number x."""

    @abc.abstractmethod
    def to_unconstrained(self, value: float) -> float:
        """Unconstrained number of a value; `ValueError` at or outside its bounds, which no x reaches."""

    @abc.abstractmethod
    def within(self, lower: float, upper: float) -> "AbstractPrior":
        """The same for a number with a meaning only between two values; `ValueError` if much is cut off."""


def check_inside(value: float, lower: float, upper: float) -> None:
    """Raise for a first guess that is not between the bounds."""
    if not lower < value < upper:
        where = "on a bound" if value in (lower, upper) else "outside"
        raise ValueError(
            f"expected a start value between the bounds {lower:g} and {upper:g}, got {value:g} ({where}), "
            "where the gradient vanishes; choose wider bounds or another start value."
        )


def _normal_distribution(x: Scalar) -> Scalar:
    """Phi, accurate where it is small."""
    return 0.5 * jax.scipy.special.erfc(-math.sqrt(0.5) * x)


@dataclasses.dataclass(frozen=True)
class _Interval(AbstractPrior):
    """Between two finite bounds, linear or logarithmic, by a logistic function or the normal distribution.

    Args:
        lower, upper: bounds, in the unit of the parameter.

    Raises `ValueError` for bounds that are not finite, not ordered or, if logarithmic, not positive.
    """

    lower: float = setting(finite=False)
    upper: float = setting(finite=False)
    _is_log: ClassVar[bool]
    _is_even: ClassVar[bool]

    def __post_init__(self):
        lower, upper = self.lower, self.upper
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise ValueError(
                f"expected finite bounds, lower < upper, got {lower:g} and {upper:g}; give both, or a normal "
                "or logarithmic normal prior, which needs none."
            )
        if self._is_log and lower <= 0.0:
            raise ValueError(
                f"expected positive bounds for a logarithmic scale, got a lower bound of {lower:g}."
            )

    @property
    def middle(self) -> float:
        if self._is_log:
            return math.sqrt(self.lower) * math.sqrt(self.upper)
        return 0.5 * (self.lower + self.upper)

    def within(self, lower: float, upper: float) -> "_Interval":
        if not (lower <= self.lower and self.upper <= upper):
            raise ValueError(
                f"expected a prior within {lower:g} to {upper:g}, got one from {self.lower:g} to "
                f"{self.upper:g}; choose narrower bounds."
            )
        return self

    def to_physical(self, x: Scalar) -> Scalar:
        lower, upper = self.lower, self.upper
        if self._is_log:
            lower, upper = math.log(lower), math.log(upper)
        fraction = _normal_distribution if self._is_even else jax.nn.sigmoid
        value = bounded(x, lower, upper, fraction)
        return jnp.clip(jnp.exp(value), self.lower, self.upper) if self._is_log else value

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        below, above = value - self.lower, self.upper - value
        if self._is_log:
            below, above = math.log(value / self.lower), math.log(self.upper / value)
        if not self._is_even:
            return math.log(below / above)
        x = NormalDist().inv_cdf(min(below, above) / (below + above))  # from the nearer bound, as in the map
        return x if below < above else -x


class Bounded(_Interval):
    """Logit-normal between two bounds, for a parameter that varies by less than an order of magnitude."""

    _is_log, _is_even = False, False


class LogBounded(_Interval):
    """Logit-normal in the logarithm between two positive bounds, for floors and length scales."""

    _is_log, _is_even = True, False


@named("uniform")
class Uniform(_Interval):
    """All values between two bounds are equally likely."""

    _is_log, _is_even = False, True


class LogUniform(_Interval):
    """All orders of magnitude between two positive bounds are equally likely."""

    _is_log, _is_even = True, True


_FAR = 4.0 * (1.0 - 1e-12)
"""Standard deviations between the median and where a prior may be cut, but for round-off."""


@dataclasses.dataclass(frozen=True)
class _Cut(AbstractPrior):
    """With tails truncated where the parameter has no meaning."""

    def within(self, lower: float, upper: float) -> "_Cut":
        return dataclasses.replace(self, lower=max(lower, self.lower), upper=min(upper, self.upper))


def _check_far(prior: AbstractPrior, distances: tuple[float, float], deviation: float, given: str) -> None:
    """Raise if a prior would be truncated too close to its median."""
    nearest = min(distance / deviation for distance in distances)
    if nearest < _FAR:
        raise ValueError(
            "expected a prior whose median is at least four standard deviations from the ends of the range "
            f"{prior.lower:g} to {prior.upper:g}, got {given}, {nearest:.3g} from one of them; choose a "
            "smaller standard deviation, a logarithmic prior, or one with bounds."
        )


@named("normal")
@dataclasses.dataclass(frozen=True)
class Normal(_Cut):
    """A value with a symmetric uncertainty.

    Args:
        mean, standard_deviation: in the unit of the parameter.
        lower, upper: truncation.

    Raises `ValueError` for numbers out of range, or truncation less than four standard deviations from the
    mean.
    """

    mean: float = setting()
    standard_deviation: float = setting(above=0.0)
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self):
        check_settings(self)
        distances = self.mean - self.lower, self.upper - self.mean
        given = f"the mean {self.mean:g} and the standard deviation {self.standard_deviation:g}"
        _check_far(self, distances, self.standard_deviation, given)

    @property
    def middle(self) -> float:
        return self.mean

    def to_physical(self, x: Scalar) -> Scalar:
        return jnp.clip(self.mean + self.standard_deviation * x, self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return (value - self.mean) / self.standard_deviation


@named("log_normal")
@dataclasses.dataclass(frozen=True)
class LogNormal(_Cut):
    """A positive value known up to a factor.

    Args:
        median: in the unit of the parameter.
        log_standard_deviation: of the natural logarithm [1].
        lower, upper: truncation.

    Raises `ValueError` for numbers out of range, or truncation less than four standard deviations from the
    median.
    """

    median: float = setting(above=0.0)
    log_standard_deviation: float = setting(above=0.0)
    lower: float = 0.0
    upper: float = math.inf

    def __post_init__(self):
        check_settings(self)
        (below, above), deviation = self._log_distances(), self.log_standard_deviation
        given = f"the median {self.median:g} and the standard deviation of the logarithm {deviation:g}"
        _check_far(self, (-below, above), deviation, given)

    def _log_distances(self) -> tuple[float, float]:
        """Distance of the truncation from the median, in the logarithm."""
        lower, upper = (math.log(end) if end > 0.0 else -math.inf for end in (self.lower, self.upper))
        return lower - math.log(self.median), upper - math.log(self.median)

    @property
    def middle(self) -> float:
        return self.median

    def to_physical(self, x: Scalar) -> Scalar:
        # Clip the exponent first: an exponential that overflows has no gradient to clip.
        exponent = jnp.clip(self.log_standard_deviation * x, *self._log_distances())
        return jnp.clip(self.median * jnp.exp(exponent), self.lower, self.upper)

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return math.log(value / self.median) / self.log_standard_deviation


@dataclasses.dataclass(frozen=True)
class Unbounded(AbstractPrior):
    """The standard normal distribution, for unbounded numbers of order one, such as weights of networks."""

    lower: ClassVar[float] = -math.inf  # pyright: ignore[reportIncompatibleVariableOverride]
    upper: ClassVar[float] = math.inf  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def middle(self) -> float:
        return 0.0

    def to_physical(self, x: Scalar) -> Scalar:
        return x

    def to_unconstrained(self, value: float) -> float:
        check_inside(value, self.lower, self.upper)
        return value

    def within(self, lower: float, upper: float) -> "Unbounded":
        if math.isfinite(lower) or math.isfinite(upper):
            raise ValueError(f"expected a prior with bounds within {lower:g} to {upper:g}, got one without.")
        return self


_NUGGET = 1e-8
"""Of the variance, on the diagonal: without it, neighbours much closer than the length make C singular."""


@named("correlated_normal")
@dataclasses.dataclass(frozen=True)
class CorrelatedNormal(Normal):
    """Normal numbers of a vector, correlated over a length; `Normal` is for a single number.

        p = mean + s L x,        L Lᵀ = C,        C_ij = exp(-(z_i - z_j)² / (2 length²))

    with the positions z_i of the numbers in height or time and the Cholesky factor L: p has the covariance s²
    C, the background-error covariance matrix of variational assimilation.

    Args:
        mean, standard_deviation: of each number, in its unit.
        length: correlation length, in the unit of the coordinate: [m] for a profile, [s] for a series.
        lower, upper: values beyond which a number has no meaning; not enforced, but must be far away.
    """

    length: float = setting(above=0.0, kw_only=True)

    def factor(self, coordinates: Sequence[float]) -> np.ndarray:
        """L for numbers at given positions, `(n, n)`."""
        z = np.asarray(coordinates, dtype=float)
        correlation = np.exp(-0.5 * ((z[:, None] - z[None, :]) / self.length) ** 2)
        return np.linalg.cholesky(correlation + _NUGGET * np.eye(z.size))


_SAME = 1e-6
"""Relative difference that two precisions of the same number may have."""
_LISTED = 8


@dataclasses.dataclass(frozen=True)
class Base:
    """A closure without the numbers that a calibration changed.

    Args:
        closure: name of its class.
        name: in configurations, if the rest is as this name gives it, or else a description.
        version: of this package.
        options: text of parts, choices and switches, by dotted name.
        constants: values by dotted name; `None` for one that follows from others.
        source: SHA-256 of the source of its classes outside this package; empty if there are none.
    """

    closure: str
    name: str
    version: str
    options: Mapping[str, str]
    constants: Mapping[str, JSON]
    source: str = ""

    @classmethod
    def of(cls, closure: AbstractClosure, calibrated: Iterable[str]) -> "Base":
        """The base of a closure in which the numbers at some paths are calibrated."""
        changed, kind = {path.partition("[")[0] for path in calibrated}, type(closure)
        own, source = _facts(closure, changed), _digest_of_source(closure)
        named = name_of(kind) or kind.__name__
        for each in names_of(AbstractClosure).values():
            with contextlib.suppress(TypeError):  # a class without defaults
                if each.kind is kind and not any(_differences(own, _facts(each.make(), changed))):
                    return cls(kind.__name__, each.name, __version__, *own, source)
        return cls(kind.__name__, f"{named} with its own options and constants", __version__, *own, source)

    @classmethod
    def read(cls, closure: str, content: JSON, calibrated: Iterable[str]) -> "Base":
        """From the content of a file, or from the name of a closure; `ValueError` for another."""
        try:
            if isinstance(content, str):
                return cls.of(names_of(AbstractClosure)[content].make(), calibrated)
            name, version = str(content["name"]), str(content["version"])
            own = dict(content["options"]), dict(content["constants"])
            return cls(closure, name, version, *own, str(content.get("source", "")))
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                "base: expected name, version, options and constants of the calibrated closure, or its name "
                "alone, got others; calibrate again, or remove the section if the values hold beside any "
                "constants."
            ) from None

    @property
    def content(self) -> dict[str, JSON]:
        """For a file, beside the name of the class."""
        content = {name: part for name, part in dataclasses.asdict(self).items() if name != "closure"}
        return content if self.source else {name: content[name] for name in content if name != "source"}

    def check(self, closure: AbstractClosure, calibrated: Iterable[str], source: str) -> None:
        """Raise `ValueError` if a closure differs in more than the calibrated numbers.

        Warns if the source of a closure outside this package has changed.
        """
        if is_traced(closure):
            return
        here = Base.of(closure, calibrated)
        if self.source and here.source and self.source != here.source:
            warnings.warn(
                f"{source}: the source of {here.closure} has changed since its parameters were calibrated; "
                "calibrate again unless only comments changed.",
                stacklevel=3,
            )
        found = list(_differences((self.options, self.constants), (here.options, here.constants)))
        if not found:
            return
        listed = "; ".join(f"{path} is {old} there, {new} here" for path, old, new in found[:_LISTED])
        more = f"; and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        version = "" if self.version == here.version else f" of version {self.version}"
        named = f"`{self.name}`" if " " not in self.name else "what `base` in the file says"
        raise ValueError(
            f"base: expected the closure on which {source} was calibrated, {self.name}{version}, "
            f"got {here.name}: {listed}{more}. Choose {named} for `model.closure`, or calibrate on this one."
        )


Facts = tuple[Mapping[str, str], Mapping[str, JSON]]
"""Options and constants."""


def _digest_of_source(closure: AbstractClosure) -> str:
    """SHA-256 of the files of all classes in a closure that are not of this package; empty without any."""
    kinds = {kind for part in _modules_in(closure) for kind in type(part).__mro__}
    sources = set()
    for kind in kinds:
        is_own = kind.__module__.partition(".")[0] not in ("tunax_lite", "equinox")
        if is_own and issubclass(kind, eqx.Module):
            with contextlib.suppress(OSError, TypeError):  # typed into a terminal
                sources.add(inspect.getsource(inspect.getmodule(kind) or kind))
    digest = hashlib.sha256("".join(sorted(sources)).encode())
    return digest.hexdigest() if sources else ""


def _modules_in(module: eqx.Module) -> Iterator[eqx.Module]:
    yield module
    for field in dataclasses.fields(module):
        if isinstance(part := getattr(module, field.name), eqx.Module):
            yield from _modules_in(part)


def _facts(closure: AbstractClosure, changed: set[str]) -> Facts:
    numbers = [*iterate_parameters(closure), *iterate_vectors(closure)]
    values = {one.path: None if one.value is None else np.asarray(one.value).tolist() for one in numbers}
    options = {path: text for path, text in iterate_options(closure) if path and path not in values}
    return options, {path: value for path, value in values.items() if path not in changed}


def _differences(there: Facts, here: Facts) -> Iterator[tuple[str, str, str]]:
    """Paths at which two differ, with their values as text."""
    for own, other in zip(there, here, strict=True):
        for path in dict.fromkeys((*own, *other)):
            pair = own.get(path, "absent"), other.get(path, "absent")
            if not _is_same(*pair):
                first, second = ("not given" if value is None else f"{value}"[:40] for value in pair)
                yield path, first, second


def _is_same(first: JSON, second: JSON) -> bool:
    if first is None or second is None or isinstance(first, str) or isinstance(second, str):
        return first == second
    one, two = np.asarray(first, float), np.asarray(second, float)
    same_size = one.shape == two.shape or not one.shape or not two.shape
    return same_size and np.allclose(one, two, rtol=_SAME, atol=0.0)


class CalibratedValues(dict[str, float]):
    """Values by path from a file, with the base that they belong to; `None` if the file has none.

    `with_parameters` refuses another base.
    """

    def __init__(self, values: Mapping[str, float], base: Base | None, source: str):
        dict.__init__(self, values)
        self.base, self.source = base, source


T = TypeVar("T", bound=eqx.Module)
Holder = TypeVar("Holder", AbstractClosure, Model, Case, Comparison)

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
    is_part = any(is_below(name, f"{path}.*") for name in alike)
    close = [f"{path}.*"] * is_part + difflib.get_close_matches(path, alike, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    names = ", ".join(close + [name for name in alike if name not in close]) or "none"
    if in_closure:
        remedy = "numbers of a case are case.PATH, or cases.NAME.PATH of one"
        raise ValueError(f"{path}: {owner} has no such parameter; {hint}it has: {names}; {remedy}.")
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
    networks, new = {info.path for info in iterate_arrays(module)}, []
    if values.ndim == 2 and (own := networks & places.keys()):
        raise ValueError(
            f"{min(own)}: expected a method that runs one closure at a time for a network without batch "
            "axes, got an ensemble; choose adam or lbfgs, or declare the weights with `vector_parameter`."
        )
    for field, found in places.items():
        positions, indices = (np.array(part) for part in zip(*found, strict=True))
        if found[0][1] is None:
            new.append(jnp.asarray(values[positions[0]]))
        else:
            new.append(_with_numbers(at_path(module, field), indices, values[positions], field in networks))
    at_fields = lambda tree: [at_path(tree, field) for field in places]  # noqa: E731
    return eqx.tree_at(at_fields, module, new, is_leaf=lambda leaf: leaf is None)


def _with_numbers(
    old: Array, indices: np.ndarray, values: Array | np.ndarray, is_network: bool
) -> Float[Array, "..."]:
    """A vector, or an array in C order, with other numbers at some places; members are a trailing axis."""
    if is_network:
        return old.reshape(-1).at[indices].set(values).reshape(old.shape)
    if values.ndim == 2:
        old = jnp.broadcast_to(old[:, None], (*old.shape, values.shape[1]))
    return old.at[indices].set(values)


def with_parameters(closure: AbstractClosure, values: Mapping[str, float]) -> AbstractClosure:
    """The closure with calibrated numbers by path; those of cases are ignored.

    Raises `ValueError` for a path that the closure does not have, a value outside its valid range, or values
    of `read_parameters` that were calibrated beside other options or constants.
    """
    if isinstance(values, CalibratedValues) and values.base is not None:
        values.base.check(closure, values, values.source)
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


def paths_of_other_cases(paths: Iterable[str], name: str) -> list[str]:
    """Those paths that belong to other cases than the named one."""
    return [path for path in paths if path_in_case(path, name) is None]


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


UnconstrainedVector = Float[Array, " parameter"]
X = TypeVar("X", np.ndarray, Array)
VectorOrMembers = Float[Array, "parameter *member"]
"""Of one run, or of the members of an ensemble along a trailing axis."""


class FreeNumber(NamedTuple):
    """One number of the unconstrained vector."""

    path: str  # in the closure or in a case, with dots
    start: float
    coordinate: float | None  # time [s] or height [m] of a number of a vector
    unit: str
    distribution: AbstractPrior  # the prior, or the one implied by bounds and scale
    prior: AbstractPrior | None  # that of the distribution, if it was chosen

    @property
    def lower(self) -> float:
        """Lower bound, in the unit of the parameter."""
        return self.distribution.lower

    @property
    def upper(self) -> float:
        """Upper bound, in the unit of the parameter."""
        return self.distribution.upper


@dataclasses.dataclass(frozen=True)
class ResolvedParameters:
    """The numbers of a calibration, in the order of the unconstrained vector; from `FreeParameters.resolve`.

    Args:
        numbers: free ones.
        tied: parameters that follow from free ones.
        places: of the numbers in the vector of all cases, for those of one case; `None` for all.

    Raises:
        ValueError: a number that is changed twice.
    """

    numbers: tuple[FreeNumber, ...]
    tied: tuple[Tied, ...] = ()
    places: tuple[int, ...] | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self):
        repeated = sorted(path for path, number in Counter(self.changed_paths).items() if number > 1)
        if repeated:
            raise ValueError(f"FreeParameters: expected every path once, got {', '.join(repeated)} twice.")

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

    def in_case(self, name: str) -> "ResolvedParameters":
        """Free numbers in the run of one case, with paths that begin with `case.`.

        Cases that differ only in their names have equal parameters. Raises `ValueError` for a case without
        any, a number that is free both for one case and for all, or one tied to a number of another case.
        """
        if name in self._cases:
            return self._cases[name]
        paths = [path_in_case(path, name) for path in self.paths]
        places = tuple(place for place, path in enumerate(paths) if path is not None)
        tied = []
        for each in self.tied:
            path, to = (path_in_case(p, name) for p in (each.path, each.to))
            if path is not None and to is None:
                raise ValueError(
                    f"{each.path}: expected to be tied to a parameter of the closure or of the same case, "
                    f"got {each.to}."
                )
            if path is not None and to is not None:
                tied.append(dataclasses.replace(each, path=path, to=to))
        if not places:
            raise ValueError(
                f"{name}: expected a case in which a parameter is free, got none among "
                f"{', '.join(self.paths)}; leave the case out."
            )
        numbers = tuple(self.numbers[place]._replace(path=str(paths[place])) for place in places)
        self._cases[name] = ResolvedParameters(numbers, tuple(tied), places)
        return self._cases[name]

    @functools.cached_property
    def _cases(self) -> "dict[str, ResolvedParameters]":
        return {}

    def part_of(self, x: X) -> X:
        """The rows of the vector of all cases, or of members on a trailing axis, that these numbers are."""
        return x if self.places is None or len(self.places) == x.shape[0] else x[np.array(self.places)]

    def spread(self, derivative: ArrayLike, n: int) -> np.ndarray:
        """A gradient or matrix by these numbers as one by the vector of all cases, of n numbers."""
        whole = np.zeros((n,) * np.ndim(derivative))
        whole[np.ix_(*[self.places or range(n)] * np.ndim(derivative))] = derivative
        return whole

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

    def insert(self, module: Holder, x: VectorOrMembers) -> Holder:
        """Closure, model, case or comparison, in its precision, with the values of x; differentiable by x.

        Numbers of a case are those of `in_case`, where the case has no name.
        """
        in_case, holder, beginning = isinstance(module, Case | Comparison), module, ""
        if isinstance(module, Model):
            holder, beginning = module.closure, "closure."
        elif isinstance(module, Comparison):
            holder, beginning = module.case, "case."
        places = [i for i, path in enumerate(self.changed_paths) if is_of_closure(path) != in_case]
        if not places:
            return module
        values = self.to_physical(x) if x.ndim == 1 else jax.vmap(self.to_physical, -1, -1)(x)
        if self.tied:
            following = [tied.value(values[self.paths.index(tied.to)]) for tied in self.tied]
            values = jnp.concatenate([values, jnp.stack(following)])
        paths = [beginning + self.changed_paths[place].removeprefix(OF_ALL_CASES) for place in places]
        precision = precision_of(**{"case" if in_case else "closure": holder})
        return replace_numbers(module, paths, values[np.array(places)].astype(precision))


@dataclasses.dataclass(frozen=True)
class FreeParameter:
    """One number that a calibration may change.

    Args:
        path: in the closure or in a case, with dots; the path of a vector stands for all of its numbers, and
            `net.*` or `stability.*` for all below that have a value and an effect.
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

    Further parameters are tied to free ones. Raises `ValueError` if there are none.
    """

    parameters: tuple[FreeParameter, ...]
    tied: tuple[Tied, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "tied", tuple(self.tied))
        if not self.parameters:
            raise ValueError("FreeParameters: expected at least one free parameter, got none.")

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
            for field in _fields_of(free.path, fields, known):
                infos = [lookup(path, known, owner) for path in fields.get(field, [field])]
                distribution = _distribution(free, infos[0])
                about = infos[0].unit, distribution, None if free.prior is None else distribution
                for info in infos:
                    start = _start(free, distribution, info)
                    found.append(FreeNumber(info.path, start, info.coordinate, *about))
        changed = {each.path for each in (*found, *self.tied)}
        for path in sorted(changed & known.keys()):
            others = (other for other in known[path].replaced_by if other in changed)
            taken = (f"{other} is calibrated and takes its place" for other in others)
            if why := known[path].idle or next(taken, ""):
                raise ValueError(
                    f"{path}: expected a parameter with an effect, got one without: {why}; leave it out."
                )
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


def _fields_of(path: str, fields: Mapping[str, list[str]], known: Mapping[str, ParameterInfo]) -> list[str]:
    """The field at a path, or those below it that can be free: with a value and an effect."""
    if path in fields or path in known:
        return [path]
    infos = {field: known[paths[0]] for field, paths in fields.items() if is_below(field, path)}
    return [field for field, info in infos.items() if info.value is not None and not info.idle] or [path]


def _distribution(free: FreeParameter, info: ParameterInfo) -> AbstractPrior:
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
            f"{free.path}: expected a number with a place in time or height for a correlated prior, got "
            "one without; choose a normal prior, or give knots."
        )
    try:
        if free.prior is not None:
            return free.prior.within(lower, upper)
        if math.isinf(lower) and math.isinf(upper) and free.scale == "linear":
            return Unbounded()
        return (LogBounded if free.scale == "log" else Bounded)(lower, upper)
    except ValueError as error:
        raise ValueError(f"{free.path}: {error}") from None


def _start(free: FreeParameter, distribution: AbstractPrior, info: ParameterInfo) -> float:
    """The given first guess; else the value of the closure, or the median if a prior excludes it."""
    if free.start is not None:
        return float(free.start)
    if info.value is None:
        if free.prior is not None:
            return distribution.middle
        raise ValueError(
            f"{info.path}: expected a start value, because this number is derived from others unless it is "
            "given, or differs between the cases that share it; add `start`."
        )
    if shape := np.shape(info.value):
        raise ValueError(
            f"{info.path}: expected one number to start from, got an array of shape {shape}; calibrate a "
            "closure without a batch axis."
        )
    value = float(info.value)
    keeps = free.prior is None or distribution.lower < value < distribution.upper
    return value if keeps else distribution.middle
