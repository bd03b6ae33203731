"""A century of weather: finite, and still an ocean."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite import Case, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.closures import NeuralCorrection, RiBased
from tunax_lite.column.forcing import AbstractForcing
from tunax_lite.column.trajectory import first_non_finite

YEAR = 360 * 86400.0


class Weather(AbstractForcing):
    """Seasons, days, and a storm every nine days, with no heat left over a year."""

    def at(self, time, water=None):
        year, day = (jnp.cos(2.0 * jnp.pi * time / period) for period in (YEAR, 86400.0))
        storm = jnp.exp(4.0 * (jnp.cos(2.0 * jnp.pi * time / (9.0 * 86400.0)) - 1.0))
        return SurfaceFluxes(stress_u=0.05 + 0.4 * storm, heat_flux=-120.0 * year - 150.0 * day)

    def check_covers(self, start, end):
        """It is known at all times."""


def any_network() -> NeuralCorrection:
    # RiBased keeps 3/8 of its last coefficients, corrected: they stay bounded if none grows by more than 8/3.
    closure = NeuralCorrection(physical=RiBased(), where="entrainment", largest_correction=0.95)
    # Five times what any training starts from: the bound of the correction is reached.
    random = np.random.default_rng(0).normal(0.0, 5.0, closure.weights.shape)
    return dataclasses.replace(closure, weights=jnp.asarray(random))


@pytest.mark.study
@pytest.mark.parametrize("make", [any_network, NeuralCorrection.recommended])
def test_hundred_years_of_hourly_steps(make):
    grid = Grid.stretched(depth=300.0, n_cells=40, surface_zoom=2.0)
    water = State.from_profiles(grid, temperature=12.0 + 0.02 * grid.z_center)
    case = Case(grid, water, Weather(), coriolis_parameter=1e-4, duration=100 * YEAR)
    run = simulate(Model(make()), case, dt=3600.0, output_interval=YEAR / 4)
    assert first_non_finite(run) is None
    temperature = np.asarray(run.state.temperature)
    content = temperature @ np.asarray(grid.cell_thickness)
    # 864 000 steps, each of which rounds the content of 2700 K m at 2e-16.
    np.testing.assert_allclose(content[::4], content[0], rtol=1e-10)
    # The bound of one column without salinity and an ocean's seasons; nothing grows from year to year.
    assert temperature.min() > 0.0 and temperature.max() < 30.0
    late, before = temperature[-40:].reshape(10, 4, -1), temperature[-80:-40].reshape(10, 4, -1)
    assert np.abs(late.mean(axis=0) - before.mean(axis=0)).max() < 0.5
    assert np.hypot(run.state.u, run.state.v).max() < 3.0
