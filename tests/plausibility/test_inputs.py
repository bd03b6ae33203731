"""The table of inputs and the budgets that `check` shows, against numbers of their own."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from tunax_lite.column.observations import Observations
from tunax_lite.physics.equation_of_state import LinearEquationOfState
from tunax_lite.plausibility.budgets import budgets_of
from tunax_lite.plausibility.inputs import Samples, inputs_of

HOUR = 3600.0


def series(time, values) -> Samples:
    return Samples("x", "x", np.asarray(time, float), np.asarray(values, float))


def test_interval_and_gaps_are_those_of_times_with_values():
    hours = np.arange(0.0, 100.0)
    values = np.where(hours == 50.0, np.nan, np.sin(hours))
    assert series([0.0, 10.0], [1.0, 2.0]).interval == 10.0
    assert series(HOUR * hours, values).interval == HOUR and series(HOUR * hours, values).gaps() == (0, 0.0)
    kept = (hours < 20) | (hours > 29)
    assert series(HOUR * hours[kept], values[kept]).gaps() == (1, 11 * HOUR)


def column(forcing) -> tl.Case:
    grid = tl.Grid.uniform(40.0, 20)
    water = LinearEquationOfState(reference_density=1000.0, heat_capacity=4000.0)
    state = tl.State.from_profiles(grid, temperature=10.0 + 0.1 * grid.z_center, salinity=35.0)
    return tl.Case(grid, state, forcing, equation_of_state=water, duration=7200.0)


def observed(case: tl.Case, warming: float, freshening: float = 0.0) -> Observations:
    """Profiles that change by a number everywhere."""
    start = np.asarray(case.initial_state.temperature)
    time = jnp.array([0.0, 3600.0, 7200.0])
    rows = jnp.asarray(np.stack([start, start + 0.5 * warming, start + warming]))
    salinity = 35.0 - freshening * jnp.array([0.0, 0.5, 1.0])[:, None] + 0.0 * rows
    return Observations(time, case.grid.z_center, {"temperature": rows, "salinity": salinity})


def test_budgets_of_heat_and_salt_are_those_of_the_numbers():
    fluxes: dict[str, Any] = {"heat_flux": [-100.0, -300.0], "shortwave_flux": 50.0, "freshwater_flux": 1e-3}
    case = column(TimeSeriesForcing.from_values([0.0, 7200.0], **fluxes))
    heat, salt = budgets_of(case, observed(case, -0.25, 0.01))
    assert (heat.quantity, heat.unit, heat.depth, heat.stop) == ("heat", "J m-2", 40.0, 7200.0)
    assert heat.gained == pytest.approx(-0.25 * 40.0 * 1000.0 * 4000.0)
    assert heat.added == pytest.approx((-200.0 + 50.0) * 7200.0)
    assert salt.gained == pytest.approx(-0.01 * 40.0)  # 1e3 kg m-3 times 1e-3 kg per g
    # Fresh water dilutes water of nearly 35 g/kg.
    assert salt.added == pytest.approx(-1e-3 * 7200.0 * 34.995e-3, rel=1e-4)


def test_levels_that_are_never_measured_do_not_hide_a_budget():
    case = column(ConstantForcing(SurfaceFluxes(heat_flux=200.0)))
    whole = observed(case, 0.1)
    holes = np.asarray(whole.profiles["temperature"]).copy()
    holes[:, :4] = np.nan  # never
    holes[1, 7] = np.nan  # in between
    part = Observations(whole.time, whole.z, {"temperature": jnp.asarray(holes)})
    (heat,) = budgets_of(case, part)
    assert heat.depth == pytest.approx(32.0) and heat.added == pytest.approx(200.0 * 7200.0)
    assert heat.gained == pytest.approx(0.1 * 32.0 * 4e6)
    assert budgets_of(case, None) == []
    assert budgets_of(column(ConstantForcing(SurfaceFluxes())), part)[0].added == 0.0


def test_inputs_have_their_names_units_and_ranges():
    case = column(ConstantForcing(SurfaceFluxes(stress_u=0.2)))
    found = {one.name: one for one in inputs_of(case, observed(case, 0.5))}
    assert found["stress_u"].unit == "N m-2" and found["stress_u"].is_constant
    first = found["initial temperature"]
    assert (first.unit, first.known.min(), first.known.max()) == ("degC", 6.1, pytest.approx(9.9))
    assert found["observed temperature"].interval == 3600.0
