"""Rain dilutes every concentration alike: salinity, dyes, pools; what is no concentration it leaves alone."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite import Case, ConstantDiffusivity, ConstantForcing, Grid, Model, State, SurfaceFluxes, simulate
from tunax_lite.column.grid import Hypsography
from tunax_lite.column.terms import Interior, LakeLevel
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


@pytest.mark.long
def test_in_a_lake_whose_level_follows_the_rain_contents_stay():
    basin = Hypsography(jnp.array([-2.0, 0.0, 2.0]), jnp.full(3, 1e4))
    lake = GRID.with_hypsography(basin.z, basin.area)
    end = rained_on(lake, {"dye": 35.0}, interior=Interior(level=LakeLevel(basin)))
    level = float(end.surface["surface_elevation"][-1])
    np.testing.assert_allclose(level, 0.43, rtol=1e-10)
    np.testing.assert_allclose(jnp.mean(end.tracers["dye"][-1]), 35.0 * 2.0 / 2.43, rtol=1e-10)


def test_pools_are_diluted_once_and_an_age_never():
    term = Biogeochemistry({"age": Age()})
    assert term.undiluted() == ("age_age",)
    names = {name for name in term.initial_tracers()}
    switched_off = Biogeochemistry({"age": Age()}, dilution=False)
    assert set(switched_off.undiluted()) >= names
