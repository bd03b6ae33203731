"""The extension guide works as it is printed: its code blocks are run, from outside the package."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tunax_lite.cli.commands import app
from tunax_lite.io import read_trajectory

GUIDE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path_factory.mktemp("elsewhere") / "my_closure.py"
    script.write_text("\n\n".join(blocks))
    return runpy.run_path(str(script), run_name="my_closure")


@pytest.mark.long
def test_new_closure_mixes_about_as_deep_as_a_built_in_one(guide):
    depths = guide["depths"]
    assert set(depths) == {"MixingLength", "KEpsilon"}
    assert 5.0 < depths["MixingLength"] < 45.0
    assert abs(depths["MixingLength"] - depths["KEpsilon"]) < 15.0


@pytest.mark.long  # likewise of a term: test_adding_a_term
def test_gradient_is_that_of_central_differences(guide):
    # The mixed-layer depth is piecewise smooth; 1e-5 is what a step of 1e-4 m leaves of curvature.
    assert np.isclose(guide["sensitivity"].longest, guide["central_difference"], rtol=1e-5)
    assert abs(float(guide["central_difference"])) > 1e-3


def test_configuration_names_a_closure_by_its_import_path(tmp_path, monkeypatch):
    module = tmp_path / "guide_closure.py"
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL)
    module.write_text(blocks[0])
    monkeypatch.syspath_prepend(tmp_path)
    config = Path(__file__).parents[1] / "configs" / "runs" / "kato_phillips.yaml"
    output = tmp_path / "out.nc"
    settings = [
        "model.closure={name: guide_closure:MixingLength, parameters: {longest: 3.0}}",
        "time={step: 60.0, output_interval: 600.0, duration: 1200.0}",
    ]
    arguments = ["run", str(config), "--output", str(output)]
    result = CliRunner().invoke(app, [*arguments, *(f"--set={setting}" for setting in settings)])
    assert result.exit_code == 0, result.output
    assert read_trajectory(output).clo_state.eddy_viscosity.max() > 1e-4
