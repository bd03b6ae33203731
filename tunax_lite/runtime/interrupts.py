"""Signals that end the process (Ctrl-C, SIGTERM, SIGHUP): immediately, but never within a write.

The command line calls `install` first, even before importing JAX; this module needs only the standard
library. A separate thread receives signals while the others compute, compile or hold a lock, so that no
exception is raised where it could be swallowed. The response is:

- Within `deferred`, which surrounds every write, the process ends after the write.
- Within `ordered_end`, after its first safe point, the next safe point raises `Interrupted`, and the command
  saves its results so far. Nothing else raises.
- Anywhere else, the process ends immediately, with exit code 128 plus the number of the signal.

A second signal always ends the process immediately, after removing incomplete files. Without `install`, in a
notebook or a library, `deferred` delays Ctrl-C until the write is done.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator  # loaded with the interpreter

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not available on every system
_SAME = 0.05  # s; a signal repeated by a parent process within this time is not a second one
_LONGEST_FLUSH = 1.0  # s, to flush output that nobody reads


class Interrupted(KeyboardInterrupt):
    """A signal, raised at a safe point of an `ordered_end`."""


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ending = threading.Lock()
        self.is_installed = False
        self.first: int | None = None  # signal
        self.first_time = 0.0
        self.n_writes = 0
        self.is_saving = False  # after `Interrupted`
        self.awaited = ""  # work that the next safe point follows; empty if there is none
        self.advice = "Nothing was written."
        self.at_end: set[Callable[[], None]] = set()


_state = _State()


def install() -> None:
    """Handle the signals of this process; call it once, in the main thread, before heavy imports.

    A signal that the parent process ignores, as `nohup` does, stays ignored.
    """
    if _state.is_installed or os.name != "posix":
        return
    heard, written = os.pipe()
    os.set_blocking(written, False)
    try:
        threading.Thread(target=_listen, args=(heard,), name="signals", daemon=True).start()
    except RuntimeError:  # no thread can be started: nothing to protect
        return
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for name in _NAMES:
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
            signal.siginterrupt(number, False)  # system calls are restarted, not interrupted
    _state.is_installed = True


def exit_code() -> int:
    """Exit code after a signal: 128 plus its number, as in shells."""
    return 128 + (signal.SIGINT if _state.first is None else _state.first)


def message() -> str:
    """Message for a command ended by a signal."""
    return f"{_name(exit_code() - 128)}: interrupted. {_state.advice}".rstrip()


def advise(text: str) -> str:
    """Set the advice given with an interrupt; returns the previous advice."""
    before, _state.advice = _state.advice, text
    return before


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Delay signals until the block is done; a second signal ends the process."""
    with _held_back(), _state.lock:
        _state.n_writes += 1
    with _held_back():
        try:
            yield
        finally:
            with _state.lock:
                _state.n_writes -= 1
                waits = _state.n_writes or _state.awaited or _state.is_saving
            if _state.first is not None and not waits:
                _end()


@contextlib.contextmanager
def at_end(action: Callable[[], None]) -> Iterator[None]:
    """Register a quick, safe action to run if a signal ends the process within the block."""
    with _state.lock:
        _state.at_end.add(action)
    try:
        yield
    finally:
        with _state.lock:
            _state.at_end.discard(action)


@contextlib.contextmanager
def ordered_end(work: str) -> Iterator[Callable[[], None]]:
    """Provide a function to call at safe points, where results can be saved.

    After its first call, the process ends at safe points only. `work` describes the work between them.

    Raises:
        Interrupted: at a safe point, and at the end.
    """

    def check() -> None:
        with _state.lock:
            _state.is_saving = bool(_state.awaited) and _state.first is not None
        if _state.is_saving:
            raise Interrupted

    def safe_point() -> None:
        _state.awaited = work
        check()

    try:
        yield safe_point
        check()
    finally:
        with _state.lock:
            _state.awaited = ""


def _listen(heard: int) -> None:
    known = {getattr(signal, name) for name in _NAMES if hasattr(signal, name)}
    while True:
        for number in os.read(heard, 64):
            if number in known:
                _receive(number)


def _receive(number: int) -> None:
    now = time.monotonic()
    with _state.lock:
        is_first = _state.first is None
        if is_first:
            _state.first, _state.first_time = number, now
        elif now - _state.first_time < _SAME:
            return
        waits_for = _state.awaited or ("the file that is written" if _state.n_writes else "")
    if is_first and waits_for:
        _say(f"{_name(number)}: ends after {waits_for}; once more ends at once")
    else:
        _end()


def _end() -> None:
    """End the process immediately."""
    if not _state.ending.acquire(blocking=False):
        threading.Event().wait()  # another thread is ending it
    for action in list(_state.at_end):
        with contextlib.suppress(Exception):
            action()
    flush = threading.Thread(target=_flush, daemon=True)
    flush.start()
    flush.join(_LONGEST_FLUSH)
    _say(message())
    os._exit(exit_code())


def _flush() -> None:
    with contextlib.suppress(Exception):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[?25h")  # show the cursor, which a progress bar hides
        sys.stdout.flush()


def _name(number: int) -> str:
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def _say(text: str) -> None:
    # Not through sys.stderr, whose lock another thread may hold.
    with contextlib.suppress(OSError):
        os.write(2, f"\ntunax-lite: {text}\n".encode())


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Delay Ctrl-C without `install`: it is raised at the end, or on a second Ctrl-C."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came: list[tuple] = []

    def note(*of_signal) -> None:
        if came:
            signal.default_int_handler(*of_signal)
        came.append(of_signal)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
