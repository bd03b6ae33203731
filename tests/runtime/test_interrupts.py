"""Signals: an iteration is finished, what is half-written goes, and the exit code is that of the signal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tunax_lite.runtime.interrupts import Interrupted, finishing

ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_for_the_iteration_and_a_second_does_not(number):
    before, done = signal.getsignal(number), []
    with pytest.raises(Interrupted) as caught, finishing("this step") as may_end:
        may_end()
        signal.raise_signal(number)
        done.append("iteration")
        may_end()
        done.append("more")
    assert caught.value.args == (number,) and done == ["iteration"]
    assert signal.getsignal(number) is before
    with pytest.raises(Interrupted), finishing("this step"):
        signal.raise_signal(number)  # during the last iteration
    with pytest.raises(KeyboardInterrupt), finishing("this step"):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("never")
    assert done == ["iteration"]


@pytest.mark.long  # a process
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", SIGNALS[1:])
def test_a_signal_ends_a_command_and_removes_what_is_half_written(number, tmp_path):
    program = f"""
import os, sys
from tunax_lite.cli import commands, main
from xarray import Dataset

to_netcdf = Dataset.to_netcdf

def write(*arguments, **options):
    to_netcdf(*arguments, **options)  # the first frames
    os.kill(os.getpid(), {int(number)})

Dataset.to_netcdf = write
sys.argv[1:] = ["run", {str(ROOT / "configs/runs/kato_phillips.yaml")!r}, "--output", "out.nc"]
sys.argv += ["--set", "time.duration=1200", "--set", "time.output_interval=600"]
main()
"""
    command = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 128 + number and "Nothing was written" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not list(tmp_path.iterdir())
