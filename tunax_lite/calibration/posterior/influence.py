"""How much numbers that a run gives depend on each parameter, in units that can be compared."""

import csv
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...case import Case
from ...checkpointing import SaveEverything
from ...diagnostics import Snapshot, diagnostic
from ...io.writing import replacing
from ...model import Model
from ...observables import unit_of_difference
from ...sensitivity import jacobian
from ...simulation import simulate
from ..parameters import ResolvedParameters, UnconstrainedVector
from .predictive import SCALARS


@dataclasses.dataclass(frozen=True)
class Influence:
    """Of one parameter on one number at the end of a run.

    Args:
        case, output, parameter: names.
        unit: of the output and of its changes.
        value: of the output.
        by_prior: change of the output per standard deviation of the prior, in its unit.
        by_posterior: per standard deviation of the posterior, the others held.
        elasticity: d ln(output) / d ln(parameter); NaN where one of them is 0.
    """

    case: str
    output: str
    parameter: str
    unit: str
    value: float
    by_prior: float
    by_posterior: float
    elasticity: float


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
    """Derivatives of numbers at the end of a run, one row for each output and parameter.

    Args:
        model: whose closure has the parameters.
        free_parameters: of that closure and the case.
        case: a single column.
        x: unconstrained vector at which to differentiate.
        standard_deviation: of the unconstrained numbers in the posterior, `(n_parameters,)`.
        dt, duration: of the run [s].
        outputs: diagnostics that are one number per column.

    Raises:
        ValueError: an output that is not known.
    """
    numbers = {name: diagnostic(name) for name in outputs}
    found_in_case = free_parameters.in_case(case.name)
    if found_in_case is None:
        return []
    free, places = found_in_case

    def at_the_end(x: UnconstrainedVector, model: Model, case: Case):
        own = x[np.array(places)]
        calibrated = eqx.tree_at(lambda m: m.closure, model, free.insert(model.closure, own))
        case = free.insert_case(case, own)
        run = simulate(
            calibrated,
            case,
            dt=dt,
            duration=duration,
            output_interval=duration,
            checkpointing=SaveEverything(),
        )
        state, clo_state, time = jax.tree.map(lambda leaf: leaf[-1], (run.state, run.clo_state, run.time))
        now = Snapshot(state, clo_state, time, run.grid, case)
        return [jnp.asarray(number(now)) for number in numbers.values()]

    x = jnp.asarray(x)
    found = jacobian(at_the_end, x, model, case.unlabelled(), mode="forward")
    physical = free_parameters.to_physical
    to_physical = jax.jit(lambda x: (physical(x), jax.jacfwd(physical)(x)))
    values, slopes = (np.asarray(part, float) for part in to_physical(x))
    # A row for each parameter, of sizes that differ by orders of magnitude; priors may correlate them.
    scales = np.maximum(np.linalg.norm(slopes, axis=1), np.finfo(float).tiny)
    rows = []
    for output, value, row in zip(
        outputs, np.asarray(found.residuals), np.asarray(found.matrix), strict=True
    ):
        by_scaled_value = np.linalg.lstsq((slopes / scales[:, None]).T, row, rcond=None)[0]
        for i, path in enumerate(free_parameters.paths):
            changes = value * values[i] != 0.0
            elasticity = by_scaled_value[i] * values[i] / (scales[i] * value) if changes else math.nan
            rows.append(
                Influence(
                    case.name,
                    output,
                    path,
                    unit_of_difference(output),
                    float(value),
                    float(row[i]),
                    float(row[i] * standard_deviation[i]),
                    float(elasticity),
                )
            )
    return rows


def write_influences(path: str | Path, rows: Sequence[Influence]) -> None:
    """Write the rows as CSV, complete or not at all."""
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in dataclasses.fields(Influence))
        writer.writerows(dataclasses.astuple(row) for row in rows)
