"""Atomic writing of files by one process at a time, and explanations of failures.

The operating system releases a lock whenever its process ends, so that a leftover lock file does no harm.
"""

import contextlib
import csv
import dataclasses
import errno
import functools
import hashlib
import inspect
import os
import platform
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar

from ..runtime.interrupts import at_end, deferred
from .protection import check_replaceable, note_made

try:
    import fcntl
except ImportError:  # not available on this system
    fcntl = None

P = ParamSpec("P")
R = TypeVar("R")

# Processes on other machines may write into the same folder; their ids are unknown here.
_HOST = hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:6]
_SELF = secrets.token_hex(4)
"""Of this process: the number of one that was killed may be its own."""
_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{6})-(?P<process>\d+)-(?P<itself>[0-9a-f]{8})-[0-9a-f]{8}\.tmp",
    re.DOTALL,
)


@contextlib.contextmanager
def replacing(path) -> Iterator[Path]:
    """Provide a temporary name in the folder of `path`; on success the file is renamed to `path`.

    Missing folders are created. After a failure nothing is left, and an existing file is unchanged. Temporary
    files of killed processes are removed.

    Raises:
        OSError: a folder that cannot be created or written to, or a full disk, with the name and a remedy.
        OverwriteError: within a command, a file that it must not replace.
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
    temporary = _temporary(path)
    with at_end(lambda: temporary.unlink(missing_ok=True)), deferred():
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


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """The same for a folder, which replaces an earlier one as a whole; the caller asks the guard."""
    clear_left_over(path.parent, path.name)
    temporary, before = _temporary(path), _temporary(path)
    try:
        yield temporary
        if path.exists():
            path.rename(before)  # kept until the new one is complete
        temporary.rename(path)
    finally:
        if before.exists() and not path.exists():  # the second name was refused
            before.rename(path)
        for one in (temporary, before):
            shutil.rmtree(one, ignore_errors=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{_HOST}-{os.getpid()}-{_SELF}-{secrets.token_hex(4)}.tmp")


def _make(folder: Path, path: Path) -> list[Path]:
    """Create the folder of `path`; returns the folders created, innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected, got = f"a folder {folder} that can be created", error.strerror
        message = f"{path}: expected {expected}, got: {got}; choose another output path."
        raise type(error)(message) from error
    return missing


def write_text(path, text: str) -> None:
    """Write a text file, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(
    path, header: Iterable[str], rows: Iterable[Iterable[object]], number: str | None = None
) -> None:
    """Write a table as CSV, atomically; numbers in full precision, or in the given format."""

    def text(value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if number is None or isinstance(value, str) else format(value, number)

    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([text(value) for value in row] for row in rows)


def write_rows(
    path, kind: type, rows: Iterable[object], number: str | None = None, also: Iterable[str] = ()
) -> None:
    """Write instances of a dataclass as `write_csv` does; further properties `also` behind its fields."""
    columns = [*(field.name for field in dataclasses.fields(kind)), *also]
    write_csv(path, columns, ([getattr(row, column) for column in columns] for row in rows), number)


def clear_left_over(folder: Path, name: str | None = None) -> None:
    """Remove what dead processes on this machine left half-written, of one path or in a whole folder."""
    for entry in folder.glob(".*.tmp"):
        if match := _TEMPORARY.fullmatch(entry.name):
            whole, host, process, itself = match.groups()
            is_ours = host == _HOST and name in (None, whole)
            if is_ours and itself != _SELF and _is_gone(int(process)):
                with contextlib.suppress(OSError):  # another process was faster
                    shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _is_gone(process: int) -> bool:
    if process == os.getpid():
        return True
    if os.name == "posix":  # on Windows, asking would end the process
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:  # owned by another user
            return False
    return False


def file_name(text: str) -> str:
    """Turn a text into part of a file name: short, and without special characters."""
    return re.sub(r"[^\w.,@+ -]", "_", text)[:100].strip()


_NO_ROOM = {
    errno.ENOSPC: ("a full disk", "make room on the file system of {}"),
    errno.EDQUOT: ("your quota", "remove files of yours from the file system of {}"),
    errno.EFBIG: ("the limit of this process", "raise it (ulimit -f)"),
}
_PROBE = 8 * 2**20  # bytes; a compressed file frees some space when it fails


def with_reason(error: Exception, path: Path, temporary: Path) -> Exception:
    """The error to raise in place of another: if the disk was full, an `OSError` that names file and remedy.

    The final name is `path`; the incomplete file is `temporary`, which this overwrites.
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
    """The system's response to appending to a file; `None` on success."""
    try:
        with open(temporary, "ab", buffering=0) as file:
            file.write(bytes(_PROBE))
            os.fsync(file.fileno())
            file.write(bytes(1))  # the first write may have been partial
    except OSError as error:
        return error.errno
    return None


class InUseError(FileExistsError):
    """A file or folder that another process is writing to."""


_mutex = threading.Lock()
_held: dict[Path, tuple[int, int | None]] = {}
"""By lock, how often this process has claimed it (claims may be nested), and its descriptor."""


@contextlib.contextmanager
def claimed(path: str | Path, *, folder: bool = False) -> Iterator[None]:
    """Claim a file or folder for writing by this process; `InUseError` if another one holds it.

    Missing folders are created, and removed again if they stay empty. Temporary files of killed processes
    there are removed.
    """
    path = Path(path)
    place = path if folder else path.parent
    made = _make(place, path)
    lock = place.resolve() / (".tunax_lite.lock" if folder else f".{path.name}.lock")
    with _mutex:
        count, descriptor = _held[lock] if lock in _held else (0, _acquire(lock, path))
        _held[lock] = count + 1, descriptor

    def leave(holds_lock: bool = True) -> None:
        if holds_lock:
            lock.unlink(missing_ok=True)
        for one in made:
            with contextlib.suppress(OSError):  # not empty
                one.rmdir()

    try:
        with at_end(leave):  # where the process may end inside; the system releases the lock
            if count == 0:
                clear_left_over(place, None if folder else path.name)
            yield
    finally:
        with _mutex:
            count, descriptor = _held.pop(lock)
            if count > 1:
                _held[lock] = count - 1, descriptor
            leave(holds_lock=count == 1 and descriptor is not None)
            if count == 1 and descriptor is not None:
                os.close(descriptor)


def claims(argument: str, *, folder: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that writes to the path in one of its arguments; `None` claims nothing."""

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
    """File descriptor of a lock; `None` if locks are not supported or the folder is not writable."""
    while fcntl is not None:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError:  # writing will report the cause
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
                with contextlib.suppress(OSError):  # no space to record the owner: the lock still holds
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
                return descriptor
        os.close(descriptor)  # the previous owner removed it in the meantime
    return None
