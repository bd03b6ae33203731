"""Progress of long jobs.

On a terminal one line is updated; elsewhere, as in the log of a job, a line is printed every few seconds.
"""

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from .terminal import echo, printable

SECONDS = 5.0
"""Least time between two lines in a log [s]."""


@contextlib.contextmanager
def fraction_of(
    what: str, first: str = "compiling, then computing"
) -> Iterator[Callable[[float, str], None]]:
    """Provide a function to call with the completed fraction and a description of the current state.

    `first` describes the work before the first call. It includes compilation, so the remaining time is
    extrapolated from the calls alone.
    """
    echo(f"{what}: {first} ...")
    is_terminal, start = sys.stdout.isatty(), time.perf_counter()
    first_report: tuple[float, float] | None = None  # its fraction and its time
    last_line = -math.inf  # time of the last line in a log
    is_open = False  # true while a line on a terminal lacks its end

    def show(fraction: float, where: str) -> None:
        nonlocal first_report, last_line, is_open
        now = time.perf_counter()
        first_fraction, first_time = first_report = first_report or (fraction, now)
        line = f"{what}: {fraction:.0%}, {where}, {now - start:.0f} s"
        if first_fraction < fraction < 1.0:
            remaining = (now - first_time) * (1.0 - fraction) / (fraction - first_fraction)
            line += f", about {remaining:.0f} s left"
        if is_terminal:
            width = shutil.get_terminal_size().columns - 1
            is_open = fraction < 1.0
            print(f"\r\x1b[K{printable(line)[:width]}", end="" if is_open else "\n", flush=True)
        elif fraction >= 1.0 or now - last_line >= SECONDS:
            last_line = now
            echo(line)

    try:
        yield show
    finally:
        if is_open:
            echo()
