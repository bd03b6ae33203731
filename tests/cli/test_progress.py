"""Progress of long jobs: a few short lines in a file, one line that moves on a terminal."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tunax_lite.cli import progress

JOB = """
from tunax_lite.cli.progress import fraction_of
with fraction_of("run") as show:
    for day in range(1, 101):
        show(day / 100.0, f"day {day} of a name that no terminal can hold " * 5)
"""


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only as a test says."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def test_a_log_gets_the_first_the_last_and_a_line_every_few_seconds(clock, capsys):
    with progress.fraction_of("run", "compiling") as show:
        for step in range(1, 41):
            clock[0] += 1.0
            show(step / 40.0, f"day {step}", f"detail {step}")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run: compiling ..."
    # A report every second, a line every five seconds, and the last report whenever it comes.
    shown = [f"run: {round(2.5 * step)}%" for step in (*range(1, 40, 5), 40)]
    assert [line.partition(",")[0] for line in lines[1::2]] == shown
    # Five steps in five seconds: 34 are left after the sixth.
    assert lines[3] == "run: 15%, day 6, 6 s, about 34 s left"
    assert lines[-2:] == ["run: 100%, day 40, 40 s", "  detail 40"]


@pytest.mark.long
def test_a_terminal_shows_one_line_that_moves():
    reader, writer = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "70", "NO_COLOR": "1"}
    with subprocess.Popen([sys.executable, "-c", JOB], stdout=writer, env=environment) as job:
        os.close(writer)
        shown = b""
        try:
            while part := os.read(reader, 65536):
                shown += part
        except OSError:  # Linux: the other end is closed
            pass
    os.close(reader)
    assert job.returncode == 0
    # As a terminal does: a line begins anew after each carriage return.
    text = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", shown.decode())
    lines = [line.rpartition("\r")[2] for line in text.split("\r\n")]
    (line,) = [line for line in lines if line.strip()]
    assert "100%" in line and "run: day" in line and len(line.rstrip()) <= 70
