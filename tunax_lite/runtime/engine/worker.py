"""Code that runs on a worker: configures JAX in its place, and caches its last functions."""

import contextlib
import functools
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

N_FUNCTIONS = 4
"""Functions that a worker keeps, with what they compiled."""


class WorkerResources(TypedDict):
    """Processors and environment variables of a local worker."""

    cores: list[int]
    environment: dict[str, str]


class Setup(NamedTuple):
    """Configuration of a worker before JAX starts: precision, and its place by its name."""

    precision: Literal["float64", "float32"]
    places: dict[str, WorkerResources]


class Raised(NamedTuple):
    """An error that would be the same on another worker; some exceptions cannot be pickled themselves."""

    kind: type[Exception]
    args: tuple

    def error(self) -> Exception:
        return self.kind.__new__(self.kind, *self.args)  # `__init__` may have other arguments


_turn = threading.Lock()
"""One item at a time, whatever the number of threads that a worker was started with."""


def dask_setup(server: Any) -> None:  # of `distributed`
    """Stop listening for requests of pages; Dask calls this where a local worker starts."""
    server.http_server.stop()


def same(data: bytes) -> bytes:
    """Return the argument: a pickled function becomes a result on the cluster."""
    return data


def run(setup: Setup, function: bytes, item: bytes) -> bytes:
    """The pickled result for an item, on a worker: unpickled arrays would start JAX."""
    with _turn:
        _prepare(setup)
        try:
            from ..jax_setup import failures_as_values

            with failures_as_values():
                result = _unpickled(function)(pickle.loads(item))
        except OSError:
            raise  # so that Dask tries again
        except Exception as error:
            result = Raised(type(error), error.args)
        return pickle.dumps(result)


_prepared: Setup | None = None


def _prepare(setup: Setup) -> None:
    """Bind this process to its place and configure JAX, before JAX starts."""
    global _prepared
    if _prepared == setup:
        return
    from distributed import get_worker

    from .. import configure

    place = setup.places.get(str(get_worker().name))
    if place is not None and _prepared is None:
        os.environ.update(place["environment"])
        for thread in Path("/proc/self/task").glob("*"):  # so that their future threads inherit it
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(thread.name), place["cores"])
    configure(precision=setup.precision)
    _prepared = setup


@functools.lru_cache(maxsize=N_FUNCTIONS)
def _unpickled(function: bytes) -> Callable[[object], object]:
    return pickle.loads(function)
