"""Columns at the edge of what can be asked for.

Few or many levels, thick or thin, steps of a minute to a day, wind of up to 100 m/s from changing sides,
heat of up to 5 000 W m-2, cloudbursts, evaporation, no rotation, water that overturns or hardly moves, every
closure with its default settings. None may end in numbers that are not finite, in energy below zero, or with
a budget of heat, salt, dye or momentum open by more than 1e-10 of the content or of what went through.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.closures.columns import beyond, budget_gaps
from tunax_lite.closures import CATKE, KPP, ConstantDiffusivity, KEpsilonTheta
from tunax_lite.closures.catke import CATKEState
from tunax_lite.column.integrate import batched_case, integrate, start_of
from tunax_lite.config.closures import ClosureSection, closure_names

N_STEPS = 24
NOT_NEGATIVE = ("kinetic_energy", "dissipation", "variance", "viscosity", "eddy_diff")
CHOICES: dict[str, tuple] = {
    "n_cells": (3, 24),
    "depth": (),  # 0.1 m to 5 km
    "zoom": (0.0, 0.0, 3.0),
    "dt": (60.0, 3600.0, 3600.0, 86400.0),
    "stress": (0.0, 0.1, 5.0, 50.0),
    "heat_flux": (0.0, -200.0, -5000.0, 5000.0),
    "shortwave_flux": (0.0, 0.0, 1000.0),
    "freshwater_flux": (0.0, 1e-4, -1e-4, 3e-2, -3e-3),
    "salt_flux": (0.0, 1e-6, 1e-3),
    "dye_flux": (0.0, 1e-5, 1.0),
    "period": (0, 1, 4),  # steps after which fluxes change their sign; 0: never
    "coriolis": (0.0, 1e-4, -1.4e-4),
    "warmer_at_surface": (0.0, 1e-6, 0.1, 30.0, -0.1, -30.0),
    "salinity": (0.0, 35.0),
    "current": (0.0, 0.0, 5.0),
}
"""Numbers that describe a column, in SI units."""

# 100 m/s of wind from changing sides over less than three metres of water that overturns, by the hour.
STORM = (
    dict.fromkeys(CHOICES, 0.0)
    | {"n_cells": 3, "depth": 2.67, "dt": 3600.0, "period": 1, "warmer_at_surface": -0.1, "salinity": 35.0}
    | {"stress": 50.0, "heat_flux": -200.0, "freshwater_flux": 1e-4, "salt_flux": 1e-3}
)


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    def one_of(values: tuple):
        return values[rng.integers(len(values))] if values else float(10.0 ** rng.uniform(-1.0, 3.7))

    return {name: one_of(values) for name, values in CHOICES.items()}


def case_of(given: dict[str, Any]) -> tl.Case:
    """The column with series of its fluxes; all columns of as many cells share their structure."""
    n_cells, depth, period = given["n_cells"], given["depth"], given["period"]
    grid = tl.Grid.stretched(depth, n_cells, surface_zoom=given["zoom"])
    step, turned = np.arange(N_STEPS + 1), np.deg2rad(37.0)
    sign = np.where(step // period % 2, -1.0, 1.0) if period else np.ones(N_STEPS + 1)
    wave = np.cos(np.pi * np.arange(n_cells) / max(1, n_cells - 1))
    state = tl.State.from_profiles(
        grid,
        temperature=lambda z: 15.0 + given["warmer_at_surface"] * (1.0 + z / depth),
        salinity=given["salinity"],
        u=jnp.asarray(given["current"] * wave),
        tracers={"dye": lambda z: jnp.exp(3.0 * z / depth)},
    )
    forcing = tl.TimeSeriesForcing.from_values(
        step * given["dt"],
        stress_u=given["stress"] * np.cos(turned) * sign,
        stress_v=given["stress"] * np.sin(turned) * sign,
        shortwave_flux=given["shortwave_flux"],
        tracer_fluxes={"dye": given["dye_flux"]},
        **{name: given[name] * sign for name in ("heat_flux", "freshwater_flux", "salt_flux")},
    )
    return tl.Case(grid, state, forcing, given["coriolis"], duration=N_STEPS * given["dt"])


def broken(run: tl.Trajectory, case: tl.Case, dt: float) -> list[str]:
    """What of a run with every step saved is not as it must be."""
    where = tl.first_non_finite(run)
    if where is not None:
        return [f"{where[0]} is not finite after {where[1]:g} s"]
    lowest = {
        jax.tree_util.keystr(path): float(jnp.min(leaf))
        for path, leaf in jax.tree_util.tree_leaves_with_path(run.clo_state)
    }
    negative = [f"{path} is {least:.3g}" for path, least in lowest.items() if least < 0.0]
    found = [each for each in negative if any(name in each for name in NOT_NEGATIVE)]
    gaps = budget_gaps(run.state, case, dt).items()
    return found + [f"the budget of {name} is open by {gap:.2g}" for name, gap in gaps if not gap <= 1e-10]


@eqx.filter_jit
def _run(model: tl.Model, case: tl.Case, dt) -> Any:
    case = batched_case(model, case)
    start = start_of(model, case)
    _, saved = integrate(
        model, case, start, dt, n_frames=N_STEPS, steps_per_frame=1, checkpointing=tl.SaveSteps()
    )
    frames = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, saved.now)
    time = frames.step.astype(case.grid.z_face.dtype) * dt
    return tl.Trajectory(case.grid, time, frames.step, frames.state, frames.clo_state, None)


def run_column(closure, given: dict[str, Any]) -> tuple[tl.Trajectory, tl.Case, float]:
    """A column with every step saved, its case and its step."""
    case = case_of(given)
    return _run(tl.Model(closure), case, jnp.asarray(given["dt"])), case, given["dt"]


@pytest.mark.long
def test_energy_of_catke_stays_positive_where_the_shear_does_negative_work():
    """Backward Euler alone let it fall to -0.1 m2 s-2: a gradient that turns around takes energy."""
    run, *_ = run_column(CATKE(), STORM)
    assert isinstance(run.clo_state, CATKEState)
    assert float(np.min(run.clo_state.turbulent_kinetic_energy)) > 0.0


def test_budgets_close_however_fast_eddies_mix():
    """That of heat was open by 0.14 of the content."""
    column = STORM | {"n_cells": 24, "warmer_at_surface": 30.0, "dye_flux": 1.0, "current": 5.0}
    run, case, dt = run_column(beyond(ConstantDiffusivity(), viscosity=1e12, diffusivity=1e12), column)
    gaps = budget_gaps(run.state, case, dt)
    assert max(gaps.values()) < 1e-14, gaps
    assert np.ptp(np.asarray(run.state.temperature)[1]) < 1e-9


@pytest.mark.long
def test_temperature_stays_in_the_range_of_the_water_against_a_flux_up_its_gradient():
    """A layer that is cooled warmed by 1e6 K."""
    column = {"n_cells": 24, "depth": 0.31, "dt": 86400.0, "stress": 0.1, "heat_flux": -5000.0, "period": 0}
    run, case, dt = run_column(KEpsilonTheta(), STORM | column | {"current": 5.0})
    temperature = np.asarray(run.state.temperature)
    assert temperature[1:].max() <= temperature[0].max() + 1e-12
    assert np.abs(np.diff(temperature[1:], axis=1)).max() > 0.0
    assert budget_gaps(run.state, case, dt)["heat"] < 1e-12


@pytest.mark.long
@pytest.mark.parametrize(("depth", "dt"), [(3.0, 60.0), (30.0, 3600.0)])
def test_no_cell_cools_by_more_than_what_the_surface_loses(depth, dt):
    """Non-local fluxes above that of the surface cooled the second of three cells beyond it."""
    column = STORM | {"depth": depth, "dt": dt, "stress": 0.0, "heat_flux": -5000.0, "period": 0}
    column |= {"freshwater_flux": 0.0, "salt_flux": 0.0, "warmer_at_surface": 0.1}
    run, case, _ = run_column(KPP(), column)
    coldest, water = np.asarray(run.state.temperature).min(axis=1), case.equation_of_state
    lost = 5000.0 * dt / float(water.reference_density * water.heat_capacity * case.grid.cell_thickness[-1])
    assert np.all(coldest[1:] >= coldest[:-1] - lost - 1e-9)


@pytest.mark.study
@pytest.mark.parametrize("name", closure_names())
def test_a_sample_of_every_closure(name):
    rng = np.random.default_rng([11, *name.encode()])
    closure, failures = ClosureSection(name=name).build(), []
    for column in (drawn(rng) for _ in range(16)):
        failures += [(what, column) for what in broken(*run_column(closure, column))]
    assert not failures
