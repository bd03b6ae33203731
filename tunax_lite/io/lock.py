"""One process at a time writes a file or a folder; another one is told so.

The system gives a lock back when its process ends, however that happens: the file of the lock may stay
behind then, and stands in nobody's way.
"""

import contextlib
import functools
import inspect
import os
import platform
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..interrupts import at_end
from .atomic import clear_left_over

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class InUseError(FileExistsError):
    """A file or folder that another process is writing."""


_mutex = threading.Lock()
_held: dict[Path, tuple[int, int | None]] = {}
"""By lock, how often this process has claimed it (claims may be nested), and its descriptor."""


@contextlib.contextmanager
def claimed(path: str | Path, *, folder: bool = False) -> Iterator[None]:
    """Claim a file, or a folder, that this process is going to write.

    Missing folders are created, and go again if they stay empty. What killed processes left half-written
    there is removed.

    Args:
        path: of the file or the folder.
        folder: whether it is a folder.

    Raises:
        InUseError: another process has claimed it.
        OSError: a folder that cannot be created.
    """
    path = Path(path)
    place = path if folder else path.parent
    made = _make(place, path)
    lock = place.resolve() / (".tunax_lite.lock" if folder else f".{path.name}.lock")
    with _mutex:
        count, descriptor = _held[lock] if lock in _held else (0, _acquire(lock, path))
        _held[lock] = count + 1, descriptor
    try:
        with at_end(functools.partial(_leave_nothing, lock, made)):
            if count == 0:
                clear_left_over(place, None if folder else path.name)
            yield
    finally:
        with _mutex:
            count, descriptor = _held.pop(lock)
            if count > 1:
                _held[lock] = count - 1, descriptor
            elif descriptor is not None:
                lock.unlink(missing_ok=True)
                os.close(descriptor)
        _remove_empty(made)


def _leave_nothing(lock: Path, made: list[Path]) -> None:
    """What is done where the process ends without leaving the claim; the system gives the lock back."""
    lock.unlink(missing_ok=True)
    _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):  # there is something in it
            folder.rmdir()


def claims(argument: str, *, folder: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Decorate a function that writes what one of its arguments names; `None` claims nothing."""

    def decorate(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def claiming(*args: Any, **kwargs: Any) -> Any:
            path = signature.bind_partial(*args, **kwargs).arguments.get(argument)
            if path is None:
                return function(*args, **kwargs)
            with claimed(path, folder=folder):
                return function(*args, **kwargs)

        return claiming  # pyright: ignore[reportReturnType]

    return decorate


def _make(place: Path, path: Path) -> list[Path]:
    """The folders that were missing, the innermost first."""
    missing = [one for one in (place, *place.parents) if not one.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"{path}: expected a folder {place} that can be created, got: {error.strerror}; "
            "choose another output path."
        ) from error
    return missing


def _acquire(lock: Path, path: Path) -> int | None:
    """The descriptor of a lock; `None` where there are no locks, or the folder cannot be written."""
    if fcntl is None:
        return None
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError:  # who writes there says what is wrong
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise InUseError(
                f"{path}: expected to be the only process that writes there, got another one at work "
                f"({holder or 'not known'}); wait until it has ended, or choose another output."
            ) from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        try:
            is_there = os.path.samestat(os.fstat(descriptor), os.stat(lock))
        except FileNotFoundError:
            is_there = False
        if is_there:
            with contextlib.suppress(OSError):  # no room to say who holds it: it is held all the same
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
            return descriptor
        os.close(descriptor)  # the one before removed it while this one waited
