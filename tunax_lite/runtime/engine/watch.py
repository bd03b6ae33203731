"""Monitors whether there are workers, and whether one of them is stuck."""

import concurrent.futures
import contextlib
import queue
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .base import WorkersLost

# Of `distributed`, whose types allow coroutines everywhere.
Client = Any  # `distributed.Client`
Future = Any  # `distributed.Future`

PATIENCE = 300.0
"""Without any worker, before that is an error [s]: new ones have to start."""


class Watch:
    """Checks periodically whether there are workers, and whether one takes too long over an item."""

    def __init__(self, client: Client, time_limit: float | None):
        self._client, self._limit = client, time_limit
        self._address = client.scheduler.address
        self._every = 5.0 if time_limit is None else min(5.0, max(0.2, 0.1 * time_limit))
        self._lock, self._next_look = threading.Lock(), 0.0
        self._none_since: float | None = None
        self._held: dict[str, tuple[frozenset[str], float]] = {}

    def wait_for(self, finished: "queue.SimpleQueue[Future]") -> Future:
        """The next entry of a queue; raises `WorkersLost`."""
        while True:
            self._look()
            with contextlib.suppress(queue.Empty):
                return finished.get(timeout=self._every)

    def lost(self, error: BaseException) -> WorkersLost:
        got = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        return WorkersLost(
            f"{self._address}: expected the Dask scheduler to answer, got: {got}; start it again, and go on "
            "with what is saved."
        )

    def _look(self) -> None:
        now = time.monotonic()
        if now < self._next_look or not self._lock.acquire(blocking=False):
            return
        try:
            self._next_look = now + self._every
            try:
                held = self._client.processing()
            except (OSError, concurrent.futures.CancelledError, RuntimeError) as error:
                raise self.lost(error) from error
            self._none_since = None if held else self._none_since or now
            if self._none_since is not None and now - self._none_since > PATIENCE:
                raise WorkersLost(
                    f"{self._address}: expected workers of the Dask scheduler, got none for "
                    f"{PATIENCE:.0f} s; start some, and continue from the saved state."
                )
            self._restart_stuck(held, now)
        finally:
            self._lock.release()

    def _restart_stuck(self, held: Mapping[str, Iterable[str]], now: float) -> None:
        """Restart workers that hold the same items for longer than the limit; others take the items."""
        before, self._held = self._held, {}
        for worker, keys in held.items():
            same, since = before.get(worker, (None, now))
            self._held[worker] = frozenset(keys), since if frozenset(keys) == same else now
        if self._limit is None:
            return
        stuck = [worker for worker, (keys, since) in self._held.items() if keys and now - since > self._limit]
        if stuck:
            for worker in stuck:
                del self._held[worker]
            with contextlib.suppress(ValueError, TimeoutError):  # no nanny, which restarts workers
                self._client.restart_workers(stuck, timeout=30, raise_for_error=False)
