"""How far a model is from the observations of a case: one number per case.

    misfit = sum_v w_v mean((model_v - observed_v)²) / s_v²  /  sum_v w_v

over the observed values of variable v inside a depth and a time window; w_v are weights, s_v scales.
Values that are NaN do not count. The model is interpolated linearly to the observed heights and times;
between the uppermost (lowest) center and the surface (bottom) it is constant. The time loop keeps the
observed variables only.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._types import Scalar
from ..case import Case
from ..checkpointing import AbstractCheckpointing
from ..model import Model
from ..numerics.limiters import safe_sqrt
from ..observations import Observations
from ..simulate import batched_case, run_frames, start_of
from ..state import State
from ..trajectory import Restart


class AbstractScale(abc.ABC):
    """What a difference of a variable is divided by."""

    @abc.abstractmethod
    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        """Scale of a variable in its unit, from the values that count."""


@dataclasses.dataclass(frozen=True)
class Physical(AbstractScale):
    """One unit of the variable: the misfit of temperature is in K."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del variable, observed, observations
        return 1.0


@dataclasses.dataclass(frozen=True)
class ZScore(AbstractScale):
    """The standard deviation of what was observed, as in Wagner et al. (2025)."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        deviation = float(np.std(observed))
        # Round-off of a constant profile is no variability.
        if deviation <= 1e-10 * max(1.0, float(np.max(np.abs(observed)))):
            raise ValueError(
                f"{observations.name}: expected {variable} to vary, so that its standard deviation can "
                f"scale the misfit, got {deviation:g}; give it weight 0 or another scale."
            )
        return deviation


@dataclasses.dataclass(frozen=True)
class Uncertainty(AbstractScale):
    """The standard deviation that comes with the observations."""

    def of(self, variable: str, observed: np.ndarray, observations: Observations) -> float:
        del observed
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


@dataclasses.dataclass(frozen=True)
class Target:
    """A case and what the model should give there.

    Args:
        case: a single column.
        observations: of that case.
        weights: by variable; 0 only reports a variable.
        weight: of the case among others.
        dt: time step [s].
        time_window: first and last time that counts [s] since the start of the case.
        depth_window: lowest and highest height that counts [m], at most 0.
        scale: what differences are divided by.
        frame_interval: time between the frames of the model that are interpolated to the observed times
            [s]; by default the longest that meets every observed time, else `dt`.
    """

    case: Case
    observations: Observations
    weights: Mapping[str, float] = dataclasses.field(default_factory=lambda: {"temperature": 1.0})
    weight: float = 1.0
    dt: float = 60.0
    time_window: tuple[float, float] = (0.0, math.inf)
    depth_window: tuple[float, float] = (-math.inf, 0.0)
    scale: AbstractScale = Physical()
    frame_interval: float | None = None


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
        observed: by variable, zero where nothing was observed.
        counts: by variable, 1 / n where a value counts, else 0.
        factors: by variable, w_v / (s_v² sum w_v).
        in_depth, in_time: interpolation to the observed heights and times, `None` where model and
            observations coincide.
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
    modelled = _observe(model, comparison, checkpointing)
    mean_squares = {
        variable: jnp.sum(
            comparison.counts[variable] * (modelled[variable] - comparison.observed[variable]) ** 2
        )
        for variable in comparison.observed
    }
    total = sum(comparison.factors[name] * mean_squares[name] for name in mean_squares)
    return score(jnp.asarray(total)), mean_squares


def _observe(
    model: Model, comparison: Comparison, checkpointing: AbstractCheckpointing
) -> dict[str, Float[Array, "time level"]]:
    """The model's values at the observed heights and times."""
    variables = tuple(comparison.observed)

    def save(restart: Restart):
        values = {name: variable_of(restart.state, name) for name in variables}
        if comparison.in_depth is None:
            return values
        return {name: comparison.in_depth(value) for name, value in values.items()}

    case = batched_case(model, comparison.case)
    start = start_of(model, case)
    frames = run_frames(
        model,
        case,
        start,
        comparison.dt,
        n_frames=comparison.n_frames,
        steps_per_frame=comparison.steps_per_frame,
        checkpointing=checkpointing,
        save=save,
    )
    first = save(start)
    modelled = {name: jnp.concatenate([first[name][None], frames[name]]) for name in variables}
    if comparison.in_time is None:
        return modelled
    return {name: comparison.in_time(values) for name, values in modelled.items()}


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
