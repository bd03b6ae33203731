"""Signals: nothing half-written, no hang, no traceback, the exit code of the signal."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tunax_lite.io import replacing
from tunax_lite.runtime.interrupts import deferred

ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

# What a program does after the line "ready", by name; each would go on for a minute.
WORK = {
    "computes": "say()\nwhile True: pass",
    "swallows exceptions": """
say()
while True:
    with contextlib.suppress(BaseException):
        time.sleep(1.0)
""",
    "writes": "write()\ntime.sleep(60.0)",
    "writes in a thread": "threading.Thread(target=write).start()\ntime.sleep(60.0)",
    "ends in order": """
try:
    with interrupts.ordered_end("this step") as safe_point:
        safe_point()
        say()
        time.sleep(0.5)
        safe_point()
        time.sleep(60.0)
except interrupts.Interrupted:
    with interrupts.deferred():
        open("other", "w").write("saved")
    open("file", "w").write("whole")
    interrupts.advise("")
    sys.exit(interrupts.exit_code())
""",
}
PROGRAM = """
import contextlib, sys, threading, time
from tunax_lite.runtime import interrupts

def say():
    print("ready", flush=True)

def write():
    with interrupts.deferred():
        say()
        time.sleep(0.5)
        open("file", "w").write("whole")

interrupts.install()
interrupts.advise("Go on with --resume.")
assert "jax" not in sys.modules
"""


def ended(folder: Path, program: str, *signals: signal.Signals) -> tuple[int, str, str]:
    """Exit code and output of a program that gets signals, a quarter of a second apart, once it is ready."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    pipes: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=environment, **pipes)
    assert process.stdout is not None
    # A program that never says so must not hold up the tests, nor live on after them: its exit code tells.
    watchdog = threading.Timer(90.0, process.kill)
    watchdog.daemon = True
    watchdog.start()
    for line in process.stdout:
        if "ready" in line:
            break
    for number, sent in enumerate(signals):
        time.sleep(0.25 * bool(number))
        process.send_signal(sent)
    said, errors = process.communicate()
    return process.returncode, errors, said


@pytest.mark.long
@posix
def test_a_signal_while_jax_is_imported_is_one_message(tmp_path):
    program = f"""
import os, sys, time
from tunax_lite.cli import main

class Slow:
    def find_spec(name, *_):
        if name.startswith("jax"):
            os.kill(os.getpid(), {int(signal.SIGTERM)})
            time.sleep(60.0)

sys.meta_path.insert(0, Slow)
sys.argv[1:] = ["run", "nowhere.yaml"]
main()
"""
    code, errors, _ = ended(tmp_path, program)
    assert code == 128 + signal.SIGTERM
    assert errors.startswith("\ntunax-lite: ") and "Nothing was written" in errors and "Trace" not in errors


@posix
@pytest.mark.long
@pytest.mark.parametrize("work", [name for name in WORK if "write" not in name and "order" not in name])
def test_a_signal_ends_at_once_what_writes_nothing(work, tmp_path):
    start = time.monotonic()
    code, errors, _ = ended(tmp_path, PROGRAM + WORK[work], signal.SIGINT)
    assert (code, errors) == (130, "\ntunax-lite: Ctrl-C: interrupted. Go on with --resume.\n")
    assert time.monotonic() - start < 20.0


@posix
@pytest.mark.long
@pytest.mark.parametrize(
    ("work", "number"),
    [("writes", SIGNALS[0]), ("writes in a thread", SIGNALS[1]), *(("ends in order", n) for n in SIGNALS)],
)
def test_a_signal_waits_for_the_end_of_a_write_and_a_safe_point(work, number, tmp_path):
    code, errors, _ = ended(tmp_path, PROGRAM + WORK[work], number)
    assert code == 128 + number and "once more ends at once" in errors and "Traceback" not in errors
    assert (tmp_path / "file").read_text() == "whole"


@pytest.mark.long
@posix
def test_a_second_signal_ends_a_write_and_removes_what_is_half_written(tmp_path):
    work = """
from pathlib import Path
with interrupts.at_end(Path("half").unlink), interrupts.deferred():
    open("half", "w").write("half")
    say()
    time.sleep(60.0)
"""
    code, errors, _ = ended(tmp_path, PROGRAM + work, signal.SIGINT, signal.SIGINT)
    assert code == 130 and "ends after the file that is written" in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@posix
def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path):
    ignore = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as `nohup` leaves it
    program = ignore + PROGRAM + "say(); time.sleep(0.6); print('done')"
    assert ended(tmp_path, program, signal.SIGHUP) == (0, "", "done\n")


@posix
def test_ctrl_c_in_a_notebook_waits_for_the_end_of_a_write(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        signal.raise_signal(signal.SIGINT)
        temporary.write_text("whole")
    assert path.read_text() == "whole" and len(list(tmp_path.iterdir())) == 1
    reached = []
    with pytest.raises(KeyboardInterrupt), deferred():
        signal.raise_signal(signal.SIGINT)
        reached.append("after the first")
        signal.raise_signal(signal.SIGINT)
        reached.append("after the second")
    assert reached == ["after the first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
