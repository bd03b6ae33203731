"""How far a run in float32 drifts from the same run in float64 over 48 h."""

import numpy as np
import pytest

import tunax_lite as tl
from tunax_lite._types import in_precision
from tunax_lite.io import read_lesbrary

# Measured with k-epsilon, 64 levels, steps of 60 s: root mean square over all levels and frames of the
# temperature [K], and error of the heat content over the depth [K].
MEASURED = {"free_convection": (5.2e-4, 3.6e-5), "strong_wind_weak_cooling": (6.1e-5, 4.2e-5)}


def mean_temperature_error(run: tl.Trajectory, case: tl.Case) -> float:
    """Heat content of the last frame less what was there and what came in, over the depth [K]."""
    temperature = np.asarray(run.state.temperature, dtype=float)
    thickness = np.asarray(case.grid.cell_thickness)
    eos = case.equation_of_state
    flux = np.asarray(case.forcing.at(0.0).heat_flux, dtype=float)
    came_in = float(flux) * case.duration / float(eos.reference_density * eos.heat_capacity)
    gained = ((temperature[-1] - temperature[0]) * thickness).sum()
    return abs(gained - came_in) / float(case.grid.depth)


@pytest.mark.long
@pytest.mark.parametrize("name", MEASURED)
def test_float32_stays_near_float64_for_48_hours(name, lesbrary_path):
    case, model = read_lesbrary(lesbrary_path(name))[0], tl.Model(tl.KEpsilon())
    run = tl.simulate(model, case)
    single = tl.simulate(*in_precision((model, case), "float32"))
    assert single.state.temperature.dtype == np.float32
    drift = np.asarray(single.state.temperature, dtype=float) - np.asarray(run.state.temperature)
    temperature, heat = MEASURED[name]
    assert 0.0 < np.sqrt(np.mean(drift**2)) < 2.0 * temperature
    assert mean_temperature_error(run, case) < 1e-12
    assert mean_temperature_error(single, case) < 2.0 * heat
