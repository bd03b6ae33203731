"""The start of a calibration: `python -m benchmarks.startup CONFIG`.

Measured are CPU seconds to the first loss and gradient. The first process finds an empty cache, the second
what the first left. Python compiles modules once and keeps them, unless told not to
(PYTHONDONTWRITEBYTECODE): `--bytecode` has that done before, in a folder of its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The processor's seconds, which depend less on what else the machine does.
COMMAND = """
import os, sys, time
from tunax_lite.cli import main
from tunax_lite.calibration.evaluation import GradientEvaluator

evaluate = GradientEvaluator.__call__

def once(self, x):
    result = evaluate(self, x)
    print(f"CPU {time.process_time():.3f} {result.fit.loss!r}", flush=True)
    os._exit(0)

GradientEvaluator.__call__ = once
main()
"""


def start(config: Path, folder: Path, cache: str, environment: dict[str, str]) -> tuple[float, str]:
    """CPU seconds of a process up to its first loss and gradient, and that loss."""
    options = ("--cache-folder", str(folder / cache), "calibrate", str(config), "--overwrite")
    command = (sys.executable, "-c", COMMAND, *options, "--output", str(folder / "results"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("CPU "):
            _, seconds, loss = line.split()
            return float(seconds), loss
    raise SystemExit(f"benchmarks.startup: the calibration did not start\n{done.stdout}{done.stderr}")


def measure(config: Path, folder: Path, repetitions: int, bytecode: bool) -> tuple[float, float]:
    """Least CPU seconds of a first process and of one that comes after it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    if bytecode:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        start(config, folder, "for the bytecode", environment)
    first, second = [], []
    for number in range(repetitions):
        seconds, loss = start(config, folder, f"cache {number}", environment)
        again, loss_again = start(config, folder, f"cache {number}", environment)
        assert loss_again == loss, "the stored program is another one"
        first.append(seconds)
        second.append(again)
    return min(first), min(second)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("config", type=Path, nargs="?", default=Path("configs/calibrations/synthetic.yaml"))
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--bytecode", action="store_true", help="compile all modules of Python before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, second = measure(options.config, Path(folder), options.repetitions, options.bytecode)
    print(f"{options.config}: {first:.1f} s, then {second:.1f} s, which is {second / first:.2f} of it")


if __name__ == "__main__":
    main()
