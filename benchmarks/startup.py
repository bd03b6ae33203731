"""The start of a calibration: CPU seconds to its first loss and gradient, without a cache and with one.

Python compiles modules once and keeps them: that is done before, in a folder of its own.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .harness import Row, Setting

CONFIG = "configs/calibrations/synthetic.yaml"
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


def start(folder: Path, cache: str) -> tuple[float, str]:
    """CPU seconds of a process up to its first loss and gradient, and that loss."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    options = ("--cache-folder", str(folder / cache), "calibrate", CONFIG, "--overwrite")
    command = (sys.executable, "-c", COMMAND, *options, "--output", str(folder / "results"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("CPU "):
            _, seconds, loss = line.split()
            return float(seconds), loss
    raise SystemExit(f"benchmarks: the calibration did not start\n{done.stdout}{done.stderr}")


def measure_startup(setting: Setting) -> list[Row]:
    """CPU seconds to the first loss of a calibration, with an empty cache and with what that process left."""
    first, second = [], []
    with tempfile.TemporaryDirectory() as folder:
        start(Path(folder), "for the bytecode")
        for number in range(1 if setting.quick else 2):
            seconds, loss = start(Path(folder), f"cache {number}")
            again, loss_again = start(Path(folder), f"cache {number}")
            assert loss_again == loss, "the stored program is another one"
            first.append(seconds)
            second.append(again)
    times = {"first": min(first), "second": min(second), "over_first": min(second) / min(first)}
    return [{"config": CONFIG} | times]
