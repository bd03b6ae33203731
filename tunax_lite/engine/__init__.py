"""An ordered map of a function over items: in this process, or on Dask workers.

Tiles of a map, cases of a calibration, pieces of chains and closures that are compared are functions of one
picklable item each that do not see each other. What runs them here is a loop, or a few threads; on several
processes it is Dask, which runs again what a worker that died was at, leaves out workers that do not answer,
and shows all of it. A function may be run twice, also at the same time: what it writes must be whole at any
moment, and the same each time.

A worker runs one item at a time, on the cores (or the GPU) that are its own, in the precision of the process
that asks, and JAX starts there only after it was told so. It keeps the last functions that it was given, and
with them what they compiled.
"""

from .base import AbstractEngine, Check, ThisProcess, WorkersLost
from .cluster import open_engine
