"""Progress of long jobs, the same for all commands.

On a terminal one line moves; elsewhere, as in the log of a job, a line follows every few seconds.
"""

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from .terminal import echo, printable

SECONDS = 5.0
"""Between two lines of a job."""


class ProgressReport(Protocol):
    """Called with the fraction that is done, where that is in a few words, and details for their own line."""

    def __call__(self, fraction: float, where: str, details: str = "", /) -> None: ...


class _Lines:
    """Reports as lines, with the elapsed time [s] and the time left, extrapolated since the first report.

    The time before the first report includes compilation and is not used for extrapolation.
    """

    def __init__(self, what: str):
        self._what, self._moves = what, sys.stdout.isatty()
        self._start = time.perf_counter()
        self._first, self._shown = (0.0, 0.0), -math.inf  # first report: its fraction and its time
        self._is_open = False  # the line that moves

    def __call__(self, fraction: float, where: str, details: str = "", /) -> None:
        now, (before, then) = time.perf_counter(), self._first
        times = f"{now - self._start:.0f} s"
        if not then:
            self._first = fraction, now
        elif before < fraction < 1.0:
            times += f", about {(now - then) * (1.0 - fraction) / (fraction - before):.0f} s left"
        is_due = fraction >= 1.0 or now - self._shown >= SECONDS
        line = f"{self._what}: {fraction:.0%}, {where}, {times}"
        if is_due:
            self._shown = now
        if self._moves:
            width = shutil.get_terminal_size().columns - 1
            details = f"{details}\n" if details and is_due else ""
            sys.stdout.write(f"\r\x1b[K{printable(details)}{printable(line)[:width]}")
            sys.stdout.flush()
            self._is_open = True
            if fraction >= 1.0:
                self.end()
        elif is_due:
            echo(line)
            if details:
                echo(f"  {details}")

    def end(self) -> None:
        """End the line that moves."""
        if self._is_open:
            echo()
        self._is_open = False


@contextlib.contextmanager
def fraction_of(what: str, first: str = "compiling, then computing") -> Iterator[ProgressReport]:
    """Function to call with the fraction of work done; `first` is shown before the first call."""
    echo(f"{what}: {first} ...")
    lines = _Lines(what)
    try:
        yield lines
    finally:
        lines.end()
