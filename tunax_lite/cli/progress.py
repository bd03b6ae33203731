"""Progress on the terminal: a bar or a live table with the time left, or plain lines where there is no
terminal."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from ..calibration import Iteration, in_short
from ..calibration.calibrate import Report

if TYPE_CHECKING:
    from rich.table import Table

_N_LINES = 40  # about as many lines as one reads
_FIRST = "compiling, then computing"

ProgressReport = Callable[[float, str], None]
"""Called with the fraction that is done, and where that is in a few words."""


class _Clock:
    """Seconds since the start, and until the end as the work since its first report predicts it.

    What came before the first report is compilation, at least in part, and nothing to go by.
    """

    def __init__(self) -> None:
        self._start, self._first = time.perf_counter(), (0.0, 0.0)

    def times(self, fraction: float) -> str:
        now = time.perf_counter()
        before, then = self._first
        if not then:
            self._first = fraction, now
        if not then or not before < fraction < 1.0:
            return f"{now - self._start:.0f} s"
        left = (now - then) * (1.0 - fraction) / (fraction - before)
        return f"{now - self._start:.0f} s, about {left:.0f} s left"


@contextlib.contextmanager
def fraction_of(what: str, first: str = _FIRST, n_lines: int = _N_LINES) -> Iterator[ProgressReport]:
    """Something to call with the fraction that is done of a thing, `first` before the first of it."""
    clock = _Clock()
    if not sys.stdout.isatty():
        typer.echo(f"{what}: {first} ...")
        said = [0.0]

        def line(fraction: float, where: str) -> None:
            times = clock.times(fraction)
            if fraction >= min(1.0, said[0] + 0.99 / n_lines):
                said[0] = fraction
                typer.echo(f"{fraction:.0%}: {where}, {times}")

        yield line
        return
    # Takes long to import.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[times]}"),
    )
    with Progress(*columns) as progress:
        task = progress.add_task(f"{what}: {first}", total=1.0, times="")

        def bar(fraction: float, where: str) -> None:
            progress.update(
                task,
                completed=fraction,
                description=f"{what}: {where}",
                times=clock.times(fraction),
                refresh=True,
            )

        yield bar


@contextlib.contextmanager
def progress_of(n_iterations: int) -> Iterator[Report]:
    """Something to call after each iteration of a calibration."""
    if not sys.stdout.isatty():
        yield _lines(n_iterations)
        return
    # Takes long to import.
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Remaining

    description = TextColumn("{task.description}")
    progress = Progress(description, BarColumn(), MofNCompleteColumn(), Elapsed(), Remaining())
    task = progress.add_task("compiling", total=n_iterations)
    with Live(progress, refresh_per_second=4) as live:

        def report(iteration: Iteration) -> None:
            values, start = in_short(iteration.values), in_short(iteration.start_values)
            description = f"loss {iteration.loss:.5g}, best {iteration.best_loss:.5g}"
            progress.update(task, completed=iteration.number + 1, description=description)
            live.update(Group(progress, _table(iteration.scores, values, start)))

        yield report


def _table(scores: dict[str, float], values: dict[str, str], start: dict[str, str]) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2))
    table.add_column("parameter")
    for heading in ("value", "at the start"):
        table.add_column(heading, justify="right")
    for path, value in values.items():
        table.add_row(path, value, start[path])
    for case, score in scores.items():
        table.add_row(f"score of {case}", f"{score:.5g}", "")
    return table


def _lines(n_iterations: int) -> Report:
    every, clock = max(1, n_iterations // _N_LINES), _Clock()

    def report(iteration: Iteration) -> None:
        done = iteration.number + 1
        times = clock.times(done / n_iterations)
        if iteration.number % every and done < n_iterations:
            return
        numbers = "  ".join(f"{path}={value}" for path, value in in_short(iteration.values, 4).items())
        typer.echo(
            f"iteration {done}/{n_iterations}  {times}  "
            f"loss {iteration.loss:.5g}  best {iteration.best_loss:.5g}  {numbers}"
        )

    return report
