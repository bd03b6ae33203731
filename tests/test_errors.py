"""`error_naming` and `central_difference`, which hold other tests, have to fail where they should."""

import numpy as np
import pytest

from tests.errors import error_naming, missing_from
from tests.helpers import central_difference

MESSAGE = "run.yaml: line 3: surface.u10.file: expected u from -20 to 1e3 [m s-1], got -0.5 in 'tau.dat'."


def test_parts_of_a_message_are_found_in_any_order_as_whole_words():
    for parts in ("run.yaml line 3", "surface.u10 u -20 1000", "-0.5 [m tau.dat", "1e3 s-1"):
        assert missing_from(MESSAGE, parts) == []
    for part in ("30", "20", "0.5", "-5", "yam", "v", "xpected", "time", "u1"):
        assert missing_from(MESSAGE, part) == [part]


def test_an_error_of_another_kind_or_without_a_part_fails():
    with pytest.raises(AssertionError), error_naming(ValueError, "u 4"):
        raise ValueError(MESSAGE)
    with pytest.raises(KeyError), error_naming(ValueError, "u"):
        raise KeyError(MESSAGE)
    with pytest.raises(AssertionError), error_naming(ValueError, " "):
        raise ValueError(MESSAGE)


def test_a_difference_knows_its_error():
    for function, slope in (
        (lambda x: np.exp(3.0 * x), 3.0 * np.exp(1.2)),
        (lambda x: np.sin(200.0 * x), 200.0 * np.cos(80.0)),
    ):
        found = central_difference(function, 0.4, 1.0)
        assert np.all(found.holds(1e-9)) and np.all(found.agrees(slope, 1e-9))
        assert not np.any(found.agrees(slope * (1.0 + 1e-4), 1e-9))


def test_a_difference_knows_where_it_is_none():
    kinked = lambda x: np.abs(x - 0.4)  # noqa: E731
    beside = lambda x: np.abs(x - 0.4 - 1e-5) + x  # noqa: E731
    for function in (kinked, beside, lambda x: np.where(x > 0.4, 1.0, 0.0), lambda x: np.cbrt(x - 0.4)):
        assert not np.any(central_difference(function, 0.4, 1.0).holds(1e-9))
