"""Recommended constants: calibrated ones, and those imposed in addition."""

import dataclasses
from pathlib import Path

import equinox as eqx
import pytest

from tests.errors import error_naming
from tunax_lite.calibration.parameters import numbers_of
from tunax_lite.closures import Constant, recommended_sets
from tunax_lite.config import load_calibration
from tunax_lite.config.calibration import free_parameters
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
    section, free = config.model.closure, free_parameters(config.parameters).parameters
    assert section.name == name and set(known.calibrated) == {each.path for each in free}
    if section.constants == "recommended":
        assert all(each.start is not None for each in free)
        return
    # Without the set, the closure is the same in all but what is calibrated.
    ours, theirs = section.build(), ClosureSection(name=name, constants="recommended").build()
    before = {path: getattr(ours, path) for path in known.calibrated}
    assert not eqx.tree_equal(ours, theirs)
    assert eqx.tree_equal(ours, dataclasses.replace(theirs, **before))


@pytest.mark.parametrize("name", recommended_sets())
def test_constants_get_to_their_closure(name):
    closure = ClosureSection.model_validate({"name": name, "constants": "recommended"}).build()
    for path, value in recommended_sets()[name].constants.items():
        if isinstance(value, float):
            assert float(numbers_of(closure)[path].value) == pytest.approx(value, rel=1e-15)
        elif isinstance(value, list):
            assert getattr(closure, path).tolist() == value
        elif isinstance(value, str):
            part = getattr(closure, path)
            if isinstance(part, str):
                assert part == value
                continue
            assert all(getattr(part, key) == it for key, it in names_of(type(part))[value].preset.items())
        else:
            assert getattr(closure, path) is value


def test_a_closure_without_them_says_so():
    with error_naming(ValueError, "Constant"):
        Constant.recommended()
