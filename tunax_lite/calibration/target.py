"""A target: what of a run is compared with which observations, with which weights and errors.

    misfit = score( sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v )

over the observed values of variable v that are selected; w_v are weights, s_v scales. If the errors of
observations are correlated, the differences over s_v are whitened before they are squared.

`Target` declares this, `Comparison` is the same as arrays. All errors are made of `_compare`, which follows a
run frame by frame and stores the observed variables only: the loss of a calibration (`misfit`, `residuals`),
tables (`errors_of`), and the equations of a map, where observed values have a trailing axis of columns.
`errors_of_states` compares states that were stored.

Observed values that are NaN, or outside the depth and time windows, are ignored. At points, the model is
interpolated linearly to the observed heights and times; between the uppermost (lowest) center and the surface
(bottom) it is constant. For cell means, the finer of model and observations is averaged over the cells of the
other.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from .._types import Scalar, in_precision, precision_of
from ..column.case import Case
from ..column.checkpointing import AbstractCheckpointing, SaveEverything
from ..column.integrate import Carry, advance, batched_case, integrate, start_of
from ..column.model import Model
from ..column.observables import ColumnState, observable
from ..column.observations import Observations
from ..column.state import State
from ..column.trajectory import Restart
from ..declarations import check_settings, named, setting
from ..numerics.elementary import safe_sqrt
from ..plausibility.water_limits import Extreme, extremes
from .observed import (
    AbstractOperator,
    Correlation,
    Interpolation,
    Sampled,
    Whitening,
    can_be_observed,
    place_in_time,
    sample,
    whitening,
    with_levels,
)

Differences = dict[str, Float[Array, "_level *#member"]]
"""By variable, of one column or of the members of an ensemble."""


class Comparison(eqx.Module):
    """A target as arrays, ready for the time loop; targets of equal shapes share compiled code.

    By variable it holds observed values, on all frames of the model or on the observed times, with 0 for
    missing ones; operators from model cells to observed heights, `moving` for those that vary in time, with a
    leading time axis; and whitening operators if errors are correlated. For scalars computed from profiles at
    a few heights, `seen` reduces model profiles to the same information. A batch of columns has its own
    observed values and counts, with a trailing axis.
    """

    case: Case  # with a common name, because the name is part of the compiled program
    dt: Float[Array, ""]  # [s]
    observed: dict[str, Float[Array, "time _level *#column"]]
    counts: dict[str, Float[Array, "time _level *#column"]]  # sum is 1; 0 for values that are not selected
    factors: dict[str, Float[Array, ""]]  # of the mean squares, such as w_v / (s_v² sum w_v)
    operators: dict[str, AbstractOperator]
    n_frames: int = eqx.field(static=True)
    steps_per_frame: int = eqx.field(static=True)
    moving: dict[str, Interpolation] = eqx.field(default_factory=dict)
    whitenings: dict[str, Whitening] = eqx.field(default_factory=dict)
    seen: dict[str, Float[Array, "center center"]] = eqx.field(default_factory=dict)
    in_time: Interpolation | None = None  # to the observed times; `None` if these are frames of the model
    steps: Int[Array, " frame"] | None = None  # of each frame instead, where forward mode shares programs


class AtOneTime(eqx.Module):
    """Data for the differences at one time; stacked, with a leading time axis."""

    observed: dict[str, Float[Array, "..."]]
    counts: dict[str, Float[Array, "..."]]
    moving: dict[str, Interpolation]
    vertical: dict[str, Float[Array, "..."]]

    @classmethod
    def of(cls, comparison: Comparison) -> "AtOneTime":
        """The data of all times."""
        moves = {name: white.vertical for name, white in comparison.whitenings.items() if white.moves}
        return cls(comparison.observed, comparison.counts, comparison.moving, moves)

    def differences(self, modelled: Differences) -> Differences:
        """Of modelled and observed values."""
        at_heights = modelled | {name: move(modelled[name]) for name, move in self.moving.items()}
        return {name: value - _like(self.observed[name], value) for name, value in at_heights.items()}

    def squares(self, differences: Differences) -> dict[str, Scalar]:
        """Contribution to the mean squares."""
        return {
            name: jnp.sum(_like(self.counts[name], difference) * difference**2, axis=0)
            for name, difference in differences.items()
        }

    def squares_and_means(self, differences: Differences) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
        """Contribution to the mean squares and the means."""
        means = {
            name: jnp.sum(_like(self.counts[name], value) * value, axis=0)
            for name, value in differences.items()
        }
        return self.squares(differences), means

    def whitened(self, comparison: Comparison, name: str, difference: Float[Array, "_level *#member"]):
        """Weighted differences of a variable, with vertical correlations removed."""
        if name in comparison.whitenings:
            matrix = self.vertical.get(name, comparison.whitenings[name].vertical)
            difference = jnp.tensordot(matrix, difference, axes=1)
        return jnp.sqrt(comparison.factors[name] * _like(self.counts[name], difference)) * difference


def _like(values: Float[Array, "..."], batch: Float[Array, "..."]):
    """Values of one column, to be broadcast over a batch of columns."""
    return values.reshape(values.shape + (1,) * (batch.ndim - values.ndim))


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
    """The root of it: a case contributes its error. The gradient at a perfect fit is 0."""

    def __call__(self, mean_square: Scalar) -> Scalar:
        return safe_sqrt(mean_square)


def misfit(
    model: Model, comparison: Comparison, score: AbstractScore, checkpointing: AbstractCheckpointing
) -> tuple[Scalar, dict[str, Scalar]]:
    """Score of a single-column model on `Target.comparison`, and the mean square errors by variable.

    The errors are in the squared units of the variables. `checkpointing` is what reverse mode stores of the
    time loop. Raises `ValueError` for a padded comparison, whose steps only forward mode can follow.
    """
    if comparison.steps is not None:
        raise ValueError(
            "misfit: expected cases with own programs for a method in reverse mode, got padded ones; "
            "choose levenberg_marquardt or ensemble_kalman, or leave misfit.padded out."
        )

    # Frame by frame inside the loop, so that reverse mode does not store all profiles of the run.
    def squares(differences: Differences, at: AtOneTime):
        whitened = {name: at.whitened(comparison, name, differences[name]) for name in comparison.whitenings}
        return at.squares(differences), whitened

    (frames, whitened), _ = _compare(model, comparison, checkpointing, squares)
    mean_squares = _summed(frames)
    total = sum(
        comparison.factors[name] * mean_squares[name] for name in mean_squares if name not in whitened
    ) + sum(jnp.sum(_after_time(comparison, name, values) ** 2) for name, values in whitened.items())
    return score(jnp.asarray(total)), mean_squares


def root_mean_square_errors(model: Model, comparison: Comparison) -> dict[str, float]:
    """Root mean square error of each variable [its unit], without weights and scales, as in `errors_of`."""
    return {name: error.root_mean_square for name, error in errors_of(model, comparison).items()}


class ErrorOf(NamedTuple):
    """Of model minus observed, over all selected values [unit of the variable]."""

    root_mean_square: float
    mean: float


def errors_of(model: Model, comparison: Comparison) -> dict[str, ErrorOf]:
    """Root mean square and mean error of each variable, without weights and scales, for a single column."""
    return errors_and_water(model, comparison)[0]


def errors_and_water(model: Model, comparison: Comparison) -> tuple[dict[str, ErrorOf], list[Extreme]]:
    """The same, and water of the run that cannot be, or is unlikely."""
    sums, (temperature, salinity, step) = _errors_and_water(model, comparison)
    case = comparison.case
    time = np.asarray(step) * float(comparison.dt)
    water = extremes(temperature, salinity, case.grid.z_center, time, has_ice=case.ice is not None)
    return _errors(*sums), water


def errors_of_states(comparison: Comparison, states: State) -> dict[str, ErrorOf]:
    """Errors as in `errors_of`, of stored states at the times of a comparison, along a leading axis."""
    return _errors(*_errors_of_states(comparison, states))


def _errors(mean_squares: Mapping[str, Scalar], means: Mapping[str, Scalar]) -> dict[str, ErrorOf]:
    return {name: ErrorOf(math.sqrt(mean_squares[name]), float(means[name])) for name in mean_squares}


@eqx.filter_jit
def _errors_and_water(model: Model, comparison: Comparison) -> tuple[PyTree, PyTree]:
    def water(now: Restart) -> tuple:
        return now.state.temperature, now.state.salinity, now.step

    both = lambda differences, at: at.squares_and_means(differences)  # noqa: E731
    by_time, frames = _compare(model, comparison, SaveEverything(), both, water)
    return _summed(by_time), frames


@eqx.filter_jit
def modelled_by_states(comparison: Comparison, states: State) -> Differences:
    """What the observations would be in states along a leading axis, but for heights that vary in time."""
    return jax.vmap(functools.partial(_modelled, comparison, comparison.case))(states)


@eqx.filter_jit
def _errors_of_states(comparison: Comparison, states: State) -> PyTree:
    def at_one_time(state: State, at: AtOneTime):
        return at.squares_and_means(at.differences(_modelled(comparison, comparison.case, state)))

    return _summed(jax.vmap(at_one_time)(states, AtOneTime.of(comparison)))


def residuals(
    model: Model, comparison: Comparison
) -> tuple[dict[str, Float[Array, "time _level *#member"]], dict[str, Scalar]]:
    """Differences by variable whose squares sum to the weighted mean square, and the mean square errors.

    With w_v, s_v as above, and n selected values of a variable, r is sqrt(w_v / (n sum w)) / s_v times the
    difference, whitened if errors are correlated, and 0 for other values. For forward mode and ensembles: all
    frames are stored, and parameters of members have a trailing axis.
    """

    def both(differences: Differences, at: AtOneTime):
        scaled = {name: at.whitened(comparison, name, value) for name, value in differences.items()}
        return scaled, at.squares(differences)

    (frames, mean_squares), _ = _compare(model, comparison, SaveEverything(), both)
    whitened = {name: _after_time(comparison, name, values) for name, values in frames.items()}
    return whitened, _summed(mean_squares)


def _summed(by_time: PyTree) -> PyTree:
    return jax.tree.map(lambda values: jnp.sum(values, axis=0), by_time)


def _after_time(comparison: Comparison, name: str, whitened: Float[Array, "time _level *#member"]):
    """The same, with correlations in time removed."""
    white = comparison.whitenings.get(name)
    return whitened if white is None or white.in_time is None else white.in_time(whitened)


def _modelled(comparison: Comparison, case: Case, state: State) -> Differences:
    """What the observations would be in a state, but for heights that vary in time."""

    def water(name: str) -> ColumnState:
        seen = state
        if name in comparison.seen:
            matrix = comparison.seen[name]
            seen = jax.tree.map(lambda x: jnp.tensordot(matrix, x, axes=1), state.without_surface())
            seen = dataclasses.replace(seen, surface=state.surface)
        return ColumnState(seen, case.placed(seen).grid, case.equation_of_state)

    # A layer that reaches the bottom has no depth; a misfit needs a number, and a finite derivative.
    return {
        name: operator(observable(name, state.tracers, bounded=True)(water(name)))
        for name, operator in comparison.operators.items()
    }


def _compare(
    model: Model,
    comparison: Comparison,
    checkpointing: AbstractCheckpointing,
    of_time: Callable[[Differences, AtOneTime], PyTree],
    of_frame: Callable[[Restart], PyTree] = lambda restart: None,
) -> tuple[PyTree, PyTree]:
    """Map a function of the differences and comparison data at one time over all observed times.

    Results have a leading time axis, also those of a function of the frames, which may be other times.
    """
    case = batched_case(model, comparison.case)
    start = start_of(model, case)
    begin = Carry.at_start(start)

    def compared(modelled: Differences, at: AtOneTime):
        return of_time(at.differences(modelled), at)

    def run(save: Callable[..., PyTree], inputs: PyTree = None) -> PyTree:
        given = model, case, start, comparison.dt
        if comparison.steps is not None:
            return _run_of_steps(*given, comparison.steps, save, inputs)
        return integrate(
            *given,
            n_frames=comparison.n_frames,
            steps_per_frame=comparison.steps_per_frame,
            checkpointing=checkpointing,
            save=save,
            inputs=inputs,
        )[1]

    def after_start(of_start: PyTree, later: PyTree) -> PyTree:
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), of_start, later)

    at_times = AtOneTime.of(comparison)
    if comparison.in_time is None:
        first, later = (jax.tree.map(lambda x, i=i: x[i], at_times) for i in (0, slice(1, None)))

        def differences(carry: Carry, at: AtOneTime) -> tuple[PyTree, PyTree]:
            modelled = _modelled(comparison, case, carry.now.state)
            return compared(modelled, at), of_frame(carry.now)

        return after_start(differences(begin, first), run(differences, later))

    def modelled_values(carry: Carry, _: None) -> tuple[PyTree, PyTree]:
        return _modelled(comparison, case, carry.now.state), of_frame(carry.now)

    values, frames = after_start(modelled_values(begin, None), run(modelled_values))
    modelled = {name: comparison.in_time(each) for name, each in values.items()}
    return jax.vmap(compared)(modelled, at_times), frames


def _run_of_steps(model: Model, case: Case, start: Restart, dt, steps, save, inputs: PyTree) -> PyTree:
    """Like `integrate`, with the numbers of steps as data."""

    def frame(current: Restart, given: tuple[Int[Array, ""], PyTree]):
        n_steps, observed = given
        following = advance(model, case, current, dt, n_steps)
        return following, save(Carry.at_start(following), observed)

    return jax.lax.scan(frame, start, (steps, inputs))[1]


class AbstractScale(abc.ABC):
    """Divisor of the difference of a variable."""

    @abc.abstractmethod
    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        """Scale of a variable in its unit, from the selected values, and the first values of their levels."""


@named("physical")
@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        return 1.0


@named("z_score")
@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of the observations, as in Wagner et al. (2025)."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        deviation = float(np.std(observed))
        # Round-off of a constant profile is not variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@named("uncertainty")
@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation given with the observations."""

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        if variable not in observations.uncertainty:
            known = ", ".join(observations.uncertainty) or "none"
            raise ValueError(
                f"{observations.name}: expected an uncertainty of {variable}, the observations have "
                f"{known}; add it or choose another scale."
            )
        deviation = float(observations.uncertainty[variable])
        if not (math.isfinite(deviation) and deviation > 0.0):
            raise ValueError(
                f"{observations.name}: expected a positive uncertainty of {variable}, got {deviation}."
            )
        return deviation


@named("change")
@dataclasses.dataclass(frozen=True)
class Change(AbstractScale):
    """The observed change since the first profile, sqrt(mean((y(t) - y(0))²) + noise²).

    A storm then counts no more than a night of convection. The noise covers random or unimportant changes of
    a large-eddy simulation: it prevents a case without significant changes from dominating.

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

    def of(
        self, variable: str, observed: np.ndarray, initial: np.ndarray, observations: Observations
    ) -> float:
        known = np.isfinite(initial)
        squared = float(np.mean((observed - initial)[known] ** 2)) if known.any() else math.nan
        noise = 0.0
        if variable.startswith("mixed_layer_depth"):
            noise = self.mixed_layer_depth
        elif variable in ("temperature", "salinity", "u", "v"):
            noise = getattr(self, "velocity" if variable in ("u", "v") else variable)
        scale = math.sqrt(squared + noise**2)
        if not scale > 0.0:
            raise ValueError(
                f"{observations.name}: expected {variable} to change from its first profile, which has to be "
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
        weight: of the case relative to others.
        group: of cases that a cross-validation leaves out together; `None` for the case alone.
        dt: time step [s].
        time_window: first and last time to use [s] since the start of the case.
        depth_window: lowest and highest height to use [m], at most 0; cells must lie entirely within it. It
            does not apply to scalars.
        scale: divisor of the differences.
        frame_interval: time between model frames, which are interpolated to the observed times [s]; by
            default the longest that meets every observed time, otherwise `dt`.
        averaging: `points`: the model is interpolated to the observed heights; `cell_means`: observed heights
            are cell centers, and the finer of the two is averaged over the cells of the other.
        correlation: of the errors of observations, whose squares then sum to a Mahalanobis distance; `None`
            for independent errors.
        samples_forcing: whether models take forcing that is finer than the step at the end of each step, as
            `GotmDiscretisation` does, instead of its mean over the step.
        most_times: largest number of observed times to use, evenly spread.
        padded: numbers of frames and levels, at least those of the target, to pad to with values of weight 0,
            so that different targets share programs in forward mode; observed times are then multiples of the
            time step.
        reduction: `mean` of the squares by variable, or `sum`, which with a correlation, or with the scale of
            an uncertainty, is twice the negative logarithm of a normal likelihood.
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
    correlation: Correlation | None = None
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
        parts = {variable: _prepared(self, variable, rows, n_rows) for variable in self.sampled}
        length = (n_frames * steps_per_frame if steps is None else int(steps.sum())) * self.dt
        case.check_covers(0.0, length)
        by_variable: dict[str, Any] = {  # fields of `Comparison`
            key: {variable: part[key] for variable, part in parts.items() if part[key] is not None}
            for key in next(iter(parts.values()))
        }
        # Common name, date and duration, because they are part of the compiled program.
        unlabelled, dt = case.unlabelled(), jnp.asarray(self.dt, float)
        if not self.samples_forcing:
            unlabelled = unlabelled.over_steps(self.dt)
        if steps is None:
            unlabelled = dataclasses.replace(unlabelled, duration=length)
        by_variable |= {"in_time": in_time, "n_frames": n_frames, "steps_per_frame": steps_per_frame}
        by_variable["steps"] = None if steps is None else jnp.asarray(steps, jnp.int32)
        comparison = Comparison(case=unlabelled, dt=dt, **by_variable)
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
        """Arguments of `simulate` [s] for a run to the last observation used."""
        end = self.time_window[1] * (1.0 + 1e-9)
        last = [float(time) for time in self.observations.time if time <= end][-1]
        n_steps = max(1, round(last / self.dt))
        interval = math.ceil(n_steps / most_frames) * self.dt
        return {"dt": self.dt, "duration": n_steps * self.dt, "output_interval": interval}

    @functools.cached_property
    def sampled(self) -> Mapping[str, Sampled]:
        """Observed values by variable, with the operators for the model."""
        given = self.averaging, self.depth_window
        found = {name: sample(self.case, self.observations, name, *given) for name in sorted(self.weights)}
        if self.padded is None:
            return found
        return {name: with_levels(one, self.case, self.padded[1]) for name, one in found.items()}


def _padded_in_time(target: Target, times: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Frames, the steps between them (0 after the last observed time [s]), and the positions of the times."""
    n_frames, name = (target.padded or (0, 0))[0], target.case.name
    ends = np.rint(times / target.dt).astype(int)
    if np.any(np.abs(times / target.dt - ends) > 1e-6) or np.any(np.diff(ends) < 1):
        expected = f"observed times at multiples of the step, {target.dt:g} s, where programs are shared"
        raise ValueError(f"{name}: expected {expected}, got others; choose another step, or leave it out.")
    if target.correlation is not None or target.frame_interval is not None:
        expected = "neither correlations nor a frame_interval where programs are shared"
        raise ValueError(f"{name}: expected {expected}, got one of them; leave one of the two out.")
    starts_at_rest = int(ends[0] == 0)
    steps = np.diff(ends if starts_at_rest else np.append(0, ends))
    if steps.size > n_frames:
        raise ValueError(f"{name}: expected at least {steps.size} frames, got {n_frames}; pad it with more.")
    rows = np.arange(times.size) + 1 - starts_at_rest
    return n_frames, np.pad(steps, (0, n_frames - steps.size)), rows


def _prepared(target: Target, variable: str, rows: np.ndarray, n_rows: int) -> dict[str, PyTree]:
    """Fields of `Comparison` for one variable, with its values in the rows of the selected times."""
    name, weight = target.case.name, target.weights[variable]
    sampled, chosen = target.sampled[variable], target.times
    values = sampled.values[chosen]
    valid = np.isfinite(values)
    if not valid.any():
        reach = "at least one profile has to begin at the reference depth, or above 10 m, and to reach"
        raise ValueError(
            f"{name}: expected {variable} to be observed inside the windows, got NaN only"
            + (f"; {reach} below what is asked for." if sampled.seen is not None else ".")
        )

    def on_rows(given: np.ndarray) -> np.ndarray:
        placed = np.zeros((n_rows, *given.shape[1:]), dtype=given.dtype)
        placed[rows] = given
        return placed

    placed = on_rows(valid)
    scale = 1.0
    if weight:
        first = np.broadcast_to(sampled.values[0], values.shape)[valid]
        scale = target.scale.of(variable, values[valid], first, target.observations)
    fraction = float(valid.sum()) if target.reduction == "sum" else 1.0 / sum(target.weights.values())
    white = None
    if target.correlation is not None and weight:
        times = on_rows(np.asarray(target.observations.time, dtype=float)[chosen])
        z = on_rows(sampled.z[chosen]) if sampled.z.ndim == 2 else sampled.z
        white = whitening(target.correlation, z, placed, times, f"{name}: {variable}")
    moving = jax.tree.map(lambda x: jnp.asarray(on_rows(np.asarray(x)[chosen])), sampled.moving)
    return {
        "observed": jnp.asarray(on_rows(np.where(valid, values, 0.0))),
        "counts": jnp.asarray(placed / valid.sum()),
        "factors": jnp.asarray(weight * fraction / scale**2),
        "operators": sampled.operator,
        "moving": moving,
        "whitenings": white,
        "seen": None if sampled.seen is None else jnp.asarray(sampled.seen),
    }


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


@dataclasses.dataclass(frozen=True)
class Account:
    """Number of values of one variable of one case, by use."""

    case: str
    variable: str
    n_counting: int  # within the windows
    n_missing: int  # heights within the windows without a value, at times with others
    n_rejected: int  # rejected by the reader because of their quality flags, at any time and height
    n_above: int  # above the uppermost center of the model, where it is constant
    n_below: int  # below the lowest center

    @property
    def is_notable(self) -> bool:
        """Whether there are other than plain values."""
        return any((self.n_missing, self.n_rejected, self.n_above, self.n_below))

    def __str__(self) -> str:
        notes = (
            (self.n_missing, "missing"),
            (self.n_rejected, "rejected by quality flags"),
            (self.n_above, "above the uppermost center of the model, compared with it"),
            (self.n_below, "below the lowest center of the model, compared with it"),
        )
        said = "; ".join(f"{number} {text}" for number, text in notes if number)
        return f"{self.case}: {self.n_counting} values of {self.variable}" + (f"; {said}" if said else "")


def account(target: Target) -> tuple[Account, ...]:
    """Account of each variable of a target, whose windows and heights must match the observations."""
    chosen = target.times
    centers, slack = np.asarray(target.case.grid.z_center), 1e-6 * float(target.case.grid.depth)
    lines = []
    for variable in target.weights:
        sampled = target.sampled[variable]
        known = np.isfinite(sampled.values)[chosen]
        # At times of other variables there is no profile of this one: these values are not missing.
        n_places = int(sampled.inside[chosen][known.any(axis=1)].sum())
        z = np.broadcast_to(sampled.z, sampled.values.shape)[chosen]
        beyond = known & (sampled.moving is not None or isinstance(sampled.operator, Interpolation))
        n_known, n_rejected = int(known.sum()), int(target.observations.rejected.get(variable, 0))
        outside = beyond & (z > centers[-1] + slack), beyond & (z < centers[0] - slack)
        counts = n_known, n_places - n_known, n_rejected, *(int(where.sum()) for where in outside)
        lines.append(Account(target.case.name, variable, *counts))
    return tuple(lines)
