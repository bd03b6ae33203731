"""The extension guide works as it is printed: its code blocks are run, from outside the package."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "extending.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.long
def test_the_guide_runs_and_its_gradient_is_that_of_central_differences(tmp_path):
    script = tmp_path / "my_closure.py"
    script.write_text("\n\n".join(BLOCKS))
    guide = runpy.run_path(str(script), run_name="my_closure")
    depths = guide["depths"]
    assert 5.0 < depths["MixingLength"] < 45.0 and abs(depths["MixingLength"] - depths["KEpsilon"]) < 15.0
    # The mixed-layer depth is piecewise smooth; 1e-5 is what a step of 1e-4 m leaves of curvature.
    assert np.isclose(guide["sensitivity"].longest, guide["central_difference"], rtol=1e-5)
    assert abs(float(guide["central_difference"])) > 1e-3
    assert guide["stirred"][0.0] == depths["KEpsilon"] < guide["stirred"][10.0] < 45.0
