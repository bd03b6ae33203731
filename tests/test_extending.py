"""The extension guide works as it is printed: its code blocks are run, from outside the package."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path_factory.mktemp("elsewhere") / "my_closure.py"
    script.write_text("\n\n".join(blocks))
    return runpy.run_path(str(script), run_name="my_closure")


def test_new_closure_mixes_about_as_deep_as_a_built_in_one(guide):
    depths = guide["depths"]
    assert set(depths) == {"MixingLength", "KEpsilon"}
    assert 5.0 < depths["MixingLength"] < 45.0
    assert abs(depths["MixingLength"] - depths["KEpsilon"]) < 15.0


def test_gradient_is_that_of_central_differences(guide):
    # The mixed-layer depth is piecewise smooth; 1e-5 is what a step of 1e-4 m leaves of curvature.
    assert np.isclose(guide["sensitivity"].longest, guide["central_difference"], rtol=1e-5)
    assert abs(float(guide["central_difference"])) > 1e-3
