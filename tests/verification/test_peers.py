"""The peers' own code beside ours: `make verify` installs what of it has a name in the registry.

GOTM, CVMix, MOM6 and AeroBulk are Fortran, Oceananigans is Julia: of them there are numbers, with their
sources, in the tests of what they compute.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.air_sea.test_bulk_formulae import fluxes, random_weather, situation
from tests.closures.test_tke import GRID, N_SQUARED, OLD, S_SQUARED, inputs, step
from tunax_lite.air_sea import Coare36, LargeYeager
from tunax_lite.closures import TKE

pytestmark = pytest.mark.study

# What the formula of saturation and the heights of the potential temperature make, and COARE 3.5 for 3.6.
NCAR = {"tau": (5e-4, 5e-3), "sensible": (3e-3, 0.15), "latent": (0.02, 0.1)}
COARE = {"tau": (5e-3, 0.01), "sensible": (0.02, 0.03), "latent": (0.02, 0.08)}


@pytest.mark.parametrize(
    ("method", "formula", "limits"),
    [("NCAR", LargeYeager(iterations=50), NCAR), ("C35", Coare36(iterations=50), COARE)],
    ids=["NCAR", "COARE"],
)
@pytest.mark.filterwarnings("ignore")
def test_fluxes_of_airseafluxcode(method, formula, limits, tmp_path, monkeypatch):
    """AirSeaFluxCode (Biri et al. 2023): median and rms of the relative difference where there is a flux."""
    monkeypatch.chdir(tmp_path)  # it writes a log where it is imported and called
    peer: Any = pytest.importorskip("AirSeaFluxCode.AirSeaFluxCode")
    wind, air, water, humidity = random_weather(5, 200)
    moist = 1e3 * np.asarray(situation(wind, air, water, humidity)[0].specific_humidity)
    options: dict[str, Any] = {"lat": np.full(200, 45.0), "P": np.full(200, 1013.25), "hum": ["q", moist]}
    options |= {"hin": np.array([10.0, 2.0, 2.0]), "gust": None if method == "NCAR" else [1, 1.2, 600, 0.2]}
    tolerances = ["all", 1e-6, 1e-6, 1e-6, 1e-7, 1e-5, 1e-5]
    options |= {"cskin": 0, "maxiter": 200, "tol": tolerances, "out": 1}
    skin = "bulk" if method == "NCAR" else "skin"
    theirs = peer.AirSeaFluxCode(wind, air, water, skin, method, **options)
    ours = fluxes(formula, wind, air, water, relative_humidity=humidity)
    for (name, (median, spread)), found in zip(limits.items(), ours, strict=False):
        expected = np.asarray(theirs[name], float)
        large = np.abs(expected) > (0.02 if name == "tau" else 10.0)
        assert large.sum() > 100
        difference = np.abs(np.asarray(found)[large] / expected[large]) - 1.0
        assert abs(np.median(difference)) < median, name
        assert np.sqrt(np.mean(difference**2)) < spread, name


def test_diffusivities_of_veros():
    kernels: Any = pytest.importorskip("veros.core.tke")
    ours = step(TKE.veros(), OLD, inputs(), 60.0)
    n = GRID.n_cells - 1
    thickness, spacing = np.asarray(GRID.cell_thickness), np.asarray(GRID.center_spacing)
    column = lambda values: np.asarray(values, float)[None, None, :, None]  # noqa: E731
    flat = np.zeros((1, 1, n))
    place = dict(zw=np.asarray(GRID.z_face)[1:-1], dzw=spacing, dzt=thickness[:-1], tau=0)
    off = dict.fromkeys(("enable_idemix", "enable_cyclic_x", "enable_kappaH_profile"), False)
    limits = dict(mxl_min=1e-8, kappaM_max=100.0, kappaM_min=2e-4, kappaH_min=2e-5)
    on = dict(enable_tke=True, enable_Prandtl_tke=True, tke_mxl_choice=1, c_k=0.1)
    settings = SimpleNamespace(**off, **limits, **on)

    def of_veros(mean_dissipation):
        squares = dict(tke=column(ours.turbulent_kinetic_energy[1:-1]), Nsqr=column(N_SQUARED))
        ground = dict(maskW=np.ones_like(flat), ht=np.full((1, 1), float(GRID.depth)))
        found = dict(K_diss_v=mean_dissipation, kappaM=flat.copy(), Prandtlnumber=flat.copy())
        variables = SimpleNamespace(**place, **squares, **ground, **found)
        sizes = {"xt": 1, "yt": 1, "zt": n}
        state = SimpleNamespace(variables=variables, settings=settings, dimensions=sizes)
        return kernels.set_tke_diffusivities_kernel.function(state)

    first = of_veros(flat.copy())
    second = of_veros(np.asarray(settings.c_k * first.mxl * first.sqrttke) * S_SQUARED)
    np.testing.assert_allclose(ours.eddy_viscosity[1:-1], second.kappaM[0, 0], rtol=1e-12)
    np.testing.assert_allclose(ours.eddy_diffusivity[1:-1], second.kappaH[0, 0], rtol=1e-12)
