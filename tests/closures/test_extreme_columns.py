"""Columns at the edge of what can be asked for; the whole campaign is `benchmarks.extreme_columns`."""

import dataclasses

import numpy as np
import pytest

from benchmarks.extreme_columns import Column, budget_gaps, every_closure, extreme_columns, run_column
from tunax_lite.closures import CATKE, CATKEState, Constant, KEpsilonTheta

STORM = Column(
    n_cells=3,
    depth=2.67,
    zoom=0.0,
    dt=3600.0,
    stress=50.0,
    heat_flux=-200.0,
    shortwave_flux=0.0,
    freshwater_flux=1e-4,
    salt_flux=1e-3,
    dye_flux=0.0,
    period=1,
    coriolis=0.0,
    warmer_at_surface=-0.1,
    salinity=35.0,
    current=0.0,
)
"""100 m/s of wind from changing sides over less than three metres of water that overturns, by the hour."""


def test_energy_of_catke_stays_positive_where_the_shear_does_negative_work():
    """Backward Euler alone let it fall to -0.1 m2 s-2: a gradient that turns around takes energy."""
    run, _ = run_column(CATKE(), STORM)
    assert isinstance(run.clo_state, CATKEState)
    assert float(np.min(run.clo_state.turbulent_kinetic_energy)) > 0.0


def test_budgets_close_however_fast_eddies_mix():
    """That of heat was open by 0.14 of the content."""
    column = dataclasses.replace(STORM, n_cells=24, warmer_at_surface=30.0, dye_flux=1.0, current=5.0)
    run, case = run_column(Constant(viscosity=1e12, diffusivity=1e12), column)
    gaps = budget_gaps(run, case, column.dt)
    assert max(gaps.values()) < 1e-14, gaps
    assert np.ptp(np.asarray(run.state.temperature)[1]) < 1e-9


def test_temperature_stays_in_the_range_of_the_water_against_a_flux_up_its_gradient():
    """A layer that is cooled warmed by 1e6 K."""
    column = dataclasses.replace(
        STORM, n_cells=24, depth=0.31, dt=86400.0, stress=0.1, heat_flux=-5000.0, period=0, current=5.0
    )
    run, case = run_column(KEpsilonTheta(), column)
    temperature = np.asarray(run.state.temperature)
    assert temperature[1:].max() <= temperature[0].max() + 1e-12
    assert np.abs(np.diff(temperature[1:], axis=1)).max() > 0.0
    assert budget_gaps(run, case, column.dt)["heat"] < 1e-12


@pytest.mark.study
def test_a_sample_of_every_closure():
    closures = every_closure()
    failures = list(extreme_columns(8 * len(closures), 11, closures, levels=(3,)))
    assert not failures, failures
