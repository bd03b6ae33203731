"""The README works as it is printed: its Python and its commands are run."""

import re
import shlex
from pathlib import Path

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from tunax_lite.cli.commands import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.long  # the notebook 01 does the same
def test_python_gives_a_gradient_that_is_that_of_central_differences():
    (block,) = re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    names = {}
    with jax.numpy_dtype_promotion("standard"):  # that of users, and of optax
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    step = 1e-4
    higher, lower = (float(names["misfit"](names["tl"].KEpsilon(c_eps_1=1.44 + s))) for s in (step, -step))
    # The run is sampled hourly over two days; 1e-4 is what the switches of the closure leave.
    assert np.isclose(float(names["gradient"].c_eps_1), (higher - lower) / (2.0 * step), rtol=1e-4)


@pytest.mark.long
def test_commands_run_one_after_the_other(tmp_path, monkeypatch):
    commands = re.findall(r"^    tunax-lite (.*)$", README, flags=re.MULTILINE)
    assert len(commands) == 5
    for name in ("configs", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exit_code == 0, f"{command}\n{done.output}"
    assert {"first", "first.nc"} <= {path.name for path in (tmp_path / "results").iterdir()}
