"""What the caches of compiled programs did in this process, and what lies in their folder."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax.monitoring


class CacheStatistics(NamedTuple):
    """What the cache of compiled programs did in this process.

    Args:
        hits: programs that were found.
        misses: programs that were compiled and then kept.
        not_kept: programs that were compiled in too short a time to be worth a file.
        seconds_saved: that the hits would have taken to compile, less what they took to read.
    """

    hits: int
    misses: int
    not_kept: int
    seconds_saved: float

    def since(self, before: "CacheStatistics") -> "CacheStatistics":
        """What happened after `before`."""
        return CacheStatistics(
            self.hits - before.hits,
            self.misses - before.misses,
            self.not_kept - before.not_kept,
            self.seconds_saved - before.seconds_saved,
        )


_HITS = "/jax/compilation_cache/cache_hits"
_MISSES = "/jax/compilation_cache/cache_misses"
_REQUESTS = "/jax/compilation_cache/compile_requests_use_cache"
_SAVED = "/jax/compilation_cache/compile_time_saved_sec"
_lock = threading.Lock()
_counts = {_HITS: 0, _MISSES: 0, _REQUESTS: 0}
_saved = [0.0]
_is_counting = [False]


def _on_event(event: str, **_: Any) -> None:
    if event in _counts:
        with _lock:
            _counts[event] += 1


def _on_duration(event: str, duration_secs: float, **_: Any) -> None:
    if event == _SAVED:
        with _lock:
            _saved[0] += duration_secs


def count_cache_events() -> None:
    """Count from now on what the cache does; `configure` calls this. Calling it again changes nothing."""
    with _lock:
        if _is_counting[0]:
            return
        _is_counting[0] = True
    jax.monitoring.register_event_listener(_on_event)
    jax.monitoring.register_event_duration_secs_listener(_on_duration)


def cache_statistics() -> CacheStatistics:
    """What the cache of compiled programs did since `configure` was called first."""
    with _lock:
        hits, misses, requests = (_counts[event] for event in (_HITS, _MISSES, _REQUESTS))
        return CacheStatistics(hits, misses, requests - hits - misses, _saved[0])


def cache_contents(folder: Path) -> tuple[int, int]:
    """Number of programs in a cache folder, and bytes of all its files."""
    sizes = dict(_file_sizes(folder))
    return sum(path.name.endswith("-cache") for path in sizes), sum(sizes.values())


def _file_sizes(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path, path.stat().st_size
        except FileNotFoundError:  # another process made room
            continue
