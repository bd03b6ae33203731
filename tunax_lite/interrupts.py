"""Signals that ask the process to end (Ctrl-C, SIGTERM, SIGHUP): at once, but never within a write.

The command line calls `install` before anything else, the import of JAX included: this module needs the
standard library alone. A thread of its own hears of a signal while the others compute, compile or hold a
lock, so that no exception is raised where it could be swallowed. What happens then:

- Within `deferred`, which is around every write, the process ends when the write is done.
- Within `ordered_end`, after its first safe point, the next safe point raises `Interrupted`: the command
  saves what it has. Nothing else raises.
- Anywhere else the process ends at once, with 128 plus the number of the signal.

A second signal ends the process at once wherever it is, without what is half-written. Without `install`, in a
notebook or a library, `deferred` holds Ctrl-C back until the write is done.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator  # loaded with the interpreter

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not on every system
_SAME = 0.05  # s; a signal that a parent passes on beside the terminal is not a second one
_LONGEST_FLUSH = 1.0  # s, of output that nobody reads


class Interrupted(KeyboardInterrupt):
    """A signal, at a safe point of an `ordered_end`."""


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ending = threading.Lock()
        self.is_installed = False
        self.first: int | None = None  # signal
        self.first_time = 0.0
        self.n_writes = 0
        self.is_saving = False  # after `Interrupted`
        self.awaited = ""  # what a safe point comes after; empty without one
        self.advice = "Nothing was written."
        self.temporaries: set[os.PathLike[str]] = set()
        self.at_end: set[Callable[[], None]] = set()


_state = _State()


def install() -> None:
    """Handle the signals of this process from now on; call it once, in the main thread, before heavy imports.

    A signal that the parent of the process chose to ignore, as `nohup` does, stays ignored.
    """
    if _state.is_installed or os.name != "posix":
        return
    heard, written = os.pipe()
    os.set_blocking(written, False)
    try:
        threading.Thread(target=_listen, args=(heard,), name="signals", daemon=True).start()
    except RuntimeError:  # no thread can be started: there is nothing to protect
        return
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for name in _NAMES:
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
            signal.siginterrupt(number, False)  # no call of the system fails because of it
    _state.is_installed = True


def exit_code() -> int:
    """Of a process that a signal ends: 128 and its number, as shells count."""
    return 128 + (signal.SIGINT if _state.first is None else _state.first)


def message() -> str:
    """What is said of the signal that ended a command."""
    return f"{_name(exit_code() - 128)}: interrupted. {_state.advice}".rstrip()


def advise(text: str) -> str:
    """What the message of an interrupt says on how to go on, from now on; returns what it said before."""
    before, _state.advice = _state.advice, text
    return before


@contextlib.contextmanager
def deferred(temporary: os.PathLike[str] | None = None) -> Iterator[None]:
    """Let the process end before or after what is inside, not within; a second signal removes a file."""
    with _held_back(), _state.lock:
        _state.n_writes += 1
        if temporary is not None:
            _state.temporaries.add(temporary)
    with _held_back():
        try:
            yield
        finally:
            with _state.lock:
                _state.n_writes -= 1
                _state.temporaries.discard(temporary)  # pyright: ignore[reportArgumentType]
                waits = _state.n_writes or _state.awaited or _state.is_saving
            if _state.first is not None and not waits:
                _end()


@contextlib.contextmanager
def at_end(action: Callable[[], None]) -> Iterator[None]:
    """Let a signal that ends the process in here do something before, quickly and without an error."""
    with _state.lock:
        _state.at_end.add(action)
    try:
        yield
    finally:
        with _state.lock:
            _state.at_end.discard(action)


@contextlib.contextmanager
def ordered_end(work: str) -> Iterator[Callable[[], None]]:
    """Give a function to call at safe points, where what was done can be saved; after the first call the
    process ends at safe points alone. `work` says what is done between them.

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
    """End the process here and now."""
    if not _state.ending.acquire(blocking=False):
        threading.Event().wait()  # another thread is at it
    for path in list(_state.temporaries):
        with contextlib.suppress(OSError):
            os.unlink(path)
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
            sys.stdout.write("\x1b[?25h")  # the cursor, which a bar hides
        sys.stdout.flush()


def _name(number: int) -> str:
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def _say(text: str) -> None:
    # Not through sys.stderr, whose lock another thread may hold.
    with contextlib.suppress(OSError):
        os.write(2, f"\ntunax-lite: {text}\n".encode())


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Ctrl-C of a process without `install`: raised at the end, or when it comes a second time."""
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
