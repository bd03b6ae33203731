"""k-epsilon against GOTM's own results on the four large-eddy simulations, with GOTM's settings."""

import numpy as np
import pytest
import xarray as xr

from tests.helpers import LES_CASES
from tunax_lite import KEpsilon, Model, simulate
from tunax_lite.io import read_lesbrary


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("name", LES_CASES)
def test_k_epsilon_reproduces_gotm(name, lesbrary_path, reference_path):
    case, _ = read_lesbrary(lesbrary_path(name))
    run = simulate(Model(KEpsilon()), case, dt=60.0, output_interval=600.0)
    with xr.open_dataset(reference_path(f"les_{name}_keps")) as reference:
        expected = {key: reference[key].values.squeeze() for key in ("temp", "u", "v", "tke", "num", "nuh")}
    assert expected["temp"].shape == run.state.temperature.shape == (289, 64)

    # Absolute limits in K and m s-1. GOTM holds the constants of the stability functions in single
    # precision, which alone makes 3e-6 K in free convection.
    assert rms(run.state.temperature - expected["temp"]) < 1e-5
    assert rms(run.state.u - expected["u"]) < 1e-5
    assert rms(run.state.v - expected["v"]) < 1e-5
    turbulence = run.clo_state
    for ours, key in (
        (turbulence.turbulent_kinetic_energy, "tke"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.eddy_viscosity, "num"),
        (turbulence.eddy_diffusivity, "nuh"),
    ):
        assert rms(ours - expected[key]) < 1e-4 * np.abs(expected[key]).max()
