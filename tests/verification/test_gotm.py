"""The closures against GOTM's own results on the four large-eddy simulations, with GOTM's settings."""

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.helpers import LES_CASES
from tunax_lite import KEpsilon, Model, SecondMomentClosure, simulate
from tunax_lite.closures import (
    KPP,
    Blackadar,
    BougeaultAndre,
    Brueggemann,
    GenericLengthScale,
    KOmega,
    MellorYamada,
    OneEquation,
    SchumannGerz,
)
from tunax_lite.closures.one_equation import AbstractLength
from tunax_lite.io import read_lesbrary


class BougeaultAndreAsInGotm(AbstractLength):
    """The length of Bougeault and Andre as GOTM's code has it, on a uniform grid.

    Two things differ from the paper and from `BougeaultAndre`. Upward, the cell in which the parcel stops is
    left out: sum of the cells before it, *less* the fraction of it beyond the stop. Downward, the work of
    buoyancy has the wrong sign, so that nothing stops a parcel in stable water.
    """

    def __call__(self, place):
        h = place.grid.cell_thickness[0]
        upward = self._distance(place.tke, place.n_squared, h, 1.0, place.n_squared)
        # The way down begins at the cell below the face, with the stratification of the next face.
        below = jnp.concatenate([jnp.zeros(1), place.n_squared[:-1]])[::-1]
        downward = self._distance(place.tke[::-1], below, h, -1.0, place.n_squared[::-1])[::-1]
        # GOTM's is 0 on the lowest inner face, and its epsilon infinite.
        return jnp.sqrt(jnp.maximum(upward * downward, 1e-20))

    @staticmethod
    def _distance(tke, n_squared, h, sign, own):
        n = tke.shape[0]
        face, cell = jnp.arange(n)[:, None], jnp.arange(n)[None]
        ahead = face <= cell
        difference = jnp.cumsum(jnp.where(ahead, n_squared[None] * h, 0.0), axis=1)
        work = sign * jnp.cumsum(jnp.where(ahead, difference * h, 0.0), axis=1)
        n_cells = n if sign > 0.0 else n - 1
        # Upward, the way ends at the surface in the last cell.
        reached = ahead & (work >= tke[:, None]) & (cell < n - 1)
        first = jnp.argmax(reached, axis=1)
        at_first = lambda x: jnp.take_along_axis(x, first[:, None], axis=1)[:, 0]  # noqa: E731
        before = (first - jnp.arange(n)).astype(float) * h
        stop = before - (at_first(work) - tke) / at_first(difference)
        at_once = jnp.where(own > 1e-8, jnp.sqrt(2.0 * tke / jnp.maximum(own, 1e-30)), h)
        stop = jnp.where(first == jnp.arange(n), at_once, stop)
        free = (n_cells - jnp.arange(n)).astype(float) * h
        return jnp.where(jnp.any(reached, axis=1), stop, free)


class Limits(NamedTuple):
    """Largest rms of temperature [K], of velocity [m s-1], and of the rest over its largest value.

    GOTM holds the constants of the second moments in single precision, which makes up to 4e-8 K where
    convection amplifies it. The length in `tke` jumps where a parcel stops one cell further, and with it the
    rounding of its two computations.
    """

    temperature: float = 2e-7
    velocity: float = 2e-8
    turbulence: float = 1e-6


JUMPS = Limits(temperature=1e-4, velocity=1e-3, turbulence=1e-2)
# By the name of the reference run.
CLOSURES = {
    "keps": KEpsilon(),
    "keps_weq": KEpsilon(stability=SecondMomentClosure(equilibrium="weak")),
    "komega": KOmega(),
    "gls": GenericLengthScale.generated(),
    "my": MellorYamada(),
    "tke": OneEquation(stability=Brueggemann(), length=BougeaultAndreAsInGotm()),
    "tke_blackadar": OneEquation(stability=SchumannGerz(), length=Blackadar()),
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
    interval, limits = (600.0 if closure == "keps" else 3600.0), (JUMPS if closure == "tke" else Limits())
    run = run_of(CLOSURES[closure], lesbrary_path(name), interval)
    keys = ("temp", "u", "v", "tke", "eps", "num", "nuh")
    expected = results_of(reference_path(f"les_{name}_{closure}"), *keys)
    assert expected["temp"].shape == run.state.temperature.shape == (172800.0 / interval + 1, 64)

    # Between the ends, where GOTM's algebraic lengths are half of ours; they do not enter the next step.
    inner = slice(2, -1)
    assert rms(run.state.temperature - expected["temp"]) < limits.temperature
    assert rms(run.state.u - expected["u"]) < limits.velocity
    assert rms(run.state.v - expected["v"]) < limits.velocity
    turbulence = run.clo_state
    for ours, key in (
        (turbulence.turbulent_kinetic_energy, "tke"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.dissipation_rate, "eps"),  # pyright: ignore[reportAttributeAccessIssue]
        (turbulence.eddy_viscosity, "num"),
        (turbulence.eddy_diffusivity, "nuh"),
    ):
        theirs = expected[key][:, inner]
        assert rms(ours[:, inner] - theirs) < limits.turbulence * np.abs(theirs).max(), key


@pytest.mark.long  # the length itself: test_algebraic_lengths
@pytest.mark.parametrize("name", LES_CASES[::3])
def test_bougeault_andre_without_gotms_errors(name, lesbrary_path, reference_path):
    """The length of the paper changes the temperature by 0.1 to 0.3 mK."""
    run = run_of(OneEquation(stability=Brueggemann(), length=BougeaultAndre()), lesbrary_path(name))
    theirs = results_of(reference_path(f"les_{name}_tke"), "temp")["temp"]
    assert 5e-5 < rms(run.state.temperature - theirs) < 5e-4


@pytest.mark.long
@pytest.mark.parametrize("name", LES_CASES[::3])
def test_kpp_reproduces_gotm(name, lesbrary_path, reference_path):
    closure = KPP(shear=None, background_viscosity=0.0, background_diffusivity=0.0)
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
