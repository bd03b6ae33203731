"""Commands that a signal ends: what they leave can be shown, and goes on to the same numbers.

In order, at a report of their progress; and as processes, at random moments of their life, by SIGKILL,
SIGTERM or SIGINT, again and again (`pytest -m study`): in the end their files must be those of a command that
nothing disturbed, bit by bit, with nothing beside them.
"""

import contextlib
import dataclasses
import importlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from tests.cli.running import CALIBRATION, RUN, configuration
from tests.errors import missing_from
from tunax_lite.cli.commands import app

COMMAND = (sys.executable, "-X", "faulthandler", "-c", "from tunax_lite.cli import main; main()")
TO_FOLDER = ("config.yaml", "--output", "out")
ENDS_IN_A_ROW = 5
LONGEST = 900.0  # s, of a process; one that takes longer hangs
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

LONG_CALIBRATION = CALIBRATION | {
    "time": {"step": 300.0},
    "misfit": {"weights": {"temperature": 1.0}, "scale": "z_score", "start": 7200.0},
    "posterior": {
        **{"n_draws": 60, "n_warmup": 150, "n_members": 4},
        **{"noise": 0.5, "n_observations": 20},
    },
}
OPTIMISERS = {
    "adam": (150, {}),
    "ensemble_kalman": (40, {"noise": 0.5, "n_members": 12}),
}


@dataclasses.dataclass(frozen=True)
class Subject:
    """A command that is interrupted; `needs` is one that makes a file for it before anything else."""

    name: str
    config: dict[str, Any]
    command: list[str]
    resume: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def subjects() -> Iterator[Subject]:
    for name, (n, options) in OPTIMISERS.items():
        config = LONG_CALIBRATION | {"optimiser": {"name": name, **options}, "n_iterations": n}
        yield Subject(f"calibrate {name}", config, ["calibrate", *TO_FOLDER], ("--resume",))
    for method in ("laplace", "nuts"):
        command = ["posterior", *TO_FOLDER, "--method", method]
        yield Subject(f"posterior {method}", LONG_CALIBRATION | {"n_iterations": 10}, command, ("--resume",))
    run = ["run", "config.yaml", "--output", "out.nc"]
    yield Subject("run", RUN, run)
    half = ("run", "config.yaml", "--set", "time.duration=432000", "--output", "half.nc")
    yield Subject("run --restart", RUN, [*run, "--restart", "half.nc"], needs=half)


def end_after(
    command: list[str], folder: Path, seconds: float, number: signal.Signals | None
) -> tuple[int, str]:
    """Exit code and output of a command that gets a signal after some time; `TimeoutError` if it hangs."""
    pipes: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen([*COMMAND, *command], cwd=folder, **pipes)
    # The fault handler says where every thread of one that hangs is.
    for longest, sent in (*([] if number is None else [(seconds, number)]), (LONGEST, signal.SIGABRT)):
        try:
            said, _ = process.communicate(timeout=longest)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            process.send_signal(sent)
    raise TimeoutError(f"hangs after {number}\n{process.communicate()[0]}")


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


def faults_of(code: int, said: str, sent: signal.Signals | None, after: float) -> list[str]:
    allowed = {0} if sent is None else {0, -sent, 128 + sent}
    if sent in (signal.SIGTERM, signal.SIGINT) and ("Abort" in said or "Interrupt" in said):
        allowed.add(1)  # while modules are imported
    moment = "undisturbed" if sent is None else f"{sent.name} after {after:.2f} s"
    return [] if code in allowed else [f"{moment}: exit code {code}: {said[-300:]!r}"]


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

        monkeypatch.setattr(importlib.import_module("tunax_lite.cli.calibrate"), "progress_of", progress)
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


@pytest.mark.study
@pytest.mark.parametrize("subject", list(subjects()), ids=lambda subject: subject.name)
def test_a_command_that_is_killed_goes_on_bit_by_bit(subject, tmp_path):
    begun, chance, number = tmp_path / "begun", random.Random(f"1 {subject.name}"), 5
    begun.mkdir()
    configuration(begun / "config.yaml", subject.config)
    if subject.needs:
        assert end_after([*subject.needs], begun, LONGEST, None)[0] == 0
    seconds = 0.0
    for name in ("first", "reference"):  # the second finds compiled programs, and tells how long one lives
        shutil.copytree(begun, tmp_path / name)
        start = time.perf_counter()
        code, said = end_after(subject.command, tmp_path / name, LONGEST, None)
        seconds = time.perf_counter() - start
        assert code == 0, said
    expected, moments = content_of(tmp_path / "reference"), 0
    while moments < number:
        place = tmp_path / str(moments)
        shutil.copytree(begun, place)
        sent = 0
        for sent in range(min(ENDS_IN_A_ROW, number - moments) + 1):
            is_last = sent == min(ENDS_IN_A_ROW, number - moments)
            signal_sent = None if is_last else chance.choice(SIGNALS)
            more = subject.resume if sent else ()
            after = chance.uniform(0.0, seconds)
            code, said = end_after([*subject.command, *more], place, after, signal_sent)
            assert not faults_of(code, said, signal_sent, after)
            if code == 0:
                break
        moments += max(1, sent)
        assert content_of(place) == expected
        shutil.rmtree(place)
