"""What the posterior means for runs: a case with many draws of the parameters, as columns of one batch."""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...case import Case
from ...checkpointing import SaveEverything
from ...diagnostics import diagnose
from ...model import Model
from ...simulation import simulate
from ...trajectory import Trajectory
from ..evaluation.ensemble import insert_members
from ..parameters import ResolvedParameters

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SCALARS = ("sea_surface_temperature", "mixed_layer_depth", "potential_energy_anomaly")


@dataclasses.dataclass(frozen=True)
class Bands:
    """Quantiles over the draws of what runs give.

    Args:
        name: of the case.
        quantiles: which, between 0 and 1.
        time: of the frames [s].
        z: heights of the cell centers [m].
        profiles: by variable, `(n_quantiles, n_times, n_levels)`.
        series: by name of the number, `(n_quantiles, n_times)`.
        n_members: runs.
        n_failed: of them, those with values that are not finite; they do not count.
        start_time: ISO 8601 date of the start of the case; `None` for an idealised one.
    """

    name: str
    quantiles: tuple[float, ...]
    time: np.ndarray
    z: np.ndarray
    profiles: dict[str, np.ndarray]
    series: dict[str, np.ndarray]
    n_members: int
    n_failed: int
    start_time: str | None = None


def predictive_bands(
    model: Model,
    free_parameters: ResolvedParameters,
    case: Case,
    draws: np.ndarray,
    *,
    dt: float,
    duration: float,
    output_interval: float,
    variables: Sequence[str] = ("temperature",),
    series: Sequence[str] = SCALARS,
    quantiles: Sequence[float] = QUANTILES,
) -> Bands:
    """Bands between which temperature, or what is asked for, lies given the uncertainty of the parameters.

    They hold the spread of the parameters, and neither the noise of observations nor the error of the model.

    Args:
        model: whose closure has the parameters.
        free_parameters: of that closure.
        case: a single column.
        draws: unconstrained vectors, `(n_members, n_parameters)`; at least two.
        dt, duration, output_interval: as for `simulate` [s].
        variables: prognostic variables or tracers.
        series: diagnostics that are one number per column.
        quantiles: between 0 and 1.

    Raises:
        ValueError: fewer than two draws, or an unknown variable.
        FloatingPointError: fewer than two runs that are finite.
    """
    draws = np.asarray(draws, float)
    if draws.ndim != 2 or len(draws) < 2:
        raise ValueError(f"predictive_bands: expected two draws or more, got an array {draws.shape}.")
    ensemble, cases = _members(model, free_parameters, case, jnp.asarray(draws.T))
    run = simulate(
        ensemble,
        cases,
        dt=dt,
        duration=duration,
        output_interval=output_interval,
        checkpointing=SaveEverything(),
    )
    profiles = {name: np.asarray(_profiles(run, name), float) for name in variables}
    scalars = {name: np.asarray(values, float) for name, values in diagnose(run, cases, series).items()}
    good = np.isfinite(np.asarray(run.state.temperature)).all(axis=(0, 1))
    if good.sum() < 2:
        raise FloatingPointError(
            f"{case.name}: expected two runs or more that stay finite, got {good.sum()} of {len(draws)}; "
            "choose a shorter time step or narrower priors."
        )

    def spread(values: np.ndarray) -> np.ndarray:
        values = np.broadcast_to(values, (*values.shape[:-1], len(draws)))
        return np.quantile(values[..., good], quantiles, axis=-1)

    return Bands(
        case.name,
        tuple(quantiles),
        np.asarray(run.time),
        np.asarray(jax.device_get(case.grid.z_center)).reshape(-1),
        {name: spread(values) for name, values in profiles.items()},
        {name: spread(scalars[name]) for name in series},
        len(draws),
        int((~good).sum()),
        case.start_time,
    )


def _members(
    model: Model, free_parameters: ResolvedParameters, case: Case, draws: Float[Array, "parameter member"]
) -> tuple[Model, Case]:
    """Model and case with the numbers of the draws along a trailing axis."""
    unnamed = dataclasses.replace(case, name="case")  # a name is part of what is compiled
    own = free_parameters.in_case(case.name)
    if own is None:
        raise ValueError(
            f"{case.name}: expected a case in which a parameter is free, got none; leave it out."
        )
    free, places = own
    draws = draws[np.array(places)]
    closure = insert_members(free.insert, model.closure, draws)
    if free.changes_cases:
        unnamed = insert_members(free.insert_case, unnamed, draws)
    return eqx.tree_at(lambda m: m.closure, model, closure), unnamed


def _profiles(run: Trajectory, name: str) -> Float[Array, "time ..."]:
    """A variable of the state, or a passive tracer."""
    return run.state.tracers[name] if name in run.state.tracers else getattr(run.state, name)
