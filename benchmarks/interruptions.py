"""What a killed process leaves: `python -m benchmarks.interruptions --number 30 --seed 1`.

Commands that save what they do are ended at random moments of their life, by SIGKILL, SIGTERM or SIGINT, and
started again; after five such ends, or when a command comes to its end before, its files must be those of one
that nothing disturbed, bit by bit, with nothing beside them. A row per command says how many moments there
were, how many commands came to an end, and what was wrong. The exit code is 1 if anything was.
"""

import argparse
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
import yaml

_COMMAND = (sys.executable, "-X", "faulthandler", "-c", "from tunax_lite.cli import main; main()")
_ENDS_IN_A_ROW = 5
_LONGEST = 900.0  # s, of a process; one that takes longer hangs
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

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
    """A command that is interrupted.

    Args:
        name: in the table.
        config: text of its file.
        arguments: those between the configuration and the output.
        output: name of what it writes.
        resume: what is added to go on.
        uses: arguments of a command that makes a file it needs, before anything else.
    """

    name: str
    config: str
    arguments: tuple[str, ...]
    output: str
    resume: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


class Row(NamedTuple):
    """What was seen of a subject; `faults` says what was wrong."""

    name: str
    seconds: float
    n_moments: int
    n_ended: int
    faults: tuple[str, ...]


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
    return [*_COMMAND, first, config.name, *others, "--output", subject.output, *more]


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
            process.wait(seconds if number is not None else _LONGEST)
        except subprocess.TimeoutExpired:
            if number is not None:
                process.send_signal(number)
        try:
            process.wait(_LONGEST if number is not None else 0.0)
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
        name = str(path.relative_to(folder))
        if path.suffix == ".nc":
            with xr.open_dataset(path, decode_times=False) as dataset:
                values = {
                    str(key): np.asarray(variable.values) for key, variable in dataset.variables.items()
                }
            found[name] = {
                key: (value.dtype.str, value.shape, value.tobytes()) for key, value in values.items()
            }
        elif path.suffix == ".yaml":
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            content.get("provenance", {}).pop("tunax_lite_command", None)
            found[name] = content
        else:
            found[name] = path.read_bytes()
    return found


def differences(expected: dict[str, object], got: dict[str, object]) -> list[str]:
    """What two contents differ in, in words."""
    lost = [f"{name} is missing" for name in expected if name not in got]
    left = [f"{name} is left over" for name in got if name not in expected]
    return (
        lost + left + [f"{name} differs" for name in expected if name in got and got[name] != expected[name]]
    )


def campaign(subject: Subject, number: int, chance: random.Random, folder: Path) -> Row:
    """Interrupt a subject at so many moments.

    Args:
        subject: a command.
        number: of moments.
        chance: gives moments and signals.
        folder: an empty one.
    """
    reference, faults, n_ended, moments = folder / "reference", [], 0, 0
    _begin(subject, reference, None)
    seconds = 0.0
    for attempt in range(2):  # the second finds compiled programs, and says how long such a process lives
        shutil.rmtree(reference / subject.output, ignore_errors=True)
        (reference / subject.output).unlink(missing_ok=True)
        start = time.perf_counter()
        code, said = end_after(command_of(subject, reference), reference, _LONGEST, None)
        seconds = time.perf_counter() - start
        if code:
            raise SystemExit(
                f"benchmarks.interruptions: {subject.name}, attempt {attempt + 1} failed\n{said}"
            )
    expected = content_of(reference)
    while moments < number:
        place = folder / str(moments)
        _begin(subject, place, reference)
        in_a_row, sent = min(_ENDS_IN_A_ROW, number - moments), 0
        try:
            for sent in range(in_a_row + 1):
                is_last = sent == in_a_row
                signal_sent = None if is_last else chance.choice(_SIGNALS)
                more = subject.resume if sent else ()
                after = chance.uniform(0.0, seconds)
                code, said = end_after(command_of(subject, place, *more), place, after, signal_sent)
                faults += _faults_of(code, said, signal_sent, after)
                if code == 0:
                    break
                moments += not is_last
            moments += 0 if sent else 1  # it ended before any signal came: no endless loop
        except TimeoutError as error:
            faults.append(str(error))
            break
        n_ended += 1
        faults += differences(expected, content_of(place))
        shutil.rmtree(place)
    return Row(subject.name, seconds, moments, n_ended, tuple(faults))


def _begin(subject: Subject, folder: Path, reference: Path | None) -> None:
    folder.mkdir()
    if not subject.uses:
        return
    if reference is not None:
        shutil.copy(reference / "half.nc", folder)
        return
    needed = dataclasses.replace(subject, arguments=subject.uses, output="half.nc")
    code, said = end_after(command_of(needed, folder), folder, _LONGEST, None)
    if code:
        raise SystemExit(f"benchmarks.interruptions: {subject.name} has nothing to go on from\n{said}")


def _faults_of(code: int, said: str, sent: signal.Signals | None, after: float) -> list[str]:
    """What is wrong with how a process ended."""
    allowed = {0} if sent is None else {0, -sent, 128 + sent}  # before its first line, a signal kills Python
    moment = "undisturbed" if sent is None else f"{sent.name} after {after:.2f} s"
    faults = [] if code in allowed else [f"{moment}: exit code {code}: {said[-300:]!r}"]
    if "Traceback" in said and not (code == -signal.SIGINT and "tunax_lite/" not in said):
        faults.append(f"{moment}: traceback: {said[-600:]!r}")
    return faults


def table(rows: list[Row]) -> str:
    """The rows, and below them what was wrong."""
    lines = [f"{'command':28}{'life [s]':>9}{'moments':>9}{'ended':>7}{'faults':>8}"]
    for row in rows:
        lines.append(f"{row.name:28}{row.seconds:9.1f}{row.n_moments:9d}{row.n_ended:7d}{len(row.faults):8d}")
    return "\n".join(lines + [f"{row.name}: {fault}" for row in rows for fault in row.faults])


def main() -> int:
    """Print the table; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interruptions", description=__doc__)
    parser.add_argument("--number", type=int, default=30, help="of moments for each command")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", default="", help="commands whose names contain this")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    rows = []
    for subject in subjects():
        if options.only in subject.name:
            with tempfile.TemporaryDirectory() as folder:
                chance = random.Random(f"{options.seed} {subject.name}")
                rows.append(campaign(subject, options.number, chance, Path(folder)))
            print(table(rows[-1:]), flush=True)
    if len(rows) > 1:
        print(table(rows))
    return int(any(row.faults for row in rows))


if __name__ == "__main__":
    sys.exit(main())
