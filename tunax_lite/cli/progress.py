"""Progress of long jobs, the same for all commands.

On a terminal one line moves; elsewhere, as in the log of a job, a line follows every few seconds.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from ..calibration import Iteration, in_short
from ..calibration.calibrate import Report
from .terminal import echo

SECONDS = 5.0
"""Between two lines of a job."""

_WIDTH = 12  # of the bar, in characters


class ProgressReport(Protocol):
    """Called with the fraction that is done, where that is in a few words, and details for their own line."""

    def __call__(self, fraction: float, where: str, details: str = "", /) -> None: ...


def _clock() -> Callable[[float], str]:
    """Elapsed time [s], and the time left, extrapolated from the work since the first report.

    The time before the first report includes compilation and is not used for extrapolation.
    """
    start, before, then = time.perf_counter(), 0.0, 0.0

    def times(fraction: float) -> str:
        nonlocal before, then
        now = time.perf_counter()
        if not then:
            before, then = fraction, now
        if not before < fraction < 1.0:
            return f"{now - start:.0f} s"
        left = (now - then) * (1.0 - fraction) / (fraction - before)
        return f"{now - start:.0f} s, about {left:.0f} s left"

    return times


def _every(seconds: float) -> Callable[[float], bool]:
    """Whether a fraction is due for a line: the first, the last, and one after so many seconds."""
    last = float("-inf")

    def due(fraction: float) -> bool:
        nonlocal last
        now = time.perf_counter()
        if fraction < 1.0 and now - last < seconds:
            return False
        last = now
        return True

    return due


@contextlib.contextmanager
def fraction_of(what: str, first: str = "compiling, then computing") -> Iterator[ProgressReport]:
    """Function to call with the fraction of work done; `first` is shown before the first call."""
    clock, due = _clock(), _every(SECONDS)
    if not sys.stdout.isatty():
        echo(f"{what}: {first} ...")

        def line(fraction: float, where: str, details: str = "", /) -> None:
            times = clock(fraction)
            if due(fraction):
                echo(f"{what}: {fraction:.0%}, {where}, {times}")
                if details:
                    echo(f"  {details}")

        yield line
        return
    # Slow import.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    text = TextColumn("{task.description}", markup=False)
    with Progress(BarColumn(bar_width=_WIDTH), TaskProgressColumn(), text) as progress:
        task = progress.add_task(f"{what}: {first}", total=1.0)

        def bar(fraction: float, where: str, details: str = "", /) -> None:
            if details and due(fraction):
                echo(details)  # above the line that moves
            text = f"{clock(fraction)}  {what}: {where}"
            space = progress.console.width - _WIDTH - len(" 100% ") - 1  # a longer text would take two lines
            progress.update(task, completed=fraction, description=text[:space], refresh=True)

        yield bar


@contextlib.contextmanager
def progress_of(n_iterations: int, show_parameters: bool) -> Iterator[Report]:
    """Function to call after each of `n` iterations of a calibration; parameters and scores on request."""
    with fraction_of("calibration", "compiling, then iterating") as show:

        def report(iteration: Iteration) -> None:
            done = iteration.number + 1
            loss = f"loss {iteration.loss:.4g}, best {iteration.best_loss:.4g}"
            details = ""
            if show_parameters:
                said = [f"{path}={value}" for path, value in in_short(iteration.values, 4).items()]
                said += [f"score of {case}={score:.5g}" for case, score in iteration.scores.items()]
                details = "  ".join(said)
            show(done / n_iterations, f"iteration {done} of {n_iterations}, {loss}", details)

        yield report
