"""How far a model is from the observations of a case: one number per case.

    misfit = score( sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v )

over the observed values of variable v that count; w_v are weights, s_v scales. The time loop keeps the
observed variables only.
"""

import abc
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._types import Scalar
from ..case import Case
from ..checkpointing import AbstractCheckpointing
from ..model import Model
from ..numerics.limiters import safe_sqrt
from ..simulation import batched_case, run_frames, start_of
from ..state import State
from ..trajectory import Restart


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
    mean_squares = _mean_squares(model, comparison, checkpointing)
    total = sum(comparison.factors[name] * mean_squares[name] for name in mean_squares)
    return score(jnp.asarray(total)), mean_squares


def _mean_squares(
    model: Model, comparison: Comparison, checkpointing: AbstractCheckpointing
) -> dict[str, Scalar]:
    """Mean square error of each variable at the observed heights and times."""
    observed, counts = comparison.observed, comparison.counts

    def at_heights(restart: Restart):
        values = {name: variable_of(restart.state, name) for name in observed}
        if comparison.in_depth is None:
            return values
        return {name: comparison.in_depth(value) for name, value in values.items()}

    def squares(modelled, observed, counts):
        return {name: jnp.sum(counts[name] * (modelled[name] - observed[name]) ** 2) for name in observed}

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

    if comparison.in_time is None:
        # Frame by frame inside of the loop: reverse mode then does not hold all profiles of the run.
        first, later = (jax.tree.map(lambda x, i=i: x[i], (observed, counts)) for i in (0, slice(1, None)))
        parts = run(lambda restart, given: squares(at_heights(restart), *given), later)
        return jax.tree.map(lambda a, b: a + jnp.sum(b), squares(at_heights(start), *first), parts)
    frames = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), at_heights(start), run(at_heights))
    return squares({name: comparison.in_time(values) for name, values in frames.items()}, observed, counts)


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
