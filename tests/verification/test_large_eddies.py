"""Closures with their default constants against the four large-eddy simulations of the LESbrary."""

import numpy as np
import pytest

from tests.helpers import LES_CASES
from tunax_lite import Grid, KEpsilon, Model, simulate
from tunax_lite.closures import CATKE, EPBL, RiBased
from tunax_lite.io import read_lesbrary

# Root mean square over two days and all depths of the error of temperature [K], by case as in `LES_CASES`, as
# measured: it may become smaller.
ERRORS = {
    # With the length above the bottom of Oceananigans: its numbers and ours were compared with that.
    "catke": (CATKE(c_b=0.28), (0.00529, 0.0321, 0.00576, 0.0189)),
    "k_epsilon_oceananigans": (KEpsilon.as_in_oceananigans(), (0.00537, 0.00738, 0.00438, 0.00381)),
    "ri_based": (RiBased(), (0.00652, 0.0238, 0.0172, 0.0167)),
}


def temperature_error(run, observations) -> float:
    """Hourly rms [K]; the frames of the run are hours, those of the simulation ten minutes or an hour."""
    frames = np.searchsorted(observations.time, np.asarray(run.time)[1:] - 1.0)
    error = np.asarray(run.state.temperature)[1:] - np.asarray(observations.profiles["temperature"])[frames]
    return float(np.sqrt(np.mean(error**2)))


@pytest.mark.long
@pytest.mark.parametrize("name", LES_CASES[::3])
@pytest.mark.parametrize("closure", ERRORS)
def test_error_of_temperature(closure, name, lesbrary_path):
    model, expected = ERRORS[closure]
    case, observations = read_lesbrary(lesbrary_path(name))
    run = simulate(Model(model), case, dt=60.0, output_interval=3600.0)
    assert temperature_error(run, observations) < 1.02 * expected[LES_CASES.index(name)]


@pytest.mark.long  # with steps of a minute: above
def test_catke_takes_steps_of_ten_minutes(lesbrary_path, n_cells=32):
    """Cells of 8 m, under wind and cooling: no worse than with short steps."""
    case, observations = read_lesbrary(lesbrary_path("strong_wind_weak_cooling"))
    grid = Grid.uniform(float(case.grid.depth), n_cells)
    run = simulate(Model(CATKE()), case.on(grid), dt=600.0, output_interval=3600.0)
    heights, own = np.asarray(case.grid.z_center), np.asarray(grid.z_center)
    on_case = [np.interp(heights, own, np.asarray(values)) for values in run.state.temperature]
    frames = np.searchsorted(observations.time, np.asarray(run.time) - 1.0)
    error = np.asarray(on_case) - np.asarray(observations.profiles["temperature"])[frames]
    assert np.sqrt(np.mean(error**2)) < 0.0189


# Depth [m] after 6, 24 and 48 h and surface temperature [degC] after 48 h, of `ePBL_column` of MOM6 (commit
# b18bca244c8f, src/parameterizations/vertical/MOM_energetic_PBL.F90) in place of the closure of this model,
# with the numbers of OM4 (NOAA-GFDL/MOM6-examples 642364e5, OM4_025, without Langmuir turbulence).
MOM6 = [
    ("free_convection", 600.0, (49.39, 69.33, 113.02), 19.76226),
    ("strong_wind", 600.0, (79.11, 114.84, 141.32), 19.87530),
    ("strong_wind", 3600.0, (79.16, 114.83, 141.61), 19.87603),
    ("strong_wind_no_rotation", 600.0, (58.55, 73.65, 89.37), 19.92341),
    ("strong_wind_weak_cooling", 600.0, (70.18, 101.49, 130.23), 19.82285),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "dt", "depth", "surface"), MOM6)
def test_epbl_as_in_om4(name, dt, depth, surface, lesbrary_path):
    """Within the 1 m to which MOM6 iterates."""
    case, _ = read_lesbrary(lesbrary_path(name))
    case = case.on(Grid.uniform(float(case.grid.depth), 64))
    run = simulate(Model(EPBL.as_in_om4()), case, dt=dt, output_interval=6 * 3600.0)
    layer = np.asarray(getattr(run.clo_state, "boundary_layer_depth"))  # noqa: B009
    np.testing.assert_allclose(layer[[1, 4, 8]], depth, rtol=0.0, atol=1.0)
    np.testing.assert_allclose(run.state.temperature[8, -1], surface, rtol=0.0, atol=5e-4)
