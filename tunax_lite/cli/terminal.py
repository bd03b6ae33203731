"""Text for the terminal: no name of a file or case can steer it."""

import io
import sys
import warnings

import typer


def printable(text: object) -> str:
    """Text with control characters escaped, except line ends and tabs."""
    kept = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(text))
    return "".join(kept)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text."""
    typer.echo(printable(text), err=err, nl=nl)


def prepare_terminal() -> None:
    """Escape what a terminal cannot show, and print warnings as messages."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        if category.__name__ != "InputWarning":  # of `_types`, slow to import: notes of a case have it
            echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
