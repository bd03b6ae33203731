"""The extension guide works as it is printed: its code blocks are run, from outside the package."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tunax_lite import simulate
from tunax_lite.config import build_run, load_run

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


def test_configuration_names_a_closure_by_its_import_path(tmp_path, monkeypatch):
    (tmp_path / "guide_closure.py").write_text(BLOCKS[0])
    monkeypatch.syspath_prepend(tmp_path)
    config = Path(__file__).parents[1] / "configs" / "runs" / "kato_phillips.yaml"
    settings = [
        "model.closure={name: guide_closure:MixingLength, parameters: {longest: 3.0}}",
        "time={step: 60.0, output_interval: 600.0, duration: 1200.0}",
    ]
    run = build_run(load_run(config, settings))
    end = simulate(run.model, run.case, dt=run.dt, output_interval=600.0, duration=1200.0)
    assert end.clo_state.eddy_viscosity.max() > 1e-4  # pyright: ignore[reportAttributeAccessIssue]
