"""Notes on the model of a map: late convection, recommended constants beyond their range."""

import jax
import numpy as np

from ...cli.session import LATE, on_resolution, remedy_of_late_convection, valid_range_of
from ...column.integrate import columns_of
from ...declarations import name_of
from ...plausibility.onset import delay_of_convection
from .setup import MapRun

_N_TRIED = 24  # columns


def late_convection(run: MapRun) -> list[str]:
    """A note if convection would begin late in some of the columns tried, in even steps over the map."""
    columns, n_late, n_cooled = run.columns, 0, 0
    chosen = np.unique(np.linspace(0, columns.n_columns - 1, _N_TRIED).astype(int))
    for column in chosen:
        at = slice(int(column), int(column) + 1)
        batch = columns.model(run.model, at), columns.case(at, 0.0, run.output_interval).unlabelled()
        along = columns_of(*batch, None)
        model, case = jax.tree.map(lambda leaf, has: leaf[..., 0] if has else leaf, batch, along[:2])
        delay = delay_of_convection(model, case, run.duration)
        n_cooled, n_late = n_cooled + (delay is not None), n_late + (delay is not None and delay >= LATE)
    if not n_late:
        return []
    return [
        f"cooled as at the start of the map, convection begins late or never in {n_late} of {n_cooled} "
        f"columns that were tried and lose heat: {remedy_of_late_convection(run.model.closure)}"
    ]


def recommended_constants(run: MapRun) -> list[str]:
    """Where a map with recommended constants leaves their range; its fluxes are read during the run only."""
    columns = run.columns
    closure = columns.model(run.model, slice(0, 1)).closure
    valid = valid_range_of(closure)
    if valid is None:
        return []
    return [
        *on_resolution(closure, valid, run.first_grid, run.dt),
        f"recommended constants of {name_of(type(closure))}: judged under wind stress up to "
        f"{valid.stress[1]:.3g} N m-2 and heat fluxes into the water from {valid.heat_flux[0]:.4g} to "
        f"{valid.heat_flux[1]:.4g} W m-2, without the sun; errors may be larger beyond them",
    ]
