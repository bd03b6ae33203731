"""Tutorials run as written: files are saved under the names in the text, commands run in order."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tunax_lite.cli.commands import app
from tunax_lite.io.yaml_file import parse_yaml

ROOT = Path(__file__).parents[1]
PAGES = ("start", "tutorials/les", "tutorials/weather", "tutorials/cluster")
STEP = re.compile(
    r"`([\w.]+)`:\n\n```\w+\n(.*?)^```|^    (tunax-lite|python) (.*?)$", flags=re.MULTILINE | re.DOTALL
)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_tutorial_runs_as_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Path("configs").symlink_to(ROOT / "configs")
    steps = STEP.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert sum(program == "tunax-lite" for *_, program, _ in steps) >= 3
    for name, text, program, arguments in steps:
        if name:
            Path(name).write_text(text, encoding="utf-8")
        elif program == "python":
            subprocess.run([sys.executable, *arguments.split()], check=True)
        else:
            done = CliRunner().invoke(app, arguments.split())
            assert done.exit_code == 0, f"{arguments}\n{done.output}"
    if page == "start":
        best: Any = parse_yaml(Path("results/mine/parameters.yaml").read_text(encoding="utf-8"))
        assert abs(best["parameters"]["alpha"]["value"] - 1.2) < 0.05
    if page == "tutorials/les":
        best = parse_yaml(Path("results/les/parameters.yaml").read_text(encoding="utf-8"))
        assert best["calibration"]["loss"] < 0.5 * best["calibration"]["loss_at_start"]
