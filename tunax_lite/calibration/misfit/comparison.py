"""The misfit between a model and the observations of a case: one number per case.

    misfit = score( sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v )

over the observed values of variable v that are selected; w_v are weights, s_v scales. If the errors of
observations are correlated, the differences over s_v are whitened before they are squared. The time loop
stores the observed variables only.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ..._types import Scalar
from ...column.case import Case
from ...column.checkpointing import AbstractCheckpointing, SaveEverything
from ...column.integrate import Carry, advance, batched_case, integrate, start_of
from ...column.model import Model
from ...column.observables import ColumnState, observable
from ...column.trajectory import Restart
from ...declarations import named
from ...io.water_limits import Extreme, extremes
from ...numerics.elementary import safe_sqrt
from .operators import AbstractOperator, Interpolation, Whitening

Differences = dict[str, Float[Array, "_level *#member"]]
"""By variable, of one column or of the members of an ensemble."""


class Comparison(eqx.Module):
    """A target as arrays, ready for the time loop; targets of equal shapes share compiled code.

    By variable it holds observed values, on all frames of the model or on the observed times, with 0 for
    missing ones; operators from model cells to observed heights, `moving` for those that vary in time, with a
    leading time axis; and whitening operators if errors are correlated. For scalars computed from profiles at
    a few heights, `seen` reduces model profiles to the same information.
    """

    case: Case  # with a common name, because the name is part of the compiled program
    dt: Float[Array, ""]  # [s]
    observed: dict[str, Float[Array, "time _level"]]
    counts: dict[str, Float[Array, "time _level"]]  # 1 / n for a selected value, 0 otherwise
    factors: dict[str, Float[Array, ""]]  # of the mean squares, such as w_v / (s_v² sum w_v)
    operators: dict[str, AbstractOperator]
    moving: dict[str, Interpolation]
    whitenings: dict[str, Whitening]
    seen: dict[str, Float[Array, "center center"]]
    in_time: Interpolation | None  # to the observed times; `None` if these are frames of the model
    n_frames: int = eqx.field(static=True)
    steps_per_frame: int = eqx.field(static=True)
    steps: Int[Array, " frame"] | None = None  # of each frame instead, where forward mode shares programs


class AtOneTime(eqx.Module):
    """Data for the differences at one time; stacked, with a leading time axis."""

    observed: dict[str, Float[Array, "..."]]
    counts: dict[str, Float[Array, "..."]]
    moving: dict[str, Interpolation]
    vertical: dict[str, Float[Array, "..."]]


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
    def squares(differences: Differences, given: AtOneTime):
        whitened = {
            name: _whitened(comparison, given, name, differences[name]) for name in comparison.whitenings
        }
        return _mean_squares(differences, given), whitened

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
    (squares, means), (temperature, salinity, step) = _squares_means_and_water(model, comparison)
    errors = {name: ErrorOf(math.sqrt(squares[name]), float(means[name])) for name in squares}
    case = comparison.case
    time = np.asarray(step) * float(comparison.dt)
    return errors, extremes(temperature, salinity, case.grid.z_center, time, has_ice=case.ice is not None)


@eqx.filter_jit
def _squares_means_and_water(model: Model, comparison: Comparison) -> tuple[tuple, tuple]:
    def both(differences: Differences, given: AtOneTime):
        means = {name: jnp.sum(given.counts[name] * value, axis=0) for name, value in differences.items()}
        return _mean_squares(differences, given), means

    def water(now: Restart) -> tuple:
        return now.state.temperature, now.state.salinity, now.step

    of_times, frames = _compare(model, comparison, SaveEverything(), both, water)
    return _summed(of_times), frames


def residuals(
    model: Model, comparison: Comparison
) -> tuple[dict[str, Float[Array, "time _level *#member"]], dict[str, Scalar]]:
    """Differences by variable whose squares sum to the weighted mean square, and the mean square errors.

    With w_v, s_v as above, and n selected values of a variable, r is sqrt(w_v / (n sum w)) / s_v times the
    difference, whitened if errors are correlated, and 0 for other values. For forward mode and ensembles: all
    frames are stored, and parameters of members have a trailing axis.
    """

    def both(differences: Differences, given: AtOneTime):
        scaled = {name: _whitened(comparison, given, name, value) for name, value in differences.items()}
        return scaled, _mean_squares(differences, given)

    (frames, mean_squares), _ = _compare(model, comparison, SaveEverything(), both)
    whitened = {name: _after_time(comparison, name, values) for name, values in frames.items()}
    return whitened, _summed(mean_squares)


def _summed(by_time: PyTree) -> PyTree:
    return jax.tree.map(lambda values: jnp.sum(values, axis=0), by_time)


def _like(values: Float[Array, " _level"], batch: Float[Array, "_level *#member"]):
    """Values of one column, to be broadcast over a batch of columns."""
    return values.reshape(values.shape + (1,) * (batch.ndim - 1))


def _mean_squares(differences: Differences, given: AtOneTime) -> dict[str, Scalar]:
    return {
        name: jnp.sum(_like(given.counts[name], difference) * difference**2, axis=0)
        for name, difference in differences.items()
    }


def _whitened(comparison: Comparison, given: AtOneTime, name: str, difference):
    """Weighted differences, with vertical correlations removed."""
    if name in comparison.whitenings:
        matrix = given.vertical.get(name, comparison.whitenings[name].vertical)
        difference = jnp.tensordot(matrix, difference, axes=1)
    return jnp.sqrt(comparison.factors[name] * _like(given.counts[name], difference)) * difference


def _after_time(comparison: Comparison, name: str, whitened: Float[Array, "time _level *#member"]):
    """The same, with correlations in time removed."""
    white = comparison.whitenings.get(name)
    return whitened if white is None or white.in_time is None else white.in_time(whitened)


def _run_of_steps(
    model: Model,
    case: Case,
    start: Restart,
    comparison: Comparison,
    steps: Int[Array, " frame"],
    *,
    save: Callable[[Carry, PyTree], PyTree],
    inputs: PyTree = None,
) -> tuple[Restart, PyTree]:
    """Like `integrate`, with the numbers of steps as data."""

    def frame(current: Restart, given: tuple[Int[Array, ""], PyTree]):
        n_steps, observed = given
        following = advance(model, case, current, comparison.dt, n_steps)
        return following, save(Carry.at_start(following), observed)

    return jax.lax.scan(frame, start, (steps, inputs))


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

    def observable_values(restart: Restart) -> Differences:
        def water(name: str) -> ColumnState:
            state = restart.state
            if name in comparison.seen:
                seen = jax.tree.map(
                    lambda x: jnp.tensordot(comparison.seen[name], x, axes=1), state.without_surface()
                )
                state = dataclasses.replace(seen, surface=state.surface)
            return ColumnState(state, case.placed(state).grid, case.equation_of_state)

        # A layer that reaches the bottom has no depth; a misfit needs a number, and a finite derivative.
        return {
            name: operator(observable(name, restart.state.tracers, bounded=True)(water(name)))
            for name, operator in comparison.operators.items()
        }

    def compared(modelled: Differences, given: AtOneTime):
        at_heights = {**modelled, **{name: move(modelled[name]) for name, move in given.moving.items()}}
        differences = {name: value - _like(given.observed[name], value) for name, value in at_heights.items()}
        return of_time(differences, given)

    length = {"n_frames": comparison.n_frames, "steps_per_frame": comparison.steps_per_frame}
    of_case = functools.partial(integrate, model, case, start, comparison.dt)
    run = functools.partial(of_case, **length, checkpointing=checkpointing)
    if comparison.steps is not None:
        run = functools.partial(_run_of_steps, model, case, start, comparison, comparison.steps)

    def after_start(of_start: PyTree, later: PyTree) -> PyTree:
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), of_start, later)

    moves = {name: white.vertical for name, white in comparison.whitenings.items() if white.moves}
    given = AtOneTime(comparison.observed, comparison.counts, comparison.moving, moves)
    if comparison.in_time is None:
        first, later = (jax.tree.map(lambda x, i=i: x[i], given) for i in (0, slice(1, None)))

        def differences(carry: Carry, given: AtOneTime) -> tuple[PyTree, PyTree]:
            return compared(observable_values(carry.now), given), of_frame(carry.now)

        return after_start(differences(begin, first), run(save=differences, inputs=later)[1])

    def modelled_values(carry: Carry, _: None) -> tuple[PyTree, PyTree]:
        return observable_values(carry.now), of_frame(carry.now)

    values, frames = after_start(modelled_values(begin, None), run(save=modelled_values)[1])
    modelled = {name: comparison.in_time(each) for name, each in values.items()}
    return jax.vmap(compared)(modelled, given), frames
