"""The progress of a calibration on the terminal: a live table, or plain lines where there is no terminal."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from ..calibration import Iteration, in_short
from ..calibration.calibrate import Report

if TYPE_CHECKING:
    from rich.table import Table

_N_LINES = 40  # about as many lines as one reads


@contextlib.contextmanager
def progress_of(n_iterations: int) -> Iterator[Report]:
    """Something to call after each iteration of a calibration.

    Args:
        n_iterations: in all.
    """
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
    every, clock = max(1, n_iterations // _N_LINES), time.perf_counter()

    def report(iteration: Iteration) -> None:
        done = iteration.number + 1
        if iteration.number % every and done < n_iterations:
            return
        numbers = "  ".join(f"{path}={value}" for path, value in in_short(iteration.values, 4).items())
        typer.echo(
            f"iteration {done}/{n_iterations}  {time.perf_counter() - clock:.0f} s  "
            f"loss {iteration.loss:.5g}  best {iteration.best_loss:.5g}  {numbers}"
        )

    return report
