"""The hindcast at Papa: how runs are judged; nothing is run."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.hindcast import DEPTHS, mixed_layer_depth, scores

Z = np.array(DEPTHS)


def profiles(*depths: float) -> np.ndarray:
    """10 degC down to some depth, 0.1 K m-1 colder below."""
    return np.stack([10.0 - 0.1 * np.maximum(Z - depth, 0.0) for depth in depths])


def test_the_mixed_layer_ends_where_it_differs_by_a_fifth_of_a_kelvin():
    found = mixed_layer_depth(pd.DataFrame(profiles(20.0, 45.0, 200.0), columns=list(DEPTHS)))
    np.testing.assert_allclose(found, [22.0, 47.0, np.nan])
    # Warmer water below ends the layer as well: 10.2 degC at 47 m.
    inverted = mixed_layer_depth(pd.DataFrame(20.0 - profiles(45.0), columns=list(DEPTHS)))
    np.testing.assert_allclose(inverted, 47.0)
    # Warm water of a calm day above 5 m does not count.
    warm = profiles(45.0) + np.where(Z < 5.0, 1.0, 0.0)
    np.testing.assert_allclose(mixed_layer_depth(pd.DataFrame(warm, columns=list(DEPTHS))), 47.0)


def test_a_run_that_is_too_warm_is_judged_so():
    times = pd.date_range("2011-01-01", "2011-12-31 18:00", freq="6h")
    warm = np.column_stack([np.full(times.size, 10.5), np.repeat(profiles(45.0), times.size, axis=0) + 0.5])
    run = pd.DataFrame(warm, index=times, columns=[0.0, *DEPTHS])
    months = pd.period_range("2011-01", "2011-12", freq="M")
    monthly = pd.DataFrame(np.repeat(profiles(35.0), 12, axis=0), index=months, columns=list(DEPTHS))
    daily = pd.DataFrame(profiles(45.0), index=[pd.Timestamp("2011-02-01")], columns=list(DEPTHS))
    found = scores([run], (pd.Series(10.0, index=times), monthly, daily))
    assert found["SST [K]"] == found["mean [K]"] == pytest.approx(0.5)
    assert found["MLD [m]"] == found["bias [m]"] == pytest.approx(10.0)
    assert found["daily MLD [m]"] == pytest.approx(0.0)
    # Half a kelvin over 119 m, and the water between the two bases, 1 K over all that is below 45 m.
    excess = np.trapezoid(0.5 + profiles(45.0)[0] - profiles(35.0)[0], Z)
    assert found["JJA [MJ m-2]"] == pytest.approx(1e-6 * 1025.0 * 3990.0 * excess)
