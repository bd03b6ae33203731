"""An ordered map of a function over items: in this process, or on Dask workers.

Tiles of a map, cases of a calibration, segments of chains and closures in a comparison are independent
functions of one picklable item each. Here they run in a loop or on a few threads; on several processes Dask
runs them, repeats the items of workers that died, drops workers that do not answer, and displays the
progress. A function may be run twice, even concurrently: its output must be complete at any moment, and the
same each time.

A worker runs one item at a time, on its own cores (or GPU), in the precision of the calling process; JAX is
configured there before it starts. It caches its last functions with their compiled programs.
"""

from .base import AbstractEngine, Check, ThisProcess, WorkersLost
from .cluster import open_engine

__all__ = [
    "ThisProcess",
    "open_engine",
]


def __dir__() -> list[str]:
    return __all__
