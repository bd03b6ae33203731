"""The NPZD model of OceanBioME: rates by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.extensions.biogeochemistry.columns import environment
from tunax_lite.extensions.biogeochemistry import OceanBioMENPZD

DAY = 86400.0


@pytest.mark.parametrize(("warm", "losses"), [("growth and losses", 1.88)])
def test_rates_by_hand(warm, losses):
    """N = 2.3868, P = 0.5573, Z = 0.4, D = 1 at 10 degC: nutrients and grazing are half saturated."""
    pools = {
        name: jnp.array([x]) for name, x in (("nut", 2.3868), ("phy", 0.5573), ("zoo", 0.4), ("det", 1.0))
    }
    # Light at which the initial slope would give the largest growth, so that it is 1 / sqrt(2) of it.
    around = environment(temperature=jnp.array([10.0]), light=jnp.array([losses * 0.6989 / 0.1953]))
    rates = OceanBioMENPZD(warm=warm).rates(pools, around)
    expected = {
        ("nut", "phy"): 0.6989 * 1.88 / np.sqrt(2.0) * 0.5 * 0.5573,
        ("phy", "zoo"): 0.9116 * 2.1522 * 0.5 * 0.4,
        ("phy", "det"): 0.0884 * 2.1522 * 0.5 * 0.4 + losses * 0.0101 * 0.5573,
        ("phy", "nut"): losses * 0.066 * 0.5573,
        ("zoo", "nut"): losses * 0.0102 * 0.4,
        ("zoo", "det"): losses * 0.3395 * 0.16,
        ("det", "nut"): 0.1213,
    }
    assert rates.keys() == expected.keys()
    for pair, rate in expected.items():
        np.testing.assert_allclose(DAY * rates[pair], rate, rtol=1e-12, err_msg=str(pair))


def test_water_without_plankton_absorbs_next_to_nothing():
    attenuation = OceanBioMENPZD().attenuation({"phy": jnp.array([0.0, 0.7 / 1.31])})
    # One milligram of pigments per cubic metre is chi by definition.
    np.testing.assert_allclose(attenuation, [0.0, 0.074], rtol=1e-12, atol=1e-8)
