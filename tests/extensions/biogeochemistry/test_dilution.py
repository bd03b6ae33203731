"""Rain dilutes every concentration alike: salinity, dyes, pools; what is no concentration it leaves alone."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tunax_lite import Case, ConstantDiffusivity, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.air_sea import BulkForcing, Weather
from tunax_lite.column.grid import Hypsography
from tunax_lite.column.terms import Interior, LakeLevel
from tunax_lite.column.terms.rain import RainContent
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.extensions.biogeochemistry import Biogeochemistry
from tunax_lite.extensions.biogeochemistry.passive import Age
from tunax_lite.physics import LinearEquationOfState

DENSITY = 1000.0
EOS = LinearEquationOfState(reference_density=DENSITY)
MIXED = Model(ConstantDiffusivity(1.0, 1.0))  # stirred: the whole column has one concentration
RAIN = 0.43 * DENSITY / 432000.0  # 0.43 m in five days [kg m-2 s-1]
GRID = Grid.uniform(2.0, 4)


def rained_on(grid=GRID, tracers=None, flux=RAIN, terms=None, **more):
    state = State.from_profiles(grid, temperature=10.0, salinity=35.0, tracers=tracers or {"dye": 35.0})
    fluxes = SurfaceFluxes(freshwater_flux=flux)
    case = Case(grid, state, ConstantForcing(fluxes), equation_of_state=EOS, terms=terms or {}, **more)
    return simulate(MIXED, case, dt=3600.0, duration=432000.0, output_interval=432000.0).state


def test_a_dye_is_diluted_like_the_salinity():
    end = rained_on(tracers={"dye": 35.0, "other": 7.0})
    # dS/dt = -S P / H in stirred water.
    expected = 35.0 * math.exp(-0.43 / 2.0)
    for values, start in ((end.salinity, 35.0), (end.tracers["dye"], 35.0), (end.tracers["other"], 7.0)):
        np.testing.assert_allclose(jnp.mean(values[-1]) / start, expected / 35.0, rtol=1e-3)
    np.testing.assert_allclose(end.tracers["dye"], end.salinity, rtol=1e-13)
    evaporated = rained_on(flux=-RAIN)
    np.testing.assert_allclose(jnp.mean(evaporated.tracers["dye"][-1]), 35.0 * math.exp(0.215), rtol=1e-3)


def test_rain_brings_what_is_said_and_leaves_alone_what_is_no_concentration():
    content = RainContent(concentrations={"dye": 35.0, "salinity": 35.0}, no_concentrations=("marker",))
    end = rained_on(tracers={"dye": 35.0, "marker": 3.0, "plain": 35.0}, terms={"rain": content})
    for values in (end.tracers["dye"], end.salinity):
        np.testing.assert_allclose(values[-1], 35.0, rtol=1e-12)
    np.testing.assert_allclose(end.tracers["marker"][-1], 3.0, rtol=1e-14)
    np.testing.assert_allclose(jnp.mean(end.tracers["plain"][-1]), 35.0 * math.exp(-0.215), rtol=1e-3)
    with error_naming(ValueError, "rain dye nan"):
        RainContent(concentrations={"dye": float("nan")})
    with error_naming(ValueError, "rain dye concentrations no_concentrations"):
        RainContent(concentrations={"dye": 1.0}, no_concentrations=("dye",))
    with error_naming(ValueError, "rain salinity dye die"):
        rained_on(terms={"rain": RainContent(concentrations={"die": 1.0})})


@pytest.mark.long
def test_rain_carries_its_content_also_while_water_evaporates():
    numbers = {"wind_u": 8.0, "wind_v": 0.0, "air_temperature": 10.0, "humidity": 50.0, "air_pressure": 1e5}
    numbers |= {"shortwave": 0.0, "longwave": 0.0, "precipitation": 1e-8}
    air = Weather(**{name: jnp.asarray(value) for name, value in numbers.items()})
    state = State.from_profiles(GRID, temperature=10.0, salinity=0.0, tracers={"dye": 0.0})
    content = RainContent(concentrations={"dye": 1.0})
    case = Case(
        GRID, state, BulkForcing(TimeSeries.constant(air)), equation_of_state=EOS, terms={"rain": content}
    )
    end = simulate(MIXED, case, dt=3600.0, duration=36000.0, output_interval=36000.0).state
    # 1e-8 m s-1 for ten hours; evaporation of some mm concentrates 2 m of water by 0.1 per cent.
    np.testing.assert_allclose(jnp.mean(end.tracers["dye"][-1]) * 2.0, 3.6e-4, rtol=2e-3)


@pytest.mark.long
def test_in_a_lake_whose_level_follows_the_rain_contents_stay():
    basin = Hypsography(jnp.array([-2.0, 0.0, 2.0]), jnp.full(3, 1e4))
    lake = GRID.with_hypsography(basin.z, basin.area)
    content = RainContent(concentrations={"other": 10.0})
    end = rained_on(
        lake, {"dye": 35.0, "other": 0.0}, interior=Interior(level=LakeLevel(basin)), terms={"rain": content}
    )
    level = float(end.surface["surface_elevation"][-1])
    np.testing.assert_allclose(level, 0.43, rtol=1e-10)
    np.testing.assert_allclose(jnp.mean(end.tracers["dye"][-1]), 35.0 * 2.0 / 2.43, rtol=1e-10)
    np.testing.assert_allclose(jnp.mean(end.tracers["other"][-1]), 10.0 * 0.43 / 2.43, rtol=1e-10)


def test_pools_are_diluted_once_and_an_age_never():
    term = Biogeochemistry({"age": Age()})
    assert term.undiluted() == ("age_age",)
    names = {name for name in term.initial_tracers()}
    switched_off = Biogeochemistry({"age": Age()}, dilution=False)
    assert set(switched_off.undiluted()) >= names
