"""Closures with their default constants against large-eddy simulations."""

import numpy as np
import pytest

from tests.helpers import LES_CASES
from tunax_lite import Grid, KEpsilon, Model, simulate
from tunax_lite.closures import EPBL, KEpsilonTheta, MassFluxConvection
from tunax_lite.io import read_lesbrary


def run_and_simulation(closure, case, observations, dt=600.0, interval=7200.0):
    """Temperature [degC] of the run and of the simulation, at the times of the run."""
    run = simulate(Model(closure), case, dt=dt, output_interval=interval)
    frames = [int(np.argmin(np.abs(np.asarray(observations.time) - time))) for time in np.asarray(run.time)]
    on_levels = np.array([np.interp(observations.z, run.grid.z_center, row) for row in run.state.temperature])
    return on_levels, np.asarray(observations.profiles["temperature"])[frames]


def rms(ours, theirs) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(ours) - np.asarray(theirs)))))


def neutral_fraction(temperature, grid) -> float:
    """Where the layer above the strongest gradient turns stable, as a fraction of its depth [1]."""
    faces, difference = np.asarray(grid.z_face)[1:-1], np.diff(temperature)
    bottom = faces[np.argmax(difference)]
    return float(faces[(faces > bottom) & (difference > 0.0)].max() / bottom)


@pytest.mark.long
def test_k_epsilon_theta_in_free_convection(lesbrary_path):
    case, observations = read_lesbrary(lesbrary_path("free_convection"))
    ours, theirs = run_and_simulation(KEpsilonTheta(), case, observations, interval=43200.0)
    assert rms(ours[1:], theirs[1:]) < 1.02 * 0.00617  # as measured
    # k-epsilon of the same constants: 0.83.
    of_simulation = neutral_fraction(theirs[-1], case.grid)
    assert abs(neutral_fraction(ours[-1], case.grid) - of_simulation) < 0.5 * (0.83 - of_simulation)


@pytest.mark.long
def test_plumes_convect_like_the_large_eddies(lesbrary_path):
    """Without wind the local closure alone starts a day late; with wind plumes do little."""
    free, windy = (read_lesbrary(lesbrary_path(name)) for name in LES_CASES[::3])
    closures = MassFluxConvection(), KEpsilon()
    with_plumes, alone = (rms(*run_and_simulation(closure, *free)) for closure in closures)
    assert with_plumes < min(0.004, alone)
    assert max(rms(*run_and_simulation(closure, *windy)) for closure in closures) < 0.01


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
