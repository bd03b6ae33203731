"""Inputs of a case, and its heat budget, against known numbers."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from tunax_lite.column.observations import Observations
from tunax_lite.physics.equation_of_state import LinearEquationOfState
from tunax_lite.plausibility.budgets import heat_budget
from tunax_lite.plausibility.inputs import Samples, evidence_of

HOUR = 3600.0


def series(time, values) -> Samples:
    return Samples("x", "x", np.asarray(time, float), np.asarray(values, float))


def test_the_interval_is_that_of_times_with_values():
    hours = np.arange(0.0, 100.0)
    values = np.where(hours == 50.0, np.nan, np.sin(hours))
    assert series([0.0, 10.0], [1.0, 2.0]).interval == 10.0
    assert series(HOUR * hours, values).interval == HOUR


def column(forcing) -> tl.Case:
    grid = tl.Grid.uniform(40.0, 20)
    water = LinearEquationOfState(reference_density=1000.0, heat_capacity=4000.0)
    state = tl.State.from_profiles(grid, temperature=10.0 + 0.1 * grid.z_center, salinity=35.0)
    return tl.Case(grid, state, forcing, equation_of_state=water, duration=7200.0)


def observed(case: tl.Case, warming: float) -> Observations:
    """Profiles that change by a number everywhere."""
    start = np.asarray(case.initial_state.temperature)
    time = jnp.array([0.0, 3600.0, 7200.0])
    rows = jnp.asarray(np.stack([start, start + 0.5 * warming, start + warming]))
    return Observations(time, case.grid.z_center, {"temperature": rows})


def test_the_heat_budget_is_that_of_the_numbers():
    fluxes: dict[str, Any] = {"heat_flux": [-100.0, -300.0], "shortwave_flux": 50.0}
    case = column(TimeSeriesForcing.from_values([0.0, 7200.0], **fluxes))
    assert heat_budget(case, observed(case, -0.25)) == pytest.approx((-0.25 * 40.0 * 4e6 / 7200.0, -150.0))


def test_levels_that_are_never_measured_do_not_hide_a_budget():
    case = column(ConstantForcing(SurfaceFluxes(heat_flux=200.0)))
    whole = observed(case, 0.1)
    holes = np.asarray(whole.profiles["temperature"]).copy()
    holes[:, :4] = np.nan  # never
    holes[1, 7] = np.nan  # in between
    part = Observations(whole.time, whole.z, {"temperature": jnp.asarray(holes)})
    assert heat_budget(case, part) == pytest.approx((0.1 * 32.0 * 4e6 / 7200.0, 200.0))
    assert heat_budget(column(ConstantForcing(SurfaceFluxes())), part) == pytest.approx(
        (1777.78, 0.0), abs=0.01
    )


def test_inputs_have_their_names_and_units():
    case = column(ConstantForcing(SurfaceFluxes(stress_u=0.2)))
    evidence = evidence_of(case, observed(case, 0.5))
    stress, first = evidence.fluxes["stress_u"], evidence.initial["temperature"]
    assert (stress.name, stress.unit, stress.time.size) == ("stress_u", "N m-2", 1)
    assert (first.unit, first.known.min(), first.known.max()) == ("degC", 6.1, pytest.approx(9.9))
    assert evidence.observed["temperature"].interval == 3600.0
