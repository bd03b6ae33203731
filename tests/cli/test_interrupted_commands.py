"""Commands that a signal ends in order: what they leave can be shown, and goes on to the same numbers."""

import contextlib
import importlib
import random
import signal

import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from benchmarks.interruptions import RUN, Row, campaign, subjects, table
from tests.cli.test_startup import CONFIG
from tunax_lite import interrupts
from tunax_lite.cli.commands import app
from tunax_lite.io.netcdf import read_netcdf


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in an empty folder; with `ends_after`, a SIGTERM comes at that report of its progress."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.import_module("tunax_lite.streaming"), "_WORK_OF_A_PIECE", 40 * 12 * 30)

    def run(*arguments: str, code: int = 0, ends_after: int = 0) -> str:
        monkeypatch.setattr(interrupts, "_state", interrupts._State())
        n_reports = iter(range(1, 1000))

        @contextlib.contextmanager
        def progress(*_):
            def report(*_):
                if next(n_reports) == ends_after:
                    interrupts._state.first = signal.SIGTERM

            yield report

        for module, name in (("calibrate", "progress_of"), ("run", "fraction_of")):
            monkeypatch.setattr(importlib.import_module(f"tunax_lite.cli.{module}"), name, progress)
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return result.stderr

    return run


def assert_same(one, other):
    xr.testing.assert_equal(read_netcdf(one), read_netcdf(other))


def test_a_calibration_ended_by_sigterm_can_be_reported_and_goes_on(invoke, tmp_path):
    (tmp_path / "calibration.yaml").write_text(CONFIG.replace("n_iterations: 1", "n_iterations: 6"))
    said = invoke("calibrate", "calibration.yaml", "--output", "cut", ends_after=3, code=143)
    assert "SIGTERM: interrupted. The best of 3 of 6 iterations is in cut/parameters.yaml" in said
    content = yaml.safe_load((tmp_path / "cut/parameters.yaml").read_text())
    assert content["calibration"]["stop_reason"] == "interrupted after 3 of 6 iterations"
    invoke("report", "cut")
    invoke("plot", "cut/history.nc", "--output", "figures")
    assert "3 of 6 iterations" in (tmp_path / "cut/report.html").read_text()
    invoke("calibrate", "calibration.yaml", "--output", "cut", "--resume")
    invoke("calibrate", "calibration.yaml", "--output", "whole")
    assert_same("cut/history.nc", "whole/history.nc")
    found = [
        yaml.safe_load((tmp_path / folder / "parameters.yaml").read_text()) for folder in ("cut", "whole")
    ]
    assert found[0]["parameters"] == found[1]["parameters"]
    assert found[0]["calibration"] == found[1]["calibration"]
    names = {path.name for path in (tmp_path / "cut").iterdir()}
    assert names == {"checkpoint.eqx", "history.nc", "parameters.yaml", "report.html"}


def test_a_run_ended_by_sigterm_can_be_drawn_and_goes_on(invoke, tmp_path):
    (tmp_path / "run.yaml").write_text(RUN.replace("step: 5.0", "step: 300.0"))
    run = ("run", "run.yaml", "--set", "time.duration=432000", "--output")
    said = invoke(*run, "cut.nc", ends_after=2, code=143)
    assert "cut.nc.parts: the same command goes on after it, tunax-lite plot cut.nc draws it" in said
    assert not (tmp_path / "cut.nc").exists()
    invoke("plot", "cut.nc", "--output", "figures")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "cut_sections.png",
        "cut_profiles.png",
    }
    invoke(*run, "cut.nc")
    invoke(*run, "whole.nc")
    assert_same("cut.nc", "whole.nc")
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.study
@pytest.mark.parametrize("subject", list(subjects()), ids=lambda subject: subject.name)
def test_a_command_that_is_killed_three_times_goes_on_bit_by_bit(subject, tmp_path):
    row = campaign(subject, 3, random.Random(7), tmp_path)
    assert row == Row(subject.name, row.seconds, 3, row.n_ended, ()), table([row])
