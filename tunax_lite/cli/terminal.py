"""Text for the terminal: no name of a file or case can steer it."""

import io
import os
import sys
import warnings
from collections.abc import Iterable, Sequence

import typer


def printable(text: object) -> str:
    """Text with control characters escaped, except line ends and tabs."""
    kept = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(text))
    return "".join(kept)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text."""
    typer.echo(printable(text), err=err, nl=nl)


_WIDTH = 160  # of tables in files


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", note: str = ""
) -> None:
    """Print a table of texts without its empty columns; numbers stand on the right and are never wrapped."""
    # Slow imports, only where needed.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console = Console(width=_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    cells = {name: texts for name, texts in zip(columns, zip(*rows, strict=True), strict=True) if any(texts)}
    for name, texts in cells.items():
        are_numbers = all(map(_is_number, texts))
        side = "right" if are_numbers else "left"
        table.add_column(Text(name), justify=side, no_wrap=are_numbers, overflow="fold")
    for row in zip(*cells.values(), strict=True):
        table.add_row(*(Text(printable(text)) for text in row))
    if title:
        echo(title)
    console.print(table)
    if note:
        echo(note)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix(" %"))
    except ValueError:
        return text in ("", "-", "–")
    return True


def prepare_terminal() -> None:
    """Escape what a terminal cannot show, and print warnings as messages."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
