"""Ten times the time step of GOTM's cases, and a century of weather: finite, and still an ocean."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from tests.conftest import find_gotm_case
from tunax_lite import Case, Grid, Model, State, SurfaceFluxes, Trajectory, simulate
from tunax_lite.closures import NeuralCorrection, RiBased
from tunax_lite.closures.length_equation import AbstractTwoEquation
from tunax_lite.column.forcing import AbstractForcing
from tunax_lite.column.time_series import named_leaves
from tunax_lite.column.trajectory import first_non_finite
from tunax_lite.config import Run
from tunax_lite.extensions.gotm import build_gotm, load_gotm

# The currents are those of GOTM's scheme, in which turbulence that has collapsed takes tens of such steps to
# recover, and a calm surface layer takes the stress of each of them: see docs/numerics.
RANGES = {
    "temperature": (-3.0, 45.0),
    "salinity": (0.0, 45.0),
    "u": (-30.0, 30.0),
    "v": (-30.0, 30.0),
    "eddy_viscosity": (0.0, np.inf),
    "eddy_diffusivity": (0.0, np.inf),
    "turbulent_kinetic_energy": (0.0, 1.0),
}


def run_of(name: str, *overrides: str) -> Run:
    folder = name if name == "nns_annual" else "entrainment"
    made = build_gotm(load_gotm(find_gotm_case(f"{folder}/{name}.gotm.yaml"), overrides))
    made.report.check()
    assert made.run is not None
    return made.run


def assert_physical(trajectory: Trajectory) -> None:
    for name, leaf in named_leaves((trajectory.state, trajectory.clo_state)):
        assert np.all(np.isfinite(leaf)), name
        low, high = RANGES.get(name.split(".")[-1], (-np.inf, np.inf))
        assert low <= np.min(leaf) and np.max(leaf) <= high, (name, np.min(leaf), np.max(leaf))


# A case whose currents leave the physical range without what is for long steps, and one with weather.
@pytest.mark.long
@pytest.mark.parametrize("name", ["entrainment_gls", "nns_annual"])
def test_ten_times_the_time_step_with_what_is_for_long_steps(name):
    dt = 10.0 * run_of(name).dt
    run = run_of(name, f"time.dt={dt!r}")
    closure = run.model.closure
    assert isinstance(closure, AbstractTwoEquation)
    closure = dataclasses.replace(closure, long_steps=True)
    memory = jnp.asarray(0.5, dtype=float)
    model = dataclasses.replace(run.model, closure=closure, coefficient_memory=memory, n_sweeps=2)
    duration = int(run.duration_from(0.0) / dt) * dt
    trajectory = simulate(model, run.case, dt=dt, output_interval=dt, duration=duration)
    assert first_non_finite(trajectory) is None
    assert_physical(trajectory)
    speed = np.hypot(trajectory.state.u, trajectory.state.v)
    # The first steps find no turbulence to carry the stress and the tide.
    assert np.max(speed[:11]) < 10.0
    assert np.max(speed[10:]) < 4.0  # 2.7 as measured; rounding alone moves it by 0.2


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
