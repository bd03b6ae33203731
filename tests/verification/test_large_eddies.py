"""Closures with their default constants against the four large-eddy simulations of the LESbrary."""

import numpy as np
import pytest

from tests.helpers import LES_CASES
from tunax_lite import Grid, KEpsilon, Model, simulate
from tunax_lite.closures import CATKE, RiBased
from tunax_lite.io import read_lesbrary

# Root mean square over two days and all depths of the error of temperature [K], by case as in `LES_CASES`.
ERRORS = {
    "catke": (CATKE(), (0.00529, 0.0321, 0.00576, 0.0189)),
    "k_epsilon_oceananigans": (KEpsilon.as_in_oceananigans(), (0.00537, 0.00738, 0.00438, 0.00381)),
    "ri_based": (RiBased(), (0.00652, 0.0238, 0.0172, 0.0167)),
}


def temperature_error(run, observations) -> float:
    """Hourly rms [K]; the frames of the run are hours, those of the simulation ten minutes or an hour."""
    frames = np.searchsorted(observations.time, np.asarray(run.time)[1:] - 1.0)
    error = np.asarray(run.state.temperature)[1:] - np.asarray(observations.profiles["temperature"])[frames]
    return float(np.sqrt(np.mean(error**2)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LES_CASES)
@pytest.mark.parametrize("closure", ERRORS)
def test_error_of_temperature(closure, name, lesbrary_path):
    model, expected = ERRORS[closure]
    case, observations = read_lesbrary(lesbrary_path(name))
    run = simulate(Model(model), case, dt=60.0, output_interval=3600.0)
    assert temperature_error(run, observations) == pytest.approx(expected[LES_CASES.index(name)], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("n_cells", [32, 256])
def test_catke_takes_steps_of_ten_minutes(n_cells, lesbrary_path):
    """Cells of 8 m and of 1 m, under wind and cooling: no worse than with short steps."""
    case, observations = read_lesbrary(lesbrary_path("strong_wind_weak_cooling"))
    grid = Grid.uniform(float(case.grid.depth), n_cells)
    run = simulate(Model(CATKE()), case.on(grid), dt=600.0, output_interval=3600.0)
    heights, own = np.asarray(case.grid.z_center), np.asarray(grid.z_center)
    on_case = [np.interp(heights, own, np.asarray(values)) for values in run.state.temperature]
    frames = np.searchsorted(observations.time, np.asarray(run.time) - 1.0)
    error = np.asarray(on_case) - np.asarray(observations.profiles["temperature"])[frames]
    assert np.sqrt(np.mean(error**2)) < 0.0189
