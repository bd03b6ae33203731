"""Recommended constants: calibrated ones, and those imposed in addition."""

from pathlib import Path

import pytest

from tunax_lite.calibration.known import numbers_of
from tunax_lite.closures import Constant, recommended_sets
from tunax_lite.config import load_calibration
from tunax_lite.config.closures import ClosureSection
from tunax_lite.declarations import names_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", recommended_sets())
def test_sets_are_those_of_their_calibrations(name):
    """What is calibrated is what the configuration frees, from starts that are not the result."""
    known, path = recommended_sets()[name], f"configs/calibrations/les_{name}.yaml"
    if not known.calibrated:
        assert known.command is None and not (ROOT / path).exists()
        return
    assert known.command == f"tunax-lite calibrate {path}"
    config = load_calibration(ROOT / path).config
    closure = config.model.closure
    assert (closure.name, closure.constants) == (name, "recommended")
    free = config.free_parameters.parameters
    assert set(known.calibrated) == {each.path for each in free}
    assert all(each.start is not None for each in free)


@pytest.mark.parametrize("name", recommended_sets())
def test_constants_get_to_their_closure(name):
    closure = ClosureSection.model_validate({"name": name, "constants": "recommended"}).build()
    for path, value in recommended_sets()[name].constants.items():
        if isinstance(value, float):
            assert float(numbers_of(closure)[path].value) == pytest.approx(value, rel=1e-15)
        elif isinstance(value, str):
            part = getattr(closure, path)
            assert all(getattr(part, key) == it for key, it in names_of(type(part))[value].preset.items())
        else:
            assert getattr(closure, path) is value


def test_a_closure_without_them_says_so():
    with pytest.raises(ValueError, match="Constant: expected a closure with recommended constants, one of k"):
        Constant.recommended()
