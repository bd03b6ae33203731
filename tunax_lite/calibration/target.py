"""A target: a case with observations, the variables to compare, their weights, and the errors.

    misfit = score( sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v )

over the observed values of variable v that are selected; w_v are weights, s_v scales.

`Target` declares this, `Comparison` holds it as arrays. `_compare` follows a run frame by frame and stores
the observed variables only. It underlies the loss of a calibration (`misfit`, `residuals`) and the equations
of a map, where observed values have a trailing axis of columns. `misfit_of_run`, `errors_and_run` and
`errors_of_states` compare stored states.

Observed values that are NaN, or outside the depth and time windows, are ignored. At points, the model is
interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the surface
(bottom) it is constant. For cell means, the finer of model and observations is averaged over the cells of the
other, and each mean counts by the thickness of its cell.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from .._types import Scalar, in_precision, precision_of
from ..closures.base import EddyCoefficients
from ..column.case import Case
from ..column.checkpointing import AbstractCheckpointing, SaveEverything
from ..column.integrate import Carry, advance, batched_case, integrate, start_of
from ..column.model import Model
from ..column.observables import ColumnState, observable
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import BottomHeat
from ..column.trajectory import Restart, Trajectory
from ..declarations import check_settings, named, setting
from ..numerics.elementary import safe_sqrt
from .observed import (
    ComparedVariable,
    Interpolation,
    can_be_observed,
    place_in_time,
    sample,
    with_levels,
)


class Comparison(eqx.Module):
    """A target as arrays, ready for the time loop; targets of equal shapes share compiled code.

    The values of a variable are on all frames of the model or, with `in_time`, on the observed times. A batch
    of columns has its own observed values and shares, with a trailing axis.
    """

    case: Case  # with a common name, because the name is part of the compiled program
    dt: Float[Array, ""]  # [s]
    variables: dict[str, ComparedVariable]
    n_frames: int = eqx.field(static=True)
    steps_per_frame: int = eqx.field(static=True)
    in_time: Interpolation | None = None  # to the observed times; `None` if these are frames of the model
    steps: Int[Array, " frame"] | None = None  # before each frame of a padded target

    @property
    def times(self) -> np.ndarray:
        """Times of the frames [s] of a target that is not padded."""
        return np.arange(self.n_frames + 1) * self.steps_per_frame * float(self.dt)


class AbstractScore(abc.ABC):
    """Function of the mean square to minimise."""

    @abc.abstractmethod
    def __call__(self, mean_square: Scalar) -> Scalar:
        """Score of a case."""


@named("mean_square")
@dataclasses.dataclass(frozen=True)
class MeanSquare(AbstractScore):
    """The mean square itself: a case contributes the square of its error."""

    def __call__(self, mean_square: Scalar) -> Scalar:
        return mean_square


@named("root_mean_square")
@dataclasses.dataclass(frozen=True)
class RootMeanSquare(AbstractScore):
    """The root of the mean square: a case contributes its error. The gradient at a perfect fit is 0."""

    def __call__(self, mean_square: Scalar) -> Scalar:
        return safe_sqrt(mean_square)


def misfit(
    model: Model, comparison: Comparison, score: AbstractScore, checkpointing: AbstractCheckpointing
) -> tuple[Scalar, dict[str, Scalar]]:
    """Score of a single-column model on `Target.comparison`, and the mean square errors by variable.

    The errors are in the squared units of the variables. `checkpointing` controls what reverse mode stores of
    the time loop. Raises `ValueError` for a padded comparison, which is for forward mode only.
    """
    if comparison.steps is not None:
        raise ValueError(
            "misfit: expected cases that are not padded for a method in reverse mode, got padded ones; "
            "choose levenberg_marquardt or ensemble_kalman, or leave misfit.padded out."
        )

    # Frame by frame inside the loop, so that reverse mode does not store all profiles of the run.
    by_time = _compare(model, comparison, checkpointing, lambda at, difference: at.mean(difference**2))
    return _scored(score, comparison, by_time)


def _scored(
    score: AbstractScore, comparison: Comparison, by_time: Mapping[str, Array]
) -> tuple[Scalar, dict[str, Scalar]]:
    """Score and mean squares from the contributions of each time."""
    mean_squares = {name: jnp.sum(squares, axis=0) for name, squares in by_time.items()}
    total = sum(variable.factor * mean_squares[name] for name, variable in comparison.variables.items())
    return score(jnp.asarray(total)), mean_squares


def misfit_of_run(
    model: Model, comparison: Comparison, score: AbstractScore
) -> tuple[Scalar, dict[str, Scalar]]:
    """Like `misfit`, but with the program of `errors_and_run`, for padded comparisons too; not for `grad`."""
    return _misfit_of_states(comparison, _states(model, comparison)[0], score)


@eqx.filter_jit
def _misfit_of_states(comparison: Comparison, states: State, score: AbstractScore):
    by_time = _errors_of_frames(comparison, states)
    return _scored(score, comparison, {name: squares for name, (squares, _) in by_time.items()})


class ErrorPair(NamedTuple):
    """Root mean square and mean of model minus observed, over all selected values [unit of the variable]."""

    root_mean_square: float
    mean: float


def errors_and_run(model: Model, comparison: Comparison) -> tuple[dict[str, ErrorPair], Trajectory]:
    """Errors of each variable of a single column, without weights and scales, and the run at the frames."""
    states, step = _states(model, comparison)
    by_time = _errors_of_frames(comparison, states)
    is_new = np.append(True, np.diff(step) > 0)  # a padded comparison repeats its last frame
    states, step = jax.tree.map(lambda leaf: np.asarray(leaf)[is_new], (states, step))
    case, time = comparison.case, jnp.asarray(step * float(comparison.dt))
    at_rest = jnp.zeros((time.size, *case.grid.z_face.shape))
    coefficients = EddyCoefficients(at_rest, at_rest)  # not stored
    return _errors(by_time), Trajectory(case.grid, time, jnp.asarray(step, int), states, coefficients)


def initial_states(case: Case, n_times: int) -> State:
    """Repeat the initial state of a case for a number of times."""
    return jax.tree.map(lambda x: np.broadcast_to(x, (n_times, *np.shape(x))), case.start_state)


def errors_of_states(comparison: Comparison, states: State) -> dict[str, ErrorPair]:
    """Errors of states at the observed times, or at the frames if all times are frames, on a leading axis."""
    return _errors(_errors_of_frames(dataclasses.replace(comparison, in_time=None), states))


def _errors(by_time: Mapping[str, tuple[Array, Array]]) -> dict[str, ErrorPair]:
    summed = {name: [float(jnp.sum(part, axis=0)) for part in parts] for name, parts in by_time.items()}
    return {name: ErrorPair(math.sqrt(square), mean) for name, (square, mean) in summed.items()}


def _square_and_mean(at: ComparedVariable, difference: Array) -> tuple[Scalar, Scalar]:
    return at.mean(difference**2), at.mean(difference)


def _states(model: Model, comparison: Comparison) -> tuple[State, Array]:
    """States and numbers of steps at all frames; the program does not depend on the observed variables."""
    return _frames(model, dataclasses.replace(comparison, variables={}, in_time=None))


@eqx.filter_jit
def _frames(model: Model, comparison: Comparison) -> tuple[State, Array]:
    def frame(carry: Carry, _: None) -> tuple[State, Array]:
        return carry.now.state, carry.now.step

    return _over_frames(model, comparison, SaveEverything(), frame)


@eqx.filter_jit
def modelled_by_states(comparison: Comparison, states: State) -> dict[str, Array]:
    """Model values at the observed heights (at cell centers if these vary) for states on a leading axis."""
    return jax.vmap(functools.partial(_modelled, comparison, comparison.case))(states)


@eqx.filter_jit
def _errors_of_frames(comparison: Comparison, states: State) -> PyTree:
    modelled = modelled_by_states(comparison, states)
    if comparison.in_time is not None:
        modelled = {name: comparison.in_time(each) for name, each in modelled.items()}
    return _at_times(comparison, modelled, _square_and_mean)


def residuals(
    model: Model, comparison: Comparison
) -> tuple[dict[str, Float[Array, "time _level *#member"]], dict[str, Scalar]]:
    """Differences by variable whose squares sum to the weighted mean square, and the mean square errors.

    With w_v and s_v as above and n selected values of a variable, a residual is the difference times
    sqrt(w_v / (n sum w)) / s_v, and 0 for other values; see `Target.reduction` for sums, and cell means count
    by thickness. For forward mode and ensembles: all frames are stored, and members are a trailing axis.
    """

    def scaled_and_square(at: ComparedVariable, difference: Array):
        return at.scaled(difference), at.mean(difference**2)

    by_time = _compare(model, comparison, SaveEverything(), scaled_and_square)
    mean_squares = {name: jnp.sum(squares, axis=0) for name, (_, squares) in by_time.items()}
    return {name: scaled for name, (scaled, _) in by_time.items()}, mean_squares


def _modelled(comparison: Comparison, case: Case, state: State) -> dict[str, Array]:
    """Model values of the compared variables at the observed heights, or at cell centers if these vary."""

    def water(matrix: Array | np.ndarray | None) -> ColumnState:
        smoothed = state
        if matrix is not None:
            smoothed = jax.tree.map(lambda x: jnp.tensordot(matrix, x, axes=1), state.without_surface())
            smoothed = dataclasses.replace(smoothed, surface=state.surface)
        return ColumnState(smoothed, case.placed(smoothed).grid, case.equation_of_state)

    # A layer that reaches the bottom has no depth; a misfit needs a number, and a finite derivative.
    return {
        name: variable.operator(observable(name, state.tracers, bounded=True)(water(variable.smoothing)))
        for name, variable in comparison.variables.items()
    }


DifferenceFunction = Callable[[ComparedVariable, Array], PyTree]
"""Function of the comparison of a variable at one time, and of model minus observed."""


def _at_one_time(
    comparison: Comparison, function: DifferenceFunction, modelled: dict[str, Array], parts: dict[str, PyTree]
) -> dict[str, PyTree]:
    """Map a function of the differences at one time over the variables; `parts` is from `at_times`."""
    results = {}
    for name, variable in comparison.variables.items():
        at = variable.at(parts[name])
        results[name] = function(at, at.differences(modelled[name]))
    return results


def _at_times(
    comparison: Comparison, modelled: dict[str, Array], function: DifferenceFunction
) -> dict[str, PyTree]:
    """Map a function of the differences over all observed times, by variable."""
    parts = {name: variable.at_times() for name, variable in comparison.variables.items()}
    return jax.vmap(functools.partial(_at_one_time, comparison, function))(modelled, parts)


def _compare(
    model: Model, comparison: Comparison, checkpointing: AbstractCheckpointing, function: DifferenceFunction
) -> dict[str, PyTree]:
    """Run a model, and map a function of the differences at one time over all observed times, by variable."""
    case = batched_case(model, comparison.case)

    def modelled(carry: Carry, _: None) -> dict[str, Array]:
        return _modelled(comparison, case, carry.now.state)

    def differences(carry: Carry, parts: dict[str, PyTree]) -> dict[str, PyTree]:
        return _at_one_time(comparison, function, _modelled(comparison, case, carry.now.state), parts)

    if comparison.in_time is None:
        parts = {name: variable.at_times() for name, variable in comparison.variables.items()}
        return _over_frames(model, comparison, checkpointing, differences, parts)
    values = _over_frames(model, comparison, checkpointing, modelled)
    at_observed = {name: comparison.in_time(each) for name, each in values.items()}
    return _at_times(comparison, at_observed, function)


def _over_frames(
    model: Model,
    comparison: Comparison,
    checkpointing: AbstractCheckpointing,
    save: Callable[..., PyTree],
    inputs: PyTree = None,
) -> PyTree:
    """Run a model, and map a function of carry and inputs over its frames, including the start."""
    case = batched_case(model, comparison.case)
    start = start_of(model, case)
    run = model, case, start, comparison.dt
    first, later = (jax.tree.map(lambda x, i=i: x[i], inputs) for i in (0, slice(1, None)))
    of_start = save(Carry.at_start(start), first)
    if comparison.steps is not None:
        of_later = _run_of_steps(*run, comparison.steps, save, later)
    else:
        of_later = integrate(
            *run,
            n_frames=comparison.n_frames,
            steps_per_frame=comparison.steps_per_frame,
            checkpointing=checkpointing,
            save=save,
            inputs=later,
        )[1]
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), of_start, of_later)


def _run_of_steps(model: Model, case: Case, start: Restart, dt, steps, save, inputs: PyTree) -> PyTree:
    """Like `integrate`, but the numbers of steps per frame are an array."""

    def frame(current: Restart, inputs_of_frame: tuple[Int[Array, ""], PyTree]):
        n_steps, observed = inputs_of_frame
        following = advance(model, case, current, dt, n_steps)
        return following, save(Carry.at_start(following), observed)

    return jax.lax.scan(frame, start, (steps, inputs))[1]


class AbstractScale(abc.ABC):
    """Divisor of the difference of a variable."""

    @abc.abstractmethod
    def of(self, variable: str, values: np.ndarray, first: np.ndarray, data: Observations) -> float:
        """Scale of a variable in its unit, from selected values and, for each, the first at its height."""


@named("physical")
@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(self, variable: str, values: np.ndarray, first: np.ndarray, data: Observations) -> float:
        return 1.0


@named("z_score")
@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of the observations, as in Wagner et al. (2025)."""

    def of(self, variable: str, values: np.ndarray, first: np.ndarray, data: Observations) -> float:
        deviation = float(np.std(values))
        # Round-off of a constant profile is not variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(values)))):
            raise ValueError(
                f"{data.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@named("uncertainty")
@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation that comes with the observations."""

    def of(self, variable: str, values: np.ndarray, first: np.ndarray, data: Observations) -> float:
        if variable not in data.uncertainty:
            available = ", ".join(data.uncertainty) or "none"
            raise ValueError(
                f"{data.name}: expected an uncertainty of {variable}, got "
                f"{available}; add it or choose another scale."
            )
        deviation = float(data.uncertainty[variable])
        if not (math.isfinite(deviation) and deviation > 0.0):
            raise ValueError(f"{data.name}: expected a positive uncertainty of {variable}, got {deviation}.")
        return deviation


@named("change")
@dataclasses.dataclass(frozen=True)
class Change(AbstractScale):
    """The observed change since the first profile, sqrt(mean((y(t) - y(0))²) + noise²).

    A storm then counts no more than a night of convection. The noise covers random or unimportant changes of
    a large-eddy simulation: it prevents a case without significant changes from dominating. It is 0 for
    variables other than those below.

    Args:
        temperature: noise [K].
        salinity: noise [g kg-1].
        velocity: noise of u and v [m s-1].
        mixed_layer_depth: noise of mixed layer depths [m].
    """

    temperature: float = setting(0.005, at_least=0.0)
    salinity: float = setting(0.002, at_least=0.0)
    velocity: float = setting(0.01, at_least=0.0)
    mixed_layer_depth: float = setting(2.0, at_least=0.0)

    def __post_init__(self):
        check_settings(self)

    def of(self, variable: str, values: np.ndarray, first: np.ndarray, data: Observations) -> float:
        finite = np.isfinite(first)
        squared = float(np.mean((values - first)[finite] ** 2)) if finite.any() else math.nan
        noise = 0.0
        if variable.startswith("mixed_layer_depth"):
            noise = self.mixed_layer_depth
        elif variable in ("temperature", "salinity", "u", "v"):
            noise = getattr(self, "velocity" if variable in ("u", "v") else variable)
        scale = math.sqrt(squared + noise**2)
        if not scale > 0.0:
            raise ValueError(
                f"{data.name}: expected {variable} to change from its first profile, which has to be "
                f"complete, so that this can scale the misfit, got {scale:g}; choose another scale."
            )
        return scale


@dataclasses.dataclass(frozen=True)
class Target:
    """A case and the observations that the model should reproduce.

    Args:
        case: a single column.
        observations: of that case.
        weights: by variable: an observed one, or an observable that follows from observed profiles; 0 reports
            a variable without fitting it.
        weight: weight of the case relative to others.
        group: name of the cases that a cross-validation leaves out together; `None` for the case alone.
        dt: time step [s].
        time_window: first and last time to use [s] since the start of the case.
        depth_window: lowest and highest height to use [m], at most 0; cells must lie entirely within it. It
            does not apply to scalars.
        scale: divisor of the differences.
        frame_interval: time between model frames, which are interpolated to the observed times [s]; by
            default the longest of which all observed times are multiples, or `dt` if some are between steps.
        averaging: `points`: the model is interpolated to the observed heights; `cell_means`: observed heights
            are cell centers, and the finer of the two is averaged over the cells of the other.
        samples_forcing: true if models use the forcing at the end of each step, as `GotmDiscretisation` does,
            instead of its mean over the step; matters for forcing that is finer than the step.
        most_times: largest number of observed times to use, evenly spread.
        padded: numbers of frames and levels to pad to with values of weight 0, for `padded_together`, so that
            targets share programs in forward mode; observed times are then multiples of the step.
        reduction: `mean` of the squares by variable, or `sum`, the mean times the number of values, which is
            not divided by the sum of the weights. With weights of 1 and the scale `uncertainty` the misfit
            is twice the negative logarithm of a normal likelihood, up to a constant.
    """

    case: Case
    observations: Observations
    weights: Mapping[str, float] = dataclasses.field(default_factory=lambda: {"temperature": 1.0})
    weight: float = 1.0
    group: str | None = None
    dt: float = 60.0
    time_window: tuple[float, float] = (0.0, math.inf)
    depth_window: tuple[float, float] = (-math.inf, 0.0)
    scale: AbstractScale = dataclasses.field(default_factory=Physical)
    frame_interval: float | None = setting(None, above=0.0)
    averaging: str = setting("points", choices=("points", "cell_means"))
    reduction: str = setting("mean", choices=("mean", "sum"))
    most_times: int | None = setting(None, at_least=1)
    padded: tuple[int, int] | None = None
    samples_forcing: bool = setting(False)

    @functools.cached_property
    def comparison(self) -> Comparison:
        """The target as arrays in the precision of its case; `ValueError` if it is inconsistent."""
        name, case = self.case.name, self.case
        _check(self)
        times = np.asarray(self.observations.time, dtype=float)[self.times]
        in_time, n_frames, steps_per_frame, rows = place_in_time(
            times, name=name, dt=self.dt, duration=case.duration, frame_interval=self.frame_interval
        )
        n_rows, steps = times.size if in_time is not None else n_frames + 1, None
        if self.padded is not None:
            n_frames, steps, rows = _padded_in_time(self, times)
            n_rows, in_time, steps_per_frame = n_frames + 1, None, 0
        length = (n_frames * steps_per_frame if steps is None else int(steps.sum())) * self.dt
        variables = {variable: _compared(self, variable, rows, n_rows) for variable in self.sampled}
        late = self.times[times > 0.0]
        weighted = [self.sampled[name].observed for name, weight in self.weights.items() if weight]
        if not any(np.isfinite(np.asarray(values)[late]).any() for values in weighted):
            raise ValueError(f"{case.name}: expected observed values after the start, got only those at 0 s.")
        case.check_covers(0.0, length)
        # Common name, date and duration, because they are part of the compiled program.
        unlabelled = case.unlabelled()
        if not self.samples_forcing:
            unlabelled = unlabelled.over_steps(self.dt)
        if steps is None:
            unlabelled = dataclasses.replace(unlabelled, duration=length)
        comparison = Comparison(
            case=unlabelled,
            dt=jnp.asarray(self.dt, float),
            variables=variables,
            n_frames=n_frames,
            steps_per_frame=steps_per_frame,
            in_time=in_time,
            steps=None if steps is None else jnp.asarray(steps, jnp.int32),
        )
        return in_precision(comparison, precision_of(case=case))

    @functools.cached_property
    def times(self) -> np.ndarray:
        """Indices of the observed times to use; `ValueError` if there are none."""
        times, (first, last) = np.asarray(self.observations.time), self.time_window
        inside = np.flatnonzero((times >= first) & (times <= last))
        if not inside.size:
            raise ValueError(
                f"{self.case.name}: expected a time_window [s] with observations in it, got {first:g} to "
                f"{last:g}; they reach from {times[0]:g} to {times[-1]:g}."
            )
        if self.most_times is None or inside.size <= self.most_times:
            return inside
        return inside[np.rint(np.linspace(0.0, inside.size - 1.0, self.most_times + 1)[1:]).astype(int)]

    def times_of_run(self, most_frames: int = 1) -> dict[str, Any]:  # Any: types differ by argument
        """Arguments of `simulate` for a run to the last observation used, with at most this many frames."""
        times = np.asarray(self.observations.time, dtype=float)
        last = float(times[times <= self.time_window[1] * (1.0 + 1e-9)][-1])
        n_steps = max(1, round(last / self.dt))
        shortest = math.ceil(n_steps / most_frames)
        # Frames that divide the run, if possible: a shorter last one would need another program.
        steps = next((n for n in range(shortest, 2 * shortest) if n_steps % n == 0), shortest)
        return {"dt": self.dt, "duration": n_steps * self.dt, "output_interval": steps * self.dt}

    @functools.cached_property
    def sampled(self) -> Mapping[str, ComparedVariable]:
        """Observed values by variable, with the operators for the model."""
        inputs, options = (self.case, self.observations), (self.averaging, self.depth_window)
        return {name: sample(*inputs, name, *options) for name in sorted(self.weights)}


def _padded_in_time(target: Target, times: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of frames, steps before each frame (0 after the last time), and the row of each time [s]."""
    n_frames = (target.padded or (0, 0))[0]
    ends = np.rint(times / target.dt).astype(int)
    if np.any(np.abs(times / target.dt - ends) > 1e-6) or np.any(np.diff(ends) < 1):
        expected = f"{target.case.name}: expected observed times at multiples of the step, {target.dt:g} s"
        raise ValueError(f"{expected}, for shared programs, got others; choose another step, or do not pad.")
    observes_start = int(ends[0] == 0)  # the start is the first row, without a step before
    steps = np.diff(ends if observes_start else np.append(0, ends))
    rows = np.arange(times.size) + 1 - observes_start
    return n_frames, np.pad(steps, (0, n_frames - steps.size)), rows


def padded_together(targets: Sequence[Target], model: Model) -> tuple[Target, ...]:
    """Pad targets, and complete their cases, so that those of equal numbers of cells share programs.

    Raises `ValueError` for a target with a `frame_interval`: frames of padded ones are the observed times.
    """
    for target in targets:
        if target.frame_interval is not None:
            expected, got = "no frame_interval for shared programs", f"{target.frame_interval:g} s"
            raise ValueError(f"{target.case.name}: expected {expected}, got {got}; leave one out.")
    n_frames = max(target.times.size for target in targets)
    n_levels = max(each.observed.shape[1] for target in targets for each in target.sampled.values())
    molecular = {f"background_{n}": getattr(model, f"molecular_{n}") for n in ("viscosity", "diffusivity")}
    has_molecular = any(getattr(target.case, name) is not None for target in targets for name in molecular)
    has_bottom_heat = any(target.case.interior.bottom_heat is not None for target in targets)
    padded = []
    for target in targets:
        case, interior = target.case, target.case.interior
        if has_molecular:
            missing = {name: value for name, value in molecular.items() if getattr(case, name) is None}
            case = dataclasses.replace(case, **missing)
        if has_bottom_heat and interior.bottom_heat is None:
            case = dataclasses.replace(case, interior=dataclasses.replace(interior, bottom_heat=BottomHeat()))
        padded.append(dataclasses.replace(target, case=case, padded=(n_frames, n_levels)))
    return tuple(padded)


def _compared(target: Target, variable: str, rows: np.ndarray, n_rows: int) -> ComparedVariable:
    """One variable with its values in the rows of the selected times."""
    name, weight = target.case.name, target.weights[variable]
    sampled, chosen = target.sampled[variable], target.times
    if target.padded is not None:
        sampled = with_levels(sampled, target.case, target.padded[1])
    values = np.asarray(sampled.observed)[chosen]
    valid = np.isfinite(values)
    if not valid.any():
        reach = "at least one profile must begin at the reference depth, or above 10 m, and extend"
        raise ValueError(
            f"{name}: expected {variable} to be observed inside the windows, got NaN only"
            + (f"; {reach} below the requested depth." if sampled.smoothing is not None else ".")
        )

    def on_rows(selected: np.ndarray) -> np.ndarray:
        placed = np.zeros((n_rows, *selected.shape[1:]), dtype=selected.dtype)
        placed[rows] = selected
        return placed

    scale = 1.0
    if weight:
        first = np.broadcast_to(sampled.observed[0], values.shape)[valid]
        scale = target.scale.of(variable, values[valid], first, target.observations)
    counts = valid if sampled.thickness is None else valid * sampled.thickness
    fraction = float(valid.sum()) if target.reduction == "sum" else 1.0 / sum(target.weights.values())
    return ComparedVariable(
        observed=jnp.asarray(on_rows(np.where(valid, values, 0.0))),
        operator=sampled.operator,
        moving=jax.tree.map(lambda x: jnp.asarray(on_rows(np.asarray(x)[chosen])), sampled.moving),
        smoothing=None if sampled.smoothing is None else jnp.asarray(sampled.smoothing),
        shares=jnp.asarray(on_rows(counts) / counts.sum()),
        factor=jnp.asarray(weight * fraction / scale**2),
    )


def _check(target: Target) -> None:
    name, weights = target.case.name, target.weights
    if target.case.batch_shape:
        raise ValueError(
            f"{name}: expected a single column, got a batch of shape {target.case.batch_shape}; make one "
            "target of each column."
        )
    try:
        check_settings(target)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not (math.isfinite(target.weight) and target.weight >= 0.0):
        raise ValueError(f"{name}: expected a case weight of at least 0, got {target.weight}.")
    for variable, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0.0):
            raise ValueError(f"{name}: expected a weight of {variable} of at least 0, got {weight}.")
        if not can_be_observed(target.observations, variable):
            raise ValueError(
                f"{name}: expected an observed variable, got a weight for {variable}; the observations have "
                f"{', '.join(target.observations.names)}; correct its name, or give the case its own weights."
            )
        try:
            observable(variable, target.case.initial_state.tracers)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not sum(weights.values()) > 0.0:
        raise ValueError(
            f"{name}: expected a positive weight for at least one variable, got {dict(weights)}."
        )
