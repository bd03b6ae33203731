"""The cache of compiled programs: its statistics, and a folder that is safe to load from.

JAX stores machine code there and executes what it finds, so nothing is loaded from a folder that another user
could have written to. A folder is used only if it belongs to this user, if nobody else can write into it or
replace it, and if it holds only plain files of the user. Incomplete entries left by killed processes are
removed before JAX reads them.
"""

import functools
import os
import stat
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax.monitoring

from .ownership import OTHERS_WRITE, check_owned, trusted_users


class CacheStatistics(NamedTuple):
    """Statistics of the cache of compiled programs in this process.

    Hits are programs found in the cache, misses are programs compiled and stored; others compiled too fast to
    be stored. `seconds_saved` is the compile time of the hits minus the time to read them.
    """

    hits: int
    misses: int
    not_kept: int
    seconds_saved: float

    def since(self, before: "CacheStatistics") -> "CacheStatistics":
        """The changes since `before`."""
        return CacheStatistics._make(now - then for now, then in zip(self, before, strict=True))


_EVENTS = "/jax/compilation_cache/"
_counts = {"cache_hits": 0, "cache_misses": 0, "compile_requests_use_cache": 0, "compile_time_saved_sec": 0.0}
_lock = threading.Lock()


def _count(event: str, amount: float = 1) -> None:
    name = event.removeprefix(_EVENTS)
    if name in _counts:
        with _lock:
            _counts[name] += amount


@functools.cache
def count_cache_events() -> None:
    """Start counting cache events; `configure` calls this. Repeated calls have no effect."""
    jax.monitoring.register_event_listener(lambda event, **_: _count(event))
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration_secs, **_: _count(event, duration_secs)
    )


def cache_statistics() -> CacheStatistics:
    """Statistics of the cache of compiled programs since the first call of `configure`."""
    with _lock:
        hits, misses, requests, saved = _counts.values()
    return CacheStatistics(int(hits), int(misses), int(requests - hits - misses), saved)


def cache_contents(folder: Path) -> tuple[int, int]:
    """Number of programs in a cache folder, and bytes of all its files."""
    n_programs = n_bytes = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                n_bytes += path.stat().st_size
                n_programs += path.name.endswith("-cache")
        except FileNotFoundError:  # removed by another process
            continue
    return n_programs, n_bytes


_EXPECTED = "a folder for compiled programs"
_ADVICE = "choose a folder of your own, or switch the cache off with cache_folder=None"
_CLOCK_SECONDS = 2.0  # resolution and lag of the clock of a file system
_ZLIB = 0x78  # first byte of zlib data, which JAX does not verify; it checks other formats itself
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH


def cache_folder_for(given: Path | str) -> Path:
    """The folder as an absolute path without links, created for this user if it does not exist, and checked.

    Raises `OSError` if it cannot be created or written, or if another user could have written to it.
    """
    if "://" in str(given):
        raise _refused(given, "an address, to which others may be able to write")
    folder = Path(given).expanduser().absolute()
    try:
        _make_private(folder)
        folder = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # a loop of links
        kind = type(error) if isinstance(error, OSError) else OSError
        reason = getattr(error, "strerror", None) or error
        raise kind(f"{folder}: expected {_EXPECTED}, got {reason}; {_ADVICE}.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(folder, "one that cannot be written")
    if os.name == "posix":
        _check_owners(folder)
        _remove_damaged(folder)
    return folder


def _refused(folder: Path | str, got: str, advice: str = _ADVICE) -> PermissionError:
    return PermissionError(f"{folder}: expected {_EXPECTED}, got {got}; {advice}.")


def _make_private(folder: Path) -> None:
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # another process was faster
            continue
        os.chmod(path, 0o700)  # the umask may have removed permissions of the owner
    if not folder.is_dir():
        if missing:
            raise NotADirectoryError(None, f"{folder}, which is no folder")
        raise FileExistsError(None, "a file")


def _check_owners(folder: Path) -> None:
    """Raise unless only this user and the administrator control the content of the folder."""
    check_owned(folder, _EXPECTED, _ADVICE)
    trusted = trusted_users()
    is_private = not os.stat(folder).st_mode & _OTHERS_ENTER
    for entry in _entries(folder):
        problem = _problem_of(entry, trusted, is_private)
        if problem is not None:
            raise _refused(folder, f"{entry.path} in it, {problem}", f"remove it, or {_ADVICE}")


def _entries(folder: str | Path) -> Iterator[os.DirEntry]:
    with os.scandir(folder) as found:
        for entry in found:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path)


def _problem_of(entry: os.DirEntry, trusted: set[int], is_private: bool) -> str | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed by another process
        return None
    is_folder = stat.S_ISDIR(found.st_mode) and not entry.name.endswith(("-cache", "-atime"))
    if not (stat.S_ISREG(found.st_mode) or is_folder):
        return "which is no plain file"
    if found.st_uid not in trusted:
        return "which belongs to another user"
    if found.st_mode & OTHERS_WRITE and not is_private:
        return "which other users can write"
    return None


def _remove_damaged(folder: Path) -> None:
    """Remove incomplete entries; those older than the last check are not read again."""
    stamp = folder / ".checked"
    try:
        last = stamp.stat().st_mtime - _CLOCK_SECONDS
    except FileNotFoundError:
        last = float("-inf")
    for path in folder.glob("*-cache"):
        try:
            if path.stat().st_mtime >= last and _is_damaged(path):
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
    stamp.touch(mode=0o600)


def _is_damaged(path: Path) -> bool:
    if path.stat().st_size == 0:
        return True
    unpack = zlib.decompressobj()
    with path.open("rb") as file:
        if file.peek(1)[0] != _ZLIB:
            return file.peek(4)[:4] != b"\x28\xb5\x2f\xfd"  # magic number of Zstandard
        try:
            while (data := file.read(1 << 20)) and not unpack.eof:
                unpack.decompress(data)
        except zlib.error:
            return True
    return not unpack.eof or bool(unpack.unused_data)
