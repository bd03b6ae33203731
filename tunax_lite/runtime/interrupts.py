"""Defer signals that end the process until an iteration is complete."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; the argument is the number of the signal."""


def raise_interrupted(number: int, frame: FrameType | None = None) -> None:
    """Signal handler that raises `Interrupted`."""
    raise Interrupted(number)


def signal_of(error: KeyboardInterrupt) -> signal.Signals:
    """Signal that caused an exception; SIGINT unless it is an `Interrupted`."""
    return signal.Signals(error.args[0]) if isinstance(error, Interrupted) else signal.SIGINT


@contextlib.contextmanager
def finishing(work: str) -> Iterator[Callable[[], None]]:
    """Provide a function to call after each iteration, where the process may end.

    Ctrl-C and SIGTERM wait for that call; a second one has its usual effect. Outside the main thread, which
    receives the signals, the function does nothing. `work` names the iteration in the message to the user.

    Raises:
        Interrupted: by that call, or at the end of the context.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    received: list[int] = []

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()
        sys.stderr.write(f"\nstopping after {work}; interrupt again to stop at once\n")

    def check() -> None:
        if received:
            raise Interrupted(received[0])

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        restore()
