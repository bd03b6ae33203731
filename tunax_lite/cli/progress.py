"""Progress on the terminal: a bar or a live table with the time left, or plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from ..calibration import Iteration, in_short
from ..calibration.calibrate import Report
from .terminal import echo

_N_LINES = 40  # about as many lines as one would read

ProgressReport = Callable[[float, str], None]
"""Called with the fraction that is done, and where that is in a few words."""


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


@contextlib.contextmanager
def fraction_of(
    what: str, first: str = "compiling, then computing", n_lines: int = _N_LINES
) -> Iterator[ProgressReport]:
    """Function to call with the fraction of work done; `first` is the fraction done at the start."""
    clock = _clock()
    if not sys.stdout.isatty():
        echo(f"{what}: {first} ...")
        said = 0.0

        def line(fraction: float, where: str) -> None:
            nonlocal said
            times = clock(fraction)
            if fraction >= min(1.0, said + 0.99 / n_lines):
                said = fraction
                echo(f"{fraction:.0%}: {where}, {times}")

        yield line
        return
    # Slow import.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    texts = TextColumn("{task.description}"), TextColumn("{task.fields[times]}")
    with Progress(texts[0], BarColumn(), TaskProgressColumn(), texts[1]) as progress:
        task = progress.add_task(f"{what}: {first}", total=1.0, times="")

        def bar(fraction: float, where: str) -> None:
            text = f"{what}: {where}"
            progress.update(task, completed=fraction, description=text, times=clock(fraction), refresh=True)

        yield bar


@contextlib.contextmanager
def progress_of(n_iterations: int) -> Iterator[Report]:
    """Function to call after each of `n` iterations of a calibration."""
    if not sys.stdout.isatty():
        yield _lines(n_iterations)
        return
    # Slow import.
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.table import Table

    description = TextColumn("{task.description}")
    progress = Progress(description, BarColumn(), MofNCompleteColumn(), Elapsed(), Remaining())
    task = progress.add_task("compiling", total=n_iterations)
    with Live(progress, refresh_per_second=4) as live:

        def report(iteration: Iteration) -> None:
            text = f"loss {iteration.loss:.5g}, best {iteration.best_loss:.5g}"
            progress.update(task, completed=iteration.number + 1, description=text)
            table = Table(box=None, padding=(0, 2))
            table.add_column("parameter")
            for heading in ("value", "at the start"):
                table.add_column(heading, justify="right")
            start = in_short(iteration.start_values)
            for path, value in in_short(iteration.values).items():
                table.add_row(path, value, start[path])
            for case, score in iteration.scores.items():
                table.add_row(f"score of {case}", f"{score:.5g}", "")
            live.update(Group(progress, table))

        yield report


def _lines(n_iterations: int) -> Report:
    every, clock = max(1, n_iterations // _N_LINES), _clock()

    def report(iteration: Iteration) -> None:
        done = iteration.number + 1
        times = clock(done / n_iterations)
        if iteration.number % every and done < n_iterations:
            return
        numbers = "  ".join(f"{path}={value}" for path, value in in_short(iteration.values, 4).items())
        echo(
            f"iteration {done}/{n_iterations}  {times}  "
            f"loss {iteration.loss:.5g}  best {iteration.best_loss:.5g}  {numbers}"
        )

    return report
