"""Ice that grows and melts leaves the contents of salt and fresh water as they were."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite import Case, ConstantDiffusivity, Grid, Model, State, simulate
from tunax_lite.air_sea import BulkForcing, Clark, ConstantAlbedo, Kondo, SolarPosition, Weather
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.ice import BasalMelt, MyLake, Winton
from tunax_lite.ice.base import LEFT_BY_ICE, left_by_ice

DAY, H = 86400.0, 2.0
SALT, DYE = "salinity" + LEFT_BY_ICE, "dye" + LEFT_BY_ICE


def cycle(ice, salinity=30.0, diffusivity=1e-4, dt=3600.0):
    """Thirty days of frost, then warm air until the ice has melted."""
    time = jnp.array([0.0, 30.0, 31.0, 90.0]) * DAY
    values = {"air_temperature": jnp.array([-20.0, -20.0, 10.0, 10.0])}
    constants = {"wind_u": 6.0, "wind_v": 0.0, "humidity": 90.0, "air_pressure": 101300.0, "cloud_cover": 0.6}
    values |= {name: jnp.full(4, each) for name, each in (constants | {"shortwave": 100.0}).items()}
    sun = SolarPosition(latitude=70.0, longitude=0.0, start_time="2020-12-01T00:00:00")
    formulae = {"longwave": Clark(), "albedo": ConstantAlbedo(0.06), "evaporation": False}
    forcing = BulkForcing(TimeSeries(time, Weather(**values)), Kondo(), sun=sun, **formulae)
    grid = Grid.uniform(5 * H, 5)
    state = State.from_profiles(grid, temperature=-0.05 * salinity, salinity=salinity, tracers={"dye": 2.0})
    case = Case(grid, state, forcing, ice=ice, duration=90 * DAY)
    run = simulate(
        Model(ConstantDiffusivity(diffusivity, diffusivity)), case, dt=dt, output_interval=10 * DAY
    ).state
    contents = [np.sum(np.asarray(of) * H, axis=1) for of in (run.salinity, run.tracers["dye"])]
    return run, *contents


@pytest.mark.parametrize(
    "ice",
    [MyLake(), pytest.param(Winton(exchanges_water=True), marks=pytest.mark.long)],
    ids=["mylake", "winton"],
)
def test_a_cycle_of_freezing_and_melting_leaves_salt_and_dye_as_they_were(ice):
    run, salt, dye = cycle(ice)
    thickness = np.asarray(run.surface["ice_thickness"])
    assert thickness.max() > 0.2 and thickness[-1] == 0.0
    assert salt.max() > salt[0] + 5.0  # 30 g kg-1 times 0.2 m
    np.testing.assert_allclose([salt[-1], dye[-1]], [10.0 * 30.0, 10.0 * 2.0], rtol=1e-12)
    # What the water holds more than at the start is what freezing left.
    for content, name in ((salt, SALT), (dye, DYE)):
        np.testing.assert_allclose(content - content[0], run.surface[name] / 1027.0, atol=1e-11 * content[0])


@pytest.mark.long
def test_no_concentration_becomes_negative_where_much_ice_melts_into_still_water():
    run, salt, _ = cycle(MyLake(initial_thickness=2.0), salinity=1.0, diffusivity=1e-7)
    assert float(jnp.min(run.salinity)) >= 0.0
    # What could not be taken back at once waits: the budget stays closed.
    start = 910.0 * 2.0 * 1.0
    left = np.asarray(run.surface[SALT]) - start
    np.testing.assert_allclose(salt - salt[0], left / 1027.0, atol=1e-11 * salt[0])


@pytest.mark.long
def test_fresh_water_stays_fresh():
    run, salt, dye = cycle(MyLake(), salinity=0.0)
    assert np.all(salt == 0.0) and float(jnp.max(run.surface["ice_thickness"])) > 0.2
    np.testing.assert_allclose(dye[-1], 20.0, rtol=1e-12)


def test_a_step_by_hand():
    """1000 kg m-2 of water at 30 g kg-1 freeze 10 kg m-2, and 4 of them melt at 20 g kg-1."""

    def step(mass, taken, left, salinity):
        of, to, before, water, cell = (jnp.asarray(each) for each in (mass, taken, left, salinity, 1000.0))
        found = left_by_ice(of, to, {SALT: before}, {"salinity": water}, cell, 60.0)
        return [float(of[name]) for of, name in zip(found, (SALT, "salinity"), strict=True)]

    np.testing.assert_allclose(step(0.0, 10.0 / 60.0, 0.0, 30.0), [300.0, 0.0], atol=1e-12)
    # Diluting 4 kg with 20 g kg-1 takes 80 g m-2, with 30 g kg-1 120 g m-2.
    melted = step(10.0, -4.0 / 60.0, 300.0, 20.0)
    np.testing.assert_allclose(melted, [180.0, (80.0 - 120.0) / 60.0], rtol=1e-12)
    # More than half of the cell is not taken at once, but later.
    left, _ = step(6.0, -6.0 / 60.0, 180.0, 0.1)
    np.testing.assert_allclose(left, 180.0 - 0.5 * 1000.0 * 0.1, rtol=1e-12)
    assert step(0.0, 0.0, left, 5.0)[0] == 0.0


def test_only_ice_that_exchanges_water_keeps_what_it_left():
    carried = {"ice_thickness": jnp.asarray(1.0), "frazil_thickness": jnp.asarray(0.01)}
    mass: Any = MyLake().mass(carried)
    shelf: Any = BasalMelt(replenished=False).mass(carried)
    np.testing.assert_allclose([mass, shelf], [910.0 * 1.01, 910.0], rtol=1e-12)
    for ice in (MyLake(exchanges_water=False), Winton(), BasalMelt()):
        assert ice.mass(carried) is None
