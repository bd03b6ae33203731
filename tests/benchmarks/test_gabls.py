"""The atmosphere upside down is the atmosphere, and k-epsilon agrees with its simulations."""

import numpy as np
import pytest

import tunax_lite as tl
from benchmarks import gabls
from tunax_lite.column.forcing import WaterSurface


def test_exchange_is_that_of_the_profiles_of_monin_and_obukhov():
    """Air 2.5 K warmer than the ground, at 3 m: u*, theta* and L fit both profiles, in their usual form."""
    u, v, z, warmer = 2.4, 1.8, 3.0, 2.5
    surface = tl.State.from_profiles(tl.Grid.uniform(18.0, 3), temperature=-1.5 - warmer, u=u, v=v)
    water = WaterSurface.of(surface)
    friction_velocity, heat = gabls.Ground(z, gabls.COOLING).exchange(0.0, water)
    scale = heat / friction_velocity
    length = friction_velocity**2 / (0.4 * 9.81 / 263.5 * scale)
    ratio = np.log((z + 0.1) / 0.1)
    assert 4.8 * z / length > 0.1 * ratio  # stability matters
    np.testing.assert_allclose(friction_velocity / 0.4 * (ratio + 4.8 * z / length), 3.0, rtol=1e-5)
    np.testing.assert_allclose(scale / 0.4 * (ratio + 7.8 * z / length), warmer, rtol=1e-5)


@pytest.mark.long
def test_k_epsilon_is_within_the_range_of_the_simulations():
    """All but the jet, a u* two percent too large, and a layer at the steady-state Richardson number."""
    found = gabls.measured(tl.KEpsilon(), gabls.case_of(32), 60.0)
    low, high = gabls.LES.T
    inside = dict(zip(gabls.COLUMNS, (low <= found) & (found <= high), strict=True))
    assert [name for name, fits in inside.items() if not fits] == ["u* [m/s]", "jet [m/s]", "Ri", "Pr"]
    assert found[0] < 0.297 and 9.55 < found[3] < 9.8 and 0.24 < found[6] < 0.28
