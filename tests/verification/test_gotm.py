"""The closures against GOTM's own results on the four large-eddy simulations, with GOTM's settings."""

import itertools

import numpy as np
import pytest
import xarray as xr

from tests.helpers import LES_CASES
from tunax_lite import KEpsilon, Model, SecondMomentClosure, closures, simulate
from tunax_lite.io import read_lesbrary

# Largest rms of temperature [K], of velocity [m s-1], and of the rest over its largest value. GOTM holds the
# constants of the second moments in single precision, which makes up to 4e-8 K where convection amplifies it.
TEMPERATURE, VELOCITY, TURBULENCE = 2e-7, 2e-8, 1e-6
# By the name of the reference run.
CLOSURES = {
    "keps": KEpsilon(),
    "keps_weq": KEpsilon(stability=SecondMomentClosure(equilibrium="weak")),
    "komega": closures.KOmega(),
    "gls": closures.GenericLengthScale.generated(),
    "my": closures.MellorYamada(),
    "tke_blackadar": closures.OneEquation(stability=closures.SchumannGerz(), length=closures.Blackadar()),
}


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def run_of(closure, path, interval: float = 3600.0):
    case, _ = read_lesbrary(path)
    return simulate(Model(closure), case, dt=60.0, output_interval=interval)


def results_of(path, *keys: str) -> dict[str, np.ndarray]:
    with xr.open_dataset(path) as reference:
        return {key: reference[key].values.squeeze() for key in keys}


# Convection and wind with cooling, of all closures; of one all cases.
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "closure"),
    [*((name, "keps") for name in LES_CASES), *itertools.product(LES_CASES[::3], list(CLOSURES)[1:])],
)
def test_closure_reproduces_gotm(name, closure, lesbrary_path, reference_path):
    interval = 600.0 if closure == "keps" else 3600.0
    run = run_of(CLOSURES[closure], lesbrary_path(name), interval)
    keys = ("temp", "u", "v", "tke", "eps", "num", "nuh")
    expected = results_of(reference_path(f"les_{name}_{closure}"), *keys)
    assert expected["temp"].shape == run.state.temperature.shape == (172800.0 / interval + 1, 64)

    # Between the ends, where GOTM's algebraic lengths are half of ours; they do not enter the next step.
    inner = slice(2, -1)
    assert rms(run.state.temperature - expected["temp"]) < TEMPERATURE
    assert rms(run.state.u - expected["u"]) < VELOCITY
    assert rms(run.state.v - expected["v"]) < VELOCITY
    turbulence = run.clo_state
    for ours, key in (
        (turbulence.turbulent_kinetic_energy, "tke"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.dissipation_rate, "eps"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.eddy_viscosity, "num"),
        (turbulence.eddy_diffusivity, "nuh"),
    ):
        theirs = expected[key][:, inner]
        assert rms(ours[:, inner] - theirs) < TURBULENCE * np.abs(theirs).max(), key


@pytest.mark.long
@pytest.mark.parametrize("name", LES_CASES[::3])
def test_kpp_reproduces_gotm(name, lesbrary_path, reference_path):
    closure = closures.KPP(shear=None, background_viscosity=0.0, background_diffusivity=0.0)
    run, keys = run_of(closure, lesbrary_path(name)), ("temp", "u", "v", "num", "nuh", "cvmix_zsbl")
    expected = results_of(reference_path(f"les_{name}_kpp"), *keys)
    # What differs is how weak convection without wind fades, in free convection.
    assert rms(run.state.temperature - expected["temp"]) < 1e-7
    assert rms(run.state.u - expected["u"]) < 1e-9
    assert rms(run.state.v - expected["v"]) < 1e-9
    mixing = run.clo_state
    inner = (slice(1, None), slice(1, -1))
    for ours, key in ((mixing.eddy_viscosity, "num"), (mixing.eddy_diffusivity, "nuh")):
        assert rms(ours[inner] - expected[key][inner]) < 1e-5 * expected[key].max(), key
    depth = mixing.boundary_layer_depth  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(depth, -expected["cvmix_zsbl"], atol=1e-3)
