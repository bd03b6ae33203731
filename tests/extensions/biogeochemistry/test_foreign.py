"""Chemistry beside PyCO2SYS, where it is installed."""

import jax.numpy as jnp
import numpy as np
import pytest

from tunax_lite.extensions.biogeochemistry import equilibrium


def test_the_carbonate_system_is_that_of_pyco2sys():
    """On the seawater scale, with constants by Dickson and Millero (1987) and our total boron.

    `pml/carbonate` counts no hydroxide, 1 to 9 umol kg-1, in the alkalinity.
    """
    library = pytest.importorskip("PyCO2SYS", reason="PyCO2SYS is not installed")
    temperature, salinity = np.array([2.0, 10.0, 18.0, 26.0]), np.array([31.0, 34.0, 35.0, 37.0])
    carbon = np.array([2150.0, 2100.0, 2030.0, 1990.0])  # [umol kg-1]
    alkalinity = np.array([2250.0, 2300.0, 2310.0, 2380.0])
    options = {"opt_k_carbonic": 4, "opt_pH_scale": 2, "total_borate": 412.8 * salinity / 35.0}
    water = {"salinity": salinity, "temperature": temperature, "par1_type": 1, "par2_type": 2}
    expected = library.sys(par1=alkalinity, par2=carbon, **water, **options)

    def ours(alkalinity):
        values = (1e-6 * carbon, 1e-6 * alkalinity, temperature, salinity)
        return equilibrium(*(jnp.asarray(each) for each in values), equilibria="pml")

    found = ours(alkalinity - expected["OH"])
    # That of boric acid is on the total scale, 2 % smaller than on that of sea water: 1 umol kg-1 of borate.
    np.testing.assert_allclose(found.ph, expected["pH"], atol=3e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.pressure), expected["fCO2"], rtol=7e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.carbonate), expected["CO3"], rtol=7e-3)
    np.testing.assert_allclose(1e6 * np.asarray(found.bicarbonate), expected["HCO3"], rtol=1e-3)
    # With it the pH is higher, by 0.02 at most.
    assert np.all(np.asarray(ours(alkalinity).ph) - expected["pH"] < 0.02)
