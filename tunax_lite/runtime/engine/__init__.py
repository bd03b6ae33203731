"""Apply a function to items, such as tiles of a map or cases of a calibration, and keep their order.

This process runs them in a loop or on a few threads. On several processes Dask runs them, repeats the items
of workers that died, and drops workers that do not answer. It may run an item twice, even concurrently: the
function must write its files atomically, and the same each time.

A worker runs one item at a time, in the precision of the calling process; a local worker has its own cores
and GPU, if there are enough. It caches its last functions with their compiled programs.
"""

from .base import AbstractEngine, Check, ThisProcess, WorkersLost
from .cluster import open_engine

__all__ = [
    "ThisProcess",
    "open_engine",
]


def __dir__() -> list[str]:
    return __all__
