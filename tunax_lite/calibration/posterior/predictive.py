"""Effect of the posterior on runs: uncertainty bands from many draws as one batch, and sensitivities."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ...column.case import Case
from ...column.checkpointing import SaveEverything
from ...column.diagnostics import Snapshot, diagnose, diagnostic
from ...column.integrate import simulate
from ...column.model import Model
from ...column.observables import unit_of_difference
from ...column.sensitivity import jacobian
from ...io.writing import write_csv
from ..parameters import ResolvedParameters, UnconstrainedVector, paths_of_other_cases

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SCALARS = ("sea_surface_temperature", "mixed_layer_depth", "potential_energy_anomaly")


@dataclasses.dataclass(frozen=True)
class Bands:
    """Quantiles over the draws of the results of a case; runs that are not finite are ignored."""

    name: str
    quantiles: tuple[float, ...]  # between 0 and 1
    time: np.ndarray  # of the frames [s]
    z: np.ndarray  # heights of the cell centers [m]
    profiles: dict[str, np.ndarray]  # by variable, (n_quantiles, n_times, n_levels)
    series: dict[str, np.ndarray]  # by name of the scalar, (n_quantiles, n_times)
    n_members: int
    n_failed: int
    start_time: str | None = None  # ISO 8601 start of the case; `None` for an idealised one


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
    """Bands of temperature, or other variables, from the uncertainty of the parameters.

    They include neither the noise of observations nor the error of the model.

    Args:
        model, free_parameters, case: a single column, and the free parameters of its closure and case.
        draws: unconstrained vectors, `(n_members, n_parameters)`; at least two.
        dt, duration, output_interval: as in `simulate` [s].
        variables: prognostic variables or tracers.
        series: diagnostics that are scalars.
        quantiles: between 0 and 1.

    Raises:
        ValueError: fewer than two draws, or an unknown variable.
        FloatingPointError: fewer than two finite runs.
    """
    draws = np.asarray(draws, float)
    if draws.ndim != 2 or len(draws) < 2:
        raise ValueError(f"predictive_bands: expected two draws or more, got an array {draws.shape}.")
    free = free_parameters.in_case(case.name)
    unnamed = dataclasses.replace(case, name="case")  # the name is part of the compiled program
    x = free.part_of(jnp.asarray(draws.T))
    ensemble, cases = free.insert(model, x), free.insert(unnamed, x)
    whole = SaveEverything()
    run = simulate(
        ensemble, cases, dt=dt, duration=duration, output_interval=output_interval, checkpointing=whole
    )
    known = {**vars(run.state), **run.state.tracers}
    del known["tracers"], known["surface"]
    if not set(variables) <= set(known):
        raise ValueError(f"predictive_bands: expected variables out of {', '.join(known)}, got {variables}.")
    profiles = {name: np.asarray(known[name], float) for name in variables}
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

    axes = np.asarray(run.time), np.asarray(jax.device_get(case.grid.z_center)).reshape(-1)
    of_profiles = {name: spread(values) for name, values in profiles.items()}
    of_series, n_failed = {name: spread(scalars[name]) for name in series}, int((~good).sum())
    given = case.name, tuple(quantiles), *axes, of_profiles, of_series
    return Bands(*given, len(draws), n_failed, case.start_time)


@dataclasses.dataclass(frozen=True)
class Influence:
    """Influence of one parameter on one scalar, the output, at the end of a run."""

    case: str
    output: str
    parameter: str
    unit: str  # of the output and its changes
    value: float  # of the output
    by_prior: float  # change of the output per standard deviation of the prior
    by_posterior: float  # per standard deviation of the posterior, the others held
    elasticity: float  # d ln(output) / d ln(parameter); NaN where one of them is 0


def influences(
    model: Model,
    free_parameters: ResolvedParameters,
    case: Case,
    x: UnconstrainedVector | np.ndarray,
    standard_deviation: np.ndarray,
    *,
    dt: float,
    duration: float,
    outputs: Sequence[str] = SCALARS,
) -> list[Influence]:
    """Derivatives of scalars at the end of a run, one row per output and parameter.

    Args:
        model, free_parameters, case: a single column, and the free parameters of its closure and case.
        x: unconstrained vector at which to differentiate.
        standard_deviation: of the unconstrained numbers in the posterior, `(n_parameters,)`.
        dt, duration: of the run [s].
        outputs: diagnostics that are scalars; `ValueError` for others.
    """
    numbers = {name: diagnostic(name) for name in outputs}
    if len(paths_of_other_cases(free_parameters.paths, case.name)) == len(free_parameters.paths):
        return []
    free = free_parameters.in_case(case.name)

    def at_the_end(x: UnconstrainedVector, model: Model, case: Case):
        x = free.part_of(x)
        model, case = free.insert(model, x), free.insert(case, x)
        whole = SaveEverything()
        run = simulate(model, case, dt=dt, duration=duration, output_interval=duration, checkpointing=whole)
        state, clo_state, time = jax.tree.map(lambda leaf: leaf[-1], (run.state, run.clo_state, run.time))
        now = Snapshot(state, clo_state, time, run.grid, case)
        return [jnp.asarray(number(now)) for number in numbers.values()]

    x = jnp.asarray(x)
    found = jacobian(at_the_end, x, model, case.unlabelled(), mode="forward")
    physical = free_parameters.to_physical
    to_physical = jax.jit(lambda x: (physical(x), jax.jacfwd(physical)(x)))
    values, slopes = (np.asarray(part, float) for part in to_physical(x))
    # One row per parameter, with sizes that differ by orders of magnitude; priors may be correlated.
    scales = np.maximum(np.linalg.norm(slopes, axis=1), np.finfo(float).tiny)
    rows = []
    of_outputs = np.asarray(found.residuals), np.asarray(found.matrix)
    for output, value, row in zip(outputs, *of_outputs, strict=True):
        row = row if math.isfinite(value) else np.full_like(row, math.nan)  # a layer without a base
        by_scaled_value = np.linalg.lstsq((slopes / scales[:, None]).T, row, rcond=None)[0]
        for i, path in enumerate(free_parameters.paths):
            changes = value * values[i] != 0.0
            elasticity = by_scaled_value[i] * values[i] / (scales[i] * value) if changes else math.nan
            slopes_of = float(row[i]), float(row[i] * standard_deviation[i]), float(elasticity)
            unit = unit_of_difference(output)
            rows.append(Influence(case.name, output, path, unit, float(value), *slopes_of))
    return rows


def write_influences(path: str | Path, rows: Sequence[Influence]) -> None:
    """Write the rows as CSV, atomically."""
    header = [field.name for field in dataclasses.fields(Influence)]
    write_csv(path, header, [dataclasses.astuple(row) for row in rows])
