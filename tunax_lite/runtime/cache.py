"""The cache of compiled programs: its statistics and its folder.

JAX stores machine code there and executes what it finds: new folders are for their user alone.
"""

import functools
import os
import threading
from pathlib import Path
from typing import NamedTuple

import jax.monitoring


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


_ADVICE = "choose a folder of your own, or switch the cache off with cache_folder=None"


def cache_folder_for(given: Path | str) -> Path:
    """The folder as an absolute path, created for this user alone if it does not exist.

    Raises `OSError` if it cannot be created or written.
    """
    if "://" in str(given):
        raise _refused(given, "an address")
    folder = Path(given).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # a loop of links
        raise _refused(folder, str(getattr(error, "strerror", None) or error)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(folder, "one that cannot be written")
    return folder


def _refused(folder: Path | str, got: str) -> PermissionError:
    return PermissionError(f"{folder}: expected a folder for compiled programs, got {got}; {_ADVICE}.")
