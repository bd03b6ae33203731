"""Water of a result that cannot be, or is unlikely."""

import numpy as np
import pytest

from tunax_lite.plausibility.water_limits import extremes, merged

TIME, Z = np.array([0.0, 3600.0, 7200.0]), np.array([-100.0, -2.0])


def found(temperature, salinity):
    """Extremes of two cells, whose upper one is given over time; by kind."""
    lower = np.full(3, 10.0), np.full(3, 35.0)
    both = zip(lower, (temperature, salinity), strict=True)
    fields = [np.stack([np.asarray(low), np.broadcast_to(high, 3)], axis=1) for low, high in both]
    return {one.kind: one for one in extremes(fields[0], fields[1], Z, TIME)}


def test_the_freezing_point_is_that_of_its_salinity():
    # UNESCO (1983): sea water of S = 35 freezes at -1.922 degC at the surface, fresh water at 0.
    assert not found([5.0, -1.9, -1.95], 35.166)
    one = found([5.0, -2.5, -2.922], 35.166)["frozen"]
    assert one.excess == pytest.approx(1.0, abs=0.02) and not one.is_impossible
    assert (one.time, one.first, one.z) == (7200.0, 3600.0, -2.0)
    assert found([5.0, 5.0, -1.9], 0.0)["frozen"].excess == pytest.approx(1.9, abs=0.03)
    assert found([5.0, -36.0, 5.0], 35.0)["frozen"].is_impossible
    assert found([4.0, 4.0, -12.0], 0.0)["frozen"].is_impossible  # a lake without ice


def test_water_is_neither_hot_nor_of_negative_or_high_salinity():
    assert found([10.0, 61.0, 10.0], 35.0)["hot"].value == 61.0
    assert found([10.0, 101.0, 10.0], 35.0)["hot"].is_impossible
    assert not found(10.0, [0.0, -1e-7, 60.0])
    assert found(10.0, [0.0, -1.4e4, 0.0])["negative"].is_impossible
    assert not found(10.0, [0.0, -1e-4, 0.0])["negative"].is_impossible
    salty = found(10.0, [35.0, 70.0, 250.0])["salty"]
    assert salty.is_impossible and salty.value == 250.0 and salty.first == 3600.0


def test_the_worst_of_two_parts_keeps_the_first_time():
    early, late = list(found([5.0, -3.0, 5.0], 35.0).values()), list(found([5.0, 5.0, -4.0], 35.0).values())
    (one,) = merged(early, late)
    assert (one.value, one.time, one.first) == (-4.0, 7200.0, 3600.0)
