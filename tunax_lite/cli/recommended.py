"""Notes where recommended constants are used beyond what they were judged with."""

from collections.abc import Iterator

import jax
import numpy as np

from ..calibration.parameters import Base
from ..closures import AbstractClosure, ValidRange, recommended_sets
from ..column.case import Case
from ..column.forcing import WaterSurface
from ..column.grid import Grid
from ..config import Run
from ..declarations import name_of

_N_TIMES = 500  # at which fluxes are looked at


def on_recommended(run: Run) -> list[str]:
    """Where a run with recommended constants leaves the range of cells, steps, stress and heat flux."""
    valid = valid_range_of(run.model.closure)
    if valid is None:
        return []
    stress, heat = _extremes(run.case, run.duration_from(0.0))
    return [
        *on_resolution(run.model.closure, valid, run.case.grid, run.dt),
        *_beyond(run.model.closure, "wind stress", stress, valid.stress, "N m-2"),
        *_beyond(run.model.closure, "heat flux into the water", heat, valid.heat_flux, "W m-2"),
    ]


def valid_range_of(closure: AbstractClosure) -> ValidRange | None:
    """Range in which the recommended constants of a closure were judged; `None` if it has others."""
    name = name_of(type(closure))
    known = recommended_sets().get(name or "")
    return None if known is None or Base.of(closure, ()).name != f"{name}_recommended" else known.valid


def on_resolution(closure: AbstractClosure, valid: ValidRange, grid: Grid, dt: float) -> Iterator[str]:
    """Notes on cells and steps outside the range."""
    thinnest = float(np.min(np.diff(np.asarray(grid.z_face), axis=0)))
    yield from _beyond(closure, "cells", (thinnest, thinnest), valid.cell_thickness, "m")
    yield from _beyond(closure, "steps", (dt, dt), valid.time_step, "s")


def _extremes(case: Case, duration: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Lowest and highest stress and heat flux, over the water as it is at the start."""
    water = WaterSurface.of(case.initial_state)

    def at(time):
        fluxes = case.forcing.at(time, water)
        return [0.0 if x is None else x for x in (fluxes.stress_u, fluxes.stress_v, fluxes.heat_flux)]

    u, v, heat = jax.jit(lambda times: jax.lax.map(at, times))(np.linspace(0.0, duration, _N_TIMES))
    stress = np.hypot(np.asarray(u), np.asarray(v))
    heat = np.asarray(heat)
    return (0.0, float(stress.max())), (float(heat.min()), float(heat.max()))


def _beyond(
    closure: AbstractClosure, what: str, found: tuple[float, float], valid: tuple[float, float], unit: str
) -> Iterator[str]:
    tolerance = 1e-6 * (valid[1] - valid[0])
    for side, value, limit, sign in (("least", found[0], valid[0], -1.0), ("most", found[1], valid[1], 1.0)):
        if sign * (value - limit) > tolerance:
            yield (
                f"recommended constants of {name_of(type(closure))}: expected {what} of at {side} {limit:g} "
                f"{unit}, with which they were judged, got {value:g} {unit}; errors may be larger than "
                "documented"
            )
