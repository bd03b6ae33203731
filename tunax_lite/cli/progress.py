"""Progress of long jobs, the same for all commands.

On a terminal one line moves; elsewhere, as in the log of a job, a line follows every few seconds.
"""

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from .terminal import echo, printable

SECONDS = 5.0
"""Least time between two lines of a job [s]."""


@contextlib.contextmanager
def fraction_of(
    what: str, first: str = "compiling, then computing"
) -> Iterator[Callable[[float, str], None]]:
    """Function to call with the completed fraction and a description of the current state.

    The time left is extrapolated from the first report on, since the time before it includes compilation;
    `first` is shown before.
    """
    echo(f"{what}: {first} ...")
    is_terminal, start = sys.stdout.isatty(), time.perf_counter()
    reports = list[tuple[float, float]]()  # the first one: its fraction and its time
    last_line, is_open = -math.inf, False  # time of the last line; whether the moving line is unfinished

    def show(fraction: float, where: str) -> None:
        nonlocal last_line, is_open
        now = time.perf_counter()
        reports.extend([] if reports else [(fraction, now)])
        begin, begin_time = reports[0]
        line = f"{what}: {fraction:.0%}, {where}, {now - start:.0f} s"
        if begin < fraction < 1.0:
            line += f", about {(now - begin_time) * (1.0 - fraction) / (fraction - begin):.0f} s left"
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
