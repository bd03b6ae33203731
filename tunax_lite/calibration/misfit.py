"""How far a model is from the observations of a case: one number per case.

    misfit = score( sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v )

over the observed values of variable v that count; w_v are weights, s_v scales. The time loop keeps the
observed variables only.
"""

import abc
import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from .._types import Scalar
from ..case import Case
from ..checkpointing import AbstractCheckpointing, SaveEverything
from ..model import Model
from ..numerics.limiters import safe_sqrt
from ..simulation import batched_case, run_frames, start_of
from ..state import State
from ..trajectory import Restart

Values = dict[str, Float[Array, " level"]]
"""By variable, of one column."""
Differences = dict[str, Float[Array, "level *#member"]]
"""By variable, of one column or of the members of an ensemble."""


class Interpolation(eqx.Module):
    """Linear interpolation along the leading axis: `(1 - share) * [lower] + share * [lower + 1]`."""

    lower: Int[Array, " target"]
    share: Float[Array, " target"]

    def __call__(self, values: Float[Array, "source ..."]) -> Float[Array, "target ..."]:
        share = self.share.reshape((-1,) + (1,) * (values.ndim - 1))
        return (1.0 - share) * values[self.lower] + share * values[self.lower + 1]


class Comparison(eqx.Module):
    """A target as arrays, ready for the time loop; targets of equal shapes share compiled code.

    Args:
        case: under a common name, because a name is part of what is compiled.
        dt: time step [s].
        observed: by variable, 0 where nothing was observed; on all frames and levels of the model, or
            on the observed ones.
        counts: by variable, 1 / n where a value counts, else 0.
        factors: by variable, w_v / (s_v² sum w_v).
        in_depth, in_time: interpolation to the observed heights and times; `None` where these are
            centers and frames of the model.
        n_frames, steps_per_frame: length of the run.
    """

    case: Case
    dt: Float[Array, ""]
    observed: dict[str, Float[Array, "time level"]]
    counts: dict[str, Float[Array, "time level"]]
    factors: dict[str, Float[Array, ""]]
    in_depth: Interpolation | None
    in_time: Interpolation | None
    n_frames: int = eqx.field(static=True)
    steps_per_frame: int = eqx.field(static=True)


class AbstractScore(abc.ABC):
    """How a mean square becomes the number that is minimised."""

    @abc.abstractmethod
    def __call__(self, mean_square: Scalar) -> Scalar:
        """Score of a case."""


@dataclasses.dataclass(frozen=True)
class MeanSquare(AbstractScore):
    """The mean square itself: a case counts by the square of its error."""

    def __call__(self, mean_square: Scalar) -> Scalar:
        return mean_square


@dataclasses.dataclass(frozen=True)
class RootMeanSquare(AbstractScore):
    """Its root: a case counts by its error. The gradient at a perfect fit is 0."""

    def __call__(self, mean_square: Scalar) -> Scalar:
        return safe_sqrt(mean_square)


def misfit(
    model: Model,
    comparison: Comparison,
    score: AbstractScore,
    checkpointing: AbstractCheckpointing,
) -> tuple[Scalar, dict[str, Scalar]]:
    """Score of a model on one case, and the mean square error of each variable in its squared unit.

    Args:
        model: of a single column.
        comparison: from `prepare`.
        score: of the weighted mean square.
        checkpointing: what reverse mode keeps of the time loop.
    """

    # Frame by frame inside of the loop: reverse mode then does not hold all profiles of the run.
    def squares(differences: Differences, counts: Values) -> dict[str, Scalar]:
        return {name: _mean_square(differences[name], counts[name]) for name in differences}

    frames = _compare(model, comparison, checkpointing, squares)
    mean_squares = {name: jnp.sum(by_time, axis=0) for name, by_time in frames.items()}
    total = sum(comparison.factors[name] * mean_squares[name] for name in mean_squares)
    return score(jnp.asarray(total)), mean_squares


def residuals(
    model: Model, comparison: Comparison
) -> tuple[dict[str, Float[Array, "time level *#member"]], dict[str, Scalar]]:
    """Differences by variable whose squares sum to the weighted mean square, and the mean square errors.

    With w_v, s_v as above, and n values of a variable that count, r is sqrt(w_v / (n sum w)) / s_v times
    the difference, and 0 where a value does not count. For forward mode and ensembles: all frames are kept.

    Args:
        model: of a single column, or with parameters of several members along a trailing axis.
        comparison: from `prepare`.
    """

    def both(differences: Differences, counts: Values):
        scaled = {
            name: jnp.sqrt(comparison.factors[name] * _like(counts[name], difference)) * difference
            for name, difference in differences.items()
        }
        return scaled, {name: _mean_square(differences[name], counts[name]) for name in differences}

    frames, mean_squares = _compare(model, comparison, SaveEverything(), both)
    return frames, {name: jnp.sum(by_time, axis=0) for name, by_time in mean_squares.items()}


def _like(values: Float[Array, " level"], batch: Float[Array, "level *#member"]):
    """Values of one column, to be broadcast over a batch of columns."""
    return values.reshape(values.shape + (1,) * (batch.ndim - 1))


def _mean_square(difference: Float[Array, "level *#member"], counts: Float[Array, " level"]) -> Scalar:
    return jnp.sum(_like(counts, difference) * difference**2, axis=0)


def _compare(
    model: Model,
    comparison: Comparison,
    checkpointing: AbstractCheckpointing,
    of_time: Callable[[Differences, Values], PyTree],
) -> PyTree:
    """A function of the differences at one time and of what they count, at all observed times.

    Results have a leading axis of time.
    """

    def at_heights(restart: Restart) -> Differences:
        values = {name: variable_of(restart.state, name) for name in comparison.observed}
        if comparison.in_depth is None:
            return values
        return {name: comparison.in_depth(value) for name, value in values.items()}

    def compared(modelled: Differences, observed: Values, counts: Values):
        differences = {name: value - _like(observed[name], value) for name, value in modelled.items()}
        return of_time(differences, counts)

    case = batched_case(model, comparison.case)
    start = start_of(model, case)

    def run(save, inputs=None):
        return run_frames(
            model,
            case,
            start,
            comparison.dt,
            n_frames=comparison.n_frames,
            steps_per_frame=comparison.steps_per_frame,
            checkpointing=checkpointing,
            save=save,
            inputs=inputs,
        )

    given = comparison.observed, comparison.counts
    if comparison.in_time is None:
        first, later = (jax.tree.map(lambda x, i=i: x[i], given) for i in (0, slice(1, None)))
        parts = run(lambda restart, given: compared(at_heights(restart), *given), later)
        of_start = compared(at_heights(start), *first)
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), of_start, parts)
    frames = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), at_heights(start), run(at_heights))
    modelled = {name: comparison.in_time(values) for name, values in frames.items()}
    return jax.vmap(compared)(modelled, *given)


def variable_of(state: State, name: str) -> Float[Array, "..."]:
    """A prognostic variable or a passive tracer by name.

    Raises:
        ValueError: a name that the state does not have.
    """
    known = {
        "temperature": state.temperature,
        "salinity": state.salinity,
        "u": state.u,
        "v": state.v,
        **state.tracers,
    }
    if name not in known:
        raise ValueError(f"expected one of {', '.join(known)}, got the variable {name}.")
    return known[name]
