"""Plumes against large-eddy simulations of the LESbrary, with the constants as published."""

import numpy as np
import pytest

from tunax_lite import KEpsilon, Model, simulate
from tunax_lite.closures import MassFluxConvection
from tunax_lite.io import read_lesbrary


def temperature_rms(closure, path) -> float:
    case, observed = read_lesbrary(path)
    run = simulate(Model(closure), case, dt=600.0, output_interval=7200.0)
    errors = []
    for time, values in zip(np.asarray(run.time), np.asarray(run.state.temperature), strict=True):
        frame = int(np.argmin(np.abs(np.asarray(observed.time) - time)))
        model = np.interp(observed.z, run.grid.z_center, values)
        errors.append(model - np.asarray(observed.profiles["temperature"])[frame])
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.long
def test_plumes_convect_like_the_large_eddies(lesbrary_path):
    """Without wind the local closure alone starts a day late; with wind plumes do little."""
    free, windy = lesbrary_path("free_convection"), lesbrary_path("strong_wind_weak_cooling")
    assert temperature_rms(MassFluxConvection(), free) < min(0.004, temperature_rms(KEpsilon(), free))
    assert max(temperature_rms(closure, windy) for closure in (MassFluxConvection(), KEpsilon())) < 0.01
