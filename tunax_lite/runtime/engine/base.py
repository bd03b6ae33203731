"""Interface of engines, and the engine that uses this process."""

import abc
import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..jax_setup import for_threads

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
Report = Callable[[int, Any], None]  # a result of the mapped function
"""Called with the number of an item and its result once it is complete, in any order."""

Check = Callable[[], None]
"""Function that raises `CancelledError` once another function of the same `side_by_side` has failed."""


class AbstractEngine(abc.ABC):
    """Runs a function for many items.

    Args:
        n_here: number of concurrent items that share the memory of this machine.
        n_drivers: number of concurrent functions in `side_by_side`.
    """

    def __init__(self, n_here: int, n_drivers: int):
        self.n_here, self.n_drivers = n_here, n_drivers

    @abc.abstractmethod
    def map(
        self,
        function: Callable[[ItemT], ResultT],
        items: Sequence[ItemT],
        report: Report = lambda number, result: None,
    ) -> list[ResultT]:
        """Return the results in the order of the items; repeated calls with a function reuse its programs.

        Raises the exception of the first item that is known to fail, or `WorkersLost` if an item ended
        several workers or the scheduler ended.
        """

    def side_by_side(self, functions: Sequence[Callable[[Check], ResultT]]) -> list[ResultT]:
        """Run functions on threads of this process, each of which calls `map`, and return their results.

        Each function receives a `Check` to call between its maps, so that it ends if another one failed. If
        several have failed, the exception of the first in order is raised.
        """
        stop = threading.Event()

        def check() -> None:
            if stop.is_set():
                raise concurrent.futures.CancelledError

        with ThreadPoolExecutor(max(1, min(self.n_drivers, len(functions)))) as pool:
            futures = [pool.submit(for_threads(function), check) for function in functions]
            try:
                concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
        errors = [None if future.cancelled() else future.exception() for future in futures]
        for error in errors:
            if error is not None and not isinstance(error, concurrent.futures.CancelledError):
                raise error
        return [future.result() for future in futures]


class ThisProcess(AbstractEngine):
    """Run items in this process: one after the other, or `n_threads` at a time on threads."""

    def __init__(self, n_threads: int = 1):
        super().__init__(n_threads, n_threads)
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def map(self, function, items, report=lambda number, result: None):
        if self._pool is None:
            in_order = map(function, items)
        else:
            in_order = self._pool.map(for_threads(function), items)
        results = []
        for number, result in enumerate(in_order):
            results.append(result)
            report(number, result)
        return results


class WorkersLost(OSError):
    """Workers ended repeatedly at the same item or did not start, or the scheduler ended."""
