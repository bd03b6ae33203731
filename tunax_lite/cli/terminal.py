"""Text for the terminal, without control characters from names of files or cases."""

import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence

import typer


def printable(text: object) -> str:
    """Escape control characters except line ends and tabs."""
    shown = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(text))
    return "".join(shown)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text; discard it if the reader of a pipe has ended, as in `| head`."""
    try:
        typer.echo(printable(text), err=err, nl=nl)
    except BrokenPipeError:
        stream = sys.stderr if err else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_WIDTH = 160
"""Width of tables that are not printed on a terminal."""


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", note: str = ""
) -> None:
    """Print a table of texts without its empty columns; columns of numbers are aligned on the right.

    Numbers and the first column are never wrapped, headers and other texts only between words.
    """
    # Slow imports, only where needed.
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_wide = not (sys.stdout.isatty() or "COLUMNS" in os.environ)
    console = Console(width=_WIDTH if is_wide else None, color_system=None)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    printed = [[printable(text) for text in row] for row in rows]
    shown = [(name, texts) for name, *texts in zip(columns, *printed, strict=True) if any(texts)]
    for number, (name, texts) in enumerate(shown):
        are_numbers = all(map(_is_number, texts))
        unbroken = [*name.split(), *(texts if are_numbers or number == 0 else " ".join(texts).split())]
        side, width = "right" if are_numbers else "left", max(map(cell_len, unbroken))
        table.add_column(Text(name), justify=side, overflow="fold", min_width=width)
    for row in zip(*(texts for _, texts in shown), strict=True):
        table.add_row(*map(Text, row))
    if title:
        echo(title)
    if shown:
        with console.capture() as captured:
            console.print(table, crop=False)
        echo(captured.get(), nl=False)
    if note:
        echo(note)


def _is_number(text: str) -> bool:
    return text in ("", "-", "–") or re.match(r"\(?[-+.]?\d|(nan|[-+]?inf)$", text) is not None


def prepare_terminal() -> None:
    """Escape characters that the terminal cannot encode, and print warnings as messages.

    A service may start without standard streams: they are replaced by the null device.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
