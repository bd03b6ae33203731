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
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from typer.testing import CliRunner

from tests.cli.test_startup import CONFIG
from tests.errors import missing_from
from tunax_lite.cli.commands import app
from tunax_lite.io.netcdf import read_netcdf
from tunax_lite.runtime import interrupts

COMMAND = (sys.executable, "-X", "faulthandler", "-c", "from tunax_lite.cli import main; main()")
ENDS_IN_A_ROW = 5
LONGEST = 900.0  # s, of a process; one that takes longer hangs
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

CALIBRATION = """
cases:
  - case: {format: cf_netcdf, path: "synthetic:wind_and_cooling"}
grid: {kind: uniform, n_cells: 16}
model: {closure: {name: pacanowski_philander}}
time: {step: 300.0}
misfit: {weights: {temperature: 1.0}, scale: z_score, start: 7200.0}
parameters:
  viscosity_scale: {lower: 1.0e-3, upper: 0.1}
  alpha: {lower: 1.0, upper: 10.0}
posterior: {n_draws: 60, n_warmup: 40, n_members: 4, most_doublings: 3, noise: 0.5, n_observations: 20}
output: {figures: false}
"""
RUN = """
case:
  format: idealised
  depth: 50.0
  duration: 864000.0
  temperature: {surface: 20.0, gradient: 0.01}
  latitude: 45.0
  forcing: {stress_u: 0.1, heat_flux: -50.0}
grid: {kind: uniform, n_cells: 40}
model: {closure: {name: pacanowski_philander}}
time: {step: 5.0, output_interval: 3600.0}
output: {figures: false, diagnostics: [heat_content]}
"""
OPTIMISERS = {
    "adam": "{name: adam}",
    "lbfgs": "{name: lbfgs}",
    "levenberg_marquardt": "{name: levenberg_marquardt, tolerance: 1.0e-12}",
    "ensemble_kalman": "{name: ensemble_kalman, noise: 0.5, n_members: 12}",
}


@dataclasses.dataclass(frozen=True)
class Subject:
    """A command that is interrupted: its configuration, arguments, output, and what is added to go on.

    Args:
        uses: arguments of a command that makes a file it needs, before anything else.
    """

    name: str
    config: str
    arguments: tuple[str, ...]
    output: str
    resume: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


def subjects() -> Iterator[Subject]:
    """Every command that goes on after an interruption."""
    for name, optimiser in OPTIMISERS.items():
        n = {"adam": 150, "lbfgs": 80}.get(name, 40)
        config = f"{CALIBRATION}optimiser: {optimiser}\nn_iterations: {n}\n"
        yield Subject(f"calibrate {name}", config, ("calibrate",), "out", ("--resume",))
    for method in ("laplace", "nuts"):
        config = f"{CALIBRATION}n_iterations: 10\n"
        yield Subject(f"posterior {method}", config, ("posterior", "--method", method), "out", ("--resume",))
    yield Subject("run in parts", RUN, ("run",), "out.nc")
    half = ("run", "--set", "time.duration=432000")
    yield Subject("run --restart", RUN, ("run", "--restart", "half.nc"), "out.nc", uses=half)


def command_of(subject: Subject, folder: Path, *more: str) -> list[str]:
    """The command line of a subject; its configuration is written first."""
    config = folder / "config.yaml"
    if not config.exists():
        config.write_text(subject.config, encoding="utf-8")
    first, *others = subject.arguments
    return [*COMMAND, first, config.name, *others, "--output", subject.output, *more]


def end_after(
    command: list[str], folder: Path, seconds: float, number: signal.Signals | None
) -> tuple[int, str]:
    """Start a command and send it a signal after some time; its exit code and what it said.

    Raises:
        TimeoutError: it did not end.
    """
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, text=True)
        try:
            process.wait(seconds if number is not None else LONGEST)
        except subprocess.TimeoutExpired:
            if number is not None:
                process.send_signal(number)
        try:
            process.wait(LONGEST if number is not None else 0.0)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # the fault handler says where every thread is
            process.wait()
            said.seek(0)
            raise TimeoutError(f"hangs after {number}\n{said.read()}") from None
        said.seek(0)
        return process.returncode, said.read()


def content_of(folder: Path) -> dict[str, object]:
    """All files below a folder with what must not depend on when a command was interrupted."""
    found: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "config.yaml"):
        content: Any = path.read_bytes()
        if path.suffix == ".nc":
            with xr.open_dataset(path, decode_times=False) as dataset:
                values = {str(key): np.asarray(one.values) for key, one in dataset.variables.items()}
            content = {key: (one.dtype.str, one.shape, one.tobytes()) for key, one in values.items()}
        elif path.suffix == ".yaml":
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            for name in ("tunax_lite_command", "tunax_lite_date"):
                content.get("provenance", {}).pop(name, None)
        found[str(path.relative_to(folder))] = content
    return found


def differences(expected: dict[str, object], got: dict[str, object]) -> list[str]:
    """Names of what is missing, left over or different."""
    return [name for name in {**expected, **got} if name not in got or expected.get(name) != got[name]]


def begin(subject: Subject, folder: Path, reference: Path | None) -> None:
    folder.mkdir()
    if not subject.uses:
        return
    if reference is not None:
        shutil.copy(reference / "half.nc", folder)
        return
    needed = dataclasses.replace(subject, arguments=subject.uses, output="half.nc")
    code, said = end_after(command_of(needed, folder), folder, LONGEST, None)
    assert code == 0, said


def faults_of(code: int, said: str, sent: signal.Signals | None, after: float) -> list[str]:
    """What is wrong with how a process ended."""
    allowed = {0} if sent is None else {0, -sent, 128 + sent}  # before its first line, a signal kills Python
    moment = "undisturbed" if sent is None else f"{sent.name} after {after:.2f} s"
    faults = [] if code in allowed else [f"{moment}: exit code {code}: {said[-300:]!r}"]
    if "Traceback" in said and not (code == -signal.SIGINT and "tunax_lite/" not in said):
        faults.append(f"{moment}: traceback: {said[-600:]!r}")
    return faults


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in an empty folder; with `ends_after`, a SIGTERM comes at that report of its progress."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.import_module("tunax_lite.cli.streaming"), "_WORK_OF_A_PIECE", 40 * 12 * 30)

    def run(*arguments: str, code: int = 0, ends_after: int = 0) -> str:
        monkeypatch.setattr(interrupts, "_state", interrupts._State())
        n_reports = iter(range(1, 1000))

        @contextlib.contextmanager
        def progress(*_, **_options):
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


@pytest.mark.long
def test_a_calibration_ended_by_sigterm_can_be_reported_and_goes_on(invoke, tmp_path):
    (tmp_path / "calibration.yaml").write_text(CONFIG.replace("n_iterations: 1", "n_iterations: 6"))
    said = invoke("calibrate", "calibration.yaml", "--output", "cut", ends_after=3, code=143)
    assert not missing_from(said, "SIGTERM 3 6 cut/parameters.yaml")
    content = yaml.safe_load((tmp_path / "cut/parameters.yaml").read_text())
    assert content["calibration"]["stop_reason"] == "interrupted after 3 of 6 iterations"
    invoke("report", "cut")
    invoke("plot", "cut/history.nc", "--output", "figures")
    assert "3 of 6 iterations" in (tmp_path / "cut/report.html").read_text()
    invoke("calibrate", "calibration.yaml", "--output", "cut", "--resume")
    invoke("calibrate", "calibration.yaml", "--output", "whole")
    assert_same("cut/history.nc", "whole/history.nc")
    cut, whole = (
        yaml.safe_load((tmp_path / folder / "parameters.yaml").read_text()) for folder in ("cut", "whole")
    )
    assert all(cut[part] == whole[part] for part in ("parameters", "calibration"))
    names = {path.name for path in (tmp_path / "cut").iterdir()}
    assert names == {"checkpoint.eqx", "history.nc", "parameters.yaml", "report.html"}


@pytest.mark.long
def test_a_run_ended_by_sigterm_can_be_drawn_and_goes_on(invoke, tmp_path):
    (tmp_path / "run.yaml").write_text(RUN.replace("step: 5.0", "step: 600.0").replace("3600.0", "7200.0"))
    run = ("run", "run.yaml", "--output")
    said = invoke(*run, "cut.nc", ends_after=2, code=143)
    assert not missing_from(said, "cut.nc.parts plot cut.nc") and not (tmp_path / "cut.nc").exists()
    invoke("plot", "cut.nc", "--output", "figures")
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert figures == {"cut_sections.png", "cut_profiles.png"}
    invoke(*run, "cut.nc")
    invoke(*run, "whole.nc")
    assert_same("cut.nc", "whole.nc")
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.study
@pytest.mark.parametrize("subject", list(subjects()), ids=lambda subject: subject.name)
def test_a_command_that_is_killed_goes_on_bit_by_bit(subject, tmp_path):
    reference, chance, number = tmp_path / "reference", random.Random(f"1 {subject.name}"), 5
    begin(subject, reference, None)
    seconds = 0.0
    for _ in range(2):  # the second finds compiled programs, and says how long such a process lives
        shutil.rmtree(reference / subject.output, ignore_errors=True)
        (reference / subject.output).unlink(missing_ok=True)
        start = time.perf_counter()
        code, said = end_after(command_of(subject, reference), reference, LONGEST, None)
        seconds = time.perf_counter() - start
        assert code == 0, said
    expected, moments = content_of(reference), 0
    while moments < number:
        place = tmp_path / str(moments)
        begin(subject, place, reference)
        sent = 0
        for sent in range(min(ENDS_IN_A_ROW, number - moments) + 1):
            is_last = sent == min(ENDS_IN_A_ROW, number - moments)
            signal_sent = None if is_last else chance.choice(SIGNALS)
            more = subject.resume if sent else ()
            after = chance.uniform(0.0, seconds)
            code, said = end_after(command_of(subject, place, *more), place, after, signal_sent)
            assert not faults_of(code, said, signal_sent, after)
            if code == 0:
                break
        moments += max(1, sent)
        assert not differences(expected, content_of(place))
        shutil.rmtree(place)
