"""The progress of a calibration on the terminal: a live table, or plain lines where there is no terminal."""

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from ..calibration import in_short
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
        best, start = math.inf, {}

        def report(iteration: int, loss: float, scores: dict[str, float], values: dict[str, float]) -> None:
            nonlocal best, start
            values = in_short(values)
            best, start = _lower(best, loss), start or values
            progress.update(task, completed=iteration + 1, description=f"loss {loss:.5g}, best {best:.5g}")
            live.update(Group(progress, _table(scores, values, start)))

        yield report


def _lower(best: float, loss: float) -> float:
    return min(best, loss) if math.isfinite(loss) else best


def _table(scores: dict[str, float], values: dict[str, float], start: dict[str, float]) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2))
    table.add_column("parameter")
    for heading in ("value", "at the start"):
        table.add_column(heading, justify="right")
    for path, value in values.items():
        table.add_row(path, f"{value:.6g}", f"{start[path]:.6g}")
    for case, score in scores.items():
        table.add_row(f"score of {case}", f"{score:.5g}", "")
    return table


def _lines(n_iterations: int) -> Report:
    every, best, clock = max(1, n_iterations // _N_LINES), math.inf, time.perf_counter()

    def report(iteration: int, loss: float, scores: dict[str, float], values: dict[str, float]) -> None:
        nonlocal best
        del scores
        best = _lower(best, loss)
        if iteration % every and iteration + 1 < n_iterations:
            return
        numbers = " ".join(f"{path}={value:.4g}" for path, value in in_short(values).items())
        typer.echo(
            f"iteration {iteration + 1}/{n_iterations}  {time.perf_counter() - clock:.0f} s  "
            f"loss {loss:.5g}  best {best:.5g}  {numbers}"
        )

    return report
