"""A column of six cells under steady weather, cheap enough to be run in cycles, and observations of it."""

import dataclasses

import numpy as np

from tunax_lite import Case, ConstantDiffusivity, ConstantForcing, Grid, Model, State, SurfaceFluxes
from tunax_lite.extensions import assimilation as da
from tunax_lite.extensions.assimilation.methods import AbstractAssimilationMethod

HOUR = 3600.0
INTERVAL = 6.0 * HOUR
MODEL = Model(ConstantDiffusivity(viscosity=1e-3, diffusivity=1e-3))


def column(heat_flux: float = 50.0, days: float = 4.0) -> Case:
    grid = Grid.uniform(30.0, 6)
    state = State.from_profiles(grid, temperature=lambda z: 12.0 + 0.1 * z)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=heat_flux))
    return Case(grid, state, forcing, duration=days * 86400.0, name="six_cells")


def stream(values, error: float = 0.1, every: float = INTERVAL, height: float | None = None) -> da.Stream:
    values = np.asarray(values, dtype=float)
    name = "sea_surface_temperature" if height is None else "temperature"
    operator = da.Operator(name) if height is None else da.Operator(name, height)
    time = every * np.arange(1, values.size + 1)
    return da.Stream(operator, time, values, np.full(values.size, error))


def assimilation(
    method: AbstractAssimilationMethod,
    *streams: da.Stream,
    processes: tuple[da.Process, ...] = (da.Process("heat_flux_bias", 100.0, 86400.0),),
    case: Case | None = None,
    start: float = 0.0,
    end: float | None = None,
    of_system: dict | None = None,
    **cycles,
) -> da.Assimilation:
    """Cycles of six hours with steps of an hour."""
    profiles = (da.ProfileError("temperature", 0.5, 10.0),)
    operators = tuple(each.operator for each in streams)
    system = da.System(MODEL, case or column(), HOUR, operators, processes, profiles)
    last = max(float(each.time[-1]) for each in streams) if end is None else end
    options = {"interval": INTERVAL, "leads": (INTERVAL, 2.0 * INTERVAL)} | cycles
    system = dataclasses.replace(system, **(of_system or {}))
    return da.Assimilation(system, streams, method, da.Cycles(start, last, **options))
