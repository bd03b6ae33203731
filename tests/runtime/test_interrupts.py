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
    "waits for a lock": "lock = threading.Lock(); lock.acquire(); say(); lock.acquire()",
    "swallows exceptions": """
say()
while True:
    try:
        time.sleep(1.0)
    except BaseException:
        pass
""",
    "writes": """
with interrupts.deferred():
    say()
    time.sleep(0.5)
    open("file", "w").write("whole")
time.sleep(60.0)
""",
    "writes in a thread": """
def write():
    with interrupts.deferred():
        say()
        time.sleep(0.5)
        open("file", "w").write("whole")
threading.Thread(target=write).start()
time.sleep(60.0)
""",
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
import sys, threading, time
from tunax_lite.runtime import interrupts

def say():
    print("ready", flush=True)

interrupts.install()
interrupts.advise("Go on with --resume.")
assert "jax" not in sys.modules
"""


_LONGEST = 90.0
"""Seconds after which a program is killed, and its test fails by its exit code."""


class Process:
    """A program that has said that it is ready."""

    def __init__(self, folder: Path, program: str, *arguments: str):
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", program, *arguments]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, **pipes)
        assert self.process.stdout is not None
        # A program that never says so must not hold up the tests, nor live on after them.
        watchdog = threading.Timer(_LONGEST, self.process.kill)
        watchdog.daemon = True
        watchdog.start()
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "ready" in line:
                break

    def end(self, *signals: signal.Signals) -> tuple[int, str]:
        """Exit code and what was said on stderr after signals, a quarter of a second apart."""
        for number, sent in enumerate(signals):
            time.sleep(0.25 * bool(number))
            self.process.send_signal(sent)
        said, errors = self.process.communicate()
        self.said += said
        return self.process.returncode, errors


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
    code, errors = Process(tmp_path, program).end()
    assert code == 128 + signal.SIGTERM
    assert errors.startswith("\ntunax-lite: ") and "Nothing was written" in errors and "Trace" not in errors


@posix
@pytest.mark.long
@pytest.mark.parametrize("work", [name for name in WORK if "write" not in name and "order" not in name])
def test_a_signal_ends_at_once_what_writes_nothing(work, tmp_path):
    process, start = Process(tmp_path, PROGRAM + WORK[work]), time.monotonic()
    code, errors = process.end(signal.SIGINT)
    assert (code, errors) == (130, "\ntunax-lite: Ctrl-C: interrupted. Go on with --resume.\n")
    assert time.monotonic() - start < 20.0


@posix
@pytest.mark.long
@pytest.mark.parametrize(
    ("work", "number"),
    [
        ("writes", signal.SIGINT),
        ("writes in a thread", signal.SIGTERM),
        *(("ends in order", number) for number in SIGNALS),
    ],
)
def test_a_signal_waits_for_the_end_of_a_write_and_a_safe_point(work, number, tmp_path):
    code, errors = Process(tmp_path, PROGRAM + WORK[work]).end(number)
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
    code, errors = Process(tmp_path, PROGRAM + work).end(signal.SIGINT, signal.SIGINT)
    assert code == 130 and "ends after the file that is written" in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@posix
def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path):
    ignore = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"  # as `nohup` leaves it
    process = Process(tmp_path, ignore + PROGRAM + "say(); time.sleep(0.6); print('done')")
    assert process.end(signal.SIGHUP) == (0, "")
    assert process.said.endswith("done\n")


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

    def write():  # in a thread it leaves the handlers alone
        with replacing(path) as temporary:
            reached.append(signal.getsignal(signal.SIGINT))
            temporary.write_text("thread")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert reached[1:] == [signal.default_int_handler] and path.read_text() == "thread"
