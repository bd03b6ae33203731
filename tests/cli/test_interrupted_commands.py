"""A command that a signal ends: what it leaves can be shown, and goes on to the same numbers."""

import contextlib
import importlib
import signal
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from tests.cli.running import CALIBRATION, configuration
from tests.errors import missing_from
from tunax_lite.cli.commands import app


def content_of(folder: Path) -> dict[str, object]:
    """All files below a folder with what must not depend on when a command was interrupted."""
    found: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name == "config.yaml" or path.suffix == ".tmp":  # the latter are left by SIGKILL
            continue
        content: Any = path.read_bytes()
        if path.suffix == ".nc":
            variables = xr.load_dataset(path, decode_times=False).variables.items()
            content = {key: (one.dtype.str, one.shape, one.values.tobytes()) for key, one in variables}
        elif path.suffix == ".yaml":
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            for name in ("tunax_lite_command", "tunax_lite_date"):
                content.get("provenance", {}).pop(name, None)
        found[str(path.relative_to(folder))] = content
    return found


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in an empty folder; with `ends_after`, a SIGTERM comes at that report of its progress."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, ends_after: int = 0) -> str:
        n_reports = iter(range(1, 1000))

        @contextlib.contextmanager
        def progress(*_, **_options):
            def report(*_):
                if next(n_reports) == ends_after:
                    signal.raise_signal(signal.SIGTERM)

            yield report

        monkeypatch.setattr(importlib.import_module("tunax_lite.cli.calibrate"), "fraction_of", progress)
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return result.stderr

    return run


@pytest.mark.long
def test_a_calibration_ended_by_sigterm_can_be_reported_and_goes_on(invoke, tmp_path):
    configuration(tmp_path / "config.yaml", CALIBRATION, n_iterations=6)
    calibrate = ("calibrate", "config.yaml", "--output")
    said = invoke(*calibrate, "cut", ends_after=3, code=143)
    assert not missing_from(said, "SIGTERM 3 6 cut/parameters.yaml")
    content = yaml.safe_load((tmp_path / "cut/parameters.yaml").read_text())
    assert content["calibration"]["stop_reason"] == "interrupted after 3 of 6 iterations"
    invoke("report", "cut")
    invoke("plot", "cut/history.nc", "--output", "figures")
    assert len(list((tmp_path / "figures").iterdir())) == 2
    assert "3 of 6 iterations" in (tmp_path / "cut/report.html").read_text()
    (tmp_path / "cut/report.html").unlink()
    invoke(*calibrate, "cut", "--resume")
    invoke(*calibrate, "whole")
    assert set(content_of(tmp_path / "cut")) == {"checkpoint.eqx", "history.nc", "parameters.yaml"}
    cut, whole = (content_of(tmp_path / name) | {"checkpoint.eqx": None} for name in ("cut", "whole"))
    assert cut == whole
