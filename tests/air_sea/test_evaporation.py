"""Latent heat takes water along wherever it is computed, with and without rain, unless that is turned off."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers import water_surface
from tunax_lite import Case, ConstantDiffusivity, Grid, Model, State, simulate
from tunax_lite.air_sea import BulkForcing, Weather
from tunax_lite.column.grid import Hypsography
from tunax_lite.column.terms import Interior, LakeLevel
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.config import build_run, load_run

VAPORISATION_HEAT = 2.501e6 - 2.37e3 * 25.0  # [J kg-1] at 25 degC, Gill (1982)
DRY = {"wind_u": 8.0, "wind_v": 0.0, "air_temperature": 30.0, "humidity": 30.0, "air_pressure": 101325.0}
RADIATION = {"shortwave": 200.0, "longwave": -60.0}
WATER = water_surface(0.0, 0.0, 25.0, 0.0)


def forcing(rain: float | None = None, **options) -> BulkForcing:
    given = DRY | RADIATION | ({} if rain is None else {"precipitation": rain})
    numbers = {name: jnp.asarray(value) for name, value in given.items()}
    return BulkForcing(TimeSeries.constant(Weather(**numbers)), **options)


@pytest.mark.parametrize("rain", [None, 0.0, 1e-7])
def test_evaporation_follows_the_latent_heat_with_and_without_rain(rain):
    fluxes: Any = forcing(rain).at(0.0, WATER)
    assert fluxes.latent_heat_flux < -250.0
    evaporated = 1000.0 * (rain or 0.0) - float(fluxes.freshwater_flux)
    # Webb's correction of the latent heat is the heat of no water: about one per cent.
    np.testing.assert_allclose(evaporated, -float(fluxes.latent_heat_flux) / VAPORISATION_HEAT, rtol=2e-2)
    still: Any = forcing(rain, evaporation=False).at(0.0, WATER).freshwater_flux
    assert still is None if rain is None else float(still) == 1000.0 * rain


LAKE = """
case: {{format: site, name: arid_reservoir, latitude: 33.0, longitude: 35.6,
  start_time: "2015-07-01T00:00:00", duration: 86400.0, depth: 20.0, temperature: 25.0, salinity: 0.0,
  hypsography: {{z: [-20.0, 0.0, 5.0], area: [1.0e6, 1.0001e6, 1.0002e6]}},
  weather: {{format: constant, wind_u: 8.0, wind_v: 0.0, air_temperature: 30.0, humidity: 30.0,
    air_pressure: 101325.0, shortwave: 200.0, longwave: 400.0}},
  interior: {{level: {{initial: 0.0}}}}, air_sea: {{{said}}}}}
grid: {{kind: uniform, n_cells: 4}}
model: {{closure: {{name: constant}}}}
time: {{dt: 3600.0, output_interval: 86400.0}}
"""


@pytest.mark.parametrize("said", ["", "evaporation: false"])
def test_a_configuration_without_rain_evaporates_unless_it_says_otherwise(tmp_path, said):
    path = tmp_path / "lake.yaml"
    path.write_text(LAKE.format(said=said))
    made: Any = build_run(load_run(path)).case.forcing
    assert made.evaporation is (said != "evaporation: false")


@pytest.mark.long
def test_the_level_of_a_lake_and_the_salinity_of_a_sea_follow_the_latent_heat():
    grid = Grid.uniform(20.0, 10)
    basin = Hypsography(jnp.array([-20.0, 0.0, 5.0]), jnp.full(3, 1e6))
    lake = grid.with_hypsography(basin.z, basin.area)
    days = 5.0
    for salinity, where, interior in (
        (0.0, lake, Interior(level=LakeLevel(basin))),
        (35.0, grid, Interior()),
    ):
        state = State.from_profiles(where, temperature=25.0, salinity=salinity)
        case = Case(where, state, forcing(), interior=interior, duration=days * 86400.0)
        times: dict[str, Any] = {"dt": 3600.0, "output_interval": days * 86400.0}
        means = ("surface_latent_heat_flux",)
        run: Any = simulate(Model(ConstantDiffusivity(1e-2, 1e-2)), case, **times, means=means)
        mean_flux = float(run.means.others["surface_latent_heat_flux"][-1])
        # Mass of the water that the latent heat took, as water of the reference density of the column.
        expected = -mean_flux * days * 86400.0 / VAPORISATION_HEAT / 1027.0
        if salinity:
            content = float(jnp.mean(run.state.salinity[-1]))
            # dS/dt = S E / H, in stirred water.
            evaporated = 20.0 * math.log(content / salinity)
        else:
            evaporated = -float(run.state.surface["surface_elevation"][-1])
        assert expected > 0.035
        np.testing.assert_allclose(evaporated, expected, rtol=2e-2)
