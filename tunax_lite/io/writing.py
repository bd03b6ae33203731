"""Atomic writing of files, by one process at a time, and the reasons of failures.

The system gives a lock back when its process ends, however that happens: the file of the lock may stay
behind then, and stands in nobody's way.
"""

import contextlib
import csv
import errno
import functools
import hashlib
import inspect
import os
import platform
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar

from ..interrupts import at_end, deferred
from .protection import check_replaceable, note_made

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

P = ParamSpec("P")
R = TypeVar("R")

# Processes of other machines may write into the same folder, and theirs are not known here.
_HOST = hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:6]
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{6})-(?P<process>\d+)-[0-9a-f]{8}\.tmp", re.DOTALL)
_open_here: set[str] = set()
"""Temporary names in use by this process: the number of one that was killed may be its own."""


@contextlib.contextmanager
def replacing(path) -> Iterator[Path]:
    """Give a temporary name in the folder of `path`; on success the file takes the name `path`.

    Missing folders are created. After any failure nothing is left, and an older file stays as it was. What a
    process that was killed left under such a name is removed.

    Raises:
        OSError: a folder that cannot be created or written to, or no room, with the name and what to do.
        OverwriteError: in a command, a file that is not its own to replace.
    """
    path = Path(path)
    _make(path.parent, path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file to write, got a folder; name a file in it.")
    if not os.access(path.parent, os.W_OK):
        expected, got = "a folder with write permission", f"{path.parent} without"
        raise PermissionError(f"{path}: expected {expected}, got {got}; choose another output path.")
    clear_left_over(path.parent, path.name)
    check_replaceable(path)
    temporary = path.with_name(f".{path.name}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    _open_here.add(temporary.name)
    with deferred(temporary):
        try:
            yield temporary
            os.replace(temporary, path)
            note_made(path)
        except Exception as error:
            reason = with_reason(error, path, temporary)
            if reason is error:
                raise
            raise reason from error
        finally:
            temporary.unlink(missing_ok=True)
            _open_here.discard(temporary.name)


def _make(folder: Path, path: Path) -> list[Path]:
    """Make a folder to write `path` in; those that were missing, the innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected, got = f"a folder {folder} that can be created", error.strerror
        message = f"{path}: expected {expected}, got: {got}; choose another output path."
        raise type(error)(message) from error
    return missing


def write_csv(
    path, header: Iterable[str], rows: Iterable[Iterable[object]], number: str | None = None
) -> None:
    """Write a table as CSV, complete or not at all; numbers in full, or in the format that is given."""

    def text(value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if number is None or isinstance(value, str) else format(value, number)

    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([text(value) for value in row] for row in rows)


def clear_left_over(folder: Path, name: str | None = None) -> None:
    """Remove temporary files of processes of this machine that are gone, for one file or any in a folder."""
    for entry in folder.glob(".*.tmp"):
        match = _TEMPORARY.fullmatch(entry.name)
        if match is None or match["host"] != _HOST or name not in (None, match["name"]):
            continue
        if entry.name not in _open_here and _is_gone(int(match["process"])):
            with contextlib.suppress(OSError):  # another process was faster
                entry.unlink()


def _is_gone(process: int) -> bool:
    if process == os.getpid():
        return True
    if os.name != "posix":  # there the question would end the process
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # of another user
        return False
    return False


def file_name(text: str) -> str:
    """A text as part of the name of a file: short, and without what means something to a file system."""
    return re.sub(r"[^\w.,@+ -]", "_", text)[:100].strip()


_NO_ROOM = {
    errno.ENOSPC: ("a full disk", "make room on the file system of {}"),
    errno.EDQUOT: ("your quota", "remove files of yours from the file system of {}"),
    errno.EFBIG: ("the limit of this process", "raise it (ulimit -f)"),
}
_PROBE = 8 * 2**20  # bytes; a file that is compressed leaves some room behind when it fails


def with_reason(error: Exception, path: Path, temporary: Path) -> Exception:
    """The error to raise in place of one: an `OSError` that names file and remedy where there was no room.

    The file was to be called `path`; until it is complete it is `temporary`, which is spoilt here.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number not in _NO_ROOM and isinstance(error, (OSError, RuntimeError)):
        number = _error_of_appending(temporary)
    if number not in _NO_ROOM:
        return error
    limit, remedy = _NO_ROOM[number]
    if number == errno.EFBIG:
        import resource  # not on Windows, which has no such limit

        limit += f" ({resource.getrlimit(resource.RLIMIT_FSIZE)[0]} bytes)"
    return OSError(
        f"{path}: expected room to write it, got {limit}; {remedy.format(path.parent)}, or choose another "
        "output path. Nothing half-written is left."
    )


def _error_of_appending(temporary: Path) -> int | None:
    """What the system says to more bytes in a file; `None` where it takes them."""
    try:
        with open(temporary, "ab", buffering=0) as file:
            file.write(bytes(_PROBE))
            os.fsync(file.fileno())
            file.write(bytes(1))  # the first write may have been cut short
    except OSError as error:
        return error.errno
    return None


class InUseError(FileExistsError):
    """A file or folder that another process is writing."""


_mutex = threading.Lock()
_held: dict[Path, tuple[int, int | None]] = {}
"""By lock, how often this process has claimed it (claims may be nested), and its descriptor."""


@contextlib.contextmanager
def claimed(path: str | Path, *, folder: bool = False) -> Iterator[None]:
    """Claim a file, or a folder, that this process is going to write; `InUseError` if another one has.

    Missing folders are created, and go again if they stay empty. What killed processes left half-written
    there is removed.
    """
    path = Path(path)
    place = path if folder else path.parent
    made = _make(place, path)
    lock = place.resolve() / (".tunax_lite.lock" if folder else f".{path.name}.lock")
    with _mutex:
        count, descriptor = _held[lock] if lock in _held else (0, _acquire(lock, path))
        _held[lock] = count + 1, descriptor

    def leave(lock: Path | None = lock) -> None:
        if lock is not None:
            lock.unlink(missing_ok=True)
        for one in made:
            with contextlib.suppress(OSError):  # there is something in it
                one.rmdir()

    try:
        with at_end(leave):  # where the process ends in here; the system gives the lock back
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
        leave(None)


def claims(argument: str, *, folder: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that writes what one of its arguments names; `None` claims nothing."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def claiming(*args: P.args, **kwargs: P.kwargs) -> R:
            path = signature.bind_partial(*args, **kwargs).arguments.get(argument)
            with contextlib.nullcontext() if path is None else claimed(path, folder=folder):
                return function(*args, **kwargs)

        return claiming

    return decorate


def _acquire(lock: Path, path: Path) -> int | None:
    """The descriptor of a lock; `None` where there are no locks, or the folder cannot be written."""
    while fcntl is not None:
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
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                with contextlib.suppress(OSError):  # no room to say who holds it: it is held all the same
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
                return descriptor
        os.close(descriptor)  # the one before removed it while this one waited
    return None
