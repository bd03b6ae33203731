"""Text for the terminal: no name of a file or case can steer it, and a reader may leave early."""

import contextlib
import io
import os
import sys
import warnings
from typing import Any

import typer


def printable(text: object) -> str:
    """Text with control characters escaped, except line ends and tabs."""
    kept = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(text))
    return "".join(kept)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text."""
    typer.echo(printable(text), err=err, nl=nl)


class _Forgiving(io.FileIO):
    """A stream whose reader may leave, as in `| head`: what nobody reads is dropped, and the work goes on."""

    def write(self, data: Any) -> int:  # bytes, or a view of them
        try:
            return io.FileIO.write(self, data) or 0
        except BrokenPipeError:
            return len(memoryview(data).cast("B"))


def prepare_terminal() -> None:
    """Escape what a terminal cannot show, forgive readers that leave, and print warnings as messages.

    A service may start without standard streams. Their numbers then go to the first files that are opened,
    into which libraries would print: the null device takes them.
    """
    absent = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in absent:
        stream = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115
        os.set_inheritable(stream.fileno(), True)  # so that child processes have it, too
        setattr(sys, name, stream)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if name in absent or not isinstance(stream, io.TextIOWrapper):
            continue
        stream.reconfigure(errors="backslashreplace")
        with contextlib.suppress(OSError, ValueError):  # no file below, as in a notebook
            if not os.isatty(stream.fileno()):
                stream.flush()
                raw = _Forgiving(stream.fileno(), "w", closefd=False)
                buffer, code = io.BufferedWriter(raw), stream.encoding
                text = io.TextIOWrapper(buffer, code, "backslashreplace", line_buffering=True)
                setattr(sys, name, text)

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        if category.__name__ != "InputWarning":  # of `_types`, slow to import: notes of a case have it
            echo(f"tunax-lite: warning: {message}", err=True)

    warnings.showwarning = show
